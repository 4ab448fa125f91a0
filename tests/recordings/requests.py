#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks for every request of a recording with known causes and compares: the contract of the JSON report, the duration
(between the server's own time and the client's own), the target, and for every slow request how much of the time that
was injected is attributed to the right node, thread and cause.
usage: requests.py --program FILE --bundle DIR [--require SHARE:FRACTION]... [--id ID]... [--jobs N]"""
import argparse
import concurrent.futures
import statistics
import sys

import report_contract
import truth

NODES = "client,web,backend"
# Below this an injected time is of the size of one wakeup; it must then be found up to this much.
TINY_MS = 1.0
TINY_TOLERANCE_MS = 0.5
# Two clocks that differ by 100 ppm disagree by this much over 200 ms.
DURATION_TOLERANCE_NS = 20_000


def segment_ms(segments):
    return sum(segment["end_ns"] - segment["start_ns"] for segment in segments) / 1e6


class Expectation:
    """What was done to a request: how long it took, and which segments of a path count as having found it."""

    def __init__(self, what, injected_ms, counts, evidence=None):
        self.what = what
        self.injected_ms = injected_ms
        self.counts = counts  # segment -> bool
        self.evidence = evidence  # segments that count -> problem or None


def names_the_hog(segments):
    preempted = [s for s in segments if s["cause"] == "preempted"]
    named = [s for s in preempted if "lab-hog" in (s["detail"] or "")]
    if preempted and segment_ms(named) < 0.5 * segment_ms(preempted):
        return f"of {segment_ms(preempted):.1f} ms preempted only {segment_ms(named):.1f} ms name lab-hog"
    return None


def expect(request):
    """The table of traces/README.md; None for a request that was not made slow."""
    kind = request["kind"].replace("web/", "web")
    if kind in ("fast", "webfast"):
        return None
    node = "web" if kind.startswith("web") else "backend"
    server = request["server"]
    running = ("running-user", "running-kernel")

    def by_server(*causes):
        return lambda s: s["node"] == node and s["tid"] == server["tid"] and s["cause"] in causes

    cause = kind.removeprefix("web")
    if cause == "sleep":
        return Expectation("server's timer", 50, by_server("timer"))
    if cause == "cpu":
        return Expectation("server running", 50, by_server(*running))
    if cause in ("disk", "db"):
        return Expectation("disk on " + node, request["disk_in_flight_while_blocked_ms"],
                           lambda s: s["node"] == node and s["cause"] == "disk")
    if cause == "lock":
        return Expectation("lab-holder running and asleep", request["lab_holder_while_blocked_ms"],
                           lambda s: s["node"] == node and s["comm"] == "lab-holder"
                           and s["cause"] in running + ("timer",))
    if cause == "preempt":
        states = request["server_thread_ms"]
        return Expectation("server preempted", states["preempted"] + states["runqueue"],
                           by_server("preempted", "runqueue"), names_the_hog)
    if cause == "dbslow":
        return Expectation("redis-server's timer", 60,
                           lambda s: s["node"] == node and s["process"] == "redis-server" and s["cause"] == "timer")
    raise ValueError(f"unknown kind of request: {kind}")


class Verdict:
    def __init__(self, request, report):
        expectation = expect(request)
        found = [segment for segment in report["path"] if expectation.counts(segment)]
        self.request = request
        self.what = expectation.what
        self.injected_ms = expectation.injected_ms
        self.attributed_ms = segment_ms(found)
        self.problem = expectation.evidence(found) if expectation.evidence else None
        self.dominant = report["dominant"]
        self.report = report

    def reaches(self, share):
        if self.problem:
            return False
        if self.injected_ms < TINY_MS:
            return self.attributed_ms >= self.injected_ms - TINY_TOLERANCE_MS
        return self.attributed_ms >= share * self.injected_ms

    def is_far_over(self):
        return self.attributed_ms > 1.5 * self.injected_ms + 5

    def __str__(self):
        rows = sorted(self.report["breakdown"], key=lambda row: -row["ns"])[:4]
        most = ", ".join(f"{row['tier']} {row['cause']} {row['ns'] / 1e6:.1f}" for row in rows)
        return (f"{self.request['id']} {self.request['kind']}: {self.what} {self.attributed_ms:.2f} of "
                f"{self.injected_ms:.2f} ms{'; ' + self.problem if self.problem else ''}; most of "
                f"{self.report['duration_ns'] / 1e6:.1f} ms: {most}")


def check_duration(request, report, end_marks, facts):
    duration = report["duration_ns"]
    if "client_ms" in request and duration > request["client_ms"] * 1e6 + DURATION_TOLERANCE_NS:
        yield f"takes {duration / 1e6:.3f} ms, the client itself measured {request['client_ms']} ms"
    server = request.get("server")
    if server:
        end = end_marks[server["node"]].get(request["id"])
        if end is None:
            yield f"the recording has no lab:end mark on {server['node']}"
            return
        own = end - facts.to_trace_ns(server["node"], server["begin_mono_ns"])
        if duration < own - DURATION_TOLERANCE_NS:
            yield f"takes {duration / 1e6:.3f} ms, the server alone took {own / 1e6:.3f} ms"


def check_target(request, report):
    target = report["target"]
    if target["node"] != "client":
        yield f"the target is on {target['node']}, not on client"
    tid = request["client"].get("tid")
    if tid is not None and target["tid"] != tid:
        yield f"the target is thread {target['tid']}, not {tid}"
    if report["request"]["id"] != request["id"]:
        yield f"answers for {report['request']['id']}"


def examine(options, facts, end_marks, request):
    """(problems, verdict or None) of one request."""
    answer = truth.ask(options.program, "--bundle", options.bundle, "--nodes", NODES, "--request-id", request["id"],
                       "--format", "json")
    if answer.json is None:
        return [f"exit {answer.code}, no JSON: {answer.err.strip()[:300]}"], None
    problems = report_contract.check(answer.json)
    if problems:
        return problems, None
    if answer.code != (0 if answer.json["complete"] else 3):
        problems.append(f"exit {answer.code} with complete {answer.json['complete']}")
    problems += check_duration(request, answer.json, end_marks, facts)
    problems += check_target(request, answer.json)
    return problems, (Verdict(request, answer.json) if expect(request) else None)


def print_table(verdicts):
    print(f"{'kind':<10} {'n':>3} {'>=70%':>6} {'>=80%':>6} {'tiny':>5} {'over':>5} {'median':>7} {'least':>7}")
    kinds = {}
    for verdict in verdicts:
        kinds.setdefault(verdict.request["kind"], []).append(verdict)
    for kind, group in sorted(kinds.items()) + [("all", verdicts)]:
        shares = sorted(v.attributed_ms / v.injected_ms for v in group if v.injected_ms >= TINY_MS)
        print(f"{kind:<10} {len(group):>3} {sum(v.reaches(0.7) for v in group):>6} "
              f"{sum(v.reaches(0.8) for v in group):>6} {sum(v.injected_ms < TINY_MS for v in group):>5} "
              f"{sum(v.is_far_over() for v in group):>5} "
              f"{statistics.median(shares) if shares else float('nan'):>7.2f} "
              f"{shares[0] if shares else float('nan'):>7.2f}")
    print(f"tiny: under {TINY_MS} ms injected, found if at most {TINY_TOLERANCE_MS} ms are missing; "
          "over: more than half again (and 5 ms) above what was injected")


def main():
    parser = argparse.ArgumentParser(description="requests with known causes")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--require", action="append", metavar="SHARE:FRACTION",
                        help="this fraction of the slow requests attributes at least this share (0.70:0.85)")
    parser.add_argument("--id", action="append", help="only these requests")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    facts = truth.Truth(options.bundle)
    requests = [r for r in facts.requests if not options.id or r["id"] in options.id]
    if not requests:
        print("no such request in the ground truth")
        return 2
    end_marks = {node: facts.read_marks(node, "end") for node in ("web", "backend")}

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda r: examine(options, facts, end_marks, r), requests))
    broken = [(r, problems) for r, (problems, _) in zip(requests, results) if problems]
    verdicts = [verdict for _, verdict in results if verdict]

    for request, problems in broken:
        for problem in problems[:5]:
            print(f"{request['id']} {request['kind']}: {problem}")
    if verdicts:
        print_table(verdicts)
        for verdict in verdicts:
            if not verdict.reaches(0.8):
                print(("below 70 %: " if not verdict.reaches(0.7) else "below 80 %: ") + str(verdict))
            elif verdict.is_far_over():
                print(f"far over: {verdict}")
    failed = bool(broken)
    print(f"{len(requests)} requests, {len(broken)} break the contract")
    slow = sum(expect(r) is not None for r in requests)
    for requirement in options.require or ["0.70:0.85"]:
        share, fraction = (float(part) for part in requirement.split(":"))
        reached = sum(v.reaches(share) for v in verdicts)
        if slow:
            print(f"{reached} of {slow} slow requests ({reached / slow:.1%}) attribute at least {share:.0%} "
                  f"(required: {fraction:.0%})")
            failed |= reached < fraction * slow
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
