#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breaks seeded places of the program, one at a time, and says which of the breaks no test notices.

The source tree is copied and only the copy is changed. For each break the copy is built and the unit and property
tests run until one fails, those of the changed stage first; what survives them also meets the golden cases. A test that
takes much longer than before, or needs far more memory, has noticed too. A break that does not build, or makes the same
object code, is replaced by another. Neither part of ctest nor of continuous integration: one break costs from some
seconds to some minutes.

usage: run.py [--seed N] [--count N] [--path PATTERN] [--jobs N] [--no-golden] [--list] [--work DIR]"""
import argparse
import concurrent.futures
import fnmatch
import glob
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

BUILD_TIMEOUT_S = 600
MEMORY_BYTES = 4 << 30
FILE_BYTES = 1 << 30
FOLDERS = ("collect", "sync", "analyze")

# Calls whose absence no test of results can see: memory is freed at the end of a process anyway.
UNSEEN_CALLS = re.compile(r"(^|_)(free|unref|clear|close|unlink|munmap|assert|va)(_|$)")

KEYWORDS = ("if", "while", "for", "switch", "return")
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
         "true": "false", "false": "true", "MIN": "MAX", "MAX": "MIN", "break": "continue", "continue": "break"}


def mask(text):
    """The text with comments, literals and directives blanked, every character in its place."""
    pattern = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^#(?:\\\n|[^\n])*",
                         re.DOTALL | re.MULTILINE)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def find_closing(text, opening):
    depth = 0
    for at in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return -1


def find_breaks(path, text):
    """(path, begin, end, replacement, kind) of every place that can be broken in a way that we know."""
    masked = mask(text)

    def add(kind, begin, end, replacement):
        line = masked[masked.rfind("\n", 0, begin) + 1:(masked + "\n").find("\n", begin)]
        if "g_assert" not in line and "_Static_assert" not in line:
            breaks.append((path, begin, end, replacement, kind))

    breaks = []
    for kind, pattern in (("comparison", r" (<=|>=|==|!=|<|>) "), ("logic", r" (&&|\|\|)\s"),
                          ("arithmetic", r"(?<=[\w\])]) ([+-]) (?=[\w(&*])"), ("truth", r"\b(true|false)\b"),
                          ("bound", r"\b(MIN|MAX)(?=\()"), ("jump", r"\b(break|continue)(?=;)")):
        for found in re.finditer(pattern, masked):
            add(kind, found.start(1), found.end(1), SWAPS[found.group(1)])
    for found in re.finditer(r"(?<![\w.])(\d+)(?![\w.])", masked):
        add("constant", found.start(1), found.end(1), str(int(found.group(1), 10 if found.group(1) != "0" else 8) + 1))
    for found in re.finditer(r"^#define \w+ \(?(\d+)\b", text, re.MULTILINE):
        add("limit", found.start(1), found.end(1), "0" if found.group(1) == "1" else "1")
    for found in re.finditer(r"\b(?:if|while) (\()", masked):
        end = find_closing(masked, found.start(1))
        if end > 0:
            add("negation", found.start(1), end + 1, "(!" + text[found.start(1):end + 1] + ")")
    for found in re.finditer(r"\n\t+((\w+)(\().*\));$", masked, re.MULTILINE):
        is_call = find_closing(masked, found.start(3)) == found.end(1) - 1 and found.group(2) not in KEYWORDS
        if is_call and not UNSEEN_CALLS.search(found.group(2)):
            add("no call", found.start(1), found.end(0), ";")
    for found in re.finditer(r"^(?:static )?void \w+\([^;{}]*\)\n(\{)", masked, re.MULTILINE):
        add("no function", found.start(1), found.end(1), "{ return;")
    return breaks


class Copy:
    """The copied tree and its build."""

    def __init__(self, source, work, jobs):
        self.source, self.root, self.jobs = source, os.path.join(work, "source"), jobs
        self.build = os.path.join(work, "build")
        self.scratch = os.path.join(work, "scratch")
        names = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=source, stdout=subprocess.PIPE,
                               check=True, text=True).stdout.split("\0")
        self.names = sorted(name for name in names if name and os.path.isfile(os.path.join(source, name)))
        known = set(self.names)
        for name in self.names:
            old, new = os.path.join(source, name), os.path.join(self.root, name)
            os.makedirs(os.path.dirname(new), exist_ok=True)
            if not os.path.exists(new) or open(old, "rb").read() != open(new, "rb").read():
                shutil.copyfile(old, new)
                shutil.copymode(old, new)
        # what has left the tree since the last time would still be built
        for folder, _, files in os.walk(self.root):
            for file in files:
                path = os.path.join(folder, file)
                if os.path.relpath(path, self.root) not in known:
                    os.remove(path)

    def configure(self):
        # shared stages: after a change one of them is linked again, and none of the hundred test programs
        self.run(["cmake", "-G", "Ninja", "-S", self.root, "-B", self.build, "-DCMAKE_BUILD_TYPE=None",
                  "-DCMAKE_C_FLAGS=-O1 -w", "-DDTC_STAGE_TYPE=SHARED", "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON",
                  "-DCMAKE_POSITION_INDEPENDENT_CODE=ON"])
        self.run(["cmake", "--build", self.build, "--", "-j%d" % self.jobs])

    def run(self, command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            sys.exit("%s failed:\n%s" % (" ".join(command), done.stdout[-4000:]))
        return done.stdout

    def read(self, name):
        with open(os.path.join(self.root, name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
            file.write(text)

    def find_object(self, name):
        """The object file of a source, relative to the build; None if it is in no stage's library."""
        found = glob.glob(os.path.join(glob.escape(self.build), "CMakeFiles", "dtc_*.dir", glob.escape(name) + ".o"))
        return os.path.relpath(found[0], self.build) if found else None

    def hash_object(self, name):
        with open(os.path.join(self.build, name), "rb") as file:
            return hashlib.sha256(file.read()).digest()

    def make(self, *targets):
        try:
            return subprocess.run(["ninja", "-C", self.build, "-j%d" % self.jobs, *targets], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=BUILD_TIMEOUT_S, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def limit():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))


