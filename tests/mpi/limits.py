#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank has no room for what it reads, on its disk (a file system of 1 MiB for its temporary files) or in its memory
(a limit of the address space that is set when it has begun): the run ends soon, with the others' nodes, a finding for
each that is missing, and exit code 3; or with 1 and a reason where it is the first rank's asker.
usage: limits.py PROGRAM MPI-PROGRAM DEMO SIM"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import ranks

RANKS = 3
END_S = 30
MEMORY_BYTES = 1 << 20  # beyond what a process has when the limit is set
MISSING = ("node-lost", "trace-unreadable")  # the asker has no room for them


def judge(code, output, errors):
    if code == 3:
        missing = [finding for finding in json.loads(output)["findings"] if finding.get("code") in MISSING]
        return "nodes lost" if missing and all(finding["node"] for finding in missing) else "nothing said"
    says_why = any(line.startswith(b"dtrace-chain") for line in errors.splitlines())  # mpirun may say something before
    return "failed" if code == 1 and says_why else "exit code %d" % code


def run_with_disk(mpi, question, scratch, rank):
    """TMPDIR of that rank is small: mounted in a name space of its own, which ends with it."""
    start = ('if [ "$OMPI_COMM_WORLD_RANK" = %d ]; then mount -t tmpfs -o size=1M tmpfs "$0" && export TMPDIR="$0" || '
             'exit 99; fi; exec "$@"' % rank)
    words = ranks.command(RANKS, "unshare", "--mount", "--map-root-user", "sh", "-c", start, scratch, mpi, *question)
    return ranks.run(words)


def limit_memory(pid):
    """As much as it has, and little more."""
    try:
        with open("/proc/%d/statm" % pid, encoding="ascii") as file:
            limit = int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE") + MEMORY_BYTES
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
    except (OSError, ProcessLookupError):
        pass


def run_with_memory(mpi, question, choose):
    """The limit is set, again for each asker that begins, until the run ends."""
    limited = set()
    with subprocess.Popen(ranks.command(RANKS, mpi, *question), env=ranks.environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        end = time.monotonic() + 5
        while process.poll() is None and time.monotonic() < end:
            found = ranks.find_ranks(process.pid)
            pid = choose(found) if len(found) == RANKS else None
            if pid and pid not in limited:
                limit_memory(pid)
                limited.add(pid)
            time.sleep(0.02)
        output, errors = process.communicate(timeout=END_S)
    return process.returncode, output, errors


def main():
    ranks.skip_without_mpirun()
    _, mpi, demo, *sim = sys.argv[1:]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="dtc-mpi-") as scratch:
        small = os.path.join(scratch, "small")
        os.mkdir(small)
        question = ranks.simulate(sim, scratch, 48, 2000)
        cases = [
            ("an owner's memory", ("nodes lost",),
             lambda: run_with_memory(mpi, question, lambda all: all[1].owner)),
            ("the asker's memory", ("nodes lost", "failed"),
             lambda: run_with_memory(mpi, question, lambda all: all[0].asker)),
        ]
        if ranks.run(["unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "tmpfs", small])[0] == 0:
            cases += [("a disk", ("nodes lost",), lambda: run_with_disk(mpi, question, small, 1)),
                      ("the first rank's disk", ("nodes lost",), lambda: run_with_disk(mpi, question, small, 0)),
                      ("the answer's disk", ("failed",), lambda: run_with_disk(mpi, ("events", demo), small, 0))]
        else:
            print("skipped: disks, since nothing can be mounted here")
        for name, wanted, run in cases:
            begin = time.monotonic()
            code, output, errors = run()
            given, seconds = judge(code, output, errors), time.monotonic() - begin
            print("%s: %s, exit code %d after %.1f s" % (name, given, code, seconds))
            if given not in wanted or seconds > END_S:
                print("FAILED: not '%s': %s" % ("' or '".join(wanted), errors.decode()[-500:]))
                failures += 1
    return 1 if failures else 0


sys.exit(main())
