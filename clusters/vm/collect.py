#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run left behind -> the bundle and its ground truth. usage: collect.py RUN OUT"""
import json
import os
import shutil
import subprocess
import sys


def read_lines(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.startswith("{")]


def get_offset(trace):
    text = subprocess.run(["babeltrace2", "-o", "ctf-metadata", trace], stdout=subprocess.PIPE, check=True).stdout
    clock = text.decode().split("clock {")[1].split("};")[0]
    return int(clock.split("offset = ")[1].split(";")[0])


def fit(samples):
    """(reference, clock, rate) of a guest's clock against its host's, from what it read of both before and after."""
    first, last = samples[0], samples[-1]
    rate = (last["guest_mono_ns"] - first["guest_mono_ns"]) / (last["host_raw_ns"] - first["host_raw_ns"])
    return first["host_raw_ns"], first["guest_mono_ns"], rate


def main():
    run, out = sys.argv[1:]
    left = f"{run}/share/out"
    known = {"scenario": "vm", "nodes": {}, "pairwise_trace_time": {}}
    by_cluster = os.path.exists(f"{left}/host/run.dtcb")
    if by_cluster:
        os.makedirs(out, exist_ok=True)
        subprocess.run(["tar", "--zstd", "-xf", f"{left}/host/run.dtcb", "-C", out], check=True)
    for node in ("host", "guest"):
        if by_cluster:
            known["nodes"][node] = {"ctf_clock_offset_ns": get_offset(f"{out}/{node}/kernel")}
            continue
        shutil.rmtree(f"{out}/{node}", ignore_errors=True)
        os.makedirs(f"{out}/{node}/kernel")
        trace = f"{left}/{node}/ctf/kernel"
        for name in sorted(os.listdir(trace)):
            if name != "index":
                shutil.copy(f"{trace}/{name}", f"{out}/{node}/kernel/{name}")
        shutil.copy(f"{left}/{node}/{node}.pcap", f"{out}/{node}.pcap")
        known["nodes"][node] = {"ctf_clock_offset_ns": get_offset(trace)}
    host, clock, rate = fit(read_lines(f"{left}/guest/clock.jsonl"))
    offset = known["nodes"]["guest"]["ctf_clock_offset_ns"] - known["nodes"]["host"]["ctf_clock_offset_ns"]
    known["nodes"]["guest"]["clock_fit"] = {"host_mono_ns": host, "guest_mono_ns": clock, "rate": rate}
    known["pairwise_trace_time"]["guest-host"] = {
        "offset_ns_at_first_probe": clock + offset - host,
        "middle_in_host_trace_time_ns": host + known["nodes"]["host"]["ctf_clock_offset_ns"],
        "offset_ns_at_middle": clock + offset - host, "relative_rate_ppm": (rate - 1) * 1e6}
    with open(f"{left}/host/qemu-threads.txt", encoding="utf-8") as threads:
        known["qemu_threads"] = threads.read().splitlines()
    known["competitor"] = "backup-job"
    known["competitor_windows"] = read_lines(f"{left}/host/hog.jsonl")
    known["requests"] = read_lines(f"{left}/host/client.jsonl")
    served = {line["id"]: (node, line) for node in ("host", "guest")
              for line in read_lines(f"{left}/{node}/server.jsonl")}
    for request in known["requests"]:
        begin, end = request["begin_mono_ns"], request["end_mono_ns"]
        request["competitor_ms"] = round(sum(
            max(0, min(end, window["end_mono_ns"]) - max(begin, window["begin_mono_ns"]))
            for window in known["competitor_windows"]) / 1e6, 3)
        node, line = served.get(request["id"], (None, {}))
        request["server"] = {"node": node, **{key: line[key] for key in line if key not in ("id", "kind")}}
    with open(f"{out}/ground-truth.json", "w", encoding="utf-8") as file:
        json.dump(known, file, indent=1)


if __name__ == "__main__":
    main()