class Test:
    def __init__(self, entry):
        properties = {item["name"]: item["value"] for item in entry.get("properties", [])}
        self.name, self.command = entry["name"], entry["command"]
        self.labels = properties.get("LABELS", [])
        self.folder = properties.get("WORKING_DIRECTORY")
        self.environment = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", []))
        self.limit_s = None

    def run(self, scratch, stop):
        """None if it passed or was stopped, else how it failed."""
        environment = dict(os.environ, TMPDIR=scratch, **self.environment)
        # its own group, so that what it started ends with it
        process = subprocess.Popen(self.command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                   preexec_fn=limit)
        begin = time.monotonic()
        try:
            while True:
                try:
                    return None if process.wait(0.05) in (0, 77) else "failed"
                except subprocess.TimeoutExpired:
                    if stop.is_set():
                        return None
                    if self.limit_s and time.monotonic() - begin > self.limit_s:
                        return "took too long"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def list_tests(copy, labels):
    listed = json.loads(copy.run(["ctest", "--test-dir", copy.build, "--show-only=json-v1"]))
    tests = [Test(entry) for entry in listed["tests"] if entry.get("command")]
    return [test for test in tests if set(test.labels) & set(labels)]


def run_tests(copy, tests):
    """The first test that fails, and how; (None, None) if none does. Stops the others."""
    stop = threading.Event()
    shutil.rmtree(copy.scratch, ignore_errors=True)
    os.makedirs(copy.scratch)

    def run(test):
        return None if stop.is_set() else test.run(copy.scratch, stop)

    with concurrent.futures.ThreadPoolExecutor(copy.jobs) as pool:
        waiting = {pool.submit(run, test): test for test in tests}
        for done in concurrent.futures.as_completed(waiting):
            if done.result():
                stop.set()
                return waiting[done], done.result()
    return None, None


def measure(copy, tests):
    """Runs all tests unbroken: the time that each may take; those that fail already are left out, aloud."""
    good = []
    shutil.rmtree(copy.scratch, ignore_errors=True)
    os.makedirs(copy.scratch)

    def run(test):
        begin = time.monotonic()
        return test.run(copy.scratch, threading.Event()), time.monotonic() - begin

    with concurrent.futures.ThreadPoolExecutor(copy.jobs) as pool:
        for test, (failed, took_s) in zip(tests, pool.map(run, tests)):
            if failed:
                print("left out, it fails without a break: " + test.name, file=sys.stderr)
                continue
            test.limit_s = 20 + 10 * took_s
            good.append(test)
    return good


