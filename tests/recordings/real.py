#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Software that nobody here wrote (HAProxy, gunicorn, aiohttp, PostgreSQL, redis), on five nodes whose captures begin
some seconds before their kernel traces: the requests that were answered before are left out and counted, all others are
listed, and none takes longer than its client measured.
usage: real.py --program FILE --bundle DIR [--skipped N]"""
import argparse
import sys

import truth

# The client's marks enclose its calls; between the mark and the first call it may wait for its CPU.
LEAST_SHARE, LEAST_MS = 0.85, 12
MOST_SHARE, MOST_MS = 1.02, 1


def check_row(request, row):
    ms, client_ms = row["duration_ns"] / 1e6, request["client_ms"]
    if not LEAST_SHARE * client_ms - LEAST_MS <= ms <= MOST_SHARE * client_ms + MOST_MS:
        yield f"{row['id']}: {ms:.1f} ms, the client measured {client_ms:.1f} ms"
    if not row["complete"]:
        yield f"{row['id']}: incomplete"


def main():
    parser = argparse.ArgumentParser(description="requests of software that nobody here wrote")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--skipped", type=int, default=13)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    facts = truth.Truth(options.bundle)
    answer = truth.ask(options.program, "requests", options.bundle, "--format", "json", "--quiet")
    if answer.json is None or answer.code != 0:
        print(f"requests: exit {answer.code}: {answer.err.strip()[:200]}")
        return 1
    rows = {row["id"]: row for row in answer.json["requests"]}
    summary = answer.json["summary"]
    known = {request["id"]: request for request in facts.requests}
    print(f"{len(rows)} listed of {len(known)} known; skipped {summary['skipped_reasons']}; "
          f"p99 {summary['p99_ns'] / 1e6:.1f} ms")
    problems = []
    if summary["skipped_reasons"] != {"began_before": options.skipped, "ended_after": 0, "not_traced": 0}:
        problems.append(f"not {options.skipped} requests began before the kernel trace")
    if set(rows) != set(known):
        problems.append(f"missing {sorted(set(known) - set(rows))[:5]}, unknown {sorted(set(rows) - set(known))[:5]}")
    for name in set(rows) & set(known):
        problems += check_row(known[name], rows[name])
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
