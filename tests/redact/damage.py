#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node damaged in many ways and redacted: no crash, what can be read of it can be read afterwards, and what cannot be
read is not left in. usage: damage.py --program FILE --node DIR [--rounds N]"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import leftovers  # noqa: E402


def flip(data, chance):
    for _ in range(chance.choice((1, 10, 200))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def cut(data, chance):
    del data[chance.randrange(len(data)) :]


def insert(data, chance):
    at = chance.randrange(len(data))
    data[at:at] = bytes(chance.randrange(256) for _ in range(chance.choice((1, 3, 4096))))


def repeat(data, chance):
    at, to = chance.randrange(len(data)), chance.randrange(len(data))
    piece = data[at : at + 5000]
    data[to : to + len(piece)] = piece


def blank(data, chance):
    at = chance.randrange(len(data))
    data[at : at + 3000] = bytes(min(3000, len(data) - at))


WAYS = (flip, cut, insert, repeat, blank)


def damage(folder, chance):
    files = sorted(os.path.join(root, n) for root, _, names in os.walk(folder) for n in names)
    path = chance.choice([f for f in files if not f.endswith(".idx")])
    with open(path, "rb") as file:
        data = bytearray(file.read())
    # of captures that are pasted into each other numbers of headers are whatever was there
    way = chance.choice([w for w in WAYS if w != repeat or not path.endswith(".pcap")])
    way(data, chance)
    with open(path, "wb") as file:
        file.write(data)
    return f"{way.__name__} in {os.path.relpath(path, folder)}"


def count_events(program, bundle):
    done = subprocess.run([program, "stats", bundle, "--format", "json", "--cache", "none"], capture_output=True,
                          text=True, check=False)
    if done.returncode not in (0, 3):
        return None
    document = json.loads(done.stdout)
    return document["events"], document["complete"]


def try_once(program, node, folder, seed):
    chance = random.Random(seed)
    bundle, out = os.path.join(folder, "bundle"), os.path.join(folder, "out")
    shutil.copytree(node, os.path.join(bundle, "node"))
    if os.path.exists(node + ".pcap"):
        shutil.copy(node + ".pcap", os.path.join(bundle, "node.pcap"))
    original = leftovers.Original(bundle)
    original.words.discard(b"node")
    what = f"seed {seed}: {damage(bundle, chance)}"
    done = subprocess.run([program, "bundle", "redact", out, bundle, "--cache", "none", "--reader", "fast"],
                          capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 3), f"{what}: exit {done.returncode}\n{done.stderr}"
    if done.returncode == 1:
        assert "hint: " in done.stderr and not os.path.exists(out), f"{what}: {done.stderr}"
    else:
        faults = leftovers.find(original, out)
        assert not faults, f"{what}: left\n" + "\n".join(faults[:10])
        before, after = count_events(program, bundle), count_events(program, out)
        # behind damage as many events may be found as there are, by chance, in what was overwritten: none
        assert before is None or after is None or after[0] <= before[0] and after[1] <= before[1], \
            f"{what}: {before} events before, {after} after"
    shutil.rmtree(bundle)
    shutil.rmtree(out, ignore_errors=True)
    return done.returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--node", required=True)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--first", type=int, default=1)
    arguments = parser.parse_args()
    codes = []
    for seed in range(arguments.first, arguments.first + arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            codes.append(try_once(os.path.abspath(arguments.program), os.path.abspath(arguments.node), folder, seed))
    print(f"{len(codes)} damaged nodes: {codes.count(0)} redacted, {codes.count(3)} incomplete, "
          f"{codes.count(1)} refused")


main()
