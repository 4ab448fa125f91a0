#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""All edges of a recording: each wake of each node is one wakeup edge, whether it ended a wait or not (counted by
dump_sums, which does not know edges); the lines stand in the order of their ends; nothing comes before it left, but
for what the clocks leave open; and the list of one thread has just the wakeups into it that the whole list has.
usage: edges.py --program FILE --dump FILE --bundle DIR"""
import argparse
import collections
import json
import os
import subprocess
import sys

import truth

# of these a wake is the evidence; open (nothing was seen to end the wait), work, hand-over, vcpu are no wakes
WAKEUPS = {"thread", "fork", "disk", "packet", "timer", "interrupt", "unknown"}
OTHERS = {"open", "work", "hand-over", "vcpu"}


def list_lines(program, *arguments):
    command = [program, "edges", *arguments, "--format", "json", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode not in (0, 3):
        raise SystemExit(f"{command}: exit {process.returncode}")


def count_wakes(dump, bundle, node):
    """By tid; None for a node without a kernel trace."""
    paths = [os.path.join(bundle, node, "kernel"), os.path.join(bundle, node)]
    path = next((path for path in paths if os.path.exists(os.path.join(path, "metadata"))), None)
    if not path:
        return None
    done = subprocess.run([dump, path], stdout=subprocess.PIPE, check=True, text=True)
    wakes = collections.Counter()
    for line in done.stdout.splitlines():
        words = line.split()
        if words[0] == "wakeups":
            wakes[int(words[1])] += int(words[2])
    return wakes


class Reader:
    """What is looked at while the list passes by."""

    def __init__(self):
        self.kinds = collections.Counter()
        self.wakes = collections.defaultdict(collections.Counter)
        self.ids = collections.defaultdict(set)
        self.problems = []
        self.last_ns = None

    def complain(self, text, line):
        if len(self.problems) < 20:
            self.problems.append(f"{text}: {json.dumps(line)[:400]}")

    def look_at_edge(self, line):
        target, source = line["to"], line["from"]
        self.kinds[line["kind"]] += 1
        if line["kind"] not in WAKEUPS | OTHERS:
            self.complain("no such kind", line)
        if (line["evidence"]["wake"] is not None) != (line["kind"] in WAKEUPS):
            self.complain("a wake is missing or too much", line)
        if line["kind"] in WAKEUPS:
            self.wakes[target["node"]][target["tid"]] += 1
            wake = line["evidence"]["wake"]["id"]
            if wake in self.ids[target["node"]]:
                self.complain("this wake was told before", line)
            self.ids[target["node"]].add(wake)
        is_wait = line["kind"] in WAKEUPS | {"open"} and target["start_ns"] is not None
        if is_wait != (line["wait"] is not None):
            self.complain("what it waited for is not told, or there was no wait", line)
        if target["start_ns"] is not None and target["start_ns"] > target["end_ns"]:
            self.complain("ends before it begins", line)
        open_ns = line["uncertainty_ns"] or 0
        if source and line["uncertainty_ns"] is not None and source["at_ns"] > target["end_ns"] + open_ns:
            self.complain("comes before it left", line)

    def look_at_end(self, line, end_ns):
        if self.last_ns is not None and end_ns < self.last_ns and line.get("kind") != "hand-over":
            self.complain("out of order", line)
        self.last_ns = end_ns


def read(program, bundle):
    reader = Reader()
    head = tail = None
    for line in list_lines(program, "--bundle", bundle):
        if "schema" in line:
            head = line
        elif "complete" in line:
            tail = line
        elif line["type"] == "edge":
            reader.look_at_edge(line)
            reader.look_at_end(line, line["to"]["end_ns"])
        else:
            reader.kinds["(span of work)"] += 1
            reader.look_at_end(line, line["end_ns"])
    if not head or not tail:
        reader.problems.append("no head, or no tail")
    elif tail["edges"] + tail["work"] != sum(reader.kinds.values()):
        reader.problems.append(f"the tail counts {tail['edges']} + {tail['work']} lines")
    return reader


def check_thread(options, reader):
    """Of each node the thread that was woken most."""
    for node, wakes in sorted(reader.wakes.items()):
        tid = max(wakes, key=lambda tid: (wakes[tid], -tid))
        lines = [line for line in list_lines(options.program, "--bundle", options.bundle, "--thread", f"{node}:{tid}")
                 if line.get("type") == "edge"]
        mine = sum(line["kind"] in WAKEUPS for line in lines)
        if any((line["to"]["node"], line["to"]["tid"]) != (node, tid) for line in lines):
            yield f"{node}:{tid}: edges of others"
        if mine != wakes[tid]:
            yield f"{node}:{tid}: {mine} wakeups alone, {wakes[tid]} in the list of all"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--dump", required=True)
    parser.add_argument("--bundle", required=True)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)

    reader = read(options.program, options.bundle)
    problems = list(reader.problems)
    total = 0
    for node in sorted(os.listdir(options.bundle)):
        if not os.path.isdir(os.path.join(options.bundle, node)):
            continue
        wakes = count_wakes(options.dump, options.bundle, node)
        if wakes is None:
            continue
        total += sum(wakes.values())
        if wakes != reader.wakes[node]:
            problems.append(f"{node}: {sum(wakes.values())} wakes, {sum(reader.wakes[node].values())} wakeup edges; "
                            f"not equal for {[tid for tid in wakes if wakes[tid] != reader.wakes[node][tid]][:10]}")
    problems += check_thread(options, reader)
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(reader.kinds.items()))
    print(f"{total} wakes; {counts}; {len(problems)} problems")
    for problem in problems:
        print("  " + problem)
    return 1 if problems or not total else 0


if __name__ == "__main__":
    sys.exit(main())
