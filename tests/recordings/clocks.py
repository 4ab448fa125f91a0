#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares `dtrace-chain sync` with how the clocks really ran: between the first and the last knot of every node the
truth must lie inside [lo, hi]. Prints the largest error of the map and the certified widths. A recording without truth
can be compared with a line another program gave, and with its counts of messages.
usage: clocks.py --program FILE --bundle DIR [--nodes a,b] [--line FROM,TO,SLOPE,OFFSET_NS] [--messages A,B,AB,BA]"""
import argparse
import fractions
import os
import sys

import truth

POINTS = 400


def interpolate(x, left, right, key):
    span = right["node_ns"] - left["node_ns"]
    return left[key] + (right[key] - left[key]) * (x - left["node_ns"]) // span if span else left[key]


def sample(knots):
    """(node time, map, lo, hi) at every knot and at POINTS instants between the first and the last."""
    first, last = knots[0]["node_ns"], knots[-1]["node_ns"]
    instants = {first + (last - first) * i // POINTS for i in range(POINTS + 1)} | {k["node_ns"] for k in knots}
    at = 0
    for x in sorted(instants):
        while at + 2 < len(knots) and knots[at + 1]["node_ns"] <= x:
            at += 1
        left, right = knots[at], knots[min(at + 1, len(knots) - 1)]
        yield x, *(interpolate(x, left, right, key) for key in ("cluster_ns", "lo_ns", "hi_ns"))


def check_shape(document):
    if document.get("schema") != "dtrace-chain/sync/1":
        yield f"schema is {document.get('schema')!r}"
    for node in document["nodes"]:
        knots = node["knots"]
        if not knots:
            yield f"{node['node']}: no knots"
        if any(b["node_ns"] <= a["node_ns"] for a, b in zip(knots, knots[1:])):
            yield f"{node['node']}: node_ns does not increase"
        if any(not k["lo_ns"] <= k["cluster_ns"] <= k["hi_ns"] for k in knots):
            yield f"{node['node']}: the map leaves its own bounds"
    for pair in document["pairs"]:
        if pair["status"] not in ("aligned", "one-way", "none", "contradictory"):
            yield f"{pair['a']}-{pair['b']}: status {pair['status']!r}"


def compare_node(node, reference, convert):
    """Prints one line about a node; gives its problems."""
    knots = node["knots"]
    rows = [(x, y, lo, hi, convert(node["node"], reference, x)) for x, y, lo, hi in sample(knots)]
    outside = max(max(lo - true, true - hi, 0) for _, _, lo, hi, true in rows)
    error = max((y - true for _, y, _, _, true in rows), key=abs)
    first, last = knots[0]["node_ns"], knots[-1]["node_ns"]
    quarter = (last - first) // 4
    middle = [y - true for x, y, _, _, true in rows if first + quarter <= x <= last - quarter]
    width = [(hi - lo) / 1e3 for _, _, lo, hi, _ in (rows[0], rows[len(rows) // 2], rows[-1])]
    print(f"  {node['node']:<10} {len(knots):>3} knots over {(last - first) / 1e9:.1f} s: largest error "
          f"{error / 1e3:+.1f} us (middle half {max(middle, key=abs, default=0) / 1e3:+.1f} us), certified width "
          f"{width[0]:.1f} / {width[1]:.1f} / {width[2]:.1f} us"
          + (f", truth outside by up to {outside} ns" if outside else ""))
    if outside > truth.TRUTH_ERROR_NS:
        worst = max(rows, key=lambda r: max(r[2] - r[4], r[4] - r[3]))
        yield (f"{node['node']}: at node time {worst[0]} the truth is {worst[4]}, outside [{worst[2]}, {worst[3]}] "
               f"by {outside} ns")


def invert(knots, cluster_ns):
    """The node time whose cluster time this is."""
    at = 0
    while at + 2 < len(knots) and knots[at + 1]["cluster_ns"] <= cluster_ns:
        at += 1
    left, right = knots[at], knots[min(at + 1, len(knots) - 1)]
    span = right["cluster_ns"] - left["cluster_ns"]
    return left["node_ns"] + (right["node_ns"] - left["node_ns"]) * (cluster_ns - left["cluster_ns"]) // (span or 1)


def compare_pair(pair, nodes, reference, convert):
    """The two clocks against each other; gives problems, and prints what the bounds are beside those of the maps."""
    maps = [nodes[pair["a"]]["knots"], nodes[pair["b"]]["knots"]]
    names = (pair["a"], pair["b"])
    outside, widths, sums = 0, [], []
    for point in pair["difference"]:
        errors, sides = [], []
        for name, knots in zip(names, maps):
            x = invert(knots, point["cluster_ns"])
            errors.append(convert(name, reference, x) - point["cluster_ns"])
            nearest = min(knots, key=lambda knot: abs(knot["node_ns"] - x))
            sides.append(nearest["hi_ns"] - nearest["lo_ns"])
        error = errors[1] - errors[0]
        outside = max(outside, point["lo_ns"] - error, error - point["hi_ns"])
        widths.append((point["hi_ns"] - point["lo_ns"]) / 2e3)
        sums.append(sum(sides) / 2e3)
    if not widths:
        yield f"{names[0]}-{names[1]}: nothing is said about the difference"
        return
    middle = len(widths) // 2
    print(f"  {names[0]}-{names[1]}: half-widths {widths[0]:.1f} / {widths[middle]:.1f} / {widths[-1]:.1f} us, "
          f"by way of {reference} {sums[0]:.1f} / {sums[middle]:.1f} / {sums[-1]:.1f} us")
    if outside > truth.TRUTH_ERROR_NS:
        yield f"{names[0]}-{names[1]}: the true difference is outside its bounds by up to {outside} ns"
    if reference not in names and sum(widths) > sum(sums) * 0.999:
        yield f"{names[0]}-{names[1]}: the pair's own messages narrow nothing"


def main():
    parser = argparse.ArgumentParser(description="clock maps against the truth")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--nodes")
    parser.add_argument("--reference", help="one of the nodes")
    parser.add_argument("--line", help="FROM,TO,SLOPE,OFFSET_NS: TO's time is SLOPE * FROM's time + OFFSET_NS")
    parser.add_argument("--messages", help="A,B,AB,BA: at least AB messages from A to B and BA back")
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)

    reference = options.line.split(",")[1] if options.line else options.reference
    answer = truth.ask(options.program, "sync", "--bundle", options.bundle, "--format", "json",
                       *(["--nodes", options.nodes] if options.nodes else []),
                       *(["--reference", reference] if reference else []))
    if answer.json is None:
        print(f"exit {answer.code}, no JSON: {answer.err.strip()[:500]}")
        return 1
    document = answer.json
    problems = list(check_shape(document))
    if answer.code != (0 if document["complete"] else 3):
        problems.append(f"exit {answer.code} with complete {document['complete']}")

    if options.line:
        source, target, slope, offset = options.line.split(",")
        slope, offset = fractions.Fraction(slope), fractions.Fraction(offset)

        def convert(a, b, x):
            return round(slope * x + offset) if (a, b) == (source, target) else x
    elif os.path.exists(os.path.join(options.bundle, "ground-truth.json")):
        convert = truth.Truth(options.bundle).convert
    else:
        convert = None

    print(f"{os.path.basename(options.bundle)}: reference {document['reference']}")
    for node in document["nodes"]:
        if node["group"] != 0:
            problems.append(f"{node['node']} is not aligned with {document['reference']}")
        elif convert and node["knots"]:
            problems += compare_node(node, document["reference"], convert)
    nodes = {node["node"]: node for node in document["nodes"]}
    for pair in document["pairs"]:
        if convert and pair["status"] == "aligned":
            problems += compare_pair(pair, nodes, document["reference"], convert)
    for pair in document["pairs"]:
        print(f"  {pair['a']}-{pair['b']}: {pair['status']}, messages {pair['messages_ab']} / {pair['messages_ba']}, "
              f"unmatched {pair['unmatched_a']} / {pair['unmatched_b']}, ambiguous {pair['ambiguous']}, "
              f"trimmed {len(pair['trimmed'])}, steps {len(pair['steps'])}")
    if options.messages:
        a, b, ab, ba = options.messages.split(",")
        pair = next((p for p in document["pairs"] if {p["a"], p["b"]} == {a, b}), None)
        if not pair:
            problems.append(f"no pair {a}-{b}")
        else:
            counts = (pair["messages_ab"], pair["messages_ba"])
            there, back = counts if pair["a"] == a else counts[::-1]
            if there < int(ab) or back < int(ba):
                problems.append(f"{there} messages from {a} to {b} and {back} back, not {ab} and {ba}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
