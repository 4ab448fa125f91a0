#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damages a recording in every way that was thought of, one at a time, and asks the program about it. A row says what
was damaged, how the program must end, the share of the undamaged events (undamaged.py) that it must keep, the finding's
code and the byte that it must name. What holds for all rows: the program never dies and never ends with 0 and another
answer than that of the recording as it was, unless only a checksum can tell; those rows say so.
usage: table.py --program FILE --bundle DIR [--only WORD] [--verbose]"""
import argparse
import collections
import fractions
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

import repacketise
import undamaged

TIMEOUT_S = 60
MEMORY_KIB = 4 << 20
PACKET_BYTES = 3 * repacketise.PAGE_BYTES
SECOND = 10**9
# where the numbers of a packet's header lie, from its first byte
MAGIC, UUID, STREAM_ID, INSTANCE = 0, 4, 20, 24
BEGIN, END, CONTENT, SIZE, SEQUENCE, DISCARDED, CPU = (repacketise.PREFIX.size + 8 * i for i in range(7))
SEED = 7


class Bundle:
    """A copy of the recording that may be damaged; paths are relative to it."""

    def __init__(self, directory, streams, options):
        self.directory, self.streams = directory, streams
        self.program, self.source = options.program, options.bundle
        self.dice = random.Random(SEED)
        self.target = directory  # what is given to the program

    def path(self, name):
        return os.path.join(self.directory, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return bytearray(file.read())

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def packet(self, name, number=None):
        packets = self.streams[name]
        return packets[len(packets) // 2 if number is None else number]

    def put(self, name, at, layout, value):
        data = self.read(name)
        struct.pack_into(layout, data, at, value)
        self.write(name, data)

    def change(self, name, at, change):
        """A 64-bit number of a packet's header."""
        data = self.read(name)
        value, = struct.unpack_from("<Q", data, at)
        struct.pack_into("<Q", data, at, change(value) & (2**64 - 1))
        self.write(name, data)


class Row:
    def __init__(self, name, damage, code, exit_code=3, keeps=0.99, at=None, allows=None, never=None, takes=None):
        self.name, self.damage, self.code, self.exit, self.keeps, self.at = name, damage, code, exit_code, keeps, at
        self.allows = allows  # why the answer may be another one although the program ends with 0
        self.never = never  # the code that must not be said: it looks like damage, and is none
        self.takes = takes or {}  # what is damaged with the bytes that are others: see undamaged.count


ROWS = []
UNREADABLE, TIMES = {"unreadable": "client"}, {"with_header": True}
WEB, ONE, ZERO = "web/kernel/ch0_0", "backend/kernel/ch0_1", "backend/kernel/ch0_0"


def row(name, code, **options):
    def add(damage):
        ROWS.append(Row(name, damage, code, **options))
        return damage
    return add


# ---- stream files ----

@row("a CPU's stream is missing", "stream-missing")
def _(bundle):
    os.unlink(bundle.path(ONE))


@row("the first CPU's stream is missing", "stream-missing")
def _(bundle):
    os.unlink(bundle.path(ZERO))


@row("the only stream is missing", "stream-missing")
def _(bundle):
    os.unlink(bundle.path(WEB))


@row("a stream is empty", "stream-missing")
def _(bundle):
    bundle.write(ONE, b"")


@row("a stream is a folder", "stream-missing")
def _(bundle):
    os.unlink(bundle.path(ONE))
    os.mkdir(bundle.path(ONE))


@row("a stream is a pipe", "stream-missing")
def _(bundle):
    os.unlink(bundle.path(ONE))
    os.mkfifo(bundle.path(ONE))


@row("a stream is noise", "stream-damaged")
def _(bundle):
    bundle.write(ONE, bundle.dice.randbytes(65536))


@row("a stream is text", "stream-damaged")
def _(bundle):
    bundle.write(ONE, b"not found\n")


@row("a stream is there twice", "stream-copy", exit_code=0)
def _(bundle):
    shutil.copy(bundle.path(ONE), bundle.path("backend/kernel/ch0_2"))


@row("a stream is there twice, once with other bytes", "packet-order")
def _(bundle):
    data = bundle.read(ONE)
    data[bundle.packet(ONE).events[5][0] + 8] ^= 1
    bundle.write("backend/kernel/ch0_2", data)


