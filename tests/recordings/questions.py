#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random questions about threads of a recording, `--thread NODE:TID [--from T] [--to T]`: each is answered (or refused,
if the thread did not live then) in bounded time, the answer keeps the contract of a report, lies within what was asked
for, and spans the thread's life in it. The questions follow from the seed.
usage: questions.py --program FILE --bundle DIR [--count N] [--seed N]"""
import argparse
import random
import sys

import report_contract
import truth

TIMEOUT_S = 240
NS = 1_000_000_000


def list_threads(options):
    answer = truth.ask(options.program, "top", "--bundle", options.bundle, "--threads", "--format", "json")
    if answer.json is None:
        raise SystemExit(f"top: exit {answer.code}: {answer.err.strip()[:300]}")
    nodes = {node["node"]: node["end_ns"] - node["start_ns"] for node in answer.json["nodes"]}
    return nodes, [(row["node"], row["tid"]) for row in answer.json["rows"]]


def make_question(choose, nodes, threads):
    node, tid = choose.choice(threads)
    span_ns = max(nodes[node], 1)
    arguments = ["--thread", f"{node}:{tid}"]
    begin_ns = choose.randrange(span_ns)
    # as often a microsecond as the whole trace
    length_ns = min(int(10 ** choose.uniform(0, 11)) + 1, 2 * span_ns)
    kind = choose.randrange(4)
    if kind & 1:
        arguments += ["--from", f"+{begin_ns // NS}.{begin_ns % NS:09}s"]
    if kind & 2:
        end_ns = (begin_ns if kind & 1 else 0) + length_ns
        arguments += ["--to", f"+{end_ns // NS}.{end_ns % NS:09}s"]
    return arguments, length_ns if kind == 3 else None


def examine(options, arguments, length_ns):
    answer = truth.ask(options.program, "--bundle", options.bundle, *arguments, "--format", "json",
                       timeout_s=TIMEOUT_S)
    if answer.code == 1 and "is not in the trace in that span" in answer.err and not answer.out:
        return
    if answer.json is None:
        yield f"exit {answer.code}, no JSON: {answer.err.strip()[:300]}"
        return
    problems = list(report_contract.check(answer.json))
    yield from problems[:3]
    if problems:
        return
    if answer.code != (0 if answer.json["complete"] else 3):
        yield f"exit {answer.code} with complete {answer.json['complete']}"
    if length_ns is not None and answer.json["duration_ns"] > length_ns:
        yield f"answers for {answer.json['duration_ns']} ns, {length_ns} were asked for"


def main():
    parser = argparse.ArgumentParser(description="random questions about threads")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    nodes, threads = list_threads(options)
    choose = random.Random(options.seed)
    failed = 0
    for _ in range(options.count):
        arguments, length_ns = make_question(choose, nodes, threads)
        for problem in examine(options, arguments, length_ns):
            failed += 1
            print(f"{' '.join(arguments)}: {problem}")
    print(f"{options.count} questions about {len(threads)} threads, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
