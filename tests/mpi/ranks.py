# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a program, or several ranks of it, on this machine."""
import collections
import os
import shutil
import subprocess

TIMEOUT_S = 120
HELP = {"DTRACE_CHAIN_MPI_HELP": "all"}  # by ranks that have the same processors, too


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


def simulate(programs, folder, nodes, requests):
    """A bundle below that folder, and the words of a question about it. programs: those that made it, or none."""
    if not programs:
        print("skipped: no simulated cluster")
        raise SystemExit(77)
    bundle = os.path.join(folder, "bundle")
    subprocess.run([programs[0], "--nodes", str(nodes), "--requests", str(requests), bundle], check=True,
                   stdout=subprocess.DEVNULL)
    return "requests", bundle, "--limit", "5", "--format", "json"


# process ids; asker: of other ranks than the first the helper; None where there is none
Rank = collections.namedtuple("Rank", "carrier owner keeper asker")


def read_stat(pid):
    """Name and parent of a process; None: it is gone."""
    try:
        with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as file:
            name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            return name, int(rest.split()[1])
    except (OSError, IndexError):
        return None


def read_rank(pid):
    try:
        with open("/proc/%s/environ" % pid, "rb") as file:
            return int(dict(word.partition(b"=")[::2] for word in file.read().split(b"\0"))[b"OMPI_COMM_WORLD_RANK"])
    except (OSError, KeyError):
        return -1


def find_ranks(ancestor):
    """Those below that process, in their order."""
    stats = {int(pid): read_stat(pid) for pid in os.listdir("/proc") if pid.isdigit()}
    stats = {pid: stat for pid, stat in stats.items() if stat}

    def is_below(pid):
        while pid in stats and pid != ancestor:
            pid = stats[pid][1]
        return pid == ancestor

    def find_child(parent, name):
        return next((pid for pid, stat in stats.items() if stat == (name, parent)), None)
    found = []
    owners = [(parent, pid) for pid, (name, parent) in stats.items() if name == "dtrace-owner" and is_below(pid)]
    for carrier, owner in sorted(owners, key=lambda pids: read_rank(pids[0])):
        keeper = find_child(carrier, "dtrace-asker")
        found.append(Rank(carrier, owner, keeper, find_child(keeper, "dtrace-asker")))
    return found
