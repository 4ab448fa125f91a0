#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel traces that begin later and end earlier than the captures do, cut by babeltrace2: a request that lies inside
has the duration that it has by the whole traces, one that does not is left out and counted, and nothing gets a duration
that it never had. Asked for by its id, a request is answered for the part inside, or is an error.
usage: outside.py --program FILE --bundle DIR"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import report_contract
import truth

NODES = ("client", "web", "backend")
CLIENT = NODES[0]
SAME_NS = 100_000  # clocks are fitted to fewer messages
# Of a read that was under way at the cut only the arrival of its bytes is known.
KEPT_NS = 5_000_000
MANY = 10  # requests on each side of each cut, at least


def to_seconds(ns):
    return "%d.%09d" % divmod(ns, 10**9)


def cut(source, target, node, begin_ns, end_ns):
    """The node's trace between two of its times, and its whole capture."""
    scratch = os.path.join(target, "scratch")
    subprocess.run(["babeltrace2", "convert", os.path.join(source, node, "kernel"), "--output-format", "ctf",
                    "--output", scratch, "--begin", to_seconds(begin_ns), "--end", to_seconds(end_ns)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    traces = [folder for folder, _, files in os.walk(scratch) if "metadata" in files]
    os.mkdir(os.path.join(target, node))
    os.rename(traces[0], os.path.join(target, node, "kernel"))
    shutil.rmtree(scratch)
    os.symlink(os.path.abspath(os.path.join(source, node + ".pcap")), os.path.join(target, node + ".pcap"))


def ask_all(options, bundle, *more):
    """The document of `requests`, on the clock of the client's trace."""
    answer = truth.ask(options.program, "requests", bundle, "--reference", CLIENT, "--format", "json", "--quiet", *more)
    if answer.json is None:
        sys.exit(f"requests {bundle}: exit {answer.code}: {answer.err.strip()[:200]}")
    return answer.json


def find_cut(rows, part):
    """The middle of the request that has this part of all before it."""
    row = rows[int(len(rows) * part)]
    return row["start_ns"] + row["duration_ns"] // 2


def check_list(whole, document, begin_ns, end_ns):
    rows = whole["requests"]
    listed = {row["id"]: row for row in document["requests"]}
    before = {row["id"] for row in rows if row["start_ns"] < begin_ns}
    after = {row["id"] for row in rows if row["start_ns"] + row["duration_ns"] > end_ns} - before
    inside = {row["id"] for row in rows} - before - after
    print(f"{len(inside)} inside, {len(before)} before, {len(after)} after; listed {len(listed)}, "
          f"skipped {document['summary']['skipped_reasons']}")
    if min(len(inside), len(before), len(after)) < MANY:
        yield "the cuts leave too few requests on a side: this shows nothing"
    if inside - set(listed):
        yield f"inside, but left out: {sorted(inside - set(listed))[:5]}"
    if set(listed) - inside:
        yield f"not inside, but listed: {sorted(set(listed) - inside)[:5]}"
    # some, without an id, are not wholly inside of the whole traces either
    reasons = dict(whole["summary"]["skipped_reasons"])
    reasons["began_before"] += len(before)
    reasons["ended_after"] += len(after)
    if document["summary"]["skipped_reasons"] != reasons:
        yield f"the reasons are not {reasons}"
    if document["summary"]["skipped"] != sum(reasons.values()):
        yield f"skipped is {document['summary']['skipped']}"
    if document["summary"]["count"] != len(listed):
        yield f"the figures are of {document['summary']['count']} requests"
    for row in rows:
        got = listed.get(row["id"])
        if got and abs(got["duration_ns"] - row["duration_ns"]) > SAME_NS:
            yield f"{row['id']}: {got['duration_ns']} ns, by the whole traces {row['duration_ns']} ns"


def check_partly(options, bundle, row, outside, begin_ns, end_ns):
    """A request of which one end was cut off: that end is where the trace's is, and all of the answer says so."""
    answer = truth.ask(options.program, bundle, "--request-id", row["id"], "--reference", CLIENT, "--format", "json",
                       "--quiet")
    if answer.json is None or answer.code != 3:
        yield f"{row['id']}: exit {answer.code}: {answer.err.strip()[:200]}"
        return
    report = answer.json
    yield from (f"{row['id']}: {problem}" for problem in report_contract.check(report))
    if report["complete"] or report["request"]["outside"] != outside:
        yield f"{row['id']}: complete {report['complete']}, outside {report['request']['outside']}"
    if report["start_ns"] < begin_ns or report["end_ns"] > end_ns:
        yield f"{row['id']}: the span is not inside of the trace"
    kept_ns, cut_ns = ("end_ns", "start_ns") if outside == "begin" else ("start_ns", "end_ns")
    whole = {"start_ns": row["start_ns"], "end_ns": row["start_ns"] + row["duration_ns"]}
    if abs(report[kept_ns] - whole[kept_ns]) > KEPT_NS or report["duration_ns"] > row["duration_ns"] * 0.9:
        yield f"{row['id']}: {cut_ns} {report[cut_ns]}, {kept_ns} {report[kept_ns]}, by the whole traces {whole}"
    text = truth.ask(options.program, bundle, "--request-id", row["id"], "--quiet")
    head = text.out.decode().split("\n\n")[0]
    if ("began before the recording" if outside == "begin" else "runs beyond the end of the recording") not in head:
        yield f"{row['id']}: the head does not say it: {head}"


def check_nowhere(options, bundle, row, how):
    answer = truth.ask(options.program, bundle, "--request-id", row["id"], "--quiet")
    if answer.code != 1 or answer.out or how not in answer.err or "hint: " not in answer.err:
        yield f"{row['id']}: exit {answer.code}: {answer.err.strip()[:200]}"


def main():
    parser = argparse.ArgumentParser(description="requests outside of the kernel traces")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    facts = truth.Truth(options.bundle)
    whole = ask_all(options, options.bundle, "--sort", "start")
    rows = whole["requests"]
    begin_ns, end_ns = find_cut(rows, 0.2), find_cut(rows, 0.8)
    partly = {"begin": rows[int(len(rows) * 0.2)], "end": rows[int(len(rows) * 0.8)]}
    problems = []
    with tempfile.TemporaryDirectory(prefix="dtc-outside-") as bundle:
        for node in NODES:
            cut(options.bundle, bundle, node, *(facts.convert(CLIENT, node, ns) for ns in (begin_ns, end_ns)))
        problems += check_list(whole, ask_all(options, bundle), begin_ns, end_ns)
        for outside, row in partly.items():
            problems += check_partly(options, bundle, row, outside, begin_ns, end_ns)
        problems += check_nowhere(options, bundle, rows[0], "it was answered before it")
        problems += check_nowhere(options, bundle, rows[-1], "it was sent after it")
        compared = truth.ask(options.program, "compare", bundle, "--quiet").out.decode()
        if "began before the kernel trace of their node and are left out" not in " ".join(compared.split()):
            problems.append("compare does not say what it leaves out")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
