#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which reader `stats` names for each trace of a folder, also for those that it refuses because they are no kernel's.

usage: readers.py --program DTRACE_CHAIN --folder FOLDER --fast COUNT
"""
import argparse
import json
import pathlib
import subprocess
import sys

SKIP = 77


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--fast", type=int, required=True, help="so many must be read by our own decoder")
    options = parser.parse_args()
    root = pathlib.Path(options.folder)
    traces = sorted(path.parent for path in root.rglob("metadata") if path.is_file())
    if not traces:
        print(f"no traces in {root}")
        return SKIP
    command = [options.program, "stats", "--cache", "none", "--format", "json"]
    for trace in traces:
        command += ["--node", f"{str(trace.relative_to(root)).replace('/', '_')}={trace}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    nodes = json.loads(done.stdout)["nodes"]
    readers = [node["reader"] for node in nodes]
    for node in nodes:
        if node["reader"] != "fast":
            print(f"{node['node']}: {node['reader'] or 'by none'}")
    print(f"{len(nodes)} traces, {readers.count('fast')} by our own decoder")
    return 0 if len(nodes) == len(traces) and readers.count("fast") >= options.fast else 1


if __name__ == "__main__":
    sys.exit(main())
