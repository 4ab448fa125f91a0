#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaves one sched_switch out of a recording, many times another one, and asks the program about it: it must say that a
switch is missing, and what it does not say about must not have changed. A switch whose absence leaves no contradiction
(nobody did anything until the next one) cannot be told; those that can be are counted.
usage: switches.py --program FILE --bundle DIR [--count N]"""
import argparse
import os
import random
import shutil
import sys
import tempfile

import repacketise
import table

CODE = "switch-missing"
SEED = 12
# of those that were left out so many are noticed
NOTICED = 0.9


def get_switch_id(metadata_text):
    """The number of sched_switch."""
    block = next(block for block in metadata_text.split("\nevent ") if '"sched_switch"' in block)
    return int(block.split("id = ")[1].split(";")[0])


def leave_out(source, target, packet, event):
    """A copy of a stream without one event of one of its packets."""
    with open(source, "rb") as file:
        data = bytearray(file.read())
    begin = packet.events[event][0]
    end = packet.events[event + 1][0]
    last = packet.offset + packet.bytes
    data[begin:last] = data[end:last] + bytes(end - begin)
    at = packet.offset + table.CONTENT
    data[at:at + 8] = (packet.content_bits - 8 * (end - begin)).to_bytes(8, "little")
    with open(target, "wb") as file:
        file.write(data)


def choose(streams, ids, count):
    """(stream, packet, event) of switches that may be left out: their neighbours are near in time."""
    found = []
    for name in sorted(streams):
        for packet in streams[name]:
            events = packet.events
            found += [(name, packet, i) for i in range(1, len(events) - 1)
                      if events[i][1] == ids[name] and events[i + 1][2] - events[i - 1][2] < 1 << 26]
    return random.Random(SEED).sample(found, count)


def judge(answers, whole):
    """Whether it was noticed, and how many answers changed without a word."""
    findings = [finding for answer in answers.values() for finding in answer.json["findings"]]
    known = table.get_requests(answers["requests"])
    complete = {request["id"] for request in answers["requests"].json["requests"] if request["complete"]}
    silent = [key for key in complete if key in whole and not table.is_same(known[key], whole[key])]
    return any(finding["code"] == CODE for finding in findings), silent


def main():
    parser = argparse.ArgumentParser(description="leaves switches out of a recording")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    noticed = told = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        small = os.path.join(scratch, "small")
        os.mkdir(small)
        streams = table.make_small_packets(options.bundle, small)
        ids = {name: get_switch_id(repacketise.read_metadata(os.path.join(small, os.path.dirname(name), "metadata")))
               for name in streams}
        whole = table.get_requests(table.ask(options.program, small, "requests"))
        for name, packet, event in choose(streams, ids, options.count):
            directory = os.path.join(scratch, "damaged")
            shutil.copytree(small, directory)
            leave_out(os.path.join(small, name), os.path.join(directory, name), packet, event)
            answers = {"requests": table.ask(options.program, directory, "requests"),
                       "check": table.ask(options.program, directory, "check")}
            shutil.rmtree(directory)
            if any(answer.json is None for answer in answers.values()) or answers["check"].code not in (0, 3):
                print(f"{name} at {packet.events[event][0]}: exit {[answer.code for answer in answers.values()]}: "
                      f"{answers['check'].err.strip()[:200]}")
                failed += 1
                continue
            is_noticed, silent = judge(answers, whole)
            noticed += is_noticed
            told += is_noticed and not silent
            if options.verbose or silent:
                print(f"{name} at {packet.events[event][0]}: {'noticed' if is_noticed else 'not noticed'}, "
                      f"changed without a word: {silent}")
            failed += bool(silent)
    print(f"{noticed} of {options.count} noticed")
    sys.exit(1 if failed or noticed < NOTICED * options.count else 0)


if __name__ == "__main__":
    main()