@row("a stream of another node beside", "stream-foreign")
def _(bundle):
    shutil.copy(bundle.path(WEB), bundle.path("backend/kernel/ch0_2"))


@row("a stream of another node in its place", "stream-foreign")
def _(bundle):
    shutil.copy(bundle.path(WEB), bundle.path(ONE))


@row("the only stream is another node's", "stream-foreign")
def _(bundle):
    shutil.copy(bundle.path(ONE), bundle.path(WEB))


@row("a stream has an index and is missing", "stream-missing")
def _(bundle):
    write_index(bundle, "web/kernel", "ch0_0", "ch0_1")


@row("all of a stream claims another CPU", "stream-missing")
def _(bundle):
    data = bundle.read(ONE)
    for packet in bundle.streams[ONE]:
        struct.pack_into("<I", data, packet.offset + CPU, 0)
    bundle.write(ONE, data)


@row("a stream ends early, between two packets", "stream-missing")
def _(bundle):
    data = bundle.read(ONE)
    bundle.write(ONE, data[:bundle.packet(ONE).offset])


@row("a stream ends early, the only one", "outside-trace", exit_code=(0, 3),
     allows="what requests did on the node later is missed; what its trace alone tells is all that is there")
def _(bundle):
    data = bundle.read(WEB)
    bundle.write(WEB, data[:bundle.packet(WEB).offset])


@row("a stream ends early, inside a packet", "stream-damaged", at=lambda b: b.packet(ONE).offset + 5000)
def _(bundle):
    data = bundle.read(ONE)
    bundle.write(ONE, data[:bundle.packet(ONE).offset + 5000])


@row("a stream begins late", "stream-missing")
def _(bundle):
    data = bundle.read(ONE)
    bundle.write(ONE, data[bundle.packet(ONE).offset:])


# ---- other files of a trace ----

@row("metadata of another node", "stream-foreign")
def _(bundle):
    shutil.copy(bundle.path("web/kernel/metadata"), bundle.path("client/kernel/metadata"))


@row("metadata with another uuid", "stream-foreign")
def _(bundle):
    data, at = bundle.read("client/kernel/metadata"), 0
    while at < len(data):
        data[at + UUID] ^= 0xff
        at += struct.unpack_from("<I", data, at + 28)[0] // 8
    bundle.write("client/kernel/metadata", data)


