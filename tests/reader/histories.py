#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What our own decoder and the reference make of a recording is the same history, byte for byte.

usage: histories.py --program FILE --bundle DIR
"""
import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile

HEADER = struct.Struct("<8sIIQII32sQQ")  # docs/formats.md
SECTION = struct.Struct("<24sQQIIII")
PART = struct.Struct("<QQ")
# Names of events are numbered as they are met, and who read it is told.
OF_READER = ("counts.kinds", "counts.names", "counts.texts")


def load_sections(path):
    data = path.read_bytes()
    count = HEADER.unpack_from(data)[4]
    first_part = HEADER.size + count * SECTION.size
    sections = {}
    for i in range(count):
        name, size, _, record, part, parts, _ = SECTION.unpack_from(data, HEADER.size + i * SECTION.size)
        places = [PART.unpack_from(data, first_part + k * PART.size) for k in range(part, part + parts)]
        content = b"".join(data[offset:offset + length] for offset, length in places)
        if len(content) != size:
            sys.exit("%s: %s has %d bytes, not %d" % (path, name, len(content), size))
        sections[name.rstrip(b"\0").decode()] = (record, content)
    return sections


def make_index(program, bundle, reader, out):
    command = [program, "index", bundle, "--cache", "none", "--reader", reader, "--index-only", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit("%s: exit code %d: %s" % (" ".join(command), done.returncode, done.stderr))


def compare(name, ours, theirs):
    """The sections that differ, with the first record that does."""
    problems = []
    if set(ours) != set(theirs):
        return ["%s: other sections: %s" % (name, ", ".join(sorted(set(ours) ^ set(theirs))))]
    for section, (record, mine) in ours.items():
        other = theirs[section][1]
        if section in OF_READER or mine == other:
            continue
        first = next((i for i, (a, b) in enumerate(zip(mine, other)) if a != b), min(len(mine), len(other)))
        problems.append("%s: %s: record %d differs" % (name, section, first // max(record, 1)))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    args = parser.parse_args()
    problems, count = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = {}
        for reader in ("fast", "reference"):
            folders[reader] = pathlib.Path(scratch, reader)
            make_index(args.program, args.bundle, reader, folders[reader])
        for image in sorted(folders["fast"].glob("*/kernel.dtci")):
            name = image.relative_to(folders["fast"])
            problems += compare(name, load_sections(image), load_sections(folders["reference"] / name))
            count += 1
    for problem in problems:
        print(problem)
    print("%d histories, %d problems" % (count, len(problems)))
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
