#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metadata that want too much: refused or read within a second and 100 MB. Lengths in events that want too much: that
packet ends, the next one goes on.

usage: hostile.py --program PRINT_EVENTS [--slow]
"""
import argparse
import json
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile

SECONDS, BYTES, TRIES = 1.0, 100 << 20, 5
HEAD = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = c; freq = 1000000000; };
stream { id = 0; packet.context := struct { u64 packet_size; u64 content_size; };
event.header := struct { u32 id; integer { size = 64; map = clock.c.value; } timestamp; }; };
"""
TYPES = "".join(f"typealias integer {{ size = {bits}; align = 8; signed = false; }} := u{bits};\n"
                for bits in (8, 16, 32, 64))


def event(fields, number=0, more=""):
    return f"event {{ id = {number}; name = e{number}; stream_id = 0; fields := struct {{ {fields} }}; {more} }};\n"


def packet(*events):
    content = b"".join(events)
    bits = (24 + len(content)) * 8
    return struct.pack("<IIQQ", 0xC1FC1FC1, 0, bits, bits) + content


def record(payload, number=0, ticks=1):
    return struct.pack("<IQ", number, ticks) + payload


def describe(bits):
    return {"type": "fixed-length-unsigned-integer", "length": bits, "byte-order": "little-endian", "alignment": 8}


def fragments(*more):
    parts = [{"type": "preamble", "version": 2}, {"type": "trace-class"}, {"type": "data-stream-class"}, *more]
    return "".join(f"\x1e{part if isinstance(part, str) else json.dumps(part)}\n" for part in parts)


def structure(*members):
    return {"type": "structure", "member-classes": [{"name": name, "field-class": kind} for name, kind in members]}


def payload(*members):
    return {"type": "event-record-class", "payload-field-class": structure(*members)}


def nest(count):
    kind = describe(8)
    for _ in range(count):
        kind = {"type": "static-length-array", "length": 1, "element-field-class": kind}
    return kind


