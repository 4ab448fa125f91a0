#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures that show only a part: they begin in mid-stream, lack packets, or carry TLS. What can still be said must be
said, and be the same; what cannot must be a finding or an error with a hint.
usage: partial.py --program FILE --bundle DIR"""
import argparse
import os
import struct
import sys
import tempfile

import report_contract
import truth

NODES = ("client", "web", "backend")
TLS_RECORD = bytes((0x17, 3, 3))  # application data
HANDSHAKE = bytes((0x16, 3, 1))


def read_packets(path):
    """The header of the file, and its records (16 bytes of header, then the frame)."""
    with open(path, "rb") as file:
        data = file.read()
    order = "<" if data[:4] in (b"\x4d\x3c\xb2\xa1", b"\xd4\xc3\xb2\xa1") else ">"
    records, at = [], 24
    while at + 16 <= len(data):
        count = struct.unpack(order + "I", data[at + 8:at + 12])[0]
        records.append(data[at:at + 16 + count])
        at += 16 + count
    return data[:24], records


def find_payload(frame):
    """Where the TCP payload of an Ethernet frame begins, or None."""
    if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return None
    tcp = 14 + (frame[14] & 15) * 4
    payload = tcp + (frame[tcp + 12] >> 4) * 4
    total = 14 + struct.unpack(">H", frame[16:18])[0]
    return payload if payload < min(total, len(frame)) else None


def encrypt(records):
    """Payloads become TLS records of the same length: a handshake first on each connection."""
    seen = set()
    for record in records:
        frame = bytearray(record[16:])
        at = find_payload(frame)
        if at is not None and len(frame) - at > 8:
            ends = bytes(frame[26:38])
            start = TLS_RECORD if ends in seen else HANDSHAKE
            seen.add(ends)
            count = len(frame) - at
            frame[at:] = start + struct.pack(">H", count - 5) + bytes((i * 37 + 11) & 255 for i in range(count - 5))
        yield record[:16] + bytes(frame)


def make(source, target, change):
    """A bundle with the traces of another and changed captures."""
    os.mkdir(target)
    for node in NODES:
        os.symlink(os.path.abspath(os.path.join(source, node)), os.path.join(target, node))
        header, records = read_packets(os.path.join(source, node + ".pcap"))
        with open(os.path.join(target, node + ".pcap"), "wb") as file:
            file.write(header + b"".join(change(records)))


def ask_all(options, bundle):
    answer = truth.ask(options.program, "requests", bundle, "--format", "json", "--quiet")
    return answer, {row["id"]: row for row in (answer.json or {"requests": []})["requests"]}


def compare(name, whole, part, least):
    """Requests that are still found must take as long as they do by the whole captures."""
    same = sum(abs(row["duration_ns"] - whole[request]["duration_ns"]) < 1_000_000
               and row["target"]["tid"] == whole[request]["target"]["tid"]
               for request, row in part.items() if request in whole)
    print(f"{name}: {len(part)} of {len(whole)} requests, {same} as by the whole captures")
    if same < least * len(part) or not part:
        yield f"{name}: only {same} of {len(part)} requests are as by the whole captures"
    unknown = set(part) - set(whole)
    if unknown:
        yield f"{name}: ids that there are not: {sorted(unknown)[:3]}"


def check_tls(options, bundle):
    """No id can be read; the connection and the marks in the trace still find the request."""
    answer = truth.ask(options.program, bundle, "--request-id", "req-0069", "--quiet")
    if answer.code != 1 or "TLS" not in answer.err or "--mark-regex" not in answer.err:
        yield f"tls: exit {answer.code}: {answer.err.strip()[:200]}"
    answer = truth.ask(options.program, "requests", bundle, "--quiet")
    if answer.code != 1 or "TLS" not in answer.err:
        yield f"tls: requests: exit {answer.code}: {answer.err.strip()[:200]}"
    for arguments in (("--request-id", "req-0069", "--mark-regex", "id=(?<id>[^ ]+)"),
                      ("--connection", "10.77.0.1:51704-10.77.0.2:80@+5.3s")):
        answer = truth.ask(options.program, bundle, *arguments, "--format", "json", "--quiet")
        if answer.json is None:
            yield f"tls: {arguments[0]}: exit {answer.code}: {answer.err.strip()[:200]}"
            continue
        yield from (f"tls: {arguments[0]}: {problem}" for problem in report_contract.check(answer.json))
        if arguments[0] == "--request-id" and not any("TLS" in f["text"] for f in answer.json["findings"]):
            yield "tls: no finding says that the captures are TLS"
        if len({segment["node"] for segment in answer.json["path"]}) < 2:
            yield f"tls: {arguments[0]}: the path stays on one node"


def main():
    parser = argparse.ArgumentParser(description="captures that show only a part")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    options = parser.parse_args()
    truth.skip_unless_there(options.bundle)
    problems = []
    _, whole = ask_all(options, options.bundle)
    with tempfile.TemporaryDirectory(prefix="dtc-partial-") as scratch:
        changes = {
            "mid-stream": (lambda records: records[len(records) * 2 // 5:], 0.95),
            "every 7th packet lost": (lambda records: [r for i, r in enumerate(records) if i % 7], 0.8),
        }
        for name, (change, least) in changes.items():
            bundle = os.path.join(scratch, name.replace(" ", "-"))
            make(options.bundle, bundle, change)
            answer, part = ask_all(options, bundle)
            if answer.code not in (0, 1, 3) or (answer.code == 1 and "hint: " not in answer.err):
                problems.append(f"{name}: exit {answer.code}: {answer.err.strip()[:200]}")
            elif answer.json:
                problems += compare(name, whole, part, least)
            else:
                problems.append(f"{name}: nothing is found: {answer.err.strip()[:300]}")
        bundle = os.path.join(scratch, "tls")
        make(options.bundle, bundle, encrypt)
        problems += check_tls(options, bundle)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
