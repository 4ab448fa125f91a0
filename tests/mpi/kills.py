#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process of a rank that holds what it read is killed, sooner and later: the run ends soon, with the others' nodes,
a finding for each that is missing, and exit code 3; or, where it had not yet been given any or nothing more was asked
of it, with the whole answer. Of those that help with the answer all are killed, and it is whole.
usage: kills.py PROGRAM MPI-PROGRAM DEMO SIM"""
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
END_S = 30
MOMENTS_S = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.4)
HELPERS_S = (0.0, 0.1, 0.3, 0.6)  # after one has begun


def run_and_kill(words, moment, choose):
    """Exit code, output, seconds, and how many were killed."""
    begin = time.monotonic()
    killed = 0
    with subprocess.Popen(words, env=ranks.environment(**ranks.HELP), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        time.sleep(moment)
        for pid in choose(process):
            try:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
        output = process.communicate(timeout=ranks.TIMEOUT_S)[0]
    return process.returncode, output, time.monotonic() - begin, killed


def choose_owner(which):
    return lambda process: [rank.owner for rank in ranks.find_ranks(process.pid)][which:which + 1]


def choose_helpers(moment):
    """All there are by then, and those that have begun."""
    def choose(process):
        helpers = []
        while process.poll() is None and not helpers:
            helpers = [rank.asker for rank in ranks.find_ranks(process.pid)[1:] if rank.asker]
        time.sleep(moment)
        return set(helpers) | {rank.asker for rank in ranks.find_ranks(process.pid)[1:] if rank.asker}
    return choose


def main():
    ranks.skip_without_mpirun()
    program, mpi, _, *sim = sys.argv[1:]
    failures = lost = 0
    with tempfile.TemporaryDirectory(prefix="dtc-mpi-") as scratch:
        question = ranks.simulate(sim, scratch, 24, 600)
        whole = ranks.run([program, *question])

        def kill(number):
            return run_and_kill(ranks.command(RANKS, mpi, *question), MOMENTS_S[number], choose_owner(number % RANKS))

        def kill_helpers(moment):
            return run_and_kill(ranks.command(RANKS, mpi, *question), 0, choose_helpers(moment))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            ends = list(pool.map(kill, range(len(MOMENTS_S))))
            ends_of_helpers = list(pool.map(kill_helpers, HELPERS_S))
        for moment, (code, output, seconds, was_killed) in zip(MOMENTS_S, ends):
            findings = json.loads(output)["findings"] if code in (0, 3) else []
            missing = [finding for finding in findings if finding.get("code") == "node-lost"]
            lost += bool(missing)
            is_whole = code == whole[0] and output == whole[1]
            is_told = code == 3 and missing and all(finding["node"] for finding in missing)
            print("after %.1f s%s: exit code %d after %.1f s, %d nodes missing" % (
                moment, "" if was_killed else " (ended before)", code, seconds, len(missing)))
            if seconds > moment + END_S or not (is_whole or is_told):
                print("FAILED: neither a whole answer nor one that says what is missing in time")
                failures += 1
        for moment, (code, output, seconds, killed) in zip(HELPERS_S, ends_of_helpers):
            print("%d helpers after %.1f s: exit code %d after %.1f s" % (killed, moment, code, seconds))
            if (code, output) != (whole[0], whole[1]) or seconds > END_S:
                print("FAILED: it was not whole in time without them")
                failures += 1
    if not sum(killed for *_, killed in ends_of_helpers):
        print("FAILED: nobody helped")
        failures += 1
    if not lost:
        print("FAILED: nobody was killed who had something")
        failures += 1
    return 1 if failures else 0


sys.exit(main())
