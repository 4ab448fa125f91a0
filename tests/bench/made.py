# SPDX-License-Identifier: GPL-3.0-or-later
"""Inputs that are made, not recorded: the beginning of a recording, many streams, many nodes."""
import os
import random
import shutil
import struct
import subprocess

CTF_MAGIC = 0xC1FC1FC1
HEADER = struct.Struct("<I16sIQQQQQ")  # up to the packet's size, as LTTng writes it
PCAP_MAGIC_NS, PCAP_MAGIC_US = 0xA1B23C4D, 0xA1B2C3D4


def find_traces(bundle):
    """The kernel traces of a bundle."""
    names = sorted(os.listdir(bundle))
    folders = [os.path.join(bundle, name, "kernel") for name in names]
    return [folder for folder in folders if os.path.exists(os.path.join(folder, "metadata"))]


def list_packets(path):
    """(offset, bytes, begin) of the packets of a stream."""
    with open(path, "rb") as file:
        at, end = 0, os.fstat(file.fileno()).st_size
        while at < end:
            file.seek(at)
            magic, _, _, _, begin, _, _, bits = HEADER.unpack(file.read(HEADER.size))
            if magic != CTF_MAGIC:
                raise ValueError(f"{path}: not a packet of LTTng's at {at}")
            yield at, bits // 8, begin
            at += bits // 8


def copy_bytes(source, target, count):
    with open(source, "rb") as reader, open(target, "wb") as writer:
        while count > 0:
            piece = reader.read(min(count, 1 << 20))
            writer.write(piece)
            count -= len(piece)


def cut_trace(source, target, share):
    os.makedirs(target)
    shutil.copy(os.path.join(source, "metadata"), target)
    paths = [os.path.join(source, name) for name in sorted(os.listdir(source)) if name not in ("metadata", "index")]
    packets = {path: list(list_packets(path)) for path in paths}
    begins = [begin for each in packets.values() for _, _, begin in each]
    last = min(begins) + (max(begins) - min(begins)) * share
    for path, each in packets.items():
        kept = [at + size for at, size, begin in each if begin < last]
        if kept:
            copy_bytes(path, os.path.join(target, os.path.basename(path)), kept[-1])
    return (max(begins) - min(begins)) * share / 1e9


def cut_capture(source, target, seconds):
    with open(source, "rb") as file:
        data = file.read()
    order = "<" if struct.unpack_from("<I", data)[0] in (PCAP_MAGIC_NS, PCAP_MAGIC_US) else ">"
    unit = 1e9 if struct.unpack_from(order + "I", data)[0] == PCAP_MAGIC_NS else 1e6
    record = struct.Struct(order + "IIII")
    at, first = 24, None
    while at + record.size <= len(data):
        second, fraction, size, _ = record.unpack_from(data, at)
        now = second + fraction / unit
        first = now if first is None else first
        if now - first > seconds:
            break
        at += record.size + size
    with open(target, "wb") as file:
        file.write(data[:at])


def cut_bundle(source, target, share):
    """The first so much of the time of a recording: of kernel traces whole packets."""
    for trace in find_traces(source):
        node = os.path.basename(os.path.dirname(trace))
        seconds = cut_trace(trace, os.path.join(target, node, "kernel"), share)
        capture = os.path.join(source, node + ".pcap")
        if os.path.exists(capture):
            cut_capture(capture, os.path.join(target, node + ".pcap"), seconds)


def make_streams(program, target, count, events):
    subprocess.run([program, str(count), str(events), target], check=True)


def make_messages(target, nodes=2000, pairs=10000, messages=40):
    """A file for `sync --messages`: a connected cluster whose clocks are seconds and 50 ppm apart, 600 s long."""
    draw = random.Random(1)
    offsets = [draw.randrange(0, 5 * 10**9) for _ in range(nodes)]
    rates = [1 + draw.uniform(-50e-6, 50e-6) for _ in range(nodes)]
    edges = {(draw.randrange(i), i) for i in range(1, nodes)}
    while len(edges) < pairs:
        a, b = draw.sample(range(nodes), 2)
        edges.add((min(a, b), max(a, b)))

    def show(node, at_ns):
        ns = offsets[node] + int(at_ns * rates[node])
        return f"{ns // 10**9}.{ns % 10**9:09}"

    with open(target, "w") as file:
        file.write(f"{nodes}\n")
        for a, b in sorted(edges):
            for at in sorted(draw.randrange(600 * 10**9) for _ in range(messages // 2)):
                for sender, receiver in ((a, b), (b, a)):
                    arrival = at + 25_000 + int(draw.expovariate(1 / 50_000))
                    file.write(f"{sender} {receiver} {show(sender, at)} {show(receiver, arrival)}\n")
                    at = arrival + int(draw.expovariate(1 / 100_000))
