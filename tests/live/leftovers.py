#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""However the run of a lab (clusters/netns, clusters/overlay) ends, nothing of it stays behind: no namespace, process,
folder, instance, setting. It is ended while it records, by each signal; and by kill -9 together with its guard, when
the next run must clean up.
usage: leftovers.py --run FILE --build DIR"""
import argparse
import glob
import os
import re
import signal
import subprocess
import sys
import time

INSTANCES = "/sys/kernel/tracing/instances"


def everything(owner):
    """What can be seen of the run of this process."""
    found = [name for name in os.listdir("/run/netns") if f"-{owner}-" in name] if os.path.isdir("/run/netns") else []
    found += glob.glob(f"/var/tmp/*-{owner}-*")
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                text = file.read().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue
        if f"-{owner}-" in text:
            found.append(text.strip())
    return found


def dead_instances():
    """Of recorders that are no more; others may record meanwhile."""
    found = []
    for name in os.listdir(INSTANCES):
        match = re.fullmatch(r"dtrace-collect-(\d+)-\d+", name)
        if match and not os.path.isdir(f"/proc/{match.group(1)}"):
            found.append(name)
    return found


def settings():
    found = {}
    for path in glob.glob("/sys/block/*/queue/rq_affinity"):
        with open(path, encoding="ascii") as file:
            found[path] = file.read()
    return found


def start(options):
    """A run, once it records."""
    instances = set(os.listdir(INSTANCES))
    process = subprocess.Popen([options.run, "--build", options.build], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True)
    end = time.monotonic() + 30
    while process.poll() is None and set(os.listdir(INSTANCES)) <= instances and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1)
    return process


def guard_of(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        for pid in file.read().split():
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as line:
                if "hosts.py" in line.read():
                    return int(pid)
    return None


def wait_until_clean(what, owner, before):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        left = everything(owner) + dead_instances()
        if not left and settings() == before:
            print(f"{what}: nothing is left")
            return True
        time.sleep(0.2)
    changed = {path: value for path, value in settings().items() if value != before[path]}
    print(f"{what}: left behind: {left}, changed: {changed}")
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", required=True)
    parser.add_argument("--build", required=True)
    options = parser.parse_args()
    trial = subprocess.run([options.run, "--build", options.build, "--only-check"], stdout=subprocess.PIPE, text=True,
                           check=False)
    if trial.returncode == 77:
        print(trial.stdout.strip())
        return 77
    good = True
    before = settings()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        process = start(options)
        os.kill(process.pid, number)
        process.communicate()
        good = wait_until_clean(signal.Signals(number).name, process.pid, before) and good
    process = start(options)
    os.kill(guard_of(process), signal.SIGKILL)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    time.sleep(1)
    if not everything(process.pid):
        print("without its guard something should have been left")
        good = False
    subprocess.run([options.run, "--build", options.build, "--count", "1"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False)
    good = wait_until_clean("SIGKILL, guard and all, and the next run", process.pid, before) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
