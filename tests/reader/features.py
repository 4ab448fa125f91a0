#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small traces, one for each feature of both versions of CTF (features.txt): our decoder says of each what stands
there, and babeltrace2 the same of those that are marked.

usage: features.py --program PRINT_EVENTS [--reference] [NAME ...]
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile


def read_table(path):
    """(name, whether babeltrace2 agrees, metadata, bytes, lines) of each trace"""
    words, traces = {}, []
    for block in path.read_text().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith("# ")]
        if not lines:
            continue
        text = "\n".join(line for line in lines[1:] if line[:1] not in "<>").replace("^", "\x1e")
        if not lines[0].startswith("= "):
            words[lines[0][1:-1]] = text
            continue
        name, *marks = lines[0][2:].split()
        metadata = re.sub(r"\{([a-z0-9 ]+)\}", lambda word: words.get(word[1], word[0]), text)
        stream = bytes.fromhex("".join(line[1:] for line in lines if line.startswith(">")))
        said = [line[2:] for line in lines if line.startswith("<")]
        traces.append((name, "both" in marks, metadata, stream, said))
    return traces


def judge(program, reader, folder, expected):
    done = subprocess.run([program, "--reader", reader, folder], capture_output=True, timeout=60, check=False)
    said = done.stdout.decode("utf-8", "replace").splitlines()
    if done.returncode not in (0, 1) or said != expected:
        return f"exit code {done.returncode}: {said}, not {expected}; {done.stderr.decode('utf-8', 'replace')}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--reference", action="store_true", help="babeltrace2, too, where it reads them")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    traces = read_table(pathlib.Path(__file__).with_name("features.txt"))
    problems = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, is_shared, metadata, stream, expected in traces:
            if options.names and name not in options.names:
                continue
            folder = pathlib.Path(scratch) / name
            folder.mkdir()
            (folder / "metadata").write_text(metadata)
            (folder / "s0").write_bytes(stream)
            for reader in ["fast"] + ["reference"] * (options.reference and is_shared):
                problem = judge(options.program, reader, folder, expected)
                problems += problem is not None
                if problem:
                    print(f"{name}, {reader}: {problem}")
    print(f"{len(traces)} traces, {problems} differ")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
