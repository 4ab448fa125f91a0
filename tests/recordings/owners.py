#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How sure answers are, and whether they are right to be: holds hops and the requests that are named on paths against
what the applications of a recording logged (requests[].app[]: which of their processes worked for which request, and
when; requests[].expected[]: for which other request one waited).
usage: owners.py --dump FILE --program FILE --bundle DIR [--score POINTS]
Of hops both ends are judged where their process logs; of links the other request that is named in a window in which
the truth names one. The score: right counts 1, two named with the true one among them 1/2, a wrong one that is called
exact -1. Exit 0 if nothing that is called exact is wrong, and the score is reached."""
import argparse
import collections
import json
import os
import subprocess
import sys

import truth

# A log is written by the application's own clock, after it had the bytes and before it gave them back.
SLACK_NS = 5_000_000
# The part of a window that has to be named.
SHARE = 0.7


class Log:
    """What the applications logged, in the time of the machine that ran them all."""

    def __init__(self, bundle):
        with open(os.path.join(bundle, "ground-truth.json"), encoding="utf-8") as file:
            facts = json.load(file)
        self.nodes = facts["nodes"]
        self.requests = {request["id"]: request for request in facts["requests"]}
        self.logged = collections.defaultdict(list)
        for request in facts["requests"]:
            for entry in request.get("app", []):
                span = tuple(self.to_host(entry["node"], entry[key]) for key in ("t0", "t1"))
                self.logged[entry["node"], entry["pid"]].append((request["id"], *span))

    def to_host(self, node, mono_ns):
        fit = self.nodes[node]["clock_fit"]
        return fit["host_raw_ref_ns"] + (mono_ns - fit["guest_mono_ref_ns"] - fit["intercept_ns"]) / fit["rate"]

    def from_report(self, report, time_ns):
        node = report["reference"]
        return self.to_host(node, time_ns - self.nodes[node]["ctf_clock_offset_ns"])

    def find(self, node, pid, begin, end):
        """The requests for which a process logged work in a span; None if it logs nothing."""
        entries = self.logged.get((node, pid))
        if entries is None:
            return None
        return {name for name, first, last in entries if first - SLACK_NS < end and begin < last + SLACK_NS}


def judge_hops(log, request, report, counts):
    for hop in report["hops"]:
        for end in (hop["client"], hop["server"]):
            if end["start_ns"] is None:
                continue
            span = [log.from_report(report, end[key]) for key in ("start_ns", "end_ns")]
            names = log.find(end["node"], end["pid"], *span)
            if names is None:
                continue
            verdict = "right" if request in names else "named" if names & set(hop["candidates"]) else "wrong"
            counts["hop ends", hop["link"] if not hop["candidates"] else "ambiguous", verdict] += 1
            if verdict == "wrong":
                print(f"{request}: hop end {end['comm']}@{end['node']} {end['pid']} ({hop['link']}): "
                      f"it logged {sorted(names) or 'nothing'}")


def judge_links(log, request, report, counts):
    for expected in log.requests[request]["expected"]:
        true = expected["busy_with"]
        true = set(true if isinstance(true, list) else [true] if true else [])
        if not true:
            continue
        begin, end = (log.to_host(expected["node"], expected[key]) for key in ("begin_mono_ns", "end_mono_ns"))
        sums = collections.Counter()
        for segment in report["path"]:
            span = [log.from_report(report, segment[key]) for key in ("start_ns", "end_ns")]
            overlap = min(span[1], end) - max(span[0], begin)
            if overlap <= 0 or segment["node"] != expected["node"]:
                continue
            named, others = segment["busy_with"], set(segment["candidates"])
            if not named and not others:
                verdict = "nobody"
            elif others:
                verdict = "named" if ({named} | others) & true else "wrong"
            else:
                verdict = "right" if named in true else "wrong"
            sums["ambiguous" if others else segment["link"], verdict] += overlap
        whole = sum(sums.values())
        if not whole:
            counts["links", "none", "not on the path"] += 1
            continue
        told = {verdict: sum(ns for (_, v), ns in sums.items() if v == verdict)
                for verdict in ("right", "named", "wrong")}
        verdict = max(told, key=told.get)
        if told[verdict] < SHARE * max(expected["ms"] * 1e6, 1):
            counts["links", "none", "not told"] += 1
            continue
        link = max((key for key in sums if key[1] == verdict), key=sums.get)[0]
        counts["links", link, verdict] += 1
        if verdict == "wrong":
            print(f"{request}: waited for {sorted(true)}, another is named ({link})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("--program")
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--score", type=float, default=0)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    log = Log(options.bundle)
    dump = subprocess.run([options.dump, options.bundle], capture_output=True, text=True)
    if dump.returncode:
        raise SystemExit(dump.stderr.strip())
    reports = [json.loads(record) for record in dump.stdout.split("\x1e")[:-1:2]]
    counts = collections.Counter()
    for report in reports:
        request = report["request"]["id"]
        if request in log.requests:
            judge_hops(log, request, report, counts)
            judge_links(log, request, report, counts)
    for key, count in sorted(counts.items()):
        print(f"{key[0]:10} {key[1]:10} {key[2]:16} {count:6}")
    points = {"right": 1, "named": 0.5}
    score = sum(count * (points.get(verdict, 0) if verdict != "wrong" else -(link == "exact"))
                for (_, link, verdict), count in counts.items())
    wrong = sum(count for (_, link, verdict), count in counts.items() if (link, verdict) == ("exact", "wrong"))
    judged = sum(counts.values())
    print(f"{len(reports)} requests: score {score:g} of {judged} (at least {options.score:g}); "
          f"called exact and wrong: {wrong}")
    if wrong or score < options.score:
        sys.exit(1)


if __name__ == "__main__":
    main()
