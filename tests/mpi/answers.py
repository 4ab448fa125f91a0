#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command of the demo gives the same bytes and exit code with 1, 2 and 4 ranks as without MPI; also where files
of what was read come whole, and where ranks help with the answer; and what is printed of bytes that went between ranks
is counted.
usage: answers.py PROGRAM MPI-PROGRAM DEMO"""
import concurrent.futures
import json
import os
import re
import sys
import tempfile

import ranks

WIDTH = ("--width", "120")


def list_questions(program, demo, scratch):
    """Of every command one, and others."""
    identity = json.loads(ranks.run([program, "requests", demo, "--format", "json"])[1])["requests"][0]["id"]
    return [
        ("analyze", demo, "--request-id", identity), ("requests", demo, "--limit", "0"), ("compare", demo),
        ("stats", demo), ("sync", demo, "--format", "json"), ("blockings", demo), ("usage", demo), ("top", demo),
        ("states", demo), ("vms", demo), ("events", demo, "--limit", "50"),
        ("edges", demo, "--from", "+0s", "--to", "+200ms"), ("check", demo), ("explain", "disk"),
        ("bundle", "create", os.path.join(scratch, "NEW.dtcb"), demo),
        ("index", demo, "--index-only", os.path.join(scratch, "NEW.index")), ("cache", "--cache", scratch),
    ], [
        ("analyze", demo, "--thread", "backend:138", "--from", "+6s", "--to", "+6.1s", "--lead", "2s"),
        ("compare", demo, demo),
        ("stats", demo, "--by", "cpu"), ("usage", demo, "--memory"),
        ("events", demo, "--from", "+1s", "--kind", "sched_switch", "--limit", "5", "--nodes", "web"),
        ("events", demo, "--kind", "sched_swich"), ("events", demo, "--thread", "web:nginx", "--limit", "20"),
        ("index", demo, "--cache", os.path.join(scratch, "NEW.cache")), ("sync", demo, "--nodes", "web,client"),
        ("sync", demo, "--nodes", "nobody"), ("sync", scratch), ("nonsense",), ("requests", demo, "--nodes", "web"),
    ]


def fresh(words, number):
    """What writes files writes other ones each time; their names are made equal again in what it says."""
    return [word.replace("NEW", "new%d" % number) for word in words]


def equal(text, number):
    return re.sub(rb"in [0-9.]+ s\b|[0-9.]+ MB/s", b"", text.replace(b"new%d" % number, b"NEW"))


def main():
    ranks.skip_without_mpirun()
    program, mpi, demo = sys.argv[1:4]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="dtc-mpi-") as scratch:
        empty = os.path.join(scratch, "empty")
        os.mkdir(empty)
        commands, others = list_questions(program, demo, empty)
        jobs = [(words, count, {}) for words in commands for count in (1, 2, 4)]
        jobs += [(words, 3, {}) for words in others]
        jobs += [(("requests", demo), 2, {"DTRACE_CHAIN_WHOLE_IMAGES": "1"})]
        jobs += [(("requests", demo, "--limit", "0", "--format", "json"), count, ranks.HELP) for count in (2, 8)]
        jobs += [(("requests", demo, "--limit", "0"), 2, {"DTRACE_CHAIN_WHOLE_IMAGES": "1", **ranks.HELP})]
        jobs += [(words, 3, ranks.HELP) for words in (
            ("compare", demo), ("compare", demo, demo), ("requests", demo, "--nodes", "web,client"),
            ("requests", demo, "--reference", "backend", "--id-header", "x-none", "--format", "json"),
            ("requests", demo, "--html", os.path.join(scratch, "NEW.html")))]

        def check(number):
            words, count, environment = jobs[number]
            words = list(words) + (list(WIDTH) if words[0] != "nonsense" else [])
            wanted = ranks.run([program, *fresh(words, 2 * number)])
            given = ranks.run(ranks.command(count, mpi, *fresh(words, 2 * number + 1)), environment=environment)
            if wanted[0] != given[0] or equal(wanted[1], 2 * number) != equal(given[1], 2 * number + 1):
                return "FAILED with %d ranks: %s: exit code %d, not %d, and %d bytes, not %d: %s" % (
                    count, " ".join(words), given[0], wanted[0], len(given[1]), len(wanted[1]),
                    given[2].decode()[-300:])
            return None

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for failure in filter(None, pool.map(check, range(len(jobs)))):
                print(failure)
                failures += 1
        traffic = ranks.run(ranks.command(2, mpi, "requests", demo), environment={"DTRACE_CHAIN_MPI_TRAFFIC": "1"})[2]
        print("requests, 2 ranks:", re.search(rb"[0-9]+ bytes in .*", traffic).group().decode())
    print("%d answers, %d differ" % (len(jobs), failures))
    return 1 if failures else 0


sys.exit(main())
