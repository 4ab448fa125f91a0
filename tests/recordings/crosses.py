#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The path of a thread leads to other nodes, and little of it stays unknown.
usage: crosses.py --program FILE --bundle DIR --thread NODE:NAME --unknown PART"""
import argparse
import json
import os
import subprocess
import sys

SKIPPED = 77


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--thread", required=True)
    parser.add_argument("--unknown", type=float, required=True)
    options = parser.parse_args()
    if not os.path.isdir(options.bundle):
        print(f"{options.bundle} is not there")
        return SKIPPED
    done = subprocess.run([options.program, options.bundle, "--thread", options.thread, "--format", "json"],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"exit {done.returncode}\n{done.stderr}")
    report = json.loads(done.stdout)
    unknown = sum(row["ns"] for row in report["breakdown"] if row["cause"] == "unknown") / report["duration_ns"]
    nodes = [step["node"] for step in report["path"]]
    crossings = sum(a != b for a, b in zip(nodes, nodes[1:]))
    print(f"{100 * unknown:.1f} % unknown, {crossings} times from node to node")
    return 0 if unknown < options.unknown and crossings else 1


if __name__ == "__main__":
    sys.exit(main())
