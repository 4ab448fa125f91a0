#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What applications did and waited for, by their own logs, is on the paths of their requests: at least seven tenths of
the injected time, within its window, on the right node, process and thread, with one of its causes; where it was
another request's doing, that request is named; and a path begins at the thread that sent the request. Prints what is
missed.
usage: named.py --dump FILE --program FILE --bundle DIR --met N --named N --elsewhere N"""
import argparse
import collections
import json
import subprocess
import sys

import truth

SHARE = 0.7
SLACK_NS = 1_000_000


def host_ns(node, mono_ns):
    """The lab's common clock of a node's monotonic time."""
    fit = node["clock_fit"]
    return fit["host_raw_ref_ns"] + (mono_ns - fit["guest_mono_ref_ns"] - fit["intercept_ns"]) / fit["rate"]


def measure(expected, nodes, steps):
    """Shares of the injected time that the path shows, that it blames on the other request, and what stands instead."""
    node = nodes[expected["node"]]
    begin = host_ns(node, expected["begin_mono_ns"]) - SLACK_NS
    end = host_ns(node, expected["end_mono_ns"]) + SLACK_NS
    others = expected["busy_with"] or []
    others = set(others if isinstance(others, list) else [others])
    shown = busy = 0
    instead = collections.Counter()
    for step_begin, step_end, step in steps:
        ms = (min(step_end, end) - max(step_begin, begin)) / 1e6
        if ms <= 0:
            continue
        busy += ms * (step["busy_with"] in others)
        is_place = (step["node"] == expected["node"]
                    and expected["process"] in (None, step["process"]))
        if expected.get("tid") is not None:
            is_thread = step["tid"] == expected["tid"]
        else:
            is_thread = expected["pid"] in (None, step["pid"])
        # a loop's own timer: the kernel does not show for which of its requests it was
        is_cause = step["cause"] in expected["causes"] or expected.get("or_busy")
        if is_place and is_cause and (is_thread or expected.get("or_busy")):
            shown += ms
        else:
            instead[f"{step['process']}@{step['node']} {step['cause']}"] += ms
    whole = max(expected["ms"], 0.001)
    return shown / whole, busy / whole if others else None, instead.most_common(2)


def begins_elsewhere(request, report):
    first = report["path"][0]
    is_sender = first["node"] == "client" and first["tid"] == request["client"]["tid"]
    return not is_sender and not (first["cause"].startswith("network") and first["node"] == "gw")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("--program")
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--met", type=int, required=True)
    parser.add_argument("--named", type=int, required=True)
    parser.add_argument("--elsewhere", type=int, required=True)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    with open(f"{options.bundle}/ground-truth.json", encoding="utf-8") as file:
        facts = json.load(file)
    dump = subprocess.run([options.dump, options.bundle], capture_output=True, text=True)
    if dump.returncode:
        raise SystemExit(dump.stderr.strip())
    reports = [json.loads(record) for record in dump.stdout.split("\x1e")[:-1:2]]
    reports = {report["request"]["id"]: report for report in reports}
    nodes = facts["nodes"]
    met = named = truths = to_name = elsewhere = 0
    for request in facts["requests"]:
        report = reports.get(request["id"])
        if report is None:
            print(f"{request['id']}: not answered")
            truths += len(request["expected"])
            continue
        if begins_elsewhere(request, report):
            elsewhere += 1
            print(f"{request['id']}: begins elsewhere")
        if request["client"].get("phase") in (3, 4) and request["kind"] in ("a2asleep", "aslp"):
            request["expected"][0]["or_busy"] = True
        reference = nodes[report["reference"]]
        steps = [(host_ns(reference, step["start_ns"] - reference["ctf_clock_offset_ns"]),
                  host_ns(reference, step["end_ns"] - reference["ctf_clock_offset_ns"]), step)
                 for step in report["path"]]
        for expected in request["expected"]:
            shown, busy, instead = measure(expected, nodes, steps)
            truths += 1
            met += shown >= SHARE
            to_name += busy is not None
            named += busy is not None and busy >= SHARE
            if shown < SHARE or (busy is not None and busy < SHARE):
                print(f"{request['id']} {request['kind']}: {expected['why']}: shown {shown:.0%}, named "
                      f"{'-' if busy is None else format(busy, '.0%')}, instead {instead}")
    print(f"{met} of {truths} truths (at least {options.met}), other request named {named} of {to_name} "
          f"(at least {options.named}), {elsewhere} begin elsewhere (at most {options.elsewhere})")
    if met < options.met or named < options.named or elsewhere > options.elsewhere:
        sys.exit(1)


if __name__ == "__main__":
    main()
