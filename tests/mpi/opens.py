#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""No file of a recording is opened by two ranks, and none but by its owner, who helps opens none: every call that
opens one is watched.
usage: opens.py PROGRAM MPI-PROGRAM DEMO"""
import collections
import glob
import os
import re
import shutil
import sys
import tempfile

import ranks

QUESTIONS = (("requests",), ("check",), ("stats", "--by", "cpu"), ("usage", "--memory"), ("events", "--limit", "100"))
NODES = {"web", "client", "backend"}
RANKS = 3


def list_opened(trace, demo):
    """Files of recordings, by node: folders are looked into by everybody, who sees which nodes there are. trace: what
    each thread's file is named after; in one file for all, calls of two threads at a time are cut in two lines."""
    nodes = collections.defaultdict(set)
    for thread in glob.glob(glob.escape(trace) + ".*"):
        with open(thread, encoding="utf-8", errors="replace") as file:
            calls = re.findall(r'(?m)^open(?:at2?)?\([^"]*"([^"]*)"(?!.*O_DIRECTORY).*\) = [0-9]', file.read())
        for path in map(os.path.realpath, calls):
            node = re.split(r"[/.]", path[len(demo) + 1:])[0] if path.startswith(demo + "/") else None
            if node in NODES and os.path.isfile(path):
                nodes[node].add(path)
    return nodes


def main():
    ranks.skip_without_mpirun()
    _, mpi, demo = sys.argv[1:4]
    demo = os.path.realpath(demo)
    if not shutil.which("strace"):
        print("skipped: no strace")
        return 77
    failures = 0
    for question in QUESTIONS:
        with tempfile.TemporaryDirectory(prefix="dtc-mpi-") as scratch:
            trace = os.path.join(scratch, "rank")
            watch = 'exec strace -ff -qq -e trace=open,openat,openat2 -o "$0.$OMPI_COMM_WORLD_RANK" "$@"'
            words = ["sh", "-c", watch, trace, mpi, question[0], demo, *question[1:]]
            code, _, errors = ranks.run(ranks.command(RANKS, *words), environment=ranks.HELP)
            if code != 0:
                print("FAILED: %s: exit code %d: %s" % (question[0], code, errors.decode()))
                failures += 1
                continue
            opened = [list_opened("%s.%d" % (trace, rank), demo) for rank in range(RANKS)]
            owned = [set(nodes) for nodes in opened]
            print(question[0], [sorted(nodes) for nodes in owned])
            if set.union(*owned) != NODES or sum(map(len, owned)) != len(NODES):
                print("FAILED: %s: a node's files are opened by nobody, or by several" % question[0])
                failures += 1
    return 1 if failures else 0


sys.exit(main())