def make_metadata():
    yield "elements", TYPES + HEAD + event(f"u8 a[{1 << 62}];")
    yield "elements-max", TYPES + HEAD + event(f"u8 a[{(1 << 64) - 1}];")
    yield "elements-wide", TYPES + HEAD + event(f"u64 a[{1 << 58}]; string s;")
    yield "cube", TYPES + HEAD + event("u8 a[60000][60000][60000];")
    yield "cube-of-texts", TYPES + HEAD + event("string a[60000][60000][60000];")
    yield "empty-structs", TYPES + HEAD + event("struct { } a[100000000];")
    yield "empty-cube", TYPES + HEAD + event("struct { } a[100000000][100000000];")
    yield "empty-unknown", TYPES + HEAD + event("u8 n; struct { u8 b[n]; } a[100000000][100000000];")
    yield "comment", TYPES + "/*" + "*" * (10 << 20) + "*/" + HEAD + event("u8 a;")
    yield "comments", TYPES + "/**/ //\n" * (1 << 20) + HEAD + event("u8 a;")
    yield "comment-open", TYPES + HEAD + "/*" + " *" * (5 << 20)
    yield "text", TYPES + HEAD + 'env { a = "' + "x" * (10 << 20) + '"; };' + event("u8 a;")
    yield "events", TYPES + HEAD + "".join(event("u8 a; u32 b; string c;", i) for i in range(100000))
    yield "types", TYPES + HEAD + "".join(f"typealias u8 := t{i};\n" for i in range(100000)) + event("t99999 a;")
    yield "structs", TYPES + HEAD + "".join(f"struct t{i} {{ u8 a; }};\n" for i in range(100000))
    yield "streams", TYPES + HEAD + "".join(f"stream {{ id = {i}; }};\n" for i in range(1, 100000)) + event("u8 a;")
    yield "clocks", TYPES + HEAD + "".join(f"clock {{ name = c{i}; }};\n" for i in range(100000)) + event("u8 a;")
    yield "nested", TYPES + HEAD + event("struct { " * 20000 + "u8 a;" + " } b;" * 20000)
    yield "nested-lengths", TYPES + HEAD + event("u8 a" + "[1]" * 20000 + ";")
    yield "nested-variants", TYPES + HEAD + event("u8 t; " + "variant <t> { " * 20000 + "u8 a;" + " } b;" * 20000)
    yield "braces", TYPES + "{" * (10 << 20)
    doubled = "".join(f"typealias struct {{ t{i} a; t{i} b; }} := t{i + 1};\n" for i in range(60))
    yield "doubled", TYPES + "typealias u8 := t0;\n" + doubled + HEAD + event("t60 a;")
    labels = ", ".join(f"l{i}" for i in range(50000))
    options = " ".join(f"u8 l{i};" for i in range(50000))
    yield "options", TYPES + HEAD + event(f"enum : u32 {{ {labels} }} t; variant <t> {{ {options} }} v;")
    yield "sequences", TYPES + HEAD + event("u8 n; " + " ".join(f"u8 a{i}[n];" for i in range(50000)))
    yield "lengths", TYPES + HEAD + event(" ".join(f"u8 n{i}; u8 a{i}[n{i}];" for i in range(50000)))
    yield "path", TYPES + HEAD + event("u8 a[" + "b." * 100000 + "c];")
    yield "json-nested", fragments("[" * (10 << 20))
    yield "json-objects", fragments('{"a":' * (1 << 20))
    yield "json-nested-classes", fragments(payload(("a", nest(100))))
    yield "json-values", fragments('{"type":"trace-class","a":[' + "1," * (4 << 20) + "1]}")
    yield "json-text", fragments('{"type":"trace-class","a":"' + "\\\\n" * (4 << 20) + '"}')
    yield "json-elements", fragments(payload(("a", {"type": "static-length-array", "length": 1 << 62,
                                                     "element-field-class": describe(8)})))
    yield "json-blob", fragments(payload(("a", {"type": "static-length-blob", "length": (1 << 64) - 1})))
    yield "json-empty", fragments(payload(("a", {"type": "static-length-array", "length": 10**18,
                                                  "element-field-class": structure()})))
    yield "json-events", fragments(*({**payload(("a", describe(8)), ("b", describe(32))), "id": i, "name": f"e{i}"}
                                     for i in range(100000)))
    yield "json-aliases", fragments(*({"type": "field-class-alias", "name": f"t{i}", "field-class": describe(8)}
                                      for i in range(100000)))
    chain = [{"type": "field-class-alias", "name": f"t{i + 1}",
              "field-class": structure(("a", f"t{i}"), ("b", f"t{i}"))} for i in range(60)]
    yield "json-doubled", fragments({"type": "field-class-alias", "name": "t0", "field-class": describe(8)}, *chain,
                                    payload(("a", "t60")))
    array = {"type": "static-length-array", "length": 60000}
    cube = {**array, "element-field-class": {**array, "element-field-class":
                                             {**array, "element-field-class": {"type": "null-terminated-string"}}}}
    yield "json-cube", fragments(payload(("a", cube)))
    empty = {**array, "length": 10**8, "element-field-class": structure()}
    yield "json-empty-structs", fragments(payload(("a", empty)))
    alias = [{"type": "field-class-alias", "name": f"t{i + 1}",
              "field-class": {"type": "static-length-array", "length": 1, "element-field-class": f"t{i}"}}
             for i in range(20000)]
    yield "json-nested-aliases", fragments({"type": "field-class-alias", "name": "t0", "field-class": describe(8)},
                                           *alias, payload(("a", "t20000")))
    yield "json-streams", fragments(*({"type": "data-stream-class", "id": i} for i in range(1, 100000)))
    yield "json-clocks", fragments(*({"type": "clock-class", "id": f"c{i}", "frequency": 1} for i in range(100000)))
    yield "json-members", fragments(payload(*((f"a{i}", describe(8)) for i in range(50000))))
    yield "json-same-members", fragments(payload(*(("", describe(8)) for i in range(50000))))
    options = [{"name": f"o{i}", "selector-field-ranges": [[i, i]], "field-class": describe(8)} for i in range(50000)]
    variant = {"type": "variant", "selector-field-location": {"path": ["t"]}, "options": options}
    yield "json-options", fragments(payload(("t", describe(32)), ("v", variant)))
    yield "json-labels", fragments(payload(("t", {**describe(32), "mappings": {f"l{i}": [[i, i]]
                                                                               for i in range(50000)}})))
    length = {"type": "dynamic-length-blob", "length-field-location": {"path": ["n"]}}
    yield "json-lengths", fragments(payload(("n", describe(64)), *((f"a{i}", length) for i in range(20000))))
    yield "json-path", fragments(payload(("a", {**length, "length-field-location": {"path": [None] * 100000 + ["n"]}})))


