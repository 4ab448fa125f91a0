#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A shell reads what its terminal's worker hands on: the worker does the work that sshd queued by writing to the other
side. So the shell's time is sshd's, reached through the work item, whatever else that worker did meanwhile.
usage: works.py --program FILE --bundle DIR --thread TID --tier PROCESS --share PART"""
import argparse
import json
import os
import subprocess
import sys

SKIPPED = 77


def ask(program, *arguments):
    done = subprocess.run([program, *arguments, "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--thread", required=True)
    parser.add_argument("--tier", required=True)
    parser.add_argument("--share", type=float, required=True)
    options = parser.parse_args()
    if not os.path.isdir(options.bundle):
        print(f"{options.bundle} is not there")
        return SKIPPED
    node = ask(options.program, "stats", options.bundle)["nodes"][0]["node"]
    report = ask(options.program, "--bundle", options.bundle, "--thread", f"{node}:{options.thread}")
    found = sum(row["ns"] for row in report["breakdown"] if row["process"] == options.tier)
    works = [step for step in report["path"] if (step["detail"] or "").startswith(f"work queued by {options.tier} ")]
    print(f"{found / report['duration_ns']:.3f} of the time is {options.tier}'s, {len(works)} works that it queued")
    return 0 if found >= options.share * report["duration_ns"] and works else 1


sys.exit(main())
