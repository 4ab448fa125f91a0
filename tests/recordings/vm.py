#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A guest and the host it runs on: every unit of a job in the guest is explained, and what its path says about the host
is compared with the host's own scheduling, computed here from the text that babeltrace2 prints. In each unit the time
in which the vCPU's thread was runnable and another had its CPU must be `vm-preempted`, the competitor's share of it by
the competitor; outside of the competitor's windows there is hardly any of it.
usage: vm.py --program FILE --bundle DIR"""
import argparse
import re
import statistics
import subprocess
import sys

import truth

LINE = re.compile(r"^\[(\d+)\.(\d{9})\] \S+ (sched_switch|sched_waking): \{ cpu_id = (\d+) \}, \{ (.*) \}$")
SWITCH = re.compile(r'prev_comm = "([^"]*)", prev_tid = (\d+),.*prev_state = (\d+), next_comm = "([^"]*)", '
                    r"next_tid = (\d+)")
WAKING = re.compile(r"tid = (\d+),")
COMPETITOR = "host-hog"
# A boundary between guest and host is as sharp as their clocks: so much per time the vCPU lost or got its CPU.
BOUNDARY_NS = 60_000


class Host:
    """When the vCPU's thread waited for its CPU, and who had it: from the host's sched_switch and sched_waking."""

    def __init__(self, bundle, tid):
        self.waits = []  # (begin, end, [(begin, end, comm)]): runnable, and not on its CPU
        since, cpu, running, on, spans = None, None, {}, {}, []
        with subprocess.Popen(["babeltrace2", "--no-delta", "--clock-seconds", f"{bundle}/host/kernel"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as reader:
            for line in reader.stdout:
                found = LINE.match(line)
                if not found:
                    continue
                now, where = int(found[1]) * 10**9 + int(found[2]), int(found[4])
                if found[3] == "sched_waking":
                    if since is None and cpu is not None and int(WAKING.search(found[5])[1]) == tid \
                            and tid not in running.values():
                        since = now
                        spans = []
                        on[cpu] = now
                    continue
                switch = SWITCH.search(found[5])
                if since is not None and where == cpu:
                    spans.append((max(on.get(where, since), since), now, switch[1]))
                on[where] = now
                running[where] = int(switch[5])
                if int(switch[2]) == tid:
                    cpu = where
                    if int(switch[3]) in (0, 256):
                        since, spans = now, []
                if int(switch[5]) == tid:
                    if since is not None:
                        self.waits.append((since, now, spans))
                    cpu, since = where, None

    def sum(self, begin, end):
        """(all waiting, waiting while the competitor had the CPU, number of waits) within a span."""
        total = hog = count = 0
        for since, until, spans in self.waits:
            overlap = min(until, end) - max(since, begin)
            if overlap <= 0:
                continue
            total += overlap
            count += 1
            hog += sum(max(min(b, end) - max(a, begin), 0) for a, b, comm in spans if comm == COMPETITOR)
        return total, hog, count


def explain(options, tid, begin, end):
    answer = truth.ask(options.program, "--bundle", options.bundle, "--thread", f"guest:{tid}", "--from", str(begin),
                       "--to", str(end), "--reference", "guest", "--format", "json")
    if answer.json is None:
        print(f"exit {answer.code}, no JSON: {answer.err.strip()[:500]}")
        sys.exit(1)
    return answer.json


def measure(path, begin, end):
    """(vm-preempted, by the competitor, vm-exit, waits of the guest's thread, number of vm-preempted segments)"""
    preempted = hog = exits = own_waits = count = 0
    for segment in path:
        ns = min(segment["end_ns"], end) - max(segment["start_ns"], begin)
        if ns <= 0:
            continue
        if segment["cause"] == "vm-preempted":
            preempted += ns
            count += 1
            hog += ns if COMPETITOR in segment["detail"] else 0
        elif segment["cause"] == "vm-exit":
            exits += ns
        elif segment["cause"] not in ("running-user", "running-kernel", "irq", "softirq", "preempted", "runqueue"):
            own_waits += ns
    return preempted, hog, exits, own_waits, count


def sum_causes(path, tid):
    sums = {}
    for segment in path:
        if segment["node"] == "guest" and segment["tid"] == tid:
            sums[segment["cause"]] = sums.get(segment["cause"], 0) + segment["end_ns"] - segment["start_ns"]
    return sums


def compare(options, row, tid):
    """The job's thread: what `top`, `states`, `blockings` and the path say of the same time, to the nanosecond."""
    target = ("--bundle", options.bundle, "--thread", f"guest:{tid}", "--reference", "guest", "--format", "json")
    path = sum_causes(truth.ask(options.program, *target).json["path"], tid)
    path["blocked"] = sum(path.get(cause, 0) for cause in ("device", "disk", "timer", "ipc", "lock", "page-fault"))
    states = {}
    for parent in truth.ask(options.program, "states", *target).json["scopes"][0]["tree"]:
        states[parent["name"]] = parent["total_ns"]
        for child in parent["children"]:
            states[child["name"]] = child["total_ns"]
    waits = truth.ask(options.program, "blockings", *target).json["rows"]
    whole, away = (sum(wait[key] for wait in waits) for key in ("total_ns", "away_ns"))
    problems = []
    for cause, state, column in (("running-user", "user", "user_ns"), ("running-kernel", "working", "system_ns"),
                                 ("irq", "irq", "irq_ns"), ("softirq", "softirq", "softirq_ns"),
                                 ("runqueue", "runqueue", "runqueue_ns"), ("preempted", "preempted", "preempted_ns"),
                                 ("vm-preempted", "vm-preempted", "vm_preempted_ns"),
                                 ("vm-exit", "vm-exit", "vm_exit_ns"), ("blocked", "blocked", "blocked_ns")):
        values = [path.get(cause, 0), states.get(state, 0), row[column]]
        if state == "working":
            values[1] -= states.get("user", 0)
        if len(set(values)) > 1:
            problems.append(f"{column}: the path has {values[0]} ns, states {values[1]} ns, top {values[2]} ns")
    if whole - away != row["blocked_ns"]:
        problems.append(f"blockings: {whole} ns, away {away} ns of it, but top has {row['blocked_ns']} ns")
    print(f"tid {tid}: stolen {row['vm_preempted_ns']} ns and blocked {row['blocked_ns']} ns in path, states and top; "
          f"away {away} ns of {whole} ns of its waits")
    return problems


def main():
    parser = argparse.ArgumentParser(description="a guest's time against its host's scheduling")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    known = truth.Truth(options.bundle)

    vcpu = next(int(text.split()[0]) for text in known.data["qemu_threads"] if "CPU 0/KVM" in text)
    host = Host(options.bundle, vcpu)
    rows = truth.ask(options.program, "top", "--bundle", options.bundle, "--format", "json").json["rows"]
    job = next(row for row in rows if row["node"] == "guest" and row["process"] == "guest-job")
    tid = job["pid"]
    stats = truth.ask(options.program, "stats", "--bundle", options.bundle, "--format", "json").json
    last = next(node["end_ns"] for node in stats["nodes"] if node["node"] == "guest")

    units = []
    for unit in known.data["guest_job_units"]:
        begin, end = (known.to_trace_ns("guest", unit[key]) for key in ("begin_mono_ns", "end_mono_ns"))
        if end <= last:
            units.append((unit, begin, end))
    # one answer for all of them, and some asked for alone: the longest, the shortest, and every tenth
    whole = explain(options, tid, units[0][1], units[-1][2])["path"]
    by_length = sorted(units, key=lambda u: u[2] - u[1])
    asked = {u[0]["n"] for u in (by_length[0], by_length[-1], *units[::10])}

    alone, outside, inside, with_hog, without = [], [], [], [], []
    problems = compare(options, job, tid)
    worst = 0
    sums = [0] * 5
    for unit, begin, end in units:
        path = explain(options, tid, begin, end)["path"] if unit["n"] in asked else whole
        preempted, hog, _, waited, count = measure(path, begin, end)
        if unit["n"] in asked and sum(s["end_ns"] - s["start_ns"] for s in path) != end - begin:
            problems.append(f"unit {unit['n']}: the path's sum is not the span")
        total, by_hog, _ = host.sum(known.convert("guest", "host", begin), known.convert("guest", "host", end))
        allowed = BOUNDARY_NS * (count + 1) + waited
        if abs(preempted - total) > allowed:
            problems.append(f"unit {unit['n']}: vm-preempted {preempted / 1e6:.3f} ms, but the vCPU waited "
                            f"{total / 1e6:.3f} ms for its CPU (allowed {allowed / 1e6:.3f} ms)")
        # a wait is named by whoever had the CPU longest in it, so that shares of one wait may differ
        if abs(hog - by_hog) > allowed + 0.1 * by_hog:
            problems.append(f"unit {unit['n']}: {hog / 1e6:.3f} ms by {COMPETITOR}, but it had the vCPU's CPU for "
                            f"{by_hog / 1e6:.3f} ms of its waits")
        wall = end - begin
        if unit["hog_overlap_ms"] * 1e6 > 0.9 * wall:  # a slow one: what took it, and who, to a tenth
            worst = max(worst, abs(preempted - total) / total, abs(hog - by_hog) / by_hog)
        if unit["hog_overlap_ms"] == 0:
            alone.append(wall)
            outside.append(hog)
            without.append(preempted / wall)
        elif unit["hog_overlap_ms"] * 1e6 > 0.9 * wall:
            inside.append(hog / wall)
            with_hog.append(wall)
        sums = [a + b for a, b in zip(sums, (wall, preempted, total, hog, by_hog))]

    print("units %d, %.3f s: vm-preempted %.3f s, the vCPU waited %.3f s; by %s %.3f s, it ran meanwhile %.3f s"
          % (len(units), sums[0] / 1e9, sums[1] / 1e9, sums[2] / 1e9, COMPETITOR,
             sums[3] / 1e9, sums[4] / 1e9))
    print(f"  {len(alone)} units alone: median {statistics.median(alone) / 1e6:.0f} ms, by {COMPETITOR} "
          f"{sum(outside) / 1e6:.3f} ms in all of them, vm-preempted {100 * statistics.median(without):.1f} %")
    print(f"  {len(inside)} units within a window: median {statistics.median(with_hog) / 1e6:.0f} ms, "
          f"{100 * statistics.median(inside):.1f} % of it by {COMPETITOR} (at least {100 * min(inside):.1f} %)")
    print(f"  of each of these, what was taken from it, and by {COMPETITOR}, differ from the truth by at most "
          f"{100 * worst:.1f} %")
    if worst > 0.1:
        problems.append("of a slow unit more than a tenth of what was taken from it is not explained")
    # its process starts before the window begins, and ends after it
    if statistics.median(outside) > 0 or sum(outside) > 0.01 * sum(alone):
        problems.append(f"{sum(outside)} ns by {COMPETITOR} in units that did not meet it")
    if statistics.median(inside) < 0.3:
        problems.append("units within a window lose less than 30 % of their time to the competitor")
    if abs(sums[1] - sums[2]) > 0.01 * sums[2] or abs(sums[3] - sums[4]) > 0.05 * sums[4]:
        problems.append("the sums over all units differ by more than 1 % (vm-preempted) or 5 % (by the competitor)")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
