#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every field of every event, by our decoder and by babeltrace2: the same, up to where babeltrace2 gives up.

What babeltrace2 refuses must end in order; what kills it must be read.
usage: compare.py --program PRINT_EVENTS --folder FOLDER [--differs TRACE:WHY ...] [--read COUNT]
"""
import argparse
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

SKIP = 77
TIME_OF_PACKET = re.compile(rb"^(\S+ (?:packet|end|lost-events|lost-packets)) -?\d+( -?\d+)?")


def run(program, reader, folder, output):
    with open(output, "wb") as out:
        done = subprocess.run([program, "--reader", reader, folder], stdout=out, stderr=subprocess.PIPE, timeout=120)
    return done.returncode, done.stderr.decode("utf-8", "replace").strip()


def split_streams(path):
    streams = {}
    with open(path, "rb") as lines:
        for line in lines:
            streams.setdefault(line.split(b" ", 1)[0], []).append(line)
    return streams


def find_difference(fast, reference, without_packet_times):
    """The first pair of lines that differ; None if none do before the reference stops."""
    ours, theirs = split_streams(fast), split_streams(reference)
    for stream in sorted(set(ours) | set(theirs)):
        for mine, other in itertools.zip_longest(ours.get(stream, []), theirs.get(stream, [])):
            if other and other.endswith(b" damage\n"):
                break
            if without_packet_times:
                mine, other = (TIME_OF_PACKET.sub(rb"\1", line) if line else line for line in (mine, other))
            if mine != other:
                return f"{mine!r:.300}\n  not {other!r:.300}"
    return None


def judge(program, folder, scratch, allowance):
    """(problem or None, whether it was read)"""
    fast, reference = scratch / "fast", scratch / "reference"
    code, said = run(program, "fast", folder, fast)
    if code not in (0, 1):
        return f"our decoder ends with {code}: {said}", False
    their_code, their_words = run(program, "reference", folder, reference)
    if their_code < 0:
        return (None, True) if code == 0 else (f"babeltrace2 dies, and we do not read it: {said}", False)
    has_theirs = reference.stat().st_size > 0
    if their_code != 0 and not has_theirs:
        return None, code == 0 and fast.stat().st_size > 0
    if allowance == "any":
        return None, code == 0
    if code != 0 and their_code == 0:
        return f"babeltrace2 reads it, and we say: {said}", False
    difference = find_difference(fast, reference, allowance == "packet-times")
    return difference, code == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--allow", action="append", default=[], help="TRACE:packet-times, TRACE:any")
    parser.add_argument("--read", type=int, default=0, help="so many must be read to the end without a complaint")
    options = parser.parse_args()
    allowances = dict(entry.split(":") for entry in options.allow)
    root = pathlib.Path(options.folder)
    traces = sorted(path.parent for path in root.rglob("metadata") if path.is_file())
    if not traces:
        print(f"no traces in {root}")
        return SKIP
    problems = read_count = 0
    with tempfile.TemporaryDirectory() as scratch:
        for trace in traces:
            name = str(trace.relative_to(root))
            problem, is_read = judge(options.program, str(trace), pathlib.Path(scratch), allowances.get(name))
            read_count += is_read
            problems += problem is not None
            if problem or not is_read:
                print(f"{name}: {problem or 'not read, as it should be'}")
    print(f"{len(traces)} traces, {read_count} read, {problems} differ")
    return 1 if problems or read_count < options.read else 0


if __name__ == "__main__":
    sys.exit(main())
