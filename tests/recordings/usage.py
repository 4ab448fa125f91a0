#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""`usage` on a recording: no CPU time is lost or counted twice, whatever the step; what clients are charged is what
servers worked for them; and where the truth is known, the servers' messages and CPU time are those of the requests.
`blockings`: rows and trees agree. The same question gives the same bytes.
usage: usage.py --program FILE --bundle DIR"""
import argparse
import os
import sys

import truth

# The truth counts a server's thread from a mark after the read to one before the last write. It includes interrupts,
# which nobody is charged: they fall on a thread as often as on all that runs on its node, give or take the rest.
CPU_AT_LEAST, CPU_AT_MOST = 0.9, 1.25
SERIES = ("cpu", "disk", "network")


def ask_json(options, *arguments):
    answer = truth.ask(options.program, *arguments, "--bundle", options.bundle, "--format", "json")
    if answer.json is None:
        raise SystemExit(f"{' '.join(arguments)}: exit {answer.code}, no JSON: {answer.err.strip()[:300]}")
    if answer.code != (0 if answer.json["complete"] else 3):
        raise SystemExit(f"{' '.join(arguments)}: exit {answer.code} with complete {answer.json['complete']}")
    return answer


def check_node(node, processes):
    name = node["node"]
    if sum(p["self_ns"] for p in processes) != node["process_ns"]:
        yield f"{name}: processes do not sum to process_ns"
    if sum(node["span"]) != node["span_ns"]:
        yield f"{name}: steps do not sum to the span"
    total = sum(node[key + "_ns"] for key in ("process", "interrupt", "away", "idle", "unknown"))
    if total != node["cpus"] * node["span_ns"]:
        yield f"{name}: {total} ns on {node['cpus']} CPUs in {node['span_ns']} ns"
    for i, span in enumerate(node["span"]):
        rest = [node[key][i] for key in ("interrupt", "away", "idle", "unknown")]
        step = sum(p["cpu"][i] for p in processes) + sum(rest)
        if step != span * node["cpus"]:
            yield f"{name}: step {i} has {step} ns, not {span} on each of {node['cpus']} CPUs"
        if min(span, *rest) < 0:
            yield f"{name}: step {i} has less than nothing"


def check_process(process):
    tier = process["tier"]
    if sum(process["cpu"]) != process["self_ns"] or process["self_ns"] + process["sub_ns"] != process["total_ns"]:
        yield f"{tier}: CPU time does not add up"
    if not 0 <= process["served_ns"] <= process["self_ns"] or process["sub_ns"] < 0:
        yield f"{tier}: {process['served_ns']} ns for clients of {process['self_ns']} ns"
    if sum(process["disk"]) != process["disk_read_bytes"] + process["disk_written_bytes"]:
        yield f"{tier}: bytes of disk do not add up"
    if sum(process["network"]) != process["network_received_bytes"] + process["network_sent_bytes"]:
        yield f"{tier}: bytes of network do not add up"


def check_usage(usage):
    processes = usage["processes"]
    for node in usage["nodes"]:
        yield from check_node(node, [p for p in processes if p["node"] == node["node"]])
    for process in processes:
        yield from check_process(process)
    charged = sum(e["cpu_ns"] for e in usage["edges"] if e["from"] not in (None, e["to"]))
    if charged != sum(p["served_ns"] for p in processes):
        yield f"edges have {charged} ns, servers worked {sum(p['served_ns'] for p in processes)} ns for clients"
    # at the roots, that no traced process asks, everything arrives that was charged to anybody
    asked = {e["to"] for e in usage["edges"] if e["from"] not in (None, e["to"]) and e["channel"] in ("tcp", "udp")}
    roots = sum(p["sub_ns"] for p in processes if p["tier"] not in asked)
    if charged > 0 and roots > charged:
        yield f"roots are charged {roots} ns of {charged}"


def check_truth(bundle, usage):
    if not os.path.exists(os.path.join(bundle, "ground-truth.json")):
        return
    lost = any("events were lost" in finding["text"] for finding in usage["findings"])
    messages, running_ms = {}, {}
    for request in truth.Truth(bundle).requests:
        server = request.get("server")
        if server and "server_thread_ms" in request:
            key = server["node"], server["pid"]
            messages[key] = messages.get(key, 0) + 1
            running_ms[key] = running_ms.get(key, 0) + request["server_thread_ms"]["running"]
    for key, count in sorted(messages.items()):
        tiers = [p["tier"] for p in usage["processes"] if (p["node"], p["pid"]) == key]
        edges = [e for e in usage["edges"] if e["to"] in tiers and e["from"] is not None]
        # where events were lost, reads and sends were
        messages, exact = (sum(e[what] for e in edges) for what in ("messages", "exact"))
        if not exact <= messages <= count or (exact < count and not lost):
            yield f"{key}: {messages} messages, {exact} of them exact, {count} requests"
        ms = sum(e["cpu_ns"] for e in edges) / 1e6
        node = next(n for n in usage["nodes"] if n["node"] == key[0])
        own = node["process_ns"] / (node["process_ns"] + node["interrupt_ns"])
        if not CPU_AT_LEAST * own * running_ms[key] <= ms <= CPU_AT_MOST * running_ms[key] and not lost:
            yield f"{key}: {ms:.1f} ms charged, threads ran {running_ms[key]:.1f} ms for the requests"


def sum_up(usage):
    """What must be the same when a span is cut in two, by node. Not by process: a row has the name of the span's end,
    and a process may run another program later. Pipes are left out for that: within a row nobody talks."""
    sums = {}
    for node in usage["nodes"]:
        for key in ("span_ns", "process_ns", "interrupt_ns", "away_ns", "idle_ns", "unknown_ns"):
            sums[node["node"], key] = node[key]
    rows = [(p["node"], p, ("sub_ns", "served_ns", "disk_requests", "disk_read_bytes", "disk_written_bytes",
                            "network_received_bytes", "network_sent_bytes")) for p in usage["processes"]]
    rows += [(f["tier"].rpartition("@")[2], f, ("calls", "read_bytes", "written_bytes", "blocked_ns"))
             for f in usage["files"]]
    rows += [(e["to"].rpartition("@")[2], e, ("messages", "exact", "bytes", "answer_bytes", "cpu_ns"))
             for e in usage["edges"] if e["channel"] in ("tcp", "udp")]
    for node, row, keys in rows:
        for key in keys:
            sums[node, key] = sums.get((node, key), 0) + row[key]
    return sums


def check_span(options, whole):
    """Two spans that meet hold together what the whole recording does."""
    longest_ns = max(sum(node["span"]) for node in whole["nodes"])
    at = f"+{longest_ns * 2 // 5}ns"
    parts = [ask_json(options, "usage", end, at).json for end in ("--to", "--from")]
    for part in parts:
        yield from check_usage(part)
    first, second = (sum_up(part) for part in parts)
    for key, total in sum_up(whole).items():
        both = first.get(key, 0) + second.get(key, 0)
        if both != total:
            yield f"{' '.join(key)}: {first.get(key, 0)} to {at} and {second.get(key, 0)} from it on, {total} in all"


def check_tree(blockings):
    for blocking in blockings:
        if blocking["end_ns"] <= blocking["start_ns"]:
            yield f"an empty blocking of {blocking['node']}:{blocking['tid']}"
        yield from check_tree(blocking["children"])


def check_blockings(options):
    rows = ask_json(options, "blockings").json["rows"]
    for row in rows:
        if not 0 < row["max_ns"] <= row["total_ns"] <= row["max_ns"] * row["count"]:
            yield f"row of {row['node']}:{row['tid']}: {row}"
    # what requests waited for first, where the captures show any
    if rows != sorted(rows, key=lambda row: (-(row["request_ns"] or 0), -row["total_ns"])):
        yield "rows are not sorted"
    # threads that were blocked most often: the tree's own blockings are the rows
    counts = {}
    for row in rows:
        if row["tid"] and row["tid"] > 0:
            counts[row["node"], row["tid"]] = counts.get((row["node"], row["tid"]), 0) + row["count"]
    for node, tid in sorted(counts, key=lambda key: (-counts[key], key))[:3]:
        answer = ask_json(options, "blockings", "--thread", f"{node}:{tid}").json
        tree = sum(b["end_ns"] - b["start_ns"] for b in answer["blockings"])
        table = sum(row["total_ns"] for row in answer["rows"])
        # cluster time of the thread's own node is its clock, so nothing is stretched
        if tree != table:
            yield f"{node}:{tid}: {tree} ns in the tree, {table} ns in the rows"
        yield from check_tree(answer["blockings"])


def main():
    parser = argparse.ArgumentParser(description="usage and blockings add up")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    first = ask_json(options, "usage")
    problems = list(check_usage(first.json)) + list(check_truth(options.bundle, first.json))
    if ask_json(options, "usage").out != first.out:
        problems.append("two runs differ")
    for interval in ("57ms", "1s"):
        usage = ask_json(options, "usage", "--interval", interval).json
        problems += list(check_usage(usage))
        for now, then in zip(usage["processes"], first.json["processes"]):
            if any(now[key] != then[key] for key in now if key not in SERIES):
                problems.append(f"{now['tier']}: other totals with --interval {interval}")
    problems += list(check_span(options, first.json))
    problems += list(check_blockings(options))
    for problem in problems[:20]:
        print(problem)
    print(f"{len(first.json['processes'])} processes, {len(first.json['edges'])} edges, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
