#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts the packets of a kernel trace (CTF 1.8 as LTTng 2.8 to 2.13 write it, little endian) into small ones, and knows
where each packet and event lies. Recordings have one packet per stream, in which nothing can be said of what damage in
the middle does to the rest. Events are copied bit by bit; only headers of packets are made.
usage: repacketise.py TRACE NEW [--bytes N]"""
import argparse
import bisect
import os
import re
import struct
import sys

METADATA_HEADER_BYTES = 37
PREFIX = struct.Struct("<I16sIQ")  # magic, uuid, stream id, stream instance
CONTEXT = struct.Struct("<QQQQQQI")  # begin, end, content and packet bits, sequence, discarded, cpu
HEADER_BYTES = PREFIX.size + CONTEXT.size
PAGE_BYTES = 4096
COMPACT_BITS = {"event_header_compact": (5, 27), "event_header_large": (16, 32)}  # of the id, of the time


def read_metadata(path):
    """The text, whether it is in packets or not."""
    with open(path, "rb") as file:
        data = file.read()
    text, at = b"", 0
    while at < len(data) and data[at:at + 4] == b"\x57\x1d\xd1\x75":
        content, packet = struct.unpack_from("<II", data, at + 24)
        text += data[at + METADATA_HEADER_BYTES:at + content // 8]
        at += packet // 8
    return (text or data).decode()


class Text:
    """The tokens of a metadata text."""

    TOKEN = re.compile(r'/\*.*?\*/|"[^"]*"|[A-Za-z_][A-Za-z_0-9]*|-?\d+|:=|\.\.\.|[{}\[\]<>();=:,.]', re.DOTALL)

    def __init__(self, text):
        self.tokens = [token for token in self.TOKEN.findall(text) if not token.startswith("/*")]
        self.at = 0

    def peek(self):
        return self.tokens[self.at]

    def take(self, wanted=None):
        token = self.tokens[self.at]
        if wanted is not None and token != wanted:
            raise ValueError(f"'{wanted}' expected, not '{token}'")
        self.at += 1
        return token

    def skip_block(self):
        """Past the brace that closes the one that comes next; what is in between."""
        self.take("{")
        begin, depth = self.at, 1
        while depth:
            token = self.take()
            depth += (token == "{") - (token == "}")
        return self.tokens[begin:self.at - 1]


def attributes(tokens):
    """The 'name = value;' of a block."""
    return {tokens[i - 1]: tokens[i + 1] for i, token in enumerate(tokens) if token == "="}


def align(bit, to):
    return (bit + to - 1) // to * to


class Integer:
    def __init__(self, block):
        values = attributes(block)
        self.bits = int(values["size"])
        self.align = int(values.get("align", 8 if self.bits % 8 == 0 else 1))
        self.order = "big" if values.get("byte_order") == "be" else "little"

    def end(self, _data, bit, _scope):
        return align(bit, self.align) + self.bits

    def read(self, data, bit):
        first = align(bit, self.align) // 8
        return int.from_bytes(data[first:first + self.bits // 8], self.order)


class Enum(Integer):
    def __init__(self, integer, labels):
        self.bits, self.align, self.order = integer.bits, integer.align, integer.order
        self.labels = labels


class String:
    def end(self, data, bit, _scope):
        return (data.index(b"\0", align(bit, 8) // 8) + 1) * 8


class Array:
    def __init__(self, element, count):
        self.element, self.count = element, count

    def end(self, data, bit, scope):
        count = scope[self.count] if isinstance(self.count, str) else self.count
        if isinstance(self.element, Integer) and count:
            if self.element.bits % self.element.align == 0:
                return align(bit, self.element.align) + self.element.bits * count
        for _ in range(count):
            bit = self.element.end(data, bit, scope)
        return bit


class Struct:
    def __init__(self, fields, minimum):
        self.fields, self.minimum = fields, minimum
        self.needed = set()

    def end(self, data, bit, scope):
        bit = align(bit, self.minimum)
        for name, kind in self.fields:
            if name in self.needed:
                scope[name] = kind.read(data, bit)
            bit = kind.end(data, bit, scope)
        return bit


class Variant:
    def __init__(self, selector, choices):
        self.selector, self.choices, self.labels = selector, choices, None

    def end(self, data, bit, scope):
        value = scope[self.selector]
        for label, low, high in self.labels:
            if low <= value <= high:
                return self.choices[label].end(data, bit, scope)
        raise ValueError(f"{self.selector} is {value}")


def parse_labels(text):
    labels, following = [], 0
    text.take("{")
    while text.peek() != "}":
        name = text.take().strip('"')
        low = high = following
        if text.peek() == "=":
            text.take()
            low = high = int(text.take())
            if text.peek() == "...":
                text.take()
                high = int(text.take())
        following = high + 1
        labels.append((name, low, high))
        if text.peek() == ",":
            text.take()
    text.take("}")
    return labels


def parse_type(text):
    word = text.take()
    if word == "integer":
        return Integer(text.skip_block())
    if word == "string":
        if text.peek() == "{":
            text.skip_block()
        return String()
    if word == "enum":
        text.take(":")
        return Enum(parse_type(text), parse_labels(text))
    if word == "variant":
        text.take("<")
        selector = text.take()
        text.take(">")
        return Variant(selector, dict(parse_fields(text)))
    if word == "struct":
        fields, minimum = parse_fields(text), 1
        if text.peek() == "align":
            text.take()
            text.take("(")
            minimum = int(text.take())
            text.take(")")
        return Struct(fields, minimum)
    raise ValueError(f"type '{word}' is not known")


def parse_fields(text):
    fields = []
    text.take("{")
    while text.peek() != "}":
        kind = parse_type(text)
        name = text.take()
        while text.peek() == "[":
            text.take()
            count = text.take()
            text.take("]")
            kind = Array(kind, int(count) if count.isdigit() else count)
        text.take(";")
        fields.append((name, kind))
    text.take("}")
    return fields


def resolve(kind, enclosing=()):
    """Tells variants their selector's labels, and structs which fields somebody asks for."""
    if isinstance(kind, Struct):
        for i, (_, inner) in enumerate(kind.fields):
            look_up(inner, enclosing + ((kind, i),))
            resolve(inner, enclosing + ((kind, i),))
    elif isinstance(kind, Variant):
        for choice in kind.choices.values():
            resolve(choice, enclosing)
    elif isinstance(kind, Array):
        resolve(kind.element, enclosing)


