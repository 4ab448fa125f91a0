# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs under test: what they need of this machine, where they are built, and how one is told to record."""
import glob
import os
import shutil
import subprocess
import sys

import hosts

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGES = {"nginx": "nginx-light", "redis-server": "redis-server", "ip": "iproute2", "tc": "iproute2",
            "taskset": "util-linux", "nft": "nftables", "bridge": "iproute2"}
TOOLS = ("nginx", "redis-server", "ip", "tc", "taskset")
LAB_PROGRAMS = ("tests/live/netns-client", "tests/live/netns-server")
TRACEFS = "/sys/kernel/tracing"


def default_build():
    built = [build for build in glob.glob(os.path.join(SOURCE, "build", "*"))
             if os.access(os.path.join(build, "dtrace-collect"), os.X_OK)]
    return max(built, key=os.path.getmtime) if built else os.path.join(SOURCE, "build", "release")


def need(build, tools=TOOLS, programs=LAB_PROGRAMS):
    """Says what is missing before anything is made."""
    if os.geteuid() != 0:
        raise hosts.Missing("network namespaces and tracefs need root")
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    for tool in tools:
        if not shutil.which(tool):
            raise hosts.Missing(f"{tool} is not installed (Debian 12: apt-get install {PACKAGES[tool]})")
    if not {0, 1} <= os.sched_getaffinity(0):
        raise hosts.Missing("two hosts need CPU 0 and CPU 1")
    for name in ("dtrace-collect", "dtrace-chain", *programs):
        if not os.access(os.path.join(build, name), os.X_OK):
            raise hosts.Missing(f"'{build}' has no {name}: cmake --build it, or give --build")
    done = hosts.run("unshare", "--net", "true", check=False)
    if done.returncode != 0:
        raise hosts.Missing(f"network namespaces cannot be made: {done.stderr.strip()}")
    need_tracefs()


def need_tracefs():
    if not os.path.isdir(os.path.join(TRACEFS, "instances")):
        hosts.run("mount", "-t", "tracefs", "nodev", TRACEFS, check=False)
    probe = os.path.join(TRACEFS, "instances", f"{hosts.PREFIX}-{os.getpid()}")
    try:
        os.mkdir(probe)
        os.rmdir(probe)
    except OSError as error:
        raise hosts.Missing(f"tracefs cannot be used: {error}") from error


def prefer(command):
    """A command in a session of its own, preferred as the services are."""
    return [sys.executable, os.path.abspath(hosts.__file__), "--prefer", *command]


def record(build, log, node, command, *more):
    """One recorder for the whole machine, for as long as the command runs; returns what it said."""
    process = subprocess.Popen([os.path.join(build, "dtrace-collect"), "record", "-o", node, *more, "--", *command],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = process.communicate()[0]
    except BaseException:
        # it removes what it made, if it is asked and not killed
        process.terminate()
        process.wait()
        raise
    with open(log, "a", encoding="utf-8") as file:
        file.write(said)
    if process.returncode not in (0, 3):
        raise RuntimeError(f"dtrace-collect: exit {process.returncode}: {said.strip()[-2000:]}")
    return said
