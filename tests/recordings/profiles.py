#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""`top`, `states`, `events` and `check` on a recording: sums at every level to the nanosecond, whole and over spans;
the list of events against `stats`; and, with --text, the counts of every thread (system calls, page faults, wakeups,
switches) and each node's events against the text that babeltrace2 prints, read by this program alone.
usage: profiles.py --program FILE --bundle DIR [--text]"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys

import truth

BASIC = ("user system irq softirq guest runqueue preempted vm_preempted vm_exit disk page_fault network timer lock ipc "
         "child fork_exec device stopped wait exited idle unknown").split()
COUNTS = ("calls", "faults", "woken", "switches")
LINE = re.compile(r"^\[(\d+)\.(\d{9})\] (?:.* )?([a-z_0-9]+): \{ cpu_id = (\d+) \}")
NEXT, CHILD, TID = (re.compile(r".*[{ ]" + name + r" = (\d+)") for name in ("next_tid", "child_tid", "tid"))


def ask_json(options, *arguments):
    answer = truth.ask(options.program, *arguments, "--bundle", options.bundle, "--format", "json")
    if answer.json is None:
        raise SystemExit(f"{' '.join(arguments)}: exit {answer.code}, no JSON: {answer.err.strip()[:300]}")
    if answer.code != (0 if answer.json["complete"] else 3):
        raise SystemExit(f"{' '.join(arguments)}: exit {answer.code} with complete {answer.json['complete']}")
    return answer.json


def check_top(top, name):
    for row in top["rows"]:
        if sum(row[column + "_ns"] for column in BASIC) != row["life_ns"]:
            yield f"{name}: {row['node']} {row['process']}: columns do not sum to the life"
        if min(value for value in row.values() if isinstance(value, int)) < 0:
            yield f"{name}: {row['node']} {row['process']}: less than nothing"
    for node in top["nodes"]:
        for cpu in node["cpus"]:
            if sum(value for key, value in cpu.items() if key not in ("cpu", "span_ns")) != cpu["span_ns"]:
                yield f"{name}: {node['node']}: cpu {cpu['cpu']} does not sum to its span"
        # what the threads ran is what the CPUs were taken for, but for interrupts that hit the idle thread
        rows = [row for row in top["rows"] if row["node"] == node["node"]]
        for key in ("user_ns", "system_ns"):
            if sum(row[key] for row in rows) != sum(cpu[key] for cpu in node["cpus"]):
                yield f"{name}: {node['node']}: {key} of threads and CPUs differ"


def check_tree(entry, name):
    children = entry["children"]
    if children:
        for key in ("count", "total_ns"):
            if sum(child[key] for child in children) != entry[key]:
                yield f"{name}: children of {entry['name']} do not sum to its {key}"
        shortest, longest = min(c["min_ns"] for c in children), max(c["max_ns"] for c in children)
        if shortest != entry["min_ns"] or longest != entry["max_ns"]:
            yield f"{name}: extremes of {entry['name']} are not its children's"
    for child in children:
        yield from check_tree(child, name)


def check_states(states, top, name):
    life = collections.Counter()
    for row in top["rows"]:
        life[row["node"]] += row["life_ns"]
    for scope in states["scopes"]:
        if scope["total_ns"] != sum(entry["total_ns"] for entry in scope["tree"]):
            yield f"{name}: classes of {scope['node']} do not sum to the whole"
        if scope["total_ns"] != life[scope["node"]]:
            yield f"{name}: {scope['node']}: states and top know different lives"
        for entry in scope["tree"]:
            yield from check_tree(entry, name)


