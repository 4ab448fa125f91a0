#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks for the threads that a recording switches to most, over their whole life and a part of the trace, and checks
the contract of the report: whatever the kernel, the tracer, or the events that the recording lacks. Without captures
a request cannot be asked for, and the program must say so.
usage: threads.py --program FILE --bundle DIR [--threads N] [--no-captures]"""
import argparse
import collections
import os
import re
import subprocess
import sys

import report_contract
import truth

NEXT = re.compile(r" sched_switch: .*next_comm = \"([^\"]*)\", next_tid = (\d+)")
PART = ("--from", "+500ms", "--to", "+900ms")


def find_nodes(bundle):
    for name in sorted(os.listdir(bundle)):
        for path in (os.path.join(bundle, name, "kernel"), os.path.join(bundle, name)):
            if os.path.isfile(os.path.join(path, "metadata")):
                yield name, path
                break


def find_busiest(path, count):
    """The tids that the CPUs of a trace switch to most, as far as babeltrace2 can read it; idle threads left out."""
    switches = collections.Counter()
    with subprocess.Popen(["babeltrace2", "--no-delta", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, errors="replace") as reader:
        for line in reader.stdout:
            found = NEXT.search(line)
            if found and found[2] != "0":
                switches[int(found[2])] += 1
    return [tid for tid, _ in sorted(switches.items(), key=lambda item: (-item[1], item[0]))[:count]]


def check_thread(options, node, tid, span):
    answer = truth.ask(options.program, "--bundle", options.bundle, "--thread", f"{node}:{tid}", *span,
                       "--format", "json")
    name = " ".join([f"{node}:{tid}", *span])
    if answer.json is None:
        # a thread may not have lived in that part; then the message says so, with a hint
        if span and answer.code == 1 and "\nhint: " in answer.err:
            return
        yield f"{name}: exit {answer.code}, no JSON: {answer.err.strip()[:300]}"
        return
    for problem in report_contract.check(answer.json)[:5]:
        yield f"{name}: {problem}"
    if answer.code != (0 if answer.json.get("complete") else 3):
        yield f"{name}: exit {answer.code} with complete {answer.json.get('complete')}"
    target = answer.json.get("target") or {}
    if (target.get("node"), target.get("tid")) != (node, tid):
        yield f"{name}: answers for {target.get('node')}:{target.get('tid')}"


def main():
    parser = argparse.ArgumentParser(description="threads of any recording")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--no-captures", action="store_true")
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    problems = []
    asked = 0
    for node, path in find_nodes(options.bundle):
        for tid in find_busiest(path, options.threads):
            for span in ((), PART):
                problems += check_thread(options, node, tid, span)
                asked += 1
    if not asked:
        problems.append("no thread found")
    if options.no_captures:
        answer = truth.ask(options.program, "--bundle", options.bundle, "--request-id", "req-1")
        if answer.code != 1 or "\nhint: " not in answer.err or "--thread" not in answer.err:
            problems.append(f"--request-id without captures: exit {answer.code}: {answer.err.strip()[:300]}")
    for problem in problems:
        print(problem)
    print(f"{asked} threads and spans, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
