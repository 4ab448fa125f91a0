#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damages copies of a recording (seeded, so that a failure can be had again) and asks the program about them: it must
end in time with an exit code of its own, say something when it fails, and never die of a signal. What was damaged must
not go unnoticed where the damage cannot be harmless. usage: damage.py --program FILE --bundle DIR [--seed N]"""
import argparse
import os
import random
import shutil
import sys
import tempfile

import truth

TIMEOUT_S = 120
MEMORY_BYTES = 4 << 30


def truncate(share):
    def damage(path, _):
        size = int(os.path.getsize(path) * share)
        with open(path, "r+b") as file:
            file.truncate(size)
    return damage


def flip(count):
    def damage(path, dice):
        with open(path, "r+b") as file:
            size = os.path.getsize(path)
            for _ in range(count):
                at = dice.randrange(size)
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ (1 << dice.randrange(8))]))
    return damage


def overwrite_middle(path, dice):
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(size // 2)
        file.write(dice.randbytes(min(4096, size // 2)))


def garbage(path, dice):
    with open(path, "wb") as file:
        file.write(dice.randbytes(65536))


def empty(path, _):
    with open(path, "wb"):
        pass


def remove(path, _):
    os.unlink(path)


# (file, what, damage, whether the answer may still be complete)
CASES = [
    ("web/kernel/ch0_0", "cut to two thirds", truncate(0.667), False),
    ("web/kernel/ch0_0", "cut inside its first header", truncate(0.00001), False),
    ("backend/kernel/ch0_1", "4 KiB of noise in the middle", overwrite_middle, True),
    ("backend/kernel/ch0_0", "100 bits flipped", flip(100), True),
    ("backend/kernel/ch0_1", "noise", garbage, False),
    ("backend/kernel/ch0_1", "missing", remove, True),
    ("client/kernel/metadata", "cut in half", truncate(0.5), False),
    ("client/kernel/metadata", "noise", garbage, False),
    ("client/kernel/metadata", "20 bits flipped", flip(20), True),
    ("client/kernel/metadata", "empty", empty, False),
    ("client/kernel/metadata", "missing", remove, False),
    ("web/kernel/index/ch0_0.idx", "noise", garbage, True),
    ("web.pcap", "cut to two thirds", truncate(0.667), True),
    ("web.pcap", "noise", garbage, True),
    ("web.pcap", "empty", empty, True),
    ("client.pcap", "200 bits flipped", flip(200), True),
    ("backend.pcap", "4 KiB of noise in the middle", overwrite_middle, True),
]


def check(options, bundle, what, may_be_complete):
    for question in (["stats", "--format", "json"], ["sync", "--format", "json"],
                     ["--request-id", options.id, "--format", "json"], ["--request-id", options.id]):
        answer = truth.ask("/bin/sh", "-c", 'ulimit -v "$1"; shift; exec "$@"', "sh",
                           "unlimited" if options.sanitized else str(MEMORY_BYTES >> 10), options.program, *question,
                           "--bundle", bundle, timeout_s=TIMEOUT_S)
        name = f"{what}: {question[0] if question[0] in ('stats', 'sync') else 'request'}"
        if answer.code not in (0, 1, 3):
            yield f"{name}: exit {answer.code}: {answer.err.strip()[-400:]}"
        elif answer.code == 1 and not (answer.err.startswith("dtrace-chain: ") and "\nhint: " in answer.err):
            yield f"{name}: fails without a message and a hint: {answer.err.strip()[:200]}"
        elif answer.code in (0, 3) and "json" in question and answer.json is None:
            yield f"{name}: exit {answer.code} but no JSON"
        elif answer.code == 0 and not may_be_complete:
            yield f"{name}: takes the damage for a complete recording"


def main():
    parser = argparse.ArgumentParser(description="damaged recordings")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--id", default="req-0069")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sanitized", action="store_true", help="no limit of address space: the sanitizers need it")
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    problems = []
    for number, (file, what, damage, may_be_complete) in enumerate(CASES):
        with tempfile.TemporaryDirectory(prefix="dtc-damage-") as scratch:
            bundle = os.path.join(scratch, "bundle")
            shutil.copytree(options.bundle, bundle)
            damage(os.path.join(bundle, file), random.Random(options.seed * 1000 + number))
            problems += check(options, bundle, f"{file} {what}", may_be_complete)
    for problem in problems:
        print(problem)
    print(f"{len(CASES)} kinds of damage, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