def list_events(options):
    run = subprocess.run([options.program, "events", options.bundle, "--format", "json"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=False)
    lines = run.stdout.decode().splitlines()
    if run.returncode not in (0, 3) or len(lines) < 2:
        raise SystemExit(f"events: exit {run.returncode}: {run.stderr.decode()[:300]}")
    return json.loads(lines[0]), [json.loads(line) for line in lines[1:-1]], json.loads(lines[-1])


def check_events(options, head, events, tail):
    if head["schema"] != "dtrace-chain/events/1" or tail["events"] != len(events):
        yield f"events: {len(events)} lines, {tail['events']} by the tail"
    if any(a["cluster_ns"] > b["cluster_ns"] for a, b in zip(events, events[1:])):
        yield "events: not in the order of cluster time"
    stats = ask_json(options, "stats")
    for node in stats["nodes"]:
        names = collections.Counter(e["name"] for e in events if e["node"] == node["node"] and e["name"][0] != "(")
        if names != collections.Counter(node["kinds"]):
            yield f"events: {node['node']}: kinds differ from stats"


def read_text(path):
    """Events (time, name, cpu), and counts by tid."""
    counts, current, events = collections.defaultdict(collections.Counter), {}, []
    reader = subprocess.Popen(["babeltrace2", "--clock-seconds", "--no-delta", "--names=payload,context", path],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    for line in reader.stdout:
        match = LINE.match(line)
        if not match:
            continue
        name, cpu = match[3], int(match[4])
        events.append((int(match[1] + match[2]), name, cpu))
        tid = current.get(cpu)
        if name == "sched_switch":
            current[cpu] = int(NEXT.match(line)[1])
            counts[current[cpu]]["switches"] += 1
        elif name == "sched_waking":
            counts[int(TID.match(line)[1])]["woken"] += 1
        elif name == "sched_process_fork":
            counts[int(CHILD.match(line)[1])]["woken"] += 1
        elif name.startswith("syscall_entry_") and tid is not None:
            counts[tid]["calls"] += 1
        elif "page_fault_" in name and tid is not None:
            counts[tid]["faults"] += 1
    if reader.wait() != 0 or not events:
        raise SystemExit(f"babeltrace2 gave up on {path}")
    return events, counts


def check_text(options, top, events):
    for metadata in sorted(glob.glob(os.path.join(options.bundle, "*", "kernel", "metadata"))):
        path = os.path.dirname(metadata)
        node = os.path.basename(os.path.dirname(path))
        text, counts = read_text(path)
        ours = [(e["node_ns"], e["name"], e["cpu"]) for e in events if e["node"] == node]
        if sorted(ours) != sorted(text):
            yield f"{node}: {len(ours)} events, {len(text)} in babeltrace2's text, or other times"
        mine = collections.defaultdict(collections.Counter)
        for row in top["rows"]:
            if row["node"] == node:
                mine[row["tid"]].update({key: row[key] for key in COUNTS})
        for tid in sorted((set(counts) | set(mine)) - {0}):
            for key in COUNTS:
                if mine[tid][key] != counts[tid][key]:
                    yield f"{node}: tid {tid} has {mine[tid][key]} {key}, {counts[tid][key]} in the text"


def check_all(options):
    checks = ask_json(options, "check")
    for check in checks["checks"]:
        if not check["ok"]:
            yield f"check: {check['check']} of {check['node']}: {check['detail']}"
    spans = ([], ["--from", "+1s", "--to", "+2s"], ["--from", "+1.234567891s", "--to", "+1234568us"])
    for span in spans:
        name = " ".join(span) or "whole"
        top = ask_json(options, "top", "--threads", *span)
        yield from check_top(top, "top " + name)
        yield from check_top(ask_json(options, "top", *span), "top " + name)
        yield from check_states(ask_json(options, "states", *span), top, "states " + name)
    top = ask_json(options, "top", "--threads")
    head, events, tail = list_events(options)
    yield from check_events(options, head, events, tail)
    if options.text:
        yield from check_text(options, top, events)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--text", action="store_true")
    options = parser.parse_args()
    if not os.path.isdir(options.bundle):
        print(f"skipped: no recording at {options.bundle}")
        return 77
    problems = list(check_all(options))
    for problem in problems[:40]:
        print(problem)
    print(f"{os.path.basename(options.bundle)}: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
