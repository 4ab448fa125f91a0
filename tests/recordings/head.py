#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands at a glance is true of the numbers below it, for every request of a bundle: the verdict names the machine
and family with the largest sums and says "mostly" only of half and more; no row of the path is above the total of its
cause; no row of the table names somebody who made less than half of it without saying how much. Counts what was judged.
usage: head.py --dump FILE --program FILE --bundle DIR"""
import argparse
import collections
import json
import re
import subprocess
import sys

import truth

FAMILIES = {
    "cpu": {"running-user", "running-kernel", "running-guest", "irq", "softirq", "fork-exec"},
    "cpu-wait": {"runqueue", "preempted", "cpu-limit"},
    "disk": {"disk", "page-fault"},
    "device": {"device"},
    "lock": {"lock"},
    "ipc": {"ipc", "child"},
    "stopped": {"stopped"},
    "network": {"network-send", "network-wire", "network-receive", "retransmission"},
    "timer": {"timer"},
    "vm": {"vm-preempted", "vm-exit"},
    "unknown": {"unknown"},
}
FAMILY = {cause: family for family, causes in FAMILIES.items() for cause in causes}
UNITS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


class Judge:
    def __init__(self):
        self.judged = collections.Counter()
        self.problems = []

    def check(self, what, name, is_true, text):
        self.judged[what] += 1
        if not is_true:
            self.problems.append(f"{name}: {what}: {text}")


def sum_steps(report):
    """ns by (node, family), by cause, and without a detail by (node, process, cause)."""
    parts, causes, unnamed = collections.Counter(), collections.Counter(), collections.Counter()
    for step in report["path"]:
        ns = step["end_ns"] - step["start_ns"]
        parts[step["node"], FAMILY[step["cause"]]] += ns
        causes[step["cause"]] += ns
        if step["detail"] is None:
            unnamed[step["node"], step["process"], step["cause"]] += ns
    return parts, causes, unnamed


def judge_verdict(judge, name, report, text, parts):
    verdict, whole = report["verdict"], report["duration_ns"]
    nodes, families = collections.Counter(), collections.Counter()
    for (node, family), ns in parts.items():
        nodes[node] += ns
        families[family] += ns
    shown = {(m["machine"], p["family"]): p["ns"] for m in report["machines"] for p in m["parts"]}
    judge.check("machines", name, shown == dict(parts), f"{shown} is not {dict(parts)}")
    halves = [part for part, ns in parts.items() if 2 * ns >= whole]
    if halves:
        is_right = verdict["single"] and (verdict["machine"], verdict["family"]) in halves
    else:
        is_right = (not verdict["single"] and nodes[verdict["machine"]] == max(nodes.values())
                    and families[verdict["family"]] == max(families.values()))
    judge.check("verdict", name, is_right, f"{verdict}, {dict(parts)}")
    largest = max(report["breakdown"], key=lambda row: row["ns"])
    judge.check("share", name, abs(verdict["share"] - largest["ns"] / whole) < 1e-3, f"{verdict['share']}")
    line = next((line for line in text if line.startswith(("Mostly", "No single cause"))), "")
    share = re.search(r"\((<?[\d.]+) %\)", " ".join(text[:6]))
    judge.check("head", name, line.startswith("Mostly") == verdict["single"], line)
    if verdict["single"]:
        judge.check("mostly", name, share and float(share.group(1)) >= 50, line)
    head = " ".join(line.strip() for line in text[1:8])
    if largest["detail"] and 2 * largest["detail_ns"] >= largest["ns"] and line:
        is_whole = 10 * largest["detail_ns"] >= 9 * largest["ns"]
        judge.check("about", name, bool(re.search(r"%\), (<?[\d.]+) % of it ", head)) != is_whole, head)


def judge_waited(judge, name, report, text):
    """The request that made this one wait longest, and the tier that was busy with it longest."""
    waited = report["verdict"]["waited_for"]
    requests, tiers, doubts = collections.Counter(), collections.Counter(), collections.Counter()
    for step in report["path"]:
        ns = step["end_ns"] - step["start_ns"]
        if step["busy_with"] is not None:
            for candidate in step["candidates"]:
                doubts[step["busy_with"], candidate] += ns
            requests[step["busy_with"]] += ns
            tiers[step["busy_with"], f"{step['process']}@{step['node']}"] += ns
    if waited is None:
        judge.check("waited", name, not requests, f"{dict(requests)}")
        return
    longest = max(ns for (request, _), ns in tiers.items() if request == waited["request"])
    judge.check("waited", name, waited["ns"] == requests[waited["request"]] == max(requests.values())
                and waited["tier_ns"] == tiers[waited["request"], waited["tier"]] == longest,
                f"{waited}, {dict(tiers)}")
    most = max((ns for (request, _), ns in doubts.items() if request == waited["request"]), default=0)
    judge.check("doubt", name, waited["candidate_ns"] == doubts[waited["request"], waited["candidate"]] == most
                and (waited["candidate"] is None) == (most == 0), f"{waited}, {dict(doubts)}")
    line = next((line for line in text if line.startswith("Waited ")), "")
    if line:
        head = " ".join(text[:12])
        judge.check("waited line", name, waited["request"] in head and waited["tier"] in head
                    and ("busy for" in head) == (waited["tier_ns"] < waited["ns"])
                    and (f"{waited['request']} or " in head or f"{waited['request']} (or " in head)
                    == (waited["candidate"] is not None), head)


def judge_table(judge, name, report, text, unnamed):
    rows = {(row["tier"], row["cause"]): row for row in report["breakdown"]}
    tiers = {row["tier"] for row in report["breakdown"]}
    begin = text.index("Where the time went")
    tier = None
    for line in text[begin + 2:text.index("", begin)]:
        first = line.split()[0]
        if not line.startswith(" "):
            tier = first if first in tiers else None
            continue
        row = rows.get((tier, first))
        if row is None:
            continue
        # name, ns, percent, bar, and the rest is the detail
        found = re.match(r"  \S+ +[\d.]+ +[\d.]+ *[█▉▊▋▌▍▎▏]* *(.*)$", line)
        detail = found.group(1) if found else ""
        if not detail:
            judge.check("row", name, True, "")
            continue
        is_unnamed = unnamed[row["node"], row["process"], row["cause"]] > row["detail_ns"]
        says_share = re.match(r"<?[\d.]+ % ", detail)
        judge.check("row", name, not is_unnamed and (says_share or 2 * row["detail_ns"] >= row["ns"]),
                    f"{line} ({row['detail_ns']} of {row['ns']} ns)")


def judge_path(judge, name, text, causes):
    begin = next(i for i, line in enumerate(text) if line.startswith("Critical path"))
    unit = UNITS[text[begin + 1].split()[1]]
    names = "|".join(sorted(causes, key=len, reverse=True))
    for line in text[begin + 2:text.index("", begin)]:
        found = re.match(rf" *[\d.]+ +([\d.]+) .*? ({names})(?: +(?![\d.]+(?:ns|µs|ms|s)\b)|$)", line)
        if found is None or "short segments" in line:
            judge.check("mixed line", name, "segments" in line, line)
            continue
        took_ns = float(found.group(1)) * unit
        judge.check("line", name, took_ns <= causes[found.group(2)] + 0.001 * unit,
                    f"{line}: {causes[found.group(2)]} ns in all")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("--program")
    parser.add_argument("--bundle", required=True)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    dump = subprocess.run([options.dump, options.bundle], capture_output=True, text=True)
    if dump.returncode:
        raise SystemExit(f"{dump.stderr.strip()}")
    records = dump.stdout.split("\x1e")[:-1]
    judge = Judge()
    for at in range(0, len(records), 2):
        report, text = json.loads(records[at]), records[at + 1].split("\n")
        name = report["request"]["id"]
        parts, causes, unnamed = sum_steps(report)
        judge_verdict(judge, name, report, text, parts)
        judge_waited(judge, name, report, text)
        judge_table(judge, name, report, text, unnamed)
        judge_path(judge, name, text, causes)
    print(f"{len(records) // 2} requests; judged: " + ", ".join(f"{n} {what}" for what, n in judge.judged.items()))
    for problem in judge.problems[:20]:
        print(problem)
    print(f"{len(judge.problems)} problems")
    if not records or judge.problems or not judge.judged["line"] or not judge.judged["row"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
