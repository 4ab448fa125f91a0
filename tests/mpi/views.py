#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each rank sees other nodes, as on machines that have no disk in common, and the first may see none: the answer is
that of a bundle which has them all. usage: views.py PROGRAM MPI-PROGRAM DEMO"""
import os
import shutil
import sys
import tempfile

import ranks

QUESTIONS = (("requests",), ("sync", "--format", "json"), ("stats", "--by", "context"), ("usage", "--memory"),
             ("events", "--kind", "sched_*", "--format", "json"), ("compare", "bundle", "--nodes", "client,web"))
VIEWS = ({0: ["backend"], 1: ["web"], 2: ["client"]}, {1: ["web", "client"], 2: ["backend", "client"]})


def main():
    ranks.skip_without_mpirun()
    program, mpi, demo = sys.argv[1:4]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="dtc-mpi-") as scratch:
        def lay_out(place, nodes):
            folder = os.path.join(scratch, place, "bundle")
            os.makedirs(os.path.dirname(folder))
            if nodes:
                os.mkdir(folder)
            for node in nodes:
                shutil.copytree(os.path.join(demo, node), os.path.join(folder, node))
                shutil.copy2(os.path.join(demo, node + ".pcap"), folder)
        lay_out("all", ["web", "client", "backend"])
        for number, view in enumerate(VIEWS):
            for rank in range(3):
                lay_out("%d.%d" % (number, rank), view.get(rank, []))
            start = 'cd "$0.$OMPI_COMM_WORLD_RANK" && exec "$@"'
            for question in QUESTIONS:
                words = [question[0], "bundle", *question[1:], "--width", "120"]
                wanted = ranks.run([program, *words], cwd=os.path.join(scratch, "all"))
                given = ranks.run(ranks.command(3, "sh", "-c", start, os.path.join(scratch, str(number)), mpi, *words),
                                  environment=ranks.HELP)
                if given[:2] != wanted[:2]:
                    print("FAILED: %s: exit code %d, not %d: %s" % (
                        " ".join(words), given[0], wanted[0], given[2].decode()[-300:]))
                    failures += 1
    print("%d answers, %d differ" % (len(VIEWS) * len(QUESTIONS), failures))
    return 1 if failures else 0


sys.exit(main())
