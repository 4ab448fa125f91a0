#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""All requests of a recording with known causes at once: the contract of the JSON of `requests` and `compare`; the
dominant cause, wherever what was injected is at least half of the duration; what `compare` names first, for each kind
that was made slow; the threads that the hops of each request name; and that no two requests get the same running time
of a thread.
usage: summary.py --program FILE --bundle DIR"""
import argparse
import concurrent.futures
import sys
import time

import requests
import truth

# Where the injected time of a kind must show: (process, causes). lab-holder is a thread of labsrv.
RUNNING = ("running-user", "running-kernel")
WHERE = {
    "sleep": ("labsrv", ("timer",)),
    "cpu": ("labsrv", RUNNING),
    "disk": (None, ("disk",)),
    "db": (None, ("disk",)),
    "lock": ("labsrv", ("timer",) + RUNNING),
    "preempt": ("labsrv", ("preempted", "runqueue")),
    "dbslow": ("redis-server", ("timer",)),
}
DOMINANT_FRACTION = 0.9
# What a slow disk costs is CPU as much as waiting here; the issue leaves these two out.
COMPARED = ("sleep", "cpu", "lock", "preempt", "dbslow", "web/sleep", "web/cpu", "web/lock")


def where(kind):
    name = kind.replace("web/", "web")
    return ("web" if name.startswith("web") else "backend",) + WHERE[name.removeprefix("web")]


def fits(share, kind):
    node, process, causes = where(kind)
    return share["node"] == node and share["cause"] in causes and process in (None, share["process"])


def check_requests(document):
    """The contract of dtrace-chain/requests/1."""
    if document["schema"] != "dtrace-chain/requests/1":
        yield f"schema {document['schema']}"
    rows = document["requests"]
    for row in rows:
        if sum(share["ns"] for share in row["breakdown"]) != row["duration_ns"]:
            yield f"{row['id']}: the breakdown does not sum to the duration"
        if sum(tier["ns"] for tier in row["tiers"]) != row["duration_ns"]:
            yield f"{row['id']}: the tiers do not sum to the duration"
        if any("jbd2" in tier["process"] or "kworker" in tier["process"] for tier in row["tiers"]):
            yield f"{row['id']}: a thread of the kernel is a tier"
        if row["dominant"] != max(row["breakdown"], key=lambda share: share["ns"]):
            if row["dominant"]["ns"] != max(share["ns"] for share in row["breakdown"]):
                yield f"{row['id']}: dominant is not the largest share"
    for tables, key in ((document["summary"]["urls"], "requests"), (document["summary"]["bands"], "requests")):
        if sum(table[key] for table in tables) != len(rows):
            yield f"{tables} are not of {len(rows)} requests"
    if sum(tier["total_ns"] for tier in document["summary"]["tiers"]) != sum(row["duration_ns"] for row in rows):
        yield "the tiers do not sum to all time"
    durations = sorted(row["duration_ns"] for row in rows)
    summary = document["summary"]
    if not summary["count"] == summary["shown"] == len(rows):
        yield f"{summary['count']} counted, {summary['shown']} shown, {len(rows)} listed"
    for percent in (50, 90, 99):
        if summary[f"p{percent}_ns"] != durations[-(-len(durations) * percent // 100) - 1]:
            yield f"p{percent} is {summary[f'p{percent}_ns']}"
    if sum(band["requests"] for band in summary["bands"]) != len(rows):
        yield "the bands do not hold every request once"
    for band in summary["bands"]:
        off = band["mean_ns"] - sum(share["ns"] for share in band["breakdown"])
        if not 0 <= off <= len(band["breakdown"]):
            yield f"band {band['name']}: breakdown and mean differ by {off} ns"


def check_dominant(facts, rows):
    """(right, checked, lines): the dominant cause where at least half of the time was injected."""
    right, checked, lines = 0, 0, []
    for request in facts.requests:
        expectation = requests.expect(request)
        row = rows.get(request["id"])
        if not expectation or not row or expectation.injected_ms * 1e6 < 0.5 * row["duration_ns"]:
            continue
        checked += 1
        if fits(row["dominant"], request["kind"]):
            right += 1
        else:
            most = row["dominant"]
            lines.append(f"{request['id']} {request['kind']}: {most['tier']} {most['cause']} "
                         f"{most['ns'] / 1e6:.1f} of {row['duration_ns'] / 1e6:.1f} ms")
    return right, checked, lines


def check_compare(options, urls):
    for kind in COMPARED:
        url = "/" + kind
        if url not in urls:
            continue
        fast = "/web/fast" if kind.startswith("web/") and "/web/fast" in urls else "/fast"
        answer = truth.ask(options.program, "compare", options.bundle, "--slow", url, "--fast", fast, "--format",
                           "json", "--quiet")
        if answer.json is None:
            yield f"compare {url}: exit {answer.code}: {answer.err.strip()[:300]}"
            continue
        first = answer.json["segments"][0]
        slow = sum(g["slow_ns"] for g in answer.json["segments"])
        if abs(slow - answer.json["slow"]["mean_ns"]) > len(answer.json["segments"]):
            yield f"compare {url}: the parts sum to {slow}, the mean is {answer.json['slow']['mean_ns']}"
        if not fits(first, kind):
            yield f"compare {url}: {first['tier']} {first['cause']} grew most"
        print(f"compare {url}: {first['tier']} {first['cause']} {first['grown_ns'] / 1e6:.1f} ms")


def check_hops(request, hops):
    """Every tier that the request passed, with the thread that the ground truth names."""
    clients = {(h["client"]["node"], h["client"]["tid"]) for h in hops}
    servers = {(h["server"]["node"], h["server"]["tid"]) for h in hops}
    tid = request["client"].get("tid")
    if tid is not None and ("client", tid) not in clients:
        yield f"no hop is sent by client:{tid}"
    if not any(h["server"]["node"] == "web" and h["server"]["process"] == "nginx" for h in hops):
        yield "no hop is served by nginx on web"
    server = request.get("server")
    if server and (server["node"], server["tid"]) not in servers:
        yield f"no hop is served by {server['node']}:{server['tid']}"
    if request["kind"] in ("db", "dbslow") and not any(h["server"]["process"] == "redis-server" for h in hops):
        yield "no hop is served by redis-server"
    for hop in hops:
        known = [end for end in (hop["client"], hop["server"]) if end["link"] != "unknown"]
        if any(end["end_ns"] < end["start_ns"] for end in known):
            yield "a hop ends before it begins"


def own_running(report):
    """(node, tid) -> spans in which the thread ran for this request, by its path."""
    spans = {}
    for segment in report["path"]:
        if segment["cause"] in RUNNING and segment["tid"] is not None and not segment["busy_with"]:
            spans.setdefault((segment["node"], segment["tid"]), []).append(
                (segment["start_ns"], segment["end_ns"]))
    return spans


def find_shared(reports, shared_ns):
    """Pairs of requests that both got the same running time of a thread that serves requests; shared_ns sums it. Who
    serves nobody (the holder of a lock, the journal of a file system) may well hold up two requests at once."""
    serving = {(end["node"], end["tid"]) for report in reports.values() for hop in report["hops"]
               for end in (hop["client"], hop["server"])}
    by_thread = {}
    for request, report in reports.items():
        for thread, spans in own_running(report).items():
            if thread not in serving:
                continue
            by_thread.setdefault(thread, []).extend((begin, end, request) for begin, end in spans)
    pairs = {}
    for thread, spans in by_thread.items():
        open_spans = []
        for begin, end, request in sorted(spans):
            open_spans = [s for s in open_spans if s[1] > begin]
            for other in open_spans:
                if other[2] != request:
                    both = min(end, other[1]) - begin
                    pairs[(other[2], request) + thread] = pairs.get((other[2], request) + thread, 0) + both
                    shared_ns.append(both)
            open_spans.append((begin, end, request))
    return pairs


def main():
    parser = argparse.ArgumentParser(description="all requests at once")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    facts = truth.Truth(options.bundle)
    problems = []

    begin = time.monotonic()
    answer = truth.ask(options.program, "requests", options.bundle, "--format", "json", "--quiet")
    all_s = time.monotonic() - begin
    if answer.json is None:
        print(f"requests: exit {answer.code}: {answer.err.strip()[:300]}")
        return 1
    problems += check_requests(answer.json)
    rows = {row["id"]: row for row in answer.json["requests"]}
    missing = [r["id"] for r in facts.requests if r["id"] not in rows]
    if missing:
        problems.append(f"{len(missing)} requests are not listed: {missing[:5]}")
    right, checked, lines = check_dominant(facts, rows)
    print(f"dominant cause: {right} of {checked} right")
    print("\n".join(lines))
    if right < DOMINANT_FRACTION * checked:
        problems.append(f"the dominant cause is right in {right} of {checked} only")
    problems += check_compare(options, {row["url"] for row in rows.values()})

    def ask(request):
        start = time.monotonic()
        one = truth.ask(options.program, options.bundle, "--request-id", request["id"], "--format", "json", "--quiet")
        return request, one.json, time.monotonic() - start

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        answers = list(pool.map(ask, facts.requests))
    reports = {request["id"]: report for request, report, _ in answers if report}
    single_s = sorted(took for _, _, took in answers)[len(answers) // 2]
    print(f"all {len(rows)} requests in {all_s:.2f} s, one in {single_s:.2f} s: {all_s / single_s:.1f} times")
    for request, report, _ in answers:
        if not report:
            problems.append(f"{request['id']}: no report")
            continue
        problems += [f"{request['id']} {request['kind']}: {p}" for p in check_hops(request, report["hops"])]
        if request["id"] in rows and rows[request["id"]]["duration_ns"] != report["duration_ns"]:
            problems.append(f"{request['id']}: {rows[request['id']]['duration_ns']} ns in the table, "
                            f"{report['duration_ns']} ns alone")
    shared_ns = []
    pairs = find_shared(reports, shared_ns)
    for (first, second, node, tid), both in sorted(pairs.items(), key=lambda item: -item[1])[:20]:
        problems.append(f"{first} and {second} both got {both} ns of {node}:{tid}")
    busy = sum(s["end_ns"] - s["start_ns"] for r in reports.values() for s in r["path"] if s["busy_with"])
    print(f"{len(pairs)} pairs share running time ({sum(shared_ns) / 1e6:.3f} ms); "
          f"{busy / 1e6:.1f} ms busy with other requests")
    print("\n".join(problems[:40]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
