#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes, from the text that babeltrace2 prints for a kernel trace, what each thread did: time on each CPU, waits
that ended, time blocked, and the occupancy of each CPU; and compares every sum with what dump_sums says of our history.
It shares no code with the analysis: lines of text here, its own reader there.

The rules are those of docs/wait-graph.md. A thread runs from a switch in to the next switch out; what ran before a
CPU's first switch is not known (but who had the CPU then is). It is blocked from a switch out with a blocked
prev_state, or from a state dump that shows it waiting, to the first waking or wakeup, or else to the switch in; if a
waking came while it still ran and no wakeup since, there was no wait. The trace begins and ends with its first and last
event of any kind.

With --program also what `usage` and `blockings` say: their totals are sums of the same.

usage: independent.py --dump FILE --bundle DIR [--program FILE]"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys

LINE = re.compile(r"^\[(\d+)\.(\d{9})\] (?:.* )?([a-z_0-9]+): \{ cpu_id = (\d+) \}")
# a name may hold anything, also what looks like a field: the last match on the line counts
SWITCH = re.compile(r"prev_tid = (\d+), .*prev_state = (?:\( .* : container = )?(\d+)[ )]*, .*next_tid = (\d+)")
TID = re.compile(r".*[{ ]tid = (\d+)")
CHILD = re.compile(r".*[{ ]child_tid = (\d+)")
STATUS = re.compile(r"[{ ]tid = (\d+), .*[{ ]status = (?:\( .* : container = )?(\d+)")
DUMPED_WAITING, DUMPED_RUNNABLE = 5, 2

UNKNOWN, RUNNING, RUNNABLE, BLOCKED, DEAD = "unknown", "running", "runnable", "blocked", "dead"


class Thread:
    """Where one thread is now, and since when."""
    def __init__(self):
        self.state, self.since, self.cpu, self.is_woken = UNKNOWN, 0, 0, False


class Sums:
    def __init__(self, has_old_states):
        self.has_old_states = has_old_states
        self.sums = collections.Counter()
        self.threads = collections.defaultdict(Thread)
        self.occupants = {}
        self.anomalies = []
        self.has_wakings = False
        self.begin = self.now = None

    def enter(self, key, state, cpu=0):
        thread = self.threads[key]
        span = self.now - thread.since
        tid = key if key >= 0 else 0
        if thread.state == RUNNING:
            self.sums["running", tid, thread.cpu] += span
        elif thread.state == BLOCKED and span > 0:
            self.sums["blocked", tid] += span
            if state != BLOCKED:
                self.sums["waits", tid] += 1
        thread.state, thread.since, thread.cpu = state, self.now, cpu

    def after(self, prev_state):
        """What a thread is after a switch out: the bits of 4.14 and later, or the older ones (sched.h)."""
        if self.has_old_states:
            if prev_state & 0x402 == 0x402 and not prev_state & 0x1800:
                return BLOCKED  # TASK_IDLE: uninterruptible without load
            if prev_state & 0x1e00:
                return RUNNABLE  # TASK_STATE_MAX: preempted
            dead = 16 | 32 | 64
        else:
            if prev_state >= 0x100:
                return RUNNABLE
            dead = 16 | 32
        return RUNNABLE if prev_state == 0 else DEAD if prev_state & dead else BLOCKED

    def switch(self, cpu, prev_tid, prev_state, next_tid):
        # a key of its own for every CPU's idle thread
        prev_key, next_key = prev_tid or -1 - cpu, next_tid or -1 - cpu
        if cpu not in self.occupants:
            self.occupants[cpu] = (prev_tid, self.begin)
        elif self.occupants[cpu][0] != prev_tid:
            self.anomalies.append(f"{self.now}: CPU {cpu} switches from {prev_tid}, "
                                  f"but {self.occupants[cpu][0]} had it")
        occupant, since = self.occupants[cpu]
        self.sums["occupied", cpu, occupant] += self.now - since
        self.occupants[cpu] = (next_tid, self.now)

        state = self.after(prev_state) if prev_tid else RUNNABLE
        if state == BLOCKED and self.threads[prev_key].is_woken:
            state = RUNNABLE
        self.enter(prev_key, state)
        self.threads[prev_key].is_woken = False
        if self.threads[next_key].state == BLOCKED:
            self.sums["wakeups", next_tid] += 1
        self.enter(next_key, RUNNING, cpu)
        self.threads[next_key].is_woken = False

    def wake(self, tid, is_wakeup):
        thread = self.threads[tid]
        self.has_wakings |= not is_wakeup
        if is_wakeup and self.has_wakings and thread.state != BLOCKED:
            thread.is_woken = False  # the second half of a waking that was counted
            return
        if thread.state in (BLOCKED, UNKNOWN, RUNNING):
            self.sums["wakeups", tid] += 1
        if thread.state in (BLOCKED, UNKNOWN):
            self.enter(tid, RUNNABLE)
        elif thread.state == RUNNING:
            thread.is_woken = not is_wakeup

    def add(self, name, cpu, line):
        if name == "sched_switch":
            found = SWITCH.search(line)
            self.switch(cpu, int(found[1]), int(found[2]), int(found[3]))
        elif name in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
            tid = int(TID.match(line)[1])
            if tid:
                self.wake(tid, name != "sched_waking")
        elif name == "sched_process_fork":
            tid = int(CHILD.match(line)[1])
            self.enter(tid, RUNNABLE)
            self.threads[tid].is_woken = False
            self.sums["wakeups", tid] += 1
        elif name == "sched_process_free":
            tid = int(TID.match(line)[1])
            if self.threads[tid].state == DEAD:
                self.enter(tid, UNKNOWN)
        elif name == "lttng_statedump_process_state":
            tid, status = map(int, STATUS.search(line).groups())
            if self.threads[tid].state == UNKNOWN and tid:
                if status == DUMPED_WAITING:
                    self.enter(tid, BLOCKED)
                elif status == DUMPED_RUNNABLE:
                    self.enter(tid, RUNNABLE)

    def finish(self):
        for key, thread in self.threads.items():
            self.enter(key, thread.state)
        for cpu, (tid, since) in self.occupants.items():
            self.sums["occupied", cpu, tid] += self.now - since