def get_stage(object_name):
    return re.search(r"dtc_(\w+)\.dir", object_name).group(1)


def order_tests(tests, stage):
    """Unit tests of the stage, then the other unit tests, then property tests."""
    return sorted(tests, key=lambda test: ("unit" not in test.labels, "-%s-" % stage not in test.name))


def describe(text, broken):
    path, begin, end, replacement, kind = broken
    line = text.count("\n", 0, begin) + 1
    shown = text.rfind("\n", 0, begin) if kind == "no function" else begin
    old = text[text.rfind("\n", 0, shown) + 1:(text + "\n").find("\n", shown)].strip()
    new = " ".join(replacement.split())
    gone = " ".join(text[begin:end].split())
    return "%s:%d: %s: %s -> %s  in: %s" % (path, line, kind, gone, new or "(nothing)", old)


def try_break(copy, broken, tests, golden):
    """(verdict, detail): 'not built', 'same', 'noticed' or 'survives'."""
    path, begin, end, replacement, _ = broken
    text, target = copy.read(path), copy.find_object(path)
    if not target or not copy.make(target):
        return "not built", None
    before = copy.hash_object(target)
    try:
        copy.write(path, text[:begin] + replacement + text[end:])
        if not copy.make(target):
            return "not built", None
        if copy.hash_object(target) == before:
            return "same", None
        if not copy.make():
            return "not built", None
        test, how = run_tests(copy, order_tests(tests, get_stage(target)))
        if not test and golden:
            test, how = run_tests(copy, golden)
        return ("noticed", "%s %s" % (test.name, how)) if test else ("survives", None)
    finally:
        copy.write(path, text)


def choose(copy, pattern, seed):
    names = [name for name in copy.names if name.endswith(".c") and name.startswith(FOLDERS) and
             (not pattern or fnmatch.fnmatch(name, pattern) or name.startswith(pattern))]
    breaks = [broken for name in names for broken in find_breaks(name, copy.read(name))]
    random.Random(seed).shuffle(breaks)
    return breaks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--seed", type=int, default=1, help="which places (1)")
    parser.add_argument("--count", type=int, default=20, help="how many breaks that build (20)")
    parser.add_argument("--path", help="only files with this beginning, or that fit this pattern")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--no-golden", action="store_true", help="only unit and property tests")
    parser.add_argument("--list", action="store_true", help="only say what would be broken")
    parser.add_argument("--work", help="folder for the copy and its build, kept for the next time")
    arguments = parser.parse_args()
    work = arguments.work or tempfile.mkdtemp(prefix="dtc-mutation-")
    try:
        copy = Copy(os.path.abspath(arguments.source), os.path.abspath(work), arguments.jobs)
        breaks = choose(copy, arguments.path, arguments.seed)
        print("%d places can be broken" % len(breaks), file=sys.stderr)
        if arguments.list:
            for broken in breaks[:arguments.count]:
                print(describe(copy.read(broken[0]), broken))
            return
        copy.configure()
        tests = measure(copy, list_tests(copy, ["unit", "property"]))
        golden = [] if arguments.no_golden else measure(copy, list_tests(copy, ["golden"]))
        survivors, counts = [], {}
        for broken in breaks:
            if counts.get("noticed", 0) + counts.get("survives", 0) >= arguments.count:
                break
            verdict, detail = try_break(copy, broken, tests, golden)
            counts[verdict] = counts.get(verdict, 0) + 1
            said = describe(copy.read(broken[0]), broken)
            print("%s%s: %s" % (verdict, " (%s)" % detail if detail else "", said), file=sys.stderr, flush=True)
            if verdict == "survives":
                survivors.append(said)
        for said in sorted(survivors):
            print(said)
        print("%d breaks: %d noticed, %d survive; %d more did not build, %d made the same program (seed %d)" %
              (counts.get("noticed", 0) + len(survivors), counts.get("noticed", 0), len(survivors),
               counts.get("not built", 0), counts.get("same", 0), arguments.seed))
    finally:
        if not arguments.work:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
