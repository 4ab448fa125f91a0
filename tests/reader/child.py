#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference decodes in a process of its own: when that is killed, stopped, out of time or of memory, the node it
read is incomplete with a finding that says so, the other nodes are answered, and no process stays behind.

usage: child.py --program FILE --bundle DIR --lengths LENGTHS
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

WORD = b"--serve-trace"
KINDS = [(signal.SIGKILL, "signal 9"), (signal.SIGXCPU, "more time than such a trace can need"),
         (signal.SIGSTOP, "stood still"), (None, None)]


def find_children(parent):
    """The readers that a process started, by their nodes."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if not entry.name.isdigit():
                continue
            words = (entry / "cmdline").read_bytes().split(b"\0")
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            if WORD in words and int(fields[1]) == parent:
                found[words[words.index(WORD) + 1].decode()] = int(entry.name)
        except (OSError, ValueError):
            continue
    return found


def ask(program, bundle, number, node):
    """Sends the signal to the reader of a node as soon as it is there."""
    words = [program, "stats", "--reader", "reference", "--format", "json", "."]
    with subprocess.Popen(words, cwd=bundle, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        sent = number is None
        while not sent and running.poll() is None:
            child = find_children(running.pid).get(node)
            if child:
                os.kill(child, number)
                sent = True
        begin = time.monotonic()
        out, errors = running.communicate(timeout=100)
        left = find_children(running.pid)
    return running.returncode, json.loads(out) if out else {}, errors.decode(), left, time.monotonic() - begin


def judge(program, bundle, whole, node, number, words):
    code, said, errors, left, seconds = ask(program, bundle, number, node)
    others = {entry["node"]: entry for entry in said.get("nodes", []) if entry["node"] != node}
    texts = [finding["text"] for finding in said.get("findings", []) if finding.get("node") == node]
    if code != 3 or others != {name: whole[name] for name in whole if name != node}:
        yield f"exit code {code}, nodes {sorted(others)}: {errors[:300]}"
    if not any(words in text and "reader" in text for text in texts):
        yield f"no finding says '{words}': {texts}"
    if left:
        yield f"processes {left} stay behind"
    if seconds > 60:
        yield f"it took {seconds:.0f} s"


def judge_all(options, scratch):
    bundle = scratch / "bundle"
    shutil.copytree(options.bundle, bundle)
    whole = {entry["node"]: entry for entry in ask(options.program, bundle, None, None)[1]["nodes"]}
    node = sorted(whole)[0]
    for number, words in KINDS:
        if number is None:  # lengths that no memory has room for
            made = scratch / "made"
            subprocess.run([options.lengths, bundle / node / "kernel", made], capture_output=True, check=True)
            shutil.rmtree(bundle / node / "kernel")
            shutil.copytree(made, bundle / node / "kernel")
            words = "died"
        for problem in judge(options.program, bundle, whole, node, number, words):
            yield f"{signal.Signals(number).name if number else 'memory'}: {problem}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--lengths", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        problems = list(judge_all(options, pathlib.Path(scratch)))
    print("\n".join(problems) or "every death is a finding, and the other nodes are answered")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