def has_old_states(path):
    metadata = subprocess.run(["babeltrace2", "convert", "-o", "ctf-metadata", path], stdout=subprocess.PIPE,
                              check=True).stdout.decode(errors="replace")
    found = re.search(r'kernel_release = "(\d+)\.(\d+)', metadata)
    return bool(found) and (int(found[1]), int(found[2])) < (4, 14)


def compute(path):
    sums = Sums(has_old_states(path))
    with subprocess.Popen(["babeltrace2", "--clock-seconds", "--no-delta", path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace") as reader:
        for line in reader.stdout:
            found = LINE.match(line)
            if not found:
                raise SystemExit(f"{path}: not an event of a kernel trace: {line[:120]!r}")
            sums.now = int(found[1]) * 1000000000 + int(found[2])
            if sums.begin is None:
                sums.begin = sums.now
            sums.add(found[3], int(found[4]), line)
        warnings = reader.stderr.read()
    if reader.returncode or warnings:
        raise SystemExit(f"{path}: babeltrace2 cannot tell everything, so there is nothing to compare with: "
                         f"{warnings[:300]}")
    sums.finish()
    return sums


def read_dump(program, path):
    text = subprocess.run([program, path], stdout=subprocess.PIPE, check=True, text=True).stdout
    sums = {}
    for line in text.splitlines():
        *key, value = line.split()
        sums[tuple([key[0], *map(int, key[1:])])] = int(value)
    return sums


def compare(name, expected, ours):
    """Every sum that differs, by either side's keys; a sum of zero is as good as none."""
    different = 0
    for key in sorted(set(expected) | set(ours), key=str):
        if expected.get(key, 0) != ours.get(key, 0):
            different += 1
            if different <= 20:
                shown = key if isinstance(key, str) else " ".join(map(str, key))
                print(f"{name}: {shown}: {expected.get(key, 0)} from the text, {ours.get(key, 0)} from the history")
    return different


def ask(program, command, bundle):
    """The JSON that a command of the program gives; incomplete is fine here."""
    done = subprocess.run([program, command, "--bundle", bundle, "--format", "json"], stdout=subprocess.PIPE,
                          check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{command} {bundle}: exit {done.returncode}")
    return json.loads(done.stdout)


def collect_reports(program, bundle):
    """By node: what the commands' totals are in terms of the sums above."""
    reports = collections.defaultdict(collections.Counter)
    for node in ask(program, "usage", bundle)["nodes"]:
        reports[node["node"]]["all running"] = sum(
            node[key + "_ns"] for key in ("process", "interrupt", "away", "idle"))
    for row in ask(program, "blockings", bundle)["rows"]:
        reports[row["node"]]["blocked", row["tid"]] += row["total_ns"]
        if row["waker"] is not None:
            reports[row["node"]]["waits", row["tid"]] += row["count"]
    return reports


def summarize(sums):
    """Those of the sums that the commands' reports have."""
    summary = {key: value for key, value in sums.items() if key[0] in ("blocked", "waits")}
    summary["all running"] = sum(value for key, value in sums.items() if key[0] == "running")
    return summary


def find_nodes(bundle):
    if os.path.isfile(os.path.join(bundle, "metadata")):
        yield os.path.basename(bundle.rstrip("/")), bundle
        return
    for name in sorted(os.listdir(bundle)):
        for path in (os.path.join(bundle, name, "kernel"), os.path.join(bundle, name)):
            if os.path.isfile(os.path.join(path, "metadata")):
                yield name, path
                break


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--program")
    options = parser.parse_args()
    if not os.path.isdir(options.bundle):
        print(f"SKIPPED: {options.bundle} is not there")
        return 77
    failed = nodes = 0
    reports = collect_reports(options.program, options.bundle) if options.program else None
    for name, path in find_nodes(options.bundle):
        nodes += 1
        expected = compute(path)
        for anomaly in expected.anomalies[:5]:
            print(f"{name}: the trace contradicts itself: {anomaly}")
        different = compare(name, expected.sums, read_dump(options.dump, path))
        if reports is not None:
            different += compare(f"{name}, reports", summarize(expected.sums), reports[name])
        span = expected.now - expected.begin
        running = sum(value for key, value in expected.sums.items() if key[0] == "running")
        print(f"{name}: {len(expected.sums)} sums over {span} ns, {running} ns running, {different} differ")
        failed += different + len(expected.anomalies)
    if not nodes:
        print(f"no kernel trace in {options.bundle}")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
