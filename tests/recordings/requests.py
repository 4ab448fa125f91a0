#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks for every request of a recording with known causes and compares: the contract of the JSON report, the duration
(between the server's own time and the client's own), the target, the chain that leads to the cause (waiter, futex
and holder; redis and the disk), packets that were lost, and for every slow request how much of the time that was
injected is attributed to the right node, thread and cause.
usage: requests.py --program FILE --bundle DIR [--require SHARE:FRACTION]... [--id ID]... [--jobs N]"""
import argparse
import concurrent.futures
import statistics
import sys

import report_contract
import truth

# The lab's own threads: who holds the mutex that a request waits for, and who takes the CPU from a server.
LOCK_HOLDERS = ("lab-holder", "compactor")
HOG = "lab-hog"
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
    named = [s for s in preempted if HOG in (s["detail"] or "")]
    if preempted and segment_ms(named) < 0.5 * segment_ms(preempted):
        return f"of {segment_ms(preempted):.1f} ms preempted only {segment_ms(named):.1f} ms name {HOG}"
    return None


def expect(request):
    """The table of traces/README.md; None for a request that was not made slow. On which node, and by which thread it
    was served, the ground truth tells."""
    cause = request["kind"].removeprefix("web").removeprefix("/")
    # a big answer is made slow by nothing but its size
    if cause in ("fast", "big") or "server" not in request:
        return None
    server = request["server"]
    node = server["node"]
    running = ("running-user", "running-kernel")

    def by_server(*causes):
        return lambda s: s["node"] == node and s["tid"] == server["tid"] and s["cause"] in causes

    def by_helper(comm, *causes):
        return lambda s: s["node"] == node and s["comm"] == comm and s["cause"] in causes

    if cause == "sleep":
        return Expectation("server's timer", 50, by_server("timer"))
    if cause == "cpu":
        # the clock of the thread's CPU time, by which it worked, runs on while an interrupt is served on top of it
        return Expectation("server running", 50, by_server("irq", "softirq", *running))
    if cause in ("disk", "db"):
        return Expectation("disk on " + node, request["disk_in_flight_while_blocked_ms"],
                           lambda s: s["node"] == node and s["cause"] == "disk")
    if cause == "lock":
        return Expectation("the holder running and asleep", request["lab_holder_while_blocked_ms"],
                           lambda s: s["node"] == node and s["comm"] in LOCK_HOLDERS
                           and s["cause"] in running + ("timer",))
    if cause == "preempt":
        states = request["server_thread_ms"]
        return Expectation("server preempted", states["preempted"] + states["runqueue"],
                           by_server("preempted", "runqueue"), names_the_hog)
    if cause == "dbslow":
        return Expectation("redis-server's timer", 60,
                           lambda s: s["node"] == node and s["process"] == "redis-server" and s["cause"] == "timer")
    # helpers of the server: behind a pipe and a local socket on its node, and a resolver on whichever node asks it
    if cause == "pipe":
        return Expectation("fmt-helper's timer", 40, by_helper("fmt-helper", "timer"))
    if cause == "unix":
        # what authd did while the server was ready to run, and had no CPU, did not delay it; the clock is of CPU time
        return Expectation("authd running", min(30, request["server_thread_ms"]["blocked"]),
                           by_helper("authd", "irq", "softirq", *running))
    if cause == "udp":
        return Expectation("resolver's timer", 45, lambda s: s["comm"] == "resolver" and s["cause"] == "timer")
    raise ValueError(f"unknown kind of request: {request['kind']}")


def all_blockings(blockings):
    for blocking in blockings:
        yield blocking
        yield from all_blockings(blocking["children"])


def check_lock(request, report):
    """The nested report has the server's wait on the futex, and beneath it what the holder did: it computed for 30 ms
    and slept for 40 ms, as far as the server waited."""
    tid = request["server"]["tid"]
    waits = [b for b in all_blockings(report["causality"])
             if b["tid"] == tid and b["cause"] == "lock" and "futex(" in (b["detail"] or "")]
    # ended by the holder, or by another worker that had waited for the holder before
    beneath = [b for wait in waits for b in all_blockings(wait["children"]) if b["comm"] in LOCK_HOLDERS]
    if not beneath:
        yield f"no wait of the server (tid {tid}) on a futex with its holder beneath it"
        return
    slept = segment_ms(b for b in beneath if b["cause"] == "timer")
    worked = segment_ms(b for b in beneath if b["woken_by"] is None)
    # what it computed before the server came for the lock is not the server's
    computed = min(30.0, request["lab_holder_while_blocked_ms"] - 40.0)
    if slept < min(40.0, request["lab_holder_while_blocked_ms"]) - TINY_MS:
        yield f"beneath the wait on the futex the holder sleeps for only {slept:.1f} ms"
    if worked < computed - TINY_MS:
        yield f"beneath the wait on the futex the holder works for only {worked:.1f} of {computed:.1f} ms"


def check_redis(request, report):
    """The path goes through redis-server, and between its segments to the disk (whose requests jbd2 and the kernel's
    workers may make); a sleep is its own."""
    node = request["server"]["node"]
    at = [i for i, s in enumerate(report["path"]) if s["process"] == "redis-server" and s["node"] == node]
    if not at:
        yield "the path does not go through redis-server"
        return
    between = report["path"][at[0]:at[-1] + 1]
    if request["kind"] == "db":
        found = [s for s in between if s["cause"] == "disk" and s["node"] == node]
        injected_ms = request["disk_in_flight_while_blocked_ms"]
    else:
        found = [s for s in between if s["cause"] == "timer" and s["process"] == "redis-server"]
        injected_ms = 60.0
    if injected_ms >= TINY_MS and segment_ms(found) < 0.8 * injected_ms:
        yield f"of {injected_ms:.1f} ms only {segment_ms(found):.1f} ms are reached through redis-server"


def check_chain(request, report):
    kind = request["kind"].replace("web/", "web")
    if kind in ("lock", "weblock"):
        yield from check_lock(request, report)
    elif kind in ("db", "dbslow"):
        yield from check_redis(request, report)


# Above this a request of a recording with losses has lost a SYN, or had data wait for the retransmission timer.
LOSS_MS = 500.0
LOST_MS = 900.0


def check_loss(report, web):
    """Nothing was injected that takes half a second, so a packet was lost; only web's egress loses packets."""
    if report["duration_ns"] < LOSS_MS * 1e6:
        return
    again = [s for s in report["path"] if s["cause"] == "retransmission" and s["node"] == web
             and f"from {web}" in s["detail"]]
    if segment_ms(again) < LOST_MS:
        yield f"took {report['duration_ns'] / 1e6:.1f} ms, with {segment_ms(again):.1f} ms of retransmission by {web}"


