#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares `dtrace-chain stats` with what another reader counted: every kind of event of every node, the time span and
the captured packets, from the ground truth (babeltrace2 when the recording was made) or from babeltrace2 now.
usage: stats.py --program FILE --bundle DIR [--events N]"""
import argparse
import collections
import os
import re
import subprocess
import sys

import truth

KEYS = {"node", "events", "lost_events", "begin_ns", "end_ns", "reader", "kinds", "packets"}
LINE = re.compile(r"^\[(\d+)\.(\d{9})\] (?:\S+ )?(\S+): \{ cpu_id")


def count_by_babeltrace2(path):
    """(events by name, first, last), or None where babeltrace2 itself gives up."""
    kinds = collections.Counter()
    first = last = None
    with subprocess.Popen(["babeltrace2", "--no-delta", "--clock-seconds", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, errors="replace") as reader:
        for line in reader.stdout:
            found = LINE.match(line)
            if found:
                kinds[found[3]] += 1
                last = int(found[1]) * 10**9 + int(found[2])
                first = last if first is None else first
    return (dict(kinds), first, last) if reader.returncode == 0 else None


def kernel_path(bundle, node):
    inner = os.path.join(bundle, node, "kernel")
    return inner if os.path.isdir(inner) else os.path.join(bundle, node)


def check_node(options, facts, node):
    name = node["node"]
    missing = KEYS - set(node)
    if missing:
        yield f"{name} lacks {', '.join(sorted(missing))}"
        return
    if sum(node["kinds"].values()) != node["events"]:
        yield f"{name}: kinds sum to {sum(node['kinds'].values())}, not to {node['events']}"
    counted = count_by_babeltrace2(kernel_path(options.bundle, name))
    if counted:
        kinds, first, last = counted
        for kind in sorted(set(kinds) | set(node["kinds"])):
            if kinds.get(kind, 0) != node["kinds"].get(kind, 0):
                yield f"{name}: {node['kinds'].get(kind, 0)} {kind}, babeltrace2 counts {kinds.get(kind, 0)}"
        if (node["begin_ns"], node["end_ns"]) != (first, last):
            yield f"{name}: spans {node['begin_ns']} to {node['end_ns']}, babeltrace2 says {first} to {last}"
    else:
        print(f"  {name}: babeltrace2 itself gives up on this trace, nothing to compare with")
    if facts:
        known = facts.data["nodes"][name]
        if "events_total" in known and node["events"] != known["events_total"]:
            yield f"{name}: {node['events']} events, the ground truth says {known['events_total']}"
        packets = [int(n) for line in known.get("tcpdump", []) for n in re.findall(r"^(\d+) packets captured", line)]
        if packets and node["packets"] != packets[0]:
            yield f"{name}: {node['packets']} packets, tcpdump captured {packets[0]}"
    print(f"  {name}: {node['events']} events ({node['lost_events']} lost), {node['packets']} packets")


def main():
    parser = argparse.ArgumentParser(description="event counts against another reader")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--events", type=int, help="at least this many in all")
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    has_truth = os.path.exists(os.path.join(options.bundle, "ground-truth.json"))
    facts = truth.Truth(options.bundle) if has_truth else None
    answer = truth.ask(options.program, "stats", "--bundle", options.bundle, "--format", "json")
    if answer.json is None:
        print(f"exit {answer.code}, no JSON: {answer.err.strip()[:500]}")
        return 1
    document = answer.json
    problems = []
    if document.get("schema") != "dtrace-chain/stats/1":
        problems.append(f"schema is {document.get('schema')!r}")
    if answer.code != (0 if document["complete"] else 3):
        problems.append(f"exit {answer.code} with complete {document['complete']}")
    for total in ("events", "lost_events"):
        if document[total] != sum(node[total] for node in document["nodes"]):
            problems.append(f"{total} is {document[total]}, not the sum over the nodes")
    if options.events and document["events"] < options.events:
        problems.append(f"{document['events']} events, there are at least {options.events}")
    print(f"{os.path.basename(options.bundle)}: {document['events']} events")
    for node in document["nodes"]:
        problems += check_node(options, facts, node)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
