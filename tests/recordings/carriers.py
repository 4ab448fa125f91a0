#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A guest's packets and the thread of its host that carries them, against the host's scheduling, computed here from its
raw events: on the path of every request the carrier waits for a CPU where it did, and runs where it ran; and while a
message is on the wire between the two machines, its carrier hardly waits for a CPU: what it waited for is told.
usage: carriers.py --program FILE --bundle FILE [--carrier COMM]"""
import argparse
import bisect
import json
import subprocess
import sys

import truth

# So much of a wire may be a wait of the carrier for its CPU: it wakes for other packets, too.
HIDDEN = 0.02
WAITING, RUNNING = ("runqueue", "preempted"), ("running-kernel", "running-user")


class Carrier:
    """When a thread waited for a CPU and when it had one; an interrupt on top of it counts as having one."""

    def __init__(self, options):
        self.spans = []  # (begin, end, waits)
        self.tid = None
        since, waits = None, False
        with subprocess.Popen([options.program, "events", "--bundle", options.bundle, "--nodes", "host", "--quiet",
                               "--kind", "sched_switch,sched_waking", "--format", "json"],
                              stdout=subprocess.PIPE, text=True) as reader:
            for line in reader.stdout:
                event = json.loads(line)
                fields, now = event.get("fields"), event.get("node_ns")
                if not fields:
                    continue
                if event["name"] == "sched_waking":
                    if fields["comm"].startswith(options.carrier) and since is None:
                        since, waits, self.tid = now, True, fields["tid"]
                elif fields["prev_comm"].startswith(options.carrier):
                    self.add(since, now, waits)
                    since, waits = (now, True) if fields["prev_state"] in (0, 256) else (None, False)
                elif fields["next_comm"].startswith(options.carrier):
                    self.add(since, now, waits)
                    since, waits = now, False
        self.begins = [span[0] for span in self.spans]

    def add(self, begin, end, waits):
        if begin is not None:
            self.spans.append((begin, end, waits))

    def sum(self, begin, end, waits):
        total = 0
        for at in range(max(bisect.bisect_right(self.begins, begin) - 1, 0), len(self.spans)):
            if self.spans[at][0] >= end:
                break
            if self.spans[at][2] == waits:
                total += max(min(end, self.spans[at][1]) - max(begin, self.spans[at][0]), 0)
        return total


def main():
    parser = argparse.ArgumentParser(description="who carried a guest's packets, and what that one waited for")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--carrier", default="vhost-")
    options = parser.parse_args()
    carrier = Carrier(options)
    listed = truth.ask(options.program, "requests", "--bundle", options.bundle, "--limit", "0", "--format", "json")
    problems, told, links = [], {True: 0, False: 0}, {}
    wire = hidden = 0
    for request in listed.json["requests"]:
        identity = request["id"]
        answer = truth.ask(options.program, "--bundle", options.bundle, "--request-id", identity, "--reference",
                           "host", "--format", "json")
        if answer.json is None:
            problems.append(f"{identity}: exit {answer.code}, {answer.err.strip()[:200]}")
            continue
        for step in answer.json["path"]:
            begin, end = step["start_ns"], step["end_ns"]
            if step["cause"] == "network-wire":
                wire += end - begin
                hidden += carrier.sum(begin, end, True)
            if step["node"] != "host" or not (step["comm"] or "").startswith(options.carrier):
                continue
            links[step["link"]] = links.get(step["link"], 0) + end - begin
            for causes, waits in ((WAITING, True), (RUNNING, False)):
                if step["cause"] not in causes:
                    continue
                told[waits] += end - begin
                # 1 ns for the rounding of each end
                if carrier.sum(begin, end, waits) < end - begin - 2:
                    problems.append(f"{identity}: {options.carrier} {step['cause']} from {begin} to {end}, which it "
                                    f"did for {carrier.sum(begin, end, waits)} ns")
    print(f"  {len(listed.json['requests'])} requests; their carrier waited for a CPU {told[True] / 1e6:.1f} ms and "
          f"ran {told[False] / 1e6:.1f} ms on their paths; " + ", ".join(f"{key} {ns / 1e6:.1f} ms" for key, ns in
                                                                    sorted(links.items()) if ns))
    print(f"  of {wire / 1e6:.1f} ms on the wire it waited for {hidden / 1e6:.3f} ms")
    if not told[True] or not told[False] or "unknown" in links:
        problems.append("no carrier is on any path, or it is not known to be one")
    if hidden > HIDDEN * (wire + told[True]):
        problems.append("what the carrier waited for is called the wire")
    for problem in problems[:20]:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