def check_names_of_losses(report):
    """What a timer sends again before TCP_RTO_MIN is no timeout, and a handshake waits for a second."""
    for segment in report["path"]:
        if segment["cause"] != "retransmission":
            continue
        took_ms, detail = segment_ms([segment]), segment["detail"]
        least = (990 if detail.startswith("handshake timeout") else
                 195 if detail.startswith("retransmission timeout") else 0)
        if took_ms < least:
            yield f"'{detail}' took only {took_ms:.1f} ms"
        if took_ms > 190 and least == 0:
            yield f"'{detail}' took {took_ms:.1f} ms"


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


def check_target(request, report, client):
    target = report["target"]
    if target["node"] != client:
        yield f"the target is on {target['node']}, not on {client}"
    tid = request["client"].get("tid")
    if tid is not None and target["tid"] != tid:
        yield f"the target is thread {target['tid']}, not {tid}"
    if report["request"]["id"] != request["id"]:
        yield f"answers for {report['request']['id']}"


def examine(options, facts, end_marks, request):
    """(problems, verdict or None) of one request."""
    answer = truth.ask(options.program, "--bundle", options.bundle, "--nodes", ",".join(facts.tiers),
                       "--request-id", request["id"], "--format", "json")
    if answer.json is None:
        return [f"exit {answer.code}, no JSON: {answer.err.strip()[:300]}"], None
    problems = report_contract.check(answer.json)
    if problems:
        return problems, None
    if answer.code != (0 if answer.json["complete"] else 3):
        problems.append(f"exit {answer.code} with complete {answer.json['complete']}")
    problems += check_duration(request, answer.json, end_marks, facts)
    problems += check_target(request, answer.json, facts.tiers[0])
    problems += check_chain(request, answer.json)
    if facts.loses_packets:
        problems += check_loss(answer.json, facts.tiers[1])
    problems += check_names_of_losses(answer.json)
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
    end_marks = {node: facts.read_marks(node, "end") for node in facts.tiers[1:]}

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
