#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people read fits where they read it: every command of the demo, and errors, on 40 columns and with LC_ALL=C.
No line is wider than the terminal (lines of events and commands to be copied are left as they are), no figure is cut,
the verdict is whole, and with LC_ALL=C everything on stdout and stderr is ASCII. And a name that is not there is wrong
usage of every command, with the nearest one in the hint.
usage: screens.py --program FILE --source DIR"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

COMMANDS = """clusters/demo --request-id req-0069
clusters/demo --request-id req-0111
clusters/demo --thread backend:138 --from +5s --to +5.2s
requests clusters/demo
compare clusters/demo
stats clusters/demo
stats clusters/demo --by context
stats clusters/demo --by cpu
usage clusters/demo --memory
sync clusters/demo
blockings clusters/demo
blockings clusters/demo --thread backend:138 --from +5s --to +5.2s
usage clusters/demo
top clusters/demo
states clusters/demo --process nginx
states clusters/demo --thread backend:138 --instances
events clusters/demo --limit 20
edges clusters/demo --request-id req-0069
check clusters/demo
explain
explain runqueue
bundle show {packed}
bundle check {packed}
--help
compare --help""".split("\n")

# and what the hint must say
WRONG = [
    ("clusters/demo --nodes weeb,client -r req-0069", "web"), ("stats clusters/demo --nodes weeb", "web"),
    ("top clusters/demo --reference bakend", "backend"), ("sync clusters/demo --reference bakend", "backend"),
    ("events clusters/demo --thread weeb:134", "web"), ("blockings clusters/demo --thread weeb:134", "web"),
    ("clusters/demo --thread backend:99998", "nearest"), ("clusters/demo --thread backend:labsvr", "labsrv"),
    ("states clusters/demo --process ngnix", "nginx"), ("usage clusters/demo --process web:ngnix", "web:nginx"),
    ("clusters/demo --request-id req-0690", "req-0"), ("edges clusters/demo --request-id req-0690", "req-0"),
    ("requests clusters/demo --tier labsvr@web", "labsrv@web"), ("requests clusters/demo --sort durtion", "duration"),
    ("top clusters/demo --sort dsik", "disk"), ("events clusters/demo --kind sched_swich", "sched_switch"),
    ("states clusters/demo --instances --class bloked", "blocked"), ("explain runqeue", "runqueue"),
    ("stats clusters/demo --format jsno", "json"), ("bundle chek clusters/demo", "check"), ("statz", "stats"),
]


def run(options, command, **environment):
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG", "COLUMNS"))}
    clean.update(TZ="UTC", DTRACE_CHAIN_CACHE="none", **environment)
    return subprocess.run([options.program] + command.split(), cwd=options.source, env=clean, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)


def judge_narrow(command, text):
    lines = text.split("\n")
    for line in lines:
        is_left = command.startswith("events") or ("--help" in command and "dtrace-chain " in line)
        if len(line) > 40 and not is_left:
            yield f"{len(line)} columns: {line}"
        if re.search(r"\s\d+\.\d+…", line) and not re.search(r"10\.77", line):
            yield f"a figure is cut: {line}"
    if command.startswith("clusters/demo"):
        head = text.split("\nWhere the time went")[0]
        if "…" in head:
            yield f"the head is cut: {head}"


def judge(options, command):
    done = run(options, command, COLUMNS="40")
    if done.returncode != 0:
        yield f"exit code {done.returncode}: {done.stderr.decode()}"
    yield from judge_narrow(command, done.stdout.decode())
    plain = run(options, command, COLUMNS="80", LC_ALL="C")
    for name, output in (("stdout", plain.stdout), ("stderr", plain.stderr)):
        if not output.isascii():
            yield f"{name} with LC_ALL=C is not ASCII: {output.decode().splitlines()[0]}"


def judge_wrong(options, command, hint):
    done = run(options, command, LC_ALL="C")
    said = done.stderr.decode("ascii")
    if done.returncode != 2 or done.stdout:
        yield f"exit code {done.returncode}, not 2: {said}"
    hints = said.split("hint: ")[1:]
    if not hints or hint not in hints[0]:
        yield f"the hint does not name {hint}: {said}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    bad = 0
    with tempfile.TemporaryDirectory(prefix="dtc-words-") as scratch:
        packed = os.path.join(scratch, "d.dtcb")
        run(options, f"bundle create {packed} clusters/demo")
        for command in COMMANDS:
            for problem in judge(options, command.format(packed=packed)):
                print(f"{command}: {problem}")
                bad += 1
    for command, hint in WRONG:
        for problem in judge_wrong(options, command, hint):
            print(f"{command}: {problem}")
            bad += 1
    print(f"{len(COMMANDS)} commands, {len(WRONG)} wrong names, {bad} problems")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