@row("metadata cut in half", "trace-unreadable", takes=UNREADABLE)
def _(bundle):
    data = bundle.read("client/kernel/metadata")
    bundle.write("client/kernel/metadata", data[:len(data) // 2 + 13])


@row("metadata cut between two packets", "trace-unreadable", takes=UNREADABLE)
def _(bundle):
    bundle.write("client/kernel/metadata", bundle.read("client/kernel/metadata")[:4096])


@row("metadata is noise", "trace-unreadable", takes=UNREADABLE)
def _(bundle):
    bundle.write("client/kernel/metadata", bundle.dice.randbytes(65536))


@row("metadata is empty", "trace-unreadable", takes=UNREADABLE)
def _(bundle):
    bundle.write("client/kernel/metadata", b"")


@row("metadata is missing", "trace-unreadable", takes=UNREADABLE)
def _(bundle):
    os.unlink(bundle.path("client/kernel/metadata"))


def rename_event(name, becomes):
    @row(f"a bit in the name of {name}", "metadata-damaged")
    def _(bundle):
        data = bundle.read("web/kernel/metadata")
        at = data.index(f'name = "{name}"'.encode()) + len('name = "')
        data[at:at + len(name)] = becomes.encode()
        bundle.write("web/kernel/metadata", data)


rename_event("syscall_entry_epoll_wait", "syscall_entry_epoll_waIt")
rename_event("syscall_exit_epoll_wait", "syscall_dxit_epoll_wait")
rename_event("sched_switch", "sched_sgitch")
rename_event("irq_softirq_entry", "irq_softirq_Entry")


@row("a README lies in a trace", "stray-file", exit_code=0)
def _(bundle):
    bundle.write("web/kernel/README", b"recorded on a Friday\n")


@row("a core lies in a trace", "stray-file", exit_code=0)
def _(bundle):
    bundle.write("web/kernel/core", b"\x7fELF" + bundle.dice.randbytes(100000))


@row("a socket lies in a trace", "stray-file", exit_code=0)
def _(bundle):
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(bundle.path("web/kernel"))
        server.bind("agent")
        os.chdir(here)


@row("the index is noise", "index-unfit", exit_code=0)
def _(bundle):
    os.mkdir(bundle.path("web/kernel/index"))
    bundle.write("web/kernel/index/ch0_0.idx", bundle.dice.randbytes(4096))


@row("the index lacks its last packets", "index-unfit", exit_code=0)
def _(bundle):
    write_index(bundle, "web/kernel", "ch0_0", "ch0_0", leave_out=10)


@row("the index has its packets in another order", "index-unfit", exit_code=0)
def _(bundle):
    write_index(bundle, "web/kernel", "ch0_0", "ch0_0", order=lambda packets: packets[::-1])


def write_index(bundle, folder, stream, name, leave_out=0, order=list):
    packets = order(bundle.streams[f"{folder}/{stream}"])
    data = struct.pack(">IIII", 0xc1f1dcc1, 1, 1, 72)
    for packet in packets[:len(packets) - leave_out]:
        data += struct.pack(">9Q", packet.offset, packet.packet_bits, packet.content_bits, packet.begin, packet.end,
                            packet.discarded, packet.prefix[2], packet.prefix[3], packet.sequence)
    os.makedirs(bundle.path(f"{folder}/index"), exist_ok=True)
    bundle.write(f"{folder}/index/{name}.idx", data)


# ---- headers of packets: the middle one of web's stream ----

def header(name, code, field, change, **options):
    @row(name, code, at=options.pop("at", lambda b: b.packet(WEB).offset), **options)
    def _(bundle):
        bundle.change(WEB, bundle.packet(WEB).offset + field, change)


header("a packet's magic", "stream-damaged", MAGIC, lambda value: value ^ 0xff)
header("a packet's uuid", "stream-damaged", UUID, lambda value: value ^ 0xff)
header("a packet's stream id", "stream-damaged", STREAM_ID, lambda value: value + 5)
header("a packet's stream instance", "stream-damaged", INSTANCE, lambda value: value + 5)
for seconds, word in ((1, "1 s"), (1000, "1,000 s")):
    header(f"a packet begins {word} late", "packet-time", BEGIN, lambda value, s=seconds: value + s * SECOND)
    header(f"a packet begins {word} early", "packet-time", BEGIN, lambda value, s=seconds: value - s * SECOND)
    header(f"a packet ends {word} late", "packet-time", END, lambda value, s=seconds: value + s * SECOND)
    header(f"a packet ends {word} early", "packet-time", END, lambda value, s=seconds: value - s * SECOND)
header("a packet begins at the end of time", "stream-damaged", BEGIN, lambda _: 2**64 - 1)
header("a packet begins at 0", "packet-time", BEGIN, lambda _: 0)
header("a packet ends at 0", "packet-time", END, lambda _: 0)
header("a packet's content is larger than it", "stream-damaged", CONTENT, lambda value: value + 2**20)
header("a packet's content is nothing", "stream-damaged", CONTENT, lambda _: 0)
header("a packet's content ends inside an event", "stream-damaged", CONTENT, lambda value: value - 24)
header("a packet's size is no number of bytes", "stream-damaged", SIZE, lambda value: value + 1)
header("a packet's size is beyond the file", "stream-damaged", SIZE, lambda value: value + 2**33)
header("a packet's size is short", "stream-damaged", SIZE, lambda value: value - 4096 * 8)
header("a packet's size is that of two", "events-lost", SIZE, lambda value: value * 2, at=None)
header("a packet's number is that of one before", "packet-order", SEQUENCE, lambda value: value - 7)
header("a packet's number is high", "packet-order", SEQUENCE, lambda value: value + 7)
header("a packet's count of lost events is 2^63", "stream-damaged", DISCARDED, lambda _: 2**63)
header("a packet's count of lost events is 2^64 - 1", "stream-damaged", DISCARDED, lambda _: 2**64 - 1)
header("a packet claims another CPU", "packet-cpu", CPU, lambda value: (value & ~0xffffffff) | 3)
header("a packet claims an absurd CPU", "packet-cpu", CPU, lambda value: (value & ~0xffffffff) | 100000)


@row("the last packets' counts of lost events sum to 2^64", "events-lost")
def _(bundle):
    for stream in (ZERO, ONE):
        bundle.put(stream, bundle.packet(stream, -1).offset + DISCARDED, "<Q", 2**63)


@row("the first packet claims another CPU", "packet-cpu", at=0)
def _(bundle):
    bundle.put(WEB, CPU, "<I", 3)


# ---- whole packets ----

def move(name, code, arrange, **options):
    """arrange makes a list of packets' bytes of another and the number of the damaged one."""
    @row(name, code, **options)
    def _(bundle):
        data = bundle.read(WEB)
        packets = [bytes(data[p.offset:p.offset + p.bytes]) for p in bundle.streams[WEB]]
        bundle.write(WEB, b"".join(arrange(packets, len(packets) // 2)))


def after_middle(bundle):
    packet = bundle.packet(WEB)
    return packet.offset + packet.bytes


move("a packet is there twice in a row", "packet-order", lambda p, i: p[:i] + [p[i], p[i]] + p[i + 1:],
     at=after_middle)
move("a packet is there again at the end", "packet-order", lambda p, i: p + [p[i]])
move("a packet is missing", "events-lost", lambda p, i: p[:i] + p[i + 1:])
move("ten packets are missing", "events-lost", lambda p, i: p[:i] + p[i + 10:])
move("two packets have changed places", "packet-order", lambda p, i: p[:i] + [p[i + 1], p[i]] + p[i + 2:])
move("a packet is zeroes", "stream-damaged", lambda p, i: p[:i] + [bytes(len(p[i]))] + p[i + 1:],
     at=lambda b: b.packet(WEB).offset)
move("the second half comes first", "packet-order", lambda p, i: p[i:] + p[:i])


@row("a packet is noise", "stream-damaged", at=lambda b: b.packet(WEB).offset)
def _(bundle):
    data, packet = bundle.read(WEB), bundle.packet(WEB)
    data[packet.offset:packet.offset + packet.bytes] = bundle.dice.randbytes(packet.bytes)
    bundle.write(WEB, data)


@row("noise over the end of a packet", "stream-damaged")
def _(bundle):
    data, packet = bundle.read(WEB), bundle.packet(WEB)
    data[packet.offset - 2048:packet.offset + 2048] = bundle.dice.randbytes(4096)
    bundle.write(WEB, data)


@row("a byte was lost", "stream-damaged")
def _(bundle):
    data = bundle.read(WEB)
    del data[bundle.packet(WEB).offset + 1000]
    bundle.write(WEB, data)


@row("a byte too much", "stream-damaged")
def _(bundle):
    data = bundle.read(WEB)
    data.insert(bundle.packet(WEB).offset + 1000, 0x55)
    bundle.write(WEB, data)


# ---- events ----

def event_time(name, change, **options):
    @row(name, "packet-time", at=lambda b: b.packet(WEB).offset, **options)
    def _(bundle):
        offset = bundle.packet(WEB).events[20][0]
        data = bundle.read(WEB)
        low, = struct.unpack_from("<I", data, offset + 2)
        struct.pack_into("<I", data, offset + 2, change(low) % 2**32)
        bundle.write(WEB, data)


event_time("an event is 1 s late", lambda low: low + SECOND)
event_time("an event is 1 s early", lambda low: low - SECOND)
event_time("an event is 3 ms early", lambda low: low - 3000000)


@row("an event is 1 s late, in a packet of 26 s", "packet-time", at=0)
def _(bundle):
    """As recordings are: one packet per stream, in which the wrong time and all that follow lie inside."""
    source = os.path.join(bundle.source, WEB)
    shutil.copy(source, bundle.path(WEB))
    events = repacketise.read_stream(source, repacketise.Metadata(os.path.dirname(source)))[0].events
    data, offset = bundle.read(WEB), events[len(events) // 2][0]
    low, = struct.unpack_from("<I", data, offset + 2)
    struct.pack_into("<I", data, offset + 2, (low + SECOND) % 2**32)
    bundle.write(WEB, data)


@row("an event of a kind that is not declared", "stream-damaged")
def _(bundle):
    bundle.put(WEB, bundle.packet(WEB).events[20][0], "<H", 60000)


@row("a length in an event is 2^31", None, exit_code=(1, 3))
def _(bundle):
    """What babeltrace2 does then is for the decoder of our own to mend: it asks for the memory at once."""
    event = next(e for packet in bundle.streams[WEB] for e in packet.events if e[1] == 502)  # syscall_exit_epoll_wait
    bundle.put(WEB, event[0] + 6 + 8, "<I", 2**31)


@row("a thread's number in an event", None, exit_code=0, allows="payload")
def _(bundle):
    event = next(e for e in bundle.packet(WEB).events if e[1] == 1225)  # sched_switch
    data = bundle.read(WEB)
    data[event[0] + 6 + 16] ^= 1
    bundle.write(WEB, data)


# ---- the clock ----

def shift_clock(name, code, nodes, seconds, **options):
    """From the middle on, all times of all streams of a node are others."""
    @row(name, code, **options)
    def _(bundle):
        for stream in nodes:
            data = bundle.read(stream)
            for packet in bundle.streams[stream]:
                if packet.begin < bundle.streams[stream][-1].end - 8 * SECOND:
                    continue
                # whole turns of the events' low bits, so that these stay as they are
                for at in (BEGIN, END):
                    value, = struct.unpack_from("<Q", data, packet.offset + at)
                    struct.pack_into("<Q", data, packet.offset + at, value + (seconds << 32))
            bundle.write(stream, data)


shift_clock("the clock goes back by 4 s", "clock-jump", [WEB], -1, takes=TIMES)
shift_clock("the clock goes back by 4 s on two CPUs", "clock-jump", [ZERO, ONE], -1, takes=TIMES)
shift_clock("the clock goes forward by an hour", None, [WEB], 838, takes=TIMES)


# ---- captures ----

PCAP_HEADER, RECORD = 24, struct.Struct("<IIII")


def edit_capture(data, edit):
    """Every record's (seconds, nanoseconds, bytes) through edit."""
    out, at = bytearray(data[:PCAP_HEADER]), PCAP_HEADER
    while at + RECORD.size <= len(data):
        seconds, nanoseconds, kept, whole = RECORD.unpack_from(data, at)
        body = data[at + RECORD.size:at + RECORD.size + kept]
        seconds, nanoseconds, body = edit(seconds, nanoseconds, body)
        out += RECORD.pack(seconds, nanoseconds, len(body), whole) + body
        at += RECORD.size + kept
    return out


@row("a capture of another node", "capture-foreign", exit_code=0, allows="warned of")
def _(bundle):
    shutil.copy(bundle.path("client.pcap"), bundle.path("backend.pcap"))


@row("a capture with other addresses", "capture-foreign", exit_code=0, allows="warned of")
def _(bundle):
    def edit(seconds, nanoseconds, body):
        return seconds, nanoseconds, bytes(body).replace(bytes((10, 77)), bytes((10, 99)))
    bundle.write("web.pcap", edit_capture(bundle.read("web.pcap"), edit))


@row("a capture an hour off", "capture-time", exit_code=0, allows="warned of")
def _(bundle):
    bundle.write("web.pcap", edit_capture(bundle.read("web.pcap"), lambda s, n, body: (s + 3600, n, body)))


@row("a capture of another day", "capture-time", exit_code=0, allows="warned of")
def _(bundle):
    bundle.write("web.pcap", edit_capture(bundle.read("web.pcap"), lambda s, n, body: (s - 777777, n, body)))


def stretch_capture(bundle, factor, repeats=1):
    """Times since the first one become others; then all of it again, so many times, with other addresses."""
    def edit(seconds, nanoseconds, body):
        since = (seconds * SECOND + nanoseconds - edit.first) * factor + edit.first + edit.later
        if edit.later:
            body = bytes(body).replace(bytes((10, 77)), bytes((10, 99)))
        return int(since // SECOND), int(since % SECOND), body
    data = bundle.read("web.pcap")
    edit.first, edit.later = struct.unpack_from("<I", data, PCAP_HEADER)[0] * SECOND, 0
    out = edit_capture(data, edit)
    for number in range(1, repeats):
        edit.later = number * 26 * SECOND
        out += edit_capture(data, edit)[PCAP_HEADER:]
    bundle.write("web.pcap", out)


@row("a capture in other units", "capture-time", exit_code=0, allows="warned of")
def _(bundle):
    stretch_capture(bundle, 1000)


@row("a capture in other units, the other way", "capture-time", exit_code=0, allows="warned of")
def _(bundle):
    stretch_capture(bundle, fractions.Fraction(1, 1000))


@row("a capture of seven hours", None, exit_code=0, never="capture-time")
def _(bundle):
    stretch_capture(bundle, 1, 1000)


@row("a capture of a moment", None, exit_code=0, never="capture-time", allows="no request was captured whole")
def _(bundle):
    data = bundle.read("web.pcap")
    middle = PCAP_HEADER
    for _ in range(1000):
        middle += RECORD.size + RECORD.unpack_from(data, middle)[2]
    begin, end = RECORD.unpack_from(data, middle)[:2], middle
    while RECORD.unpack_from(data, end)[0] == begin[0] and RECORD.unpack_from(data, end)[1] < begin[1] + 26 * 10**6:
        end += RECORD.size + RECORD.unpack_from(data, end)[2]
    bundle.write("web.pcap", data[:PCAP_HEADER] + data[middle:end])


def convert_fractions(bundle, name, change, magic=None):
    """What a converter makes that takes one unit for the other."""
    data = edit_capture(bundle.read(name), lambda s, n, body: (s, change(n), body))
    if magic:
        struct.pack_into("<I", data, 0, magic)
    bundle.write(name, data)


@row("a capture's nanoseconds taken for microseconds", "capture-time", exit_code=0, allows="warned of")
def _(bundle):
    convert_fractions(bundle, "web.pcap", lambda n: n, magic=0xa1b2c3d4)


@row("a capture's microseconds taken for nanoseconds", "capture-time", exit_code=0, allows="warned of")
def _(bundle):
    convert_fractions(bundle, "web.pcap", lambda n: n // 1000)


@row("a capture cut", "capture-damaged", keeps=1)
def _(bundle):
    data = bundle.read("web.pcap")
    bundle.write("web.pcap", data[:len(data) * 2 // 3 + 5])


@row("noise in a capture", "capture-damaged", keeps=1)
def _(bundle):
    data = bundle.read("web.pcap")
    middle = len(data) // 2
    data[middle:middle + 4096] = b"\xff" * 4096
    bundle.write("web.pcap", data)


@row("a capture is noise", "capture-damaged", keeps=1)
def _(bundle):
    bundle.write("web.pcap", bundle.dice.randbytes(65536))


@row("a capture is empty", "capture-damaged", keeps=1)
def _(bundle):
    bundle.write("web.pcap", b"")


# ---- nodes ----

@row("a node's trace under another's name, too", "trace-twice")
def _(bundle):
    shutil.rmtree(bundle.path("web/kernel"))
    shutil.copytree(bundle.path("client/kernel"), bundle.path("web/kernel"))


def rename_host(name, code, node, old, new, **options):
    """Of the same length, so that the packets of the metadata stay as they are."""
    @row(name, code, **options)
    def _(bundle):
        data = bundle.read(f"{node}/kernel/metadata")
        was, becomes = f'hostname = "{old}";'.encode(), f'hostname = "{new}";'.encode()
        becomes = becomes.ljust(len(was)) if len(becomes) <= len(was) else becomes
        at = data.index(was)
        rest = max(len(becomes) - len(was), 0)
        data[at:at + len(was) + rest] = becomes
        bundle.write(f"{node}/kernel/metadata", data)


rename_host("a host name of another node", "host-twice", "backend", "backend", "web", exit_code=0)
rename_host("a host name that nobody has", None, "backend", "backend", "db-17", exit_code=0)


# ---- bundles ----

def pack(bundle, suffix=".dtcb"):
    out = bundle.directory + "-packed" + suffix
    done = subprocess.run([bundle.program, "bundle", "create", out, bundle.directory], capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    bundle.target = out
    return out


def flip(path, at, bit=0):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << bit]))


for part in range(12):
    @row(f"a bit in a packed bundle ({part + 1} of 12)", "bundle-changed", exit_code=(1, 3), keeps=0)
    def _(bundle, part=part):
        path = pack(bundle)
        size = os.path.getsize(path)
        flip(path, size * (2 * part + 1) // 24, part % 8)


@row("a bit in a packed bundle's seal", None, exit_code=0)
def _(bundle):
    path = pack(bundle)
    flip(path, os.path.getsize(path) - 5)


@row("a packed bundle lacks its last byte", "bundle-changed", exit_code=(1, 3), keeps=0)
def _(bundle):
    path = pack(bundle)
    os.truncate(path, os.path.getsize(path) - 1)


@row("a packed bundle is cut in half", None, exit_code=1, keeps=0)
def _(bundle):
    path = pack(bundle)
    os.truncate(path, os.path.getsize(path) // 2)


@row("a file of a sealed bundle is longer", "bundle-changed")
def _(bundle):
    path = pack(bundle, "")
    with open(os.path.join(path, WEB), "ab") as file:
        file.write(bytes(4096))


@row("a file of a sealed bundle is missing", "bundle-changed")
def _(bundle):
    os.unlink(os.path.join(pack(bundle, ""), "web.pcap"))


@row("a stream of a sealed bundle is missing", "bundle-changed")
def _(bundle):
    os.unlink(os.path.join(pack(bundle, ""), WEB))


@row("a stream that a sealed bundle does not know", "stream-copy", exit_code=0)
def _(bundle):
    path = pack(bundle, "")
    shutil.copy(os.path.join(path, ONE), os.path.join(path, "backend/kernel/ch0_2"))


@row("the manifest of a sealed bundle is damaged", "bundle-changed")
def _(bundle):
    path = pack(bundle, "")
    flip(os.path.join(path, "manifest.pb"), 60)


# ---- asking ----

class Answer:
    def __init__(self, code, out, err):
        self.code, self.err = code, err
        try:
            self.json = json.loads(out)
        except ValueError:
            self.json = None


def ask(program, target, *question):
    command = [program, *question, "--format", "json", "--bundle", target]
    limited = ["/bin/sh", "-c", 'ulimit -v "$1"; shift; exec "$@"', "sh", str(MEMORY_KIB), *command]
    try:
        done = subprocess.run(command if ask.is_sanitized else limited, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return Answer(None, b"", f"no end after {TIMEOUT_S} s")
    return Answer(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


ask.is_sanitized = False


def get_requests(answer):
    """Of each request how long it took and the time of each cause, in ns."""
    known = {}
    for request in answer.json["requests"] if answer.json else []:
        causes = collections.Counter()
        for part in request["breakdown"]:
            causes[part["tier"], part["cause"]] += part["ns"]
        known[request["id"]] = request["duration_ns"], causes
    return known


def is_same(answer, whole):
    """Clocks that are fitted to fewer packets differ by little: a hundredth of the request is no other answer."""
    if answer is None:
        return False
    allowed = max(whole[0] // 100, 20000)
    return abs(answer[0] - whole[0]) <= allowed and all(
        abs(answer[1][key] - whole[1][key]) <= allowed for key in set(answer[1]) | set(whole[1]))


def tells_loss(finding):
    """Whoever says that bytes were left out says how many events that is, or that nobody knows."""
    is_damage = finding["code"] in ("stream-damaged", "packet-order", "packet-time", "clock-jump")
    is_loss = any(word in finding["text"] for word in ("left out", "skipped", "ends at byte"))
    return not is_damage or not is_loss or "event" in finding["text"]


class Result:
    """What became of one row."""

    def __init__(self, row_, bundle, whole):
        self.row = row_
        # of an archive a bit is a checksum's matter: what is behind it is not the trace's bytes
        events = whole.events if os.path.isfile(bundle.target) else undamaged.count(
            whole.directory, bundle.target, bundle.streams, **row_.takes)
        self.stats = ask(bundle.program, bundle.target, "stats")
        self.requests = ask(bundle.program, bundle.target, "requests")
        self.codes = {a.code for a in (self.stats, self.requests)}
        self.findings = [finding for answer in (self.stats, self.requests) if answer.json
                         for finding in answer.json["findings"]]
        self.errors = "".join(a.err for a in (self.stats, self.requests) if a.code not in (0, 3))
        self.events = self.stats.json["events"] if self.stats.json else 0
        self.left, self.kept = events / whole.events, min(self.events / events, 1)
        answers = get_requests(self.requests)
        self.changed = sum(not is_same(answers.get(key), value) for key, value in whole.requests.items())
        self.at = row_.at(bundle) if callable(row_.at) else row_.at

    def names_offset(self):
        return any(f"byte {self.at}" in finding["text"] for finding in self.findings)

    def has_code(self, code):
        return any(finding["code"] == code for finding in self.findings)

    def problems(self):
        wanted = self.row.exit if isinstance(self.row.exit, tuple) else (self.row.exit,)
        if not self.codes <= set(wanted):
            yield f"exit {sorted(map(str, self.codes))}, not {wanted}: {self.errors.strip()[:200]}"
        if 0 in self.codes and self.changed and not self.row.allows:
            yield f"{self.changed} answers changed, and it ends with 0"
        if self.kept < self.row.keeps:
            yield f"keeps {self.kept:.4f} of the undamaged events, not {self.row.keeps}"
        if self.row.code and not self.has_code(self.row.code) and not self.codes <= {1}:
            yield f"no finding '{self.row.code}'"
        for finding in self.findings:
            if not tells_loss(finding):
                yield f"says not how many events are lost: {finding['text']}"
        if self.row.never and self.has_code(self.row.never):
            yield f"'{self.row.never}' is said, and is not so"
        if self.at is not None and not self.names_offset() and not self.codes <= {1}:
            yield f"no finding names byte {self.at}"
        for answer in (self.stats, self.requests):
            if answer.code in (0, 3) and answer.json is None:
                yield "no JSON"
            if answer.code == 1 and not (answer.err.startswith("dtrace-chain: ") and "\nhint: " in answer.err):
                yield f"fails without a message and a hint: {answer.err.strip()[:200]}"


class Whole:
    """The recording as it was."""

    def __init__(self, program, directory):
        stats, requests = ask(program, directory, "stats"), ask(program, directory, "requests")
        if stats.code != 0 or requests.code != 0:
            raise RuntimeError(f"the undamaged recording ends with {stats.code}, {requests.code}")
        self.directory, self.events = directory, stats.json["events"]
        self.requests = get_requests(requests)


def make_small_packets(source, target):
    """A copy of the recording in small packets; the streams' packets by name."""
    streams = {}
    for entry in sorted(os.listdir(source)):
        path = os.path.join(source, entry)
        if entry.endswith(".pcap"):
            shutil.copy(path, os.path.join(target, entry))
        if not os.path.isdir(os.path.join(path, "kernel")):
            continue
        kernel = os.path.join(target, entry, "kernel")
        repacketise.repacketise(os.path.join(path, "kernel"), kernel, PACKET_BYTES)
        metadata = repacketise.Metadata(kernel)
        for name in repacketise.stream_names(kernel):
            streams[f"{entry}/kernel/{name}"] = repacketise.read_stream(os.path.join(kernel, name), metadata)
    return streams


def run_row(row_, options, scratch, small, streams, whole):
    directory = os.path.join(scratch, "damaged")
    shutil.copytree(small, directory)
    bundle = Bundle(directory, streams, options)
    row_.damage(bundle)
    result = Result(row_, bundle, whole)
    shutil.rmtree(directory)
    if bundle.target != directory:
        shutil.rmtree(bundle.target) if os.path.isdir(bundle.target) else os.unlink(bundle.target)
    return result


def show(result, problems, verbose):
    codes = ",".join(sorted({f["code"] or "-" for f in result.findings}))
    exits = ",".join(sorted(str(code) for code in result.codes))
    print(f"{'!!' if problems else '  '} {result.row.name:48} exit {exits:4} undamaged {100 * result.left:6.2f} % "
          f"of them kept {100 * result.kept:6.2f} % changed {result.changed:3}  {codes}")
    for problem in problems:
        print(f"     {problem}")
    for finding in result.findings if verbose else []:
        print(f"       {finding['code']}: {finding['node']}: {finding['text'][:150]}")


def main():
    parser = argparse.ArgumentParser(description="damages a recording in many ways")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--only", help="rows whose name has this in it")
    parser.add_argument("--verbose", action="store_true", help="show the findings")
    parser.add_argument("--sanitized", action="store_true", help="no limit of address space: the sanitizers need it")
    options = parser.parse_args()
    ask.is_sanitized = options.sanitized
    rows = [row_ for row_ in ROWS if not options.only or options.only in row_.name]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="dtc-damage-") as scratch:
        small = os.path.join(scratch, "small")
        os.mkdir(small)
        streams = make_small_packets(options.bundle, small)
        whole = Whole(options.program, small)
        for row_ in rows:
            result = run_row(row_, options, scratch, small, streams, whole)
            problems = list(dict.fromkeys(result.problems()))
            failed += bool(problems)
            show(result, problems, options.verbose)
    print(f"{len(rows)} kinds of damage, {failed} not as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
