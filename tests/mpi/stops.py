#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of ranks are stopped, so that they neither answer nor die: the run ends in time, with the others' nodes, a
finding for each that is missing, and exit code 3; or with 1 and a reason where it is the first rank that has the
answer; or whole, where another can be begun, or who is stopped only helped. A job that is suspended as a whole and goes
on knows nothing of it. usage: stops.py PROGRAM MPI-PROGRAM DEMO SIM"""
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import ranks

RANKS = 3
SILENCE_S = 2
END_S = 30
# After the asker has begun. Who has no nodes yet then, or has sent all, is not missed: the next moment is tried.
MOMENTS_S = (0.2, 0.4, 0.1, 0.8)

WHOLE, LOST, FAILED = "whole", "nodes lost", "failed"
CASES = (
    ("an owner", lambda all: [all[1].owner], LOST),
    ("who carries", lambda all: [all[2].carrier], LOST),
    ("a rank", lambda all: list(filter(None, all[1])), LOST),
    ("the first rank's owner", lambda all: [all[0].owner], LOST),
    ("the asker", lambda all: [all[0].asker], WHOLE),
    ("a helper", lambda all: [all[1].asker], WHOLE),
    ("all helpers and who keeps them", lambda all: [pid for rank in all[1:] for pid in (rank.asker, rank.keeper)],
     WHOLE),
    ("who keeps it", lambda all: [all[0].keeper], FAILED),
    ("who carries for it", lambda all: [all[0].carrier], FAILED),
    ("the first rank", lambda all: list(all[0]), FAILED),
    ("a machine", lambda all: [*filter(None, all[2]), ranks.read_stat(all[2].carrier)[1]], LOST),
    ("everybody, for a while", lambda all: [pid for rank in all for pid in rank if pid], WHOLE),
)


def wait_for_asker(ancestor):
    """All ranks; fewer if the run has ended before."""
    for _ in range(600):
        found = ranks.find_ranks(ancestor)
        if len(found) == RANKS and all(rank.asker for rank in found):
            break
        time.sleep(0.05)
    return found


def tell(pids, which):
    for pid in pids:
        try:
            os.kill(pid, which)
        except ProcessLookupError:
            pass


def read(file):
    file.seek(0)
    return file.read()


def run_and_stop(words, choose, moment_s, goes_on):
    """Exit code, output, errors, and the seconds since it was stopped, or went on."""
    environment = ranks.environment(DTRACE_CHAIN_MPI_SILENCE=str(SILENCE_S), **ranks.HELP)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=errors) as process:
            found = wait_for_asker(process.pid)
            time.sleep(moment_s)
            pids = list(filter(None, choose(found))) if len(found) == RANKS and found[0].asker else []
            tell(pids, signal.SIGSTOP)
            if goes_on:
                time.sleep(3 * SILENCE_S)
                tell(pids, signal.SIGCONT)
            begin = time.monotonic()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
            seconds = time.monotonic() - begin
            if process.wait() < 0:
                tell(pids, signal.SIGKILL)  # of a machine, which mpirun does not reach
        return process.returncode, read(output), read(errors), seconds


def judge(code, output, errors, whole):
    if code in (-signal.SIGKILL, 137) and b"the exit code of the answer is 3\n" in errors:
        code = 3  # mpirun would wait for a machine, or for itself
    if code in (-signal.SIGSEGV, 139) and b"PMIx_server_finalize" in errors and output:
        code = 3  # or does not survive its own end
    if (code, output) == (whole[0], whole[1]):
        return WHOLE
    if code == 3:
        missing = [finding for finding in json.loads(output)["findings"] if finding.get("code") == "node-lost"]
        return LOST if missing and all(finding["node"] for finding in missing) else "nothing said"
    return FAILED if code == 1 and not output and b"\nhint: " in errors else "exit code %d" % code


def main():
    ranks.skip_without_mpirun()
    program, mpi, _, *sim = sys.argv[1:]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="dtc-mpi-") as scratch:
        question = ranks.simulate(sim, scratch, 48, 2000)
        whole = ranks.run([program, *question])

        shell = os.path.join(scratch, "shell")  # in the place of ssh, so that there is a machine that can be stopped
        with open(shell, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nshift\nexec sh -c "$*"\n')
        os.chmod(shell, 0o755)
        far = ("--mca", "btl", "self,tcp", "--mca", "plm_rsh_agent", shell, "-H", "localhost:2,127.0.0.2:1")

        def stop(case):
            words = ranks.command(RANKS, *(far if case[0] == "a machine" else ()), mpi, *question)
            for moment_s in MOMENTS_S:
                done = run_and_stop(words, case[1], moment_s, case[0].startswith("everybody"))
                given = judge(*done[:3], whole)
                if given == case[2] or given != WHOLE:
                    break
            return given, done
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            for (name, _, wanted), (given, (code, _, errors, seconds)) in zip(CASES, pool.map(stop, CASES)):
                print("%s: %s, exit code %d after %.1f s" % (name, given, code, seconds))
                if given != wanted:
                    print("FAILED: not '%s': %s" % (wanted, errors.decode()[-500:]))
                    failures += 1
    return 1 if failures else 0


sys.exit(main())
