# SPDX-License-Identifier: GPL-3.0-or-later
"""What every JSON report must keep to (docs/formats.md), whatever the request: the names, and the sums."""

SCHEMA = "dtrace-chain/report/1"
CAUSES = {"child", "cpu-limit", "device", "disk", "fork-exec", "ipc", "irq", "lock", "network-receive", "network-send",
          "network-wire", "page-fault", "preempted", "retransmission", "running-guest", "running-kernel",
          "running-user", "runqueue", "softirq", "stopped", "timer", "unknown", "vm-exit", "vm-preempted"}
KEYS = {
    "report": {"schema", "request", "target", "start_ns", "end_ns", "duration_ns", "breakdown", "path", "causality",
               "dominant", "findings", "complete"},
    "target": {"node", "pid", "tid", "comm"},
    "breakdown": {"tier", "node", "process", "cause", "detail", "ns"},
    "path": {"node", "pid", "tid", "comm", "process", "start_ns", "end_ns", "cause", "detail", "link",
             "uncertainty_ns"},
    "dominant": {"tier", "node", "process", "cause", "ns"},
    "finding": {"severity", "node", "text"},
}


def missing_keys(what, value):
    if not isinstance(value, dict):
        yield f"{what} is not an object"
        return
    missing = KEYS[what] - set(value)
    if missing:
        yield f"{what} lacks {', '.join(sorted(missing))}"


def sum_by(rows, key):
    sums = {}
    for row in rows:
        sums[key(row)] = sums.get(key(row), 0) + row["ns"]
    return sums


def check_keys(report):
    yield from missing_keys("report", report)
    yield from missing_keys("target", report.get("target"))
    yield from missing_keys("dominant", report.get("dominant"))
    for what, rows in (("breakdown", "breakdown"), ("path", "path"), ("finding", "findings")):
        for row in report.get(rows) or []:
            yield from missing_keys(what, row)
    if report.get("schema") != SCHEMA:
        yield f"schema is {report.get('schema')!r}"


def check_path(report):
    path = report["path"]
    if not path:
        yield "the path is empty"
        return
    at = report["start_ns"]
    for number, segment in enumerate(path):
        where = f"segment {number} ({segment['comm']} on {segment['node']}, {segment['cause']})"
        uncertainty = segment["uncertainty_ns"]
        if type(segment["start_ns"]) is not int or type(segment["end_ns"]) is not int:
            yield f"{where}: times are not integers"
            return
        if uncertainty is not None and (type(uncertainty) is not int or uncertainty < 0):
            yield f"{where}: uncertainty_ns is {uncertainty!r}"
        if segment["start_ns"] != at:
            yield f"{where}: begins {segment['start_ns'] - at} ns after the one before it ended"
        if segment["end_ns"] < segment["start_ns"]:
            yield f"{where}: runs backward by {segment['start_ns'] - segment['end_ns']} ns"
        if segment["cause"] not in CAUSES:
            yield f"{where}: unknown cause"
        if segment["link"] not in ("exact", "inferred", "unknown"):
            yield f"{where}: link is {segment['link']!r}"
        at = segment["end_ns"]
    if at != report["end_ns"]:
        yield f"the path ends {report['end_ns'] - at} ns before the request"


def check_sums(report):
    duration = report["duration_ns"]
    if duration != report["end_ns"] - report["start_ns"]:
        yield "duration_ns is not end_ns - start_ns"
    total = sum(row["ns"] for row in report["breakdown"])
    if total != duration:
        yield f"the breakdown sums to {total}, the duration is {duration}"
    rows = [dict(segment, ns=segment["end_ns"] - segment["start_ns"]) for segment in report["path"]]
    from_path = sum_by(rows, lambda row: (row["node"], row["process"], row["cause"]))
    from_breakdown = sum_by(report["breakdown"], lambda row: (row["node"], row["process"], row["cause"]))
    for key in sorted(set(from_path) | set(from_breakdown), key=str):
        if from_path.get(key, 0) != from_breakdown.get(key, 0):
            yield f"{key}: {from_path.get(key, 0)} ns of path but {from_breakdown.get(key, 0)} ns of breakdown"
    by_tier = sum_by(report["breakdown"], lambda row: (row["tier"], row["cause"]))
    dominant = report["dominant"]
    if by_tier and by_tier.get((dominant["tier"], dominant["cause"])) != max(by_tier.values()):
        yield f"dominant is {dominant['tier']} {dominant['cause']}, which is not the largest sum"
    if by_tier and dominant["ns"] != max(by_tier.values()):
        yield f"dominant.ns is {dominant['ns']}, the largest sum is {max(by_tier.values())}"


def check(report):
    """All that is wrong with a report, as sentences."""
    problems = list(check_keys(report))
    if not problems:
        problems += list(check_path(report))
        problems += list(check_sums(report))
    return problems
