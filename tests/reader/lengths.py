#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every length field of every event class, too long (lengths.c): that packet ends there, the next one goes on. Then
the program is asked about a bundle of which one node is such a trace: exit code 3, findings with node, file and byte,
and of the other nodes what it says without. It gets 1 GiB of address space beyond what the undamaged bundle needs.

usage: lengths.py --lengths LENGTHS --bundle DIR [--program FILE]
"""
import argparse
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

SPARE = 1 << 30
STEP = 64 << 20


def ask(program, bundle, space=None):
    limit = None if space is None else lambda: resource.setrlimit(resource.RLIMIT_AS, (space, space))
    done = subprocess.run([program, "stats", "--format", "json", "."], cwd=bundle, capture_output=True, timeout=120,
                          preexec_fn=limit, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr.decode("utf-8", "replace")


def find_need(program, bundle):
    """The least address space, in steps, under which the undamaged bundle is answered."""
    low, high = 1, 64
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if ask(program, bundle, middle * STEP)[0] == 0 else (middle + 1, high)
    return low * STEP


def judge_program(program, source, made):
    with tempfile.TemporaryDirectory() as scratch:
        bundle = pathlib.Path(scratch) / "bundle"
        shutil.copytree(source, bundle)
        whole = {node["node"]: node for node in ask(program, bundle)[1]["nodes"]}
        need = find_need(program, bundle)
        name = sorted(whole)[0]
        shutil.rmtree(bundle / name / "kernel")
        shutil.copytree(made, bundle / name / "kernel")
        code, said, errors = ask(program, bundle, need + SPARE)
        problems = []
        if code != 3 or errors:
            problems.append(f"exit code {code}: {errors[:300]}")
        others = {node["node"]: node for node in said.get("nodes", []) if node["node"] != name}
        if others != {node: whole[node] for node in whole if node != name}:
            problems.append("other nodes have changed")
        texts = [finding["text"] for finding in said.get("findings", []) if finding.get("node") == name]
        if not any(re.search(r"'s0'.* byte \d+", text) for text in texts):
            problems.append(f"no finding names file and byte: {texts}")
        return problems, need


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lengths", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--program")
    options = parser.parse_args()
    bundle = pathlib.Path(options.bundle)
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        traces = sorted(path.parent for path in bundle.rglob("metadata") if path.parent.name == "kernel")
        for number, trace in enumerate(traces):
            made = pathlib.Path(scratch) / str(number)
            done = subprocess.run([options.lengths, str(trace), str(made)], capture_output=True, timeout=200,
                                  check=False)
            bad += done.returncode != 0
            if done.returncode != 0 or number == 0:
                print(done.stdout.decode(), done.stderr.decode(), end="")
        if options.program:
            problems, need = judge_program(pathlib.Path(options.program).resolve(), bundle, pathlib.Path(scratch) / "0")
            bad += len(problems)
            print(f"needs {need >> 20} MiB;", *problems or ["answered"])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