def run(program, folder, is_slow):
    """(exit code, seconds of CPU, lines); who wants too much memory gets none, and aborts."""
    limit = None if is_slow else lambda: resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(folder / "said", "wb") as said:
        code = subprocess.run([program, str(folder / "trace")], stdout=said, stderr=subprocess.STDOUT, timeout=60,
                              preexec_fn=limit, check=False).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = (folder / "said").read_text(errors="replace").splitlines()
    return code, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, lines


def run_within(program, folder, is_slow):
    """The same; who is slow since the machine is busy is not so every time. What grows too fast is."""
    for _ in range(TRIES):
        code, seconds, lines = run(program, folder, is_slow)
        if is_slow or seconds < SECONDS:
            break
    return code, seconds, lines


def write(folder, metadata, stream):
    trace = folder / "trace"
    trace.mkdir(exist_ok=True)
    (trace / "metadata").write_text(metadata)
    (trace / "stream").write_bytes(stream)


def judge_metadata(program, folder, is_slow):
    problems = 0
    stream = packet(record(bytes(64)), record(bytes(64)))
    for name, metadata in make_metadata():
        write(folder, metadata, stream)
        code, seconds, lines = run_within(program, folder, is_slow)
        is_good = code in (0, 1) and (is_slow or seconds < SECONDS)
        problems += not is_good
        if not is_good or is_slow:
            print(f"{'' if is_good else 'BAD '}{name}: exit code {code}, {seconds:.2f} s: "
                  f"{lines[0][:100] if lines else ''}")
    return problems


LENGTHS = [1 << 20, 1 << 24, 1 << 31, (1 << 32) - 1, (1 << 62) + 5, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def judge_lengths(program, folder, is_slow):
    problems = 0
    kinds = {"u8": 1, "u64": 8, "struct { u8 a; string b; }": 2, "struct { u8 a; u16 b; }": 3}
    for element, size in kinds.items():
        for bits in (32, 64):
            write_length = struct.Struct("<I" if bits == 32 else "<Q").pack
            metadata = TYPES + HEAD + event(f"u{bits} n; {element} a[n]; u8 last;")
            good = record(write_length(2) + b"\0" * 2 * size + b"\7")
            for length in (length for length in LENGTHS if length < 1 << bits):
                bad = record(write_length(length) + bytes(20))
                write(folder, metadata, packet(good, good) + packet(good, bad, good) + packet(good, good))
                code, seconds, lines = run_within(program, folder, is_slow)
                events = sum(" event " in line for line in lines)
                is_good = code == 1 and events == 5 and (is_slow or seconds < SECONDS)
                problems += not is_good
                if not is_good:
                    print(f"BAD {element}, {length}: exit code {code}, {events} events, {seconds:.2f} s")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--slow", action="store_true", help="say what each took; under sanitizers time is no matter")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        problems = judge_metadata(options.program, folder, options.slow)
        problems += judge_lengths(options.program, folder, options.slow)
    print(f"{problems} problems")
    return problems > 0


if __name__ == "__main__":
    sys.exit(main())
