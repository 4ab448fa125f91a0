# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a program, or several ranks of it, on this machine."""
import os
import shutil
import subprocess

TIMEOUT_S = 120


def skip_without_mpirun():
    if not shutil.which("mpirun"):
        print("skipped: no mpirun (openmpi-bin)")
        raise SystemExit(77)


def environment(**more):
    """For as many ranks as are wanted on however few processors, and for root, whom Open MPI warns."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "DTRACE_CHAIN_CACHE": "none", **more}


def command(count, *words):
    return ["mpirun", "-q", "-n", str(count), *words]


def run(words, **options):
    """The exit code, standard output and error."""
    done = subprocess.run(words, check=False, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, capture_output=True,
                          env=environment(**options.pop("environment", {})), **options)
    return done.returncode, done.stdout, done.stderr
