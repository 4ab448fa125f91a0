#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs golden cases: a folder each, with
    cmd           a shell script, run in an empty scratch folder that has clusters/ and tests/golden/ (as links)
    stdout.exact  the bytes it must print (no file: nothing)
    stderr.glob   what it must say on stderr, line by line with * and ?; a line "..." is any number of lines
    exit          its exit code (no file: 0)
A case with a file `deterministic` is run twice and must give the same bytes. --bless writes what differs: read the
diff like code. usage: run.py --program FILE --source DIR [--bless | --cache] [CASE...]"""
import argparse
import difflib
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

TIMEOUT_S = 300


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def glob_matches(patterns, lines):
    """Whether the lines fit the patterns; "..." stands for any number of lines."""
    reachable = {0}
    for pattern in patterns:
        if pattern == "...":
            reachable = set(range(min(reachable), len(lines) + 1)) if reachable else set()
        else:
            reachable = {i + 1 for i in reachable if i < len(lines) and fnmatch.fnmatchcase(lines[i], pattern)}
    return len(lines) in reachable


def glob_escape(text):
    return re.sub(r"([*?[])", r"[\1]", text)


def run_once(case_dir, program, source, cache="none"):
    with tempfile.TemporaryDirectory(prefix="dtc-golden-") as scratch:
        for name in ("clusters", "tests"):
            os.symlink(os.path.join(source, name), os.path.join(scratch, name))
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("DTC_", "LC_", "LANG", "COLUMNS", "XDG_", "G_"))}
        environment.update(PATH=os.path.dirname(os.path.abspath(program)) + ":" + os.environ["PATH"],
                           LC_ALL="C.UTF-8", TZ="UTC", HOME=scratch, TMPDIR=scratch, DTRACE_CHAIN_CACHE=cache)
        try:
            done = subprocess.run(["sh", os.path.join(case_dir, "cmd")], cwd=scratch, env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            return b"", b"still running after %d s\n" % TIMEOUT_S, -1
        return done.stdout, done.stderr, done.returncode


def show_diff(name, want, got):
    diff = difflib.unified_diff(want.decode("utf-8", "replace").splitlines(),
                                got.decode("utf-8", "replace").splitlines(), name, "got", lineterm="")
    print("\n".join(list(diff)[:80]))


def write(path, content, is_default):
    if is_default:
        if os.path.exists(path):
            os.unlink(path)
        return
    with open(path, "wb") as file:
        file.write(content)


def check_case(name, options):
    case_dir = os.path.join(options.source, "tests/golden", name)
    if read(os.path.join(case_dir, "cmd")) is None:
        print(f"{name}: no such case")
        return False
    out, err, code = run_once(case_dir, options.program, options.source)
    want_out = read(os.path.join(case_dir, "stdout.exact")) or b""
    want_err = read(os.path.join(case_dir, "stderr.glob")) or b""
    want_code = int(read(os.path.join(case_dir, "exit")) or 0)
    err_lines = err.decode("utf-8", "replace").splitlines()
    err_fits = glob_matches(want_err.decode().splitlines(), err_lines)

    if options.bless and code >= 0:
        write(os.path.join(case_dir, "stdout.exact"), out, not out)
        if not err_fits:
            write(os.path.join(case_dir, "stderr.glob"), glob_escape(err.decode("utf-8", "replace")).encode(), not err)
        write(os.path.join(case_dir, "exit"), b"%d\n" % code, code == 0)
        print(f"{name}: blessed")
        return True

    good = True
    if out != want_out:
        show_diff(f"{name}/stdout.exact", want_out, out)
        good = False
    if not err_fits:
        show_diff(f"{name}/stderr.glob", want_err, err)
        good = False
    if code != want_code:
        print(f"{name}: exit code {code}, not {want_code}; stderr:\n{err.decode('utf-8', 'replace')}")
        good = False
    if good and read(os.path.join(case_dir, "deterministic")) is not None:
        again, _, _ = run_once(case_dir, options.program, options.source)
        if again != out:
            show_diff(f"{name}: the second run", out, again)
            good = False
    return good


def check_with_cache(name, options):
    """Nothing is kept, all is read and kept, all is found: the same bytes and the same exit code."""
    case_dir = os.path.join(options.source, "tests/golden", name)
    want_out, _, want_code = run_once(case_dir, options.program, options.source)
    good = True
    with tempfile.TemporaryDirectory(prefix="dtc-cache-") as cache:
        for state in ("cold", "warm"):
            out, err, code = run_once(case_dir, options.program, options.source, cache)
            if out != want_out or code != want_code:
                show_diff(f"{name} with a {state} cache", want_out, out)
                print(f"{name}: exit code {code} with a {state} cache, {want_code} without; stderr:\n"
                      f"{err.decode('utf-8', 'replace')}")
                good = False
    return good


def main():
    parser = argparse.ArgumentParser(description="golden cases of the command line")
    parser.add_argument("--program", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("--cache", action="store_true", help="compare runs without a cache, with a cold, a warm one")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    options.source = os.path.abspath(options.source)
    golden = os.path.join(options.source, "tests/golden")
    cases = options.cases or sorted(name for name in os.listdir(golden)
                                    if os.path.exists(os.path.join(golden, name, "cmd")))
    check = check_with_cache if options.cache else check_case
    bad = [name for name in cases if not check(name, options)]
    print(f"{len(cases)} cases, {len(bad)} differ" + (": " + " ".join(bad) if bad else ""))
    if bad:
        print("hint: if the new output is right, tests/golden/run.py ... --bless CASE writes it; review the diff")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
