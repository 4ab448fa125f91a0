#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Path and nested causality of one answer tell the same: every wait, preemption and theft of a millisecond or more on
the path lies inside a node of the tree of the same node, thread and own cause. Requests are taken evenly from all of
the bundle, threads are those that waited most. Prints the share that agrees and what does not.
usage: path_in_tree.py --program FILE --bundle DIR [--requests N] [--threads N] [--verbose]"""
import argparse
import collections
import sys

import truth

CAUSES = {"disk", "timer", "lock", "ipc", "child", "runqueue", "preempted", "vm-preempted", "vm-exit"}
LEAST_NS = 1_000_000


def list_requests(options):
    answer = truth.ask(options.program, "requests", "--bundle", options.bundle, "--format", "json")
    if answer.json is None:
        return []
    ids = [row["id"] for row in answer.json["requests"] if row["id"]]
    step = max(1, len(ids) // options.requests) if options.requests else 1
    return [["--request-id", name] for name in sorted(set(ids[::step]))]


def list_threads(options):
    answer = truth.ask(options.program, "top", "--bundle", options.bundle, "--threads", "--format", "json")
    if answer.json is None:
        raise SystemExit(f"top: exit {answer.code}: {answer.err.strip()[:300]}")
    nodes = collections.defaultdict(list)
    for row in answer.json["rows"]:
        nodes[row["node"]].append(row["tid"])
    # the rows of a node stand in order of their time on a CPU
    for node, tids in sorted(nodes.items()):
        for tid in tids[:options.threads]:
            if tid:
                yield ["--thread", f"{node}:{tid}"]


def add_spans(nodes, spans):
    """What the tree says of each thread and cause: spans in which it lay in that. Without recursion: trees are deep."""
    left = list(nodes)
    while left:
        node = left.pop()
        spans[node["node"], node["tid"], node["cause"]].append((node["start_ns"], node["end_ns"]))
        left.extend(node["children"])


def covers(spans, start_ns, end_ns):
    """Whether the spans together hold [start, end]: one wait may be two nodes that meet."""
    at_ns = start_ns
    for begin_ns, until_ns in sorted(spans):
        if begin_ns > at_ns:
            break
        at_ns = max(at_ns, until_ns)
    return at_ns >= end_ns


def compare(report):
    """(segment, whether the tree has it) of what has to be in the tree."""
    spans = collections.defaultdict(list)
    add_spans(report["causality"], spans)
    for segment in report["path"]:
        if segment["cause"] not in CAUSES or segment["end_ns"] - segment["start_ns"] < LEAST_NS:
            continue
        yield segment, covers(spans[segment["node"], segment["tid"], segment["cause"]], segment["start_ns"],
                              segment["end_ns"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--requests", type=int, default=20, help="0: all")
    parser.add_argument("--threads", type=int, default=3, help="of each node")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)

    total = collections.Counter()
    missing = collections.Counter()
    problems = 0
    questions = list_requests(options) + list(list_threads(options))
    for question in questions:
        answer = truth.ask(options.program, "--bundle", options.bundle, *question, "--format", "json")
        if answer.json is None:
            if answer.code not in (0, 1, 3):
                print(f"{' '.join(question)}: exit {answer.code}: {answer.err.strip()[:300]}")
                problems += 1
            continue
        for segment, is_there in compare(answer.json):
            ns = segment["end_ns"] - segment["start_ns"]
            total[segment["cause"]] += ns
            if is_there:
                continue
            missing[segment["cause"]] += ns
            problems += 1
            if problems <= 20 or options.verbose:
                print(f"{' '.join(question)}: not in the tree: {ns / 1e6:.3f} ms {segment['cause']} of "
                      f"{segment['comm']} ({segment['node']}:{segment['tid']}) at {segment['start_ns']}: "
                      f"{segment['detail']}")
    for cause in sorted(total):
        print(f"{cause:14} {total[cause] / 1e6:12.3f} ms on paths, {missing[cause] / 1e6:12.3f} ms of them in no tree")
    print(f"{len(questions)} questions, {problems} problems")
    return 1 if problems or not questions else 0


if __name__ == "__main__":
    sys.exit(main())
