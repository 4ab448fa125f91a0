#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is not damage but the machine's doing, or the doing of whoever made the bundle: no output, no memory, a kill in
the middle, links that lead out, names that turn a line around. usage: faults.py --program FILE --bundle DIR"""
import argparse
import errno
import json
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


def check_sparse(options):
    """An archive of a few kB that would be 60 GiB of zeros."""
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(os.path.join(options.bundle, "web"), os.path.join(scratch, "b", "web"))
        with open(os.path.join(scratch, "b", "web", "kernel", "ch0_1"), "wb") as file:
            file.truncate(60 << 30)
        archive = os.path.join(scratch, "b.dtcb")
        subprocess.run(["tar", "--sparse", "--zstd", "-cf", archive, "-C", os.path.join(scratch, "b"), "web"],
                       check=True)
        begin = time.monotonic()
        done = subprocess.run([options.program, "stats", archive], capture_output=True, check=False)
        if done.returncode != 1 or b"\nhint: " not in done.stderr:
            yield f"a sparse archive: exit {done.returncode}: {done.stderr.decode()[:200]}"
        if time.monotonic() - begin > WAIT_S:
            yield "a sparse archive is unpacked"


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


# ---- what the machine refuses ----

def ask_refused(options, question, env, limit=None):
    words = [options.program, *question, "--format", "json", "--bundle", options.bundle]
    shell = ["/bin/sh", "-c", f'ulimit -n {limit} && exec "$@"', "sh", *words] if limit else words
    done = subprocess.run(shell, capture_output=True, check=False, env=dict(os.environ, **env))
    return done, json.loads(done.stdout) if done.stdout else None


def refuse(options, number, at, what="open", within=""):
    return {"LD_PRELOAD": options.fault, "FAULT_IN": options.bundle + "/" + within, "FAULT_AT": str(at),
            "FAULT_ERRNO": str(number), "FAULT_WHAT": what}


def judge_refused(done, answer, whole, number):
    """What the machine does is not called damage, and never makes another answer that is believed."""
    reason = os.strerror(number)
    if done.returncode == 0:
        return None if answer == whole else "another answer, and exit 0"
    if b"damaged" in done.stderr + done.stdout:
        return "it is called damage"
    if done.returncode == 3 and number == errno.EIO:
        wrong = [f for f in answer["findings"] if f["code"] != "io-error" or reason not in f["text"]]
        return f"findings {wrong}" if wrong or answer["complete"] else None
    if done.returncode != 1 or reason.encode() not in done.stderr or b"\nhint: " not in done.stderr:
        return f"exit {done.returncode}: {done.stderr.decode()[:200]}"
    return None


def check_refused(options):
    """Each access to a file of the bundle is refused once, for one of three reasons."""
    whole = ask_refused(options, ["stats"], {})[1]
    with tempfile.TemporaryDirectory() as scratch:
        log = os.path.join(scratch, "log")
        ask_refused(options, ["stats"], dict(refuse(options, 0, 0), FAULT_LOG=log))
        with open(log, encoding="utf-8") as file:
            count = len(file.readlines())
    if count < 50:
        yield f"only {count} accesses were seen: the shim does not work"
    for at in range(1, count + 1):
        number = (errno.EMFILE, errno.EIO, errno.ENOMEM)[at % 3]
        problem = judge_refused(*ask_refused(options, ["stats"], refuse(options, number, at)), whole, number)
        if problem:
            yield f"access {at} of {count}, {os.strerror(number)}: {problem}"


def check_file_limit(options):
    for question in (["stats"], ["requests"]):
        whole = ask_refused(options, question, {})[1]
        for limit in range(9, 34, 3):
            problem = judge_refused(*ask_refused(options, question, {}, limit), whole, errno.EMFILE)
            if problem:
                yield f"{question[0]} with {limit} open files: {problem}"


def check_lost_pages(options):
    """A disk that fails below a mapped file, in which the kernel says so by a signal."""
    for at in range(1, 40, 6):
        done = ask_refused(options, ["stats"], refuse(options, 0, at, "map"))[0]
        if done.returncode != 1 or b"cannot read on in '" not in done.stderr or b"\nhint: " not in done.stderr:
            yield f"pages of mapping {at} lost: exit {done.returncode}: {done.stderr.decode()[:200]}"
    for at in (1, 500, 100000):
        done, answer = ask_refused(options, ["stats"], refuse(options, errno.EIO, at, "read", "web.pcap"))
        problem = "exit 0" if done.returncode == 0 else judge_refused(done, answer, None, errno.EIO)
        if problem:
            yield f"a capture cannot be read from byte {at} on: {problem}"


def main():
    parser = argparse.ArgumentParser(description="faults of the machine and tricks of others")
    parser.add_argument("--program", required=True)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--fault", help="the shared library made of fault.c")
    parser.add_argument("--sanitized", action="store_true", help="no limit of address space: the sanitizers need it")
    options = parser.parse_args()
    options.bundle = os.path.abspath(options.bundle)
    checks = [check_output, check_memory, check_kill, check_links, check_sparse, check_names,
              check_file_limit]
    if options.fault:
        checks += [check_refused, check_lost_pages]
    problems = [problem for check in checks for problem in check(options)]
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
