#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is not damage but the machine's doing, or the doing of whoever made the bundle: no output, no memory, a kill in
the middle, links that lead out, names that turn a line around. usage: faults.py --program FILE --bundle DIR"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COMMANDS = [["--version"], ["--help"], ["help", "stats"], ["--help-table"], ["stats"], ["sync"], ["requests"],
            ["check"], ["events", "--limit", "3"], ["top"]]
MEMORY_KIB = (60000, 75000, 90000, 105000, 125000, 200000, 400000)
OVERRIDE = "\u202e"
WAIT_S = 20


def ask(options, command, shell, env=None):
    words = [options.program, *command]
    return subprocess.run(["/bin/sh", "-c", shell, "sh", *words], cwd=options.bundle, capture_output=True, check=False,
                          env=env)


def check_output(options):
    """A closed standard output and a full disk: an error and a message, never success."""
    for command in COMMANDS:
        for shell in ('exec "$@" >&-', 'exec "$@" >/dev/full'):
            done = ask(options, command, shell)
            if done.returncode != 1 or b"cannot write" not in done.stderr:
                yield f"{' '.join(command)} with {shell}: exit {done.returncode}: {done.stderr.decode()[:200]}"


def check_memory(options):
    for limit in () if options.sanitized else MEMORY_KIB:
        done = ask(options, ["requests"], f'ulimit -v {limit}; exec "$@" >/dev/null')
        is_refused = done.returncode == 1 and b"\nhint: " in done.stderr and done.stderr.startswith(b"dtrace-chain: ")
        if done.returncode not in (0, 3) and not is_refused:
            yield f"with {limit} KiB: exit {done.returncode}: {done.stderr.decode()[:200]}"


def is_empty_soon(directory):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if not os.listdir(directory):
            return True
        time.sleep(0.05)
    return False


def check_kill(options):
    """A trace that must be copied to be read leaves nothing behind, however the program ends."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with tempfile.TemporaryDirectory() as scratch:
            bundle, folder = os.path.join(scratch, "bundle"), os.path.join(scratch, "tmp")
            shutil.copytree(options.bundle, bundle)
            os.mkdir(folder)
            stream = os.path.join(bundle, "web", "kernel", "ch0_0")
            os.truncate(stream, os.path.getsize(stream) - 3000)
            with subprocess.Popen([options.program, "requests", bundle], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=folder)) as run:
                while run.poll() is None and not os.listdir(folder):
                    time.sleep(0.001)
                run.send_signal(number)
            if not is_empty_soon(folder):
                yield f"signal {number} leaves {os.listdir(folder)}"


def check_links(options):
    """A bundle's maker gets no file of the one who packs it."""
    with tempfile.TemporaryDirectory() as scratch:
        bundle, out = os.path.join(scratch, "bundle"), os.path.join(scratch, "out")
        shutil.copytree(options.bundle, bundle)
        secret = os.path.join(scratch, "secret")
        with open(secret, "w", encoding="utf-8") as file:
            file.write("secret\n")
        os.symlink(secret, os.path.join(bundle, "web", "environment"))
        os.symlink(secret, os.path.join(bundle, "web", "kernel", "ch0_7"))
        done = subprocess.run([options.program, "bundle", "create", out, bundle], capture_output=True, check=False)
        if done.returncode != 3:
            yield f"bundle create with links ends with {done.returncode}: {done.stderr.decode()[:200]}"
        if b"and was left out: --dereference" not in b" ".join(done.stdout.split()):
            yield "bundle create says nothing of links"
        for folder, _, names in os.walk(out):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    if b"secret" in file.read():
                        yield f"{name} of the new bundle has what a link led to"


def check_names(options):
    with tempfile.TemporaryDirectory() as scratch:
        bundle = os.path.join(scratch, "bundle")
        shutil.copytree(options.bundle, bundle)
        for name in ("web", "web.pcap"):
            os.rename(os.path.join(bundle, name), os.path.join(bundle, OVERRIDE + name))
        for command in ("stats", "sync", "check", "requests"):
            done = subprocess.run([options.program, command, bundle], capture_output=True, check=False)
            if OVERRIDE.encode() in done.stdout + done.stderr:
                yield f"{command} prints a character that turns the line around"


def main():
    parser = argparse.ArgumentParser(description="faults of the machine and tricks of others")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--sanitized", action="store_true", help="no limit of address space: the sanitizers need it")
    options = parser.parse_args()
    options.bundle = os.path.abspath(options.bundle)
    problems = [problem for check in (check_output, check_memory, check_kill, check_links, check_names)
                for problem in check(options)]
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
