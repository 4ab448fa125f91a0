#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""`vms` on a guest and its host, against the host's events as babeltrace2 prints them: how long the vCPU's thread
waited for its CPU and who had it, how often it left the guest and why; the same from the host's trace alone; and what
is inferred from the guest's trace alone must be time in which the vCPU was out of the guest, or stayed in it for longer
than its host's own timer lets it: then the host did not run either.
usage: machines.py --program FILE --bundle DIR [--competitor NAME]"""
import argparse
import bisect
import collections
import re
import subprocess
import sys

import truth
import vm

EVENT = re.compile(r"^\[(\d+)\.(\d{9})\] \S+ (kvm_x86_entry|kvm_x86_exit): \{ cpu_id = (\d+) \}, \{ (.*) \}$")
REASON = re.compile(r"exit_reason = (\d+)")
TICK_NS = 4_000_000  # of the host
AWAY_AT_LEAST = 0.9  # of what is inferred


def read_stays(bundle):
    """(entry, exit, reason) of the only vCPU."""
    stays, entry = [], None
    with subprocess.Popen(["babeltrace2", "--no-delta", "--clock-seconds", f"{bundle}/host/kernel"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as reader:
        for line in reader.stdout:
            found = EVENT.match(line)
            if not found:
                continue
            now = int(found[1]) * 10**9 + int(found[2])
            if found[3] == "kvm_x86_entry":
                entry = now
            elif entry is not None:
                stays.append((entry, now, int(REASON.search(found[5])[1])))
                entry = None
    return stays


def ask(options, *arguments):
    answer = truth.ask(options.program, "vms", "--bundle", options.bundle, *arguments, "--format", "json")
    if answer.json is None:
        raise SystemExit(f"vms {arguments}: exit {answer.code}, no JSON: {answer.err.strip()[:300]}")
    return answer.json


def check_host(options, vcpu, stays, host):
    begin, end = vcpu["start_ns"], vcpu["start_ns"] + vcpu["span_ns"]
    parts = sum(vcpu[key + "_ns"] for key in ("running", "stolen", "handled", "blocked", "halted", "unknown"))
    if parts != vcpu["span_ns"]:
        yield f"the parts sum to {parts} ns, not {vcpu['span_ns']}"
    total, by_competitor, _ = host.sum(begin, end)
    named = sum(t["ns"] for t in vcpu["stolen_by"] if t["comm"] == options.competitor)
    print(f"  stolen {vcpu['stolen_ns'] / 1e6:.3f} ms, its thread waited {total / 1e6:.3f} ms; by {options.competitor} "
          f"{named / 1e6:.3f} ms, it had the CPU {by_competitor / 1e6:.3f} ms")
    if abs(vcpu["stolen_ns"] - total) > 0.001 * total:
        yield "what was stolen is not what its thread waited for its CPU"
    # its thread took some of it before it had the name
    if abs(named - by_competitor) > 0.02 * by_competitor:
        yield f"what {options.competitor} took is not what it ran meanwhile"
    in_guest = sum(max(min(b, end) - max(a, begin), 0) for a, b, _ in stays)
    # SVM logs kvm_exit after it has served the host's interrupts, which are no time in the guest
    if not 0.9 * in_guest <= vcpu["running_ns"] <= in_guest:
        yield f"{vcpu['running_ns']} ns in the guest, {in_guest} ns from entries to exits"
    counts = collections.Counter(reason for _, left, reason in stays if begin <= left < end)
    told = {e["code"]: e["count"] for e in vcpu["exits"]}
    for reason, count in counts.items():
        if abs(told.get(reason, 0) - count) > 1:
            yield f"exit {reason}: {told.get(reason, 0)} times, not {count}"


def check_inferred(options, known, stays):
    cpus = ask(options, "--nodes", "guest")["inferred"]
    late = away = 0
    ends = [stay[1] for stay in stays]
    for silence in cpus[0]["silences"]:
        begin, end = (known.convert("guest", "host", silence[key]) for key in ("due_ns", "end_ns"))
        late += end - begin
        away += end - begin
        i = bisect.bisect_left(ends, begin)
        while i < len(stays) and stays[i][0] < end:
            if stays[i][1] - stays[i][0] < TICK_NS:
                away -= max(min(end, stays[i][1]) - max(begin, stays[i][0]), 0)
            i += 1
    cpu = cpus[0]
    print(f"  from the guest alone: away for at least {(cpu['user_ns'] + cpu['kernel_ns']) / 1e6:.1f} ms in "
          f"{len(cpu['silences'])} silences; {100 * away / max(late, 1):.1f} % of it was")
    if not cpu["silences"] or away < AWAY_AT_LEAST * late:
        yield "too much of what is inferred was not so"


def main():
    parser = argparse.ArgumentParser(description="virtual CPUs against their host's events")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--competitor", default="host-hog")
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    known = truth.Truth(options.bundle)
    vm.COMPETITOR = options.competitor

    both = ask(options, "--reference", "host")
    alone = ask(options, "--nodes", "host")
    problems = []
    if len(both["vcpus"]) != 1 or both["vcpus"][0]["guest"] != "guest" or not both["vcpus"][0]["verified"]:
        problems.append("the guest's CPU is not found")
    else:
        vcpu = both["vcpus"][0]
        stays = read_stays(options.bundle)
        problems += check_host(options, vcpu, stays, vm.Host(options.bundle, vcpu["tid"]))
        for key in ("running_ns", "stolen_ns", "handled_ns", "halted_ns", "exits", "stolen_by"):
            if alone["vcpus"][0][key] != vcpu[key]:
                problems.append(f"the host alone tells another {key}")
        problems += check_inferred(options, known, stays)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