def look_up(kind, places):
    wanted = kind.selector if isinstance(kind, Variant) else kind.count if isinstance(kind, Array) else None
    if not isinstance(wanted, str):
        return
    for struct_, before in reversed(places):
        for name, found in struct_.fields[:before]:
            if name == wanted:
                struct_.needed.add(name)
                if isinstance(kind, Variant):
                    kind.labels = found.labels
                return
    raise ValueError(f"no field '{wanted}'")


class Metadata:
    """What is needed to tell events apart."""

    def __init__(self, directory):
        text = read_metadata(os.path.join(directory, "metadata"))
        header = re.search(r"event\.header := struct (\w+)", text)[1]
        self.id_bits, self.time_bits = COMPACT_BITS[header]
        self.events = {}
        for block in re.split(r"\nevent (?=\{)", text)[1:]:
            number = int(re.search(r"\bid = (\d+);", block)[1])
            fields = Text(block[block.index("fields := ") + len("fields := "):])
            kind = parse_type(fields)
            resolve(kind)
            self.events[number] = kind

    def read_header(self, data, bit, clock):
        """(id, time, first bit of the fields); clock is the time before."""
        first = align(bit, 8) // 8
        raw = int.from_bytes(data[first:first + (self.id_bits + self.time_bits) // 8], "little")
        number = raw & ((1 << self.id_bits) - 1)
        if number == (1 << self.id_bits) - 1:
            first += align(self.id_bits, 8) // 8
            number, time = struct.unpack_from("<IQ", data, first)
            return number, time, (first + 12) * 8
        low, wrap = raw >> self.id_bits, 1 << self.time_bits
        time = clock - clock % wrap + low
        return number, time + wrap if time < clock else time, (first * 8) + self.id_bits + self.time_bits


class Packet:
    """Where a packet lies in its file, what its header says, and its events as (offset in the file, id, time)."""

    def __init__(self, data, offset):
        self.offset = offset
        self.prefix = PREFIX.unpack_from(data, offset)
        (self.begin, self.end, self.content_bits, self.packet_bits, self.sequence, self.discarded,
         self.cpu) = CONTEXT.unpack_from(data, offset + PREFIX.size)
        self.bytes = self.packet_bits // 8
        self.events = []

    def read_events(self, data, metadata):
        bit, end, clock = (self.offset + HEADER_BYTES) * 8, self.offset * 8 + self.content_bits, self.begin
        while bit < end:
            bit = align(bit, 8)
            number, clock, fields = metadata.read_header(data, bit, clock)
            self.events.append((bit // 8, number, clock))
            bit = metadata.events[number].end(data, fields, {})
        self.events_end = align(bit, 8) // 8


def read_stream(path, metadata=None):
    """The packets of a stream file."""
    with open(path, "rb") as file:
        data = file.read()
    packets, offset = [], 0
    while offset < len(data):
        packet = Packet(data, offset)
        if metadata:
            packet.read_events(data, metadata)
        packets.append(packet)
        offset += packet.bytes
    return packets


def stream_names(directory):
    return sorted(entry.name for entry in os.scandir(directory) if entry.is_file() and entry.name != "metadata")


def cut_events(packet, wanted_bytes):
    """The packet's events in runs of about that many bytes: (first, one after the last)."""
    first = 0
    offsets = [event[0] for event in packet.events] + [packet.events_end]
    while first < len(packet.events):
        after = max(bisect.bisect_right(offsets, offsets[first] + wanted_bytes) - 1, first + 1)
        yield first, after
        first = after


def write_packet(data, packet, first, after, sequence, discarded):
    begin = packet.events[first][0]
    end = packet.events[after][0] if after < len(packet.events) else packet.events_end
    content = HEADER_BYTES + end - begin
    whole = align(content, PAGE_BYTES)
    return (PREFIX.pack(*packet.prefix) +
            CONTEXT.pack(packet.events[first][2], packet.events[after - 1][2], content * 8, whole * 8, sequence,
                         discarded, packet.cpu) + data[begin:end] + bytes(whole - content))


def repacketise_stream(source, target, metadata, wanted_bytes):
    with open(source, "rb") as file:
        data = file.read()
    sequence, discarded = 0, 0
    with open(target, "wb") as file:
        for packet in read_stream(source, metadata):
            for first, after in cut_events(packet, wanted_bytes):
                if after == len(packet.events):
                    discarded = packet.discarded
                file.write(write_packet(data, packet, first, after, sequence, discarded))
                sequence += 1


def repacketise(source, target, wanted_bytes):
    """A trace with the same events in packets of about so many bytes."""
    metadata = Metadata(source)
    os.makedirs(target)
    with open(os.path.join(source, "metadata"), "rb") as file, \
            open(os.path.join(target, "metadata"), "wb") as copy:
        copy.write(file.read())
    for name in stream_names(source):
        repacketise_stream(os.path.join(source, name), os.path.join(target, name), metadata, wanted_bytes)


def main():
    parser = argparse.ArgumentParser(description="cuts the packets of a kernel trace into small ones")
    parser.add_argument("trace")
    parser.add_argument("new")
    parser.add_argument("--bytes", type=int, default=3 * PAGE_BYTES)
    options = parser.parse_args()
    repacketise(options.trace, options.new, options.bytes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
