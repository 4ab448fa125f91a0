#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that pass through a guest: the head of each that lost its time to the program that took the guest's CPU on
the host names that program; no other's does. The sums of the guest's threads are the same on the path, in states and in
the tree (`check`).
usage: vm_requests.py --program FILE --bundle FILE --truth FILE"""
import argparse
import json
import subprocess
import sys

import truth


def ask_text(options, *arguments):
    done = subprocess.run([options.program, "--bundle", options.bundle, *arguments, "--quiet"], stdout=subprocess.PIPE,
                          check=False, text=True)
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description="requests through a guest whose CPU is taken")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--truth", required=True)
    options = parser.parse_args()
    with open(options.truth, encoding="utf-8") as file:
        known = json.load(file)

    problems, named, met, exact = [], 0, 0, 0
    for request in known["requests"]:
        identity, competitor = request["id"], known["competitor"]
        took_ms = (request["end_mono_ns"] - request["begin_mono_ns"]) / 1e6
        answer = truth.ask(options.program, "--bundle", options.bundle, "--request-id", identity, "--format", "json")
        if answer.json is None or answer.code != 0:
            problems.append(f"{identity}: exit {answer.code}, {answer.err.strip()[:200]}")
            continue
        # the client's stopwatch starts before its connect(), and may lose its CPU in between
        missing_ms = took_ms - answer.json["duration_ns"] / 1e6
        exact += missing_ms < 3
        if missing_ms < -1:
            problems.append(f"{identity}: takes {-missing_ms:.1f} ms longer than the client saw")
        head = ask_text(options, "--request-id", identity).split("Where the time went")[0]
        stolen = sum(s["end_ns"] - s["start_ns"] for s in answer.json["path"]
                     if s["cause"] == "vm-preempted" and competitor in (s["detail"] or "")) / 1e6
        if request["competitor_ms"] == 0 and (stolen or competitor in head):
            problems.append(f"{identity}: {competitor} is named, and did not run")
        if stolen > request["competitor_ms"]:
            problems.append(f"{identity}: {stolen:.1f} ms by {competitor}, which ran {request['competitor_ms']} ms")
        if request["competitor_ms"] > 0.5 * took_ms and stolen > 0.2 * took_ms:
            met += 1
            named += competitor in head
    print(f"  {len(known['requests'])} requests; {met} lost a fifth and more to {known['competitor']}, the head of "
          f"{named} names it")
    if exact < 0.9 * len(known["requests"]):
        problems.append(f"only {exact} requests take what the client saw")
    if met < 4 or named < met:
        problems.append("a head does not name who took the CPU")
    check = truth.ask(options.program, "check", "--bundle", options.bundle, "--format", "json")
    if check.json is None or not check.json["ok"] or "vcpus" not in str(check.json["checks"]):
        problems.append("check: not all right, or it does not compare the sums of virtual CPUs")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
