#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo with names that try to leave their place: escape codes, markup, quotes, line ends, bytes that are no UTF-8,
turned writing. Threads, files, a request and a node bear them. Every command, as text, in colour, as JSON and in every
export, must show them as harmless text. usage: commands.py --program FILE --source DIR"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

COMMS = ((b"lab-worker", b"\x1b[31m<b>&\xff\"\\"), (b"nginx", b"\x1b]\x07<\"'"), (b"labsrv", b"\xe2\x80\xae%s\n"))
PATHS = ((b"/proc/", b"/p\xfe\n</"), (b"/srv/", b"/<\x07>/"), (b"/var/", b"/\x9b\"/<"), (b"/tmp/", b"/<\x1b>/"),
         (b"/etc/", b"/\x1bc</"))
ID = "re\x1b[2J<>"  # as long as the one it replaces
NODE = "w<b>\"x"
REQUEST = ["--bundle", "demo", "--request-id", ID]
THREAD = ["--bundle", "demo", "--thread", "backend:138", "--from", "+6s", "--to", "+6.2s"]
COMMANDS = (["requests", "demo"], ["compare", "demo"], ["stats", "demo"], ["stats", "demo", "--by", "context"],
            ["sync", "demo"], ["blockings", "demo"], ["usage", "demo"], ["top", "demo", "--threads"],
            ["states", "demo"], ["states", "demo", "--instances"], ["events", "demo", "--to", "+5s"], ["edges", "demo"],
            ["check", "demo"], ["bundle", "show", "demo.dtcb"], ["bundle", "check", "demo.dtcb"], REQUEST, THREAD)
WRONG = (["x\x1b[2J"], ["top", "--x\x1b[2J"], ["top", "demo", "--nodes", "a\x1b[2J\n<b>"],
         ["--bundle", "demo", "--request-id", "none\x1b[31m"], ["events", "demo", "--kind", "\x1b[2J"],
         ["bundle", "show", "\x1b[2J.dtcb"])


def make_demo(source, folder):
    shutil.copytree(os.path.join(source, "clusters/demo"), folder)
    changed = 0
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                before = after = file.read()
            if name.startswith("ch0_"):
                for comm, hostile in COMMS:
                    after = after.replace(comm.ljust(16, b"\0"), hostile.ljust(16, b"\0"))
                for part, hostile in PATHS:
                    assert len(part) == len(hostile)
                    after = after.replace(part, hostile)
            elif name.endswith(".pcap"):
                assert len(ID) == len("req-0069")
                after = after.replace(b"req-0069", ID.encode())
            if after != before:
                changed += 1
                with open(path, "wb") as file:
                    file.write(after)
    assert changed >= 7, f"only {changed} files have something to replace"
    os.rename(os.path.join(folder, "web"), os.path.join(folder, NODE))
    os.rename(os.path.join(folder, "web.pcap"), os.path.join(folder, NODE + ".pcap"))


def find_faults(data, has_color):
    """What a terminal, or a reader of text, would take for something else than text."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8: {data[max(0, error.start - 20):error.start + 10]!r}"
    if has_color:
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    found = re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069]", text)
    return f"a control character: {text[max(0, found.start() - 20):found.end() + 10]!r}" if found else None


def run(program, arguments, good_codes):
    done = subprocess.run([program, *arguments, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    has_color = "always" in arguments
    fault = find_faults(done.stdout, has_color) or find_faults(done.stderr, has_color)
    if done.returncode not in good_codes:
        fault = f"exit code {done.returncode}: {done.stderr.decode(errors='replace')[:300]}"
    return done.stdout, fault


def check_json(output, is_lines):
    try:
        for document in output.splitlines() if is_lines else [output]:
            json.loads(document)
    except json.JSONDecodeError as error:
        return f"no JSON: {error}"
    return None


def check_exports(program):
    """Of a request and a thread, all files that they write."""
    for name, question in (("request", REQUEST), ("thread", THREAD)):
        files = {kind: f"{name}.{kind}" for kind in ("html", "perfetto", "otlp", "folded", "dot")}
        options = [part for kind, file in files.items() for part in (f"--{kind}", file)]
        _, fault = run(program, question + options, (0, 3))
        yield f"exports of a {name}", fault
        for kind, file in files.items():
            with open(file, "rb") as stream:
                data = stream.read()
            if kind == "perfetto":
                fault = None if data.count(b"\x1b[") == 0 else "an escape code"
            elif kind == "html":
                fault = find_faults(data.replace(b"\t", b" "), False)
                if any(part in data for part in (b"[31m<b>", b"]\\x07<", b"w<b>")):
                    fault = "markup of a name"
            else:
                fault = find_faults(data.replace(b"\t", b" "), False)
            if kind == "otlp":
                fault = fault or check_json(data, False)
            if kind == "dot" and shutil.which("dot"):
                drawn = subprocess.run(["dot", "-Tsvg", file], stdout=subprocess.PIPE, check=False)
                fault = fault or (None if drawn.returncode == 0 else "dot refuses it")
                xml.etree.ElementTree.fromstring(drawn.stdout)
            yield f"{kind} of a {name}", fault


def check_all(program):
    _, fault = run(program, ["bundle", "create", "demo.dtcb", "demo"], (0, 3))
    yield "bundle create", fault
    for command in COMMANDS:
        colors = [["--color", "always"]] if command[0] in ("top", "blockings", "--bundle") else []
        for extra in ([], ["--format", "json"], *colors):
            output, fault = run(program, command + extra, (0, 3))
            if command[0] == "top" and not extra and rb"\x1b[31m<b>" not in output:
                fault = "the thread is not there"
            if extra[-1:] == ["json"]:
                fault = fault or check_json(output, command[0] in ("events", "edges"))
            yield " ".join(command + extra), fault
    for command in WRONG:
        yield " ".join(command), run(program, command, (1, 2))[1]
    yield from check_exports(program)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=os.path.abspath)
    parser.add_argument("--source", required=True, type=os.path.abspath)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="dtc-hostile-") as scratch:
        os.chdir(scratch)
        make_demo(options.source, "demo")
        count = 0
        for what, fault in check_all(options.program):
            count += 1
            if fault:
                failed += 1
                print(f"{what!r}: {fault}")
        os.chdir("/")
    print(f"{count} outputs, {failed} with something that is not text")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
