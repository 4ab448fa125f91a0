#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process of a rank that holds what it read is killed, sooner and later: the run ends soon, with the others' nodes,
a finding for each that is missing, and exit code 3; or, where it had not yet been given any or nothing more was asked
of it, with the whole answer. usage: kills.py PROGRAM MPI-PROGRAM DEMO SIM"""
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


def run_and_kill(words, moment, which):
    """Exit code, output, seconds, and whether somebody was killed."""
    begin = time.monotonic()
    with subprocess.Popen(words, env=ranks.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        time.sleep(moment)
        owners = [rank.owner for rank in ranks.find_ranks(process.pid)]
        if len(owners) > which:
            os.kill(owners[which], signal.SIGKILL)
        output = process.communicate(timeout=ranks.TIMEOUT_S)[0]
    return process.returncode, output, time.monotonic() - begin, len(owners) > which


def main():
    ranks.skip_without_mpirun()
    program, mpi, _, *sim = sys.argv[1:]
    failures = lost = 0
    with tempfile.TemporaryDirectory(prefix="dtc-mpi-") as scratch:
        question = ranks.simulate(sim, scratch, 24, 600)
        whole = ranks.run([program, *question])

        def kill(number):
            return run_and_kill(ranks.command(RANKS, mpi, *question), MOMENTS_S[number], number % RANKS)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            ends = list(pool.map(kill, range(len(MOMENTS_S))))
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
    if not lost:
        print("FAILED: nobody was killed who had something")
        failures += 1
    return 1 if failures else 0


sys.exit(main())
