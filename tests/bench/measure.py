# SPDX-License-Identifier: GPL-3.0-or-later
"""What a command costs: CPU time by wait4, memory by looking at /proc while it runs, bytes written at its end."""
import os
import re
import resource
import signal
import subprocess
import time

POLL_S = 0.002
CODES = (0, 3)  # done, done but incomplete
CPU_LIMIT_S = 300  # of a command: what takes longer is no figure to wait for


class Failed(Exception):
    """A command that did not end as it should."""


def read_fields(path):
    """The numbers of a file of /proc, {} if the process is gone."""
    try:
        with open(path) as file:
            return {key: int(value) for key, value in re.findall(r"^(\w+):\s+(\d+)", file.read(), re.MULTILINE)}
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return {}


def find_family(pid):
    """A process and those that it started."""
    found = [pid]
    for each in found:
        try:
            with open(f"/proc/{each}/task/{each}/children") as file:
                found += [int(word) for word in file.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def watch(pid, peaks):
    """Looks until the process has ended and is not yet gone."""
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        now = {"anonymous": 0, "file": 0}
        for each in find_family(pid):
            status = read_fields(f"/proc/{each}/status")
            now["anonymous"] += status.get("RssAnon", 0)
            now["file"] += status.get("RssFile", 0) + status.get("RssShmem", 0)
        for key, value in now.items():
            peaks[key] = max(peaks[key], value / 1024)
        time.sleep(POLL_S)


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S + 1))


def run(command, environment, watched=False, output=subprocess.DEVNULL):
    """Runs a command to its end: {"cpu_s", "wall_s", "rss_mib"}, if watched also {"anonymous_mib", "file_mib",
    "written_mb"}; watching costs CPU time of the other core, so that it is not done while time is taken."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, env=environment, preexec_fn=limit)
    peaks = {"anonymous": 0, "file": 0}
    if watched:
        watch(child.pid, peaks)
    complaint = child.stderr.read()
    child.stderr.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    wall_s = time.monotonic() - begin
    io = read_fields(f"/proc/{child.pid}/io") if watched else {}
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode == -signal.SIGXCPU:
        raise Failed(f"more than {CPU_LIMIT_S} s of CPU time: {' '.join(command)}")
    if child.returncode not in CODES:
        last = complaint.decode(errors="replace").strip().splitlines()[:1]
        raise Failed(f"exit {child.returncode} of {' '.join(command)}: {''.join(last)}")
    result = {"cpu_s": usage.ru_utime + usage.ru_stime, "wall_s": wall_s, "rss_mib": usage.ru_maxrss / 1024}
    if watched:
        result.update(anonymous_mib=peaks["anonymous"], file_mib=peaks["file"],
                      written_mb=io.get("write_bytes", 0) / 1e6)  # with what is thrown away before it is on the disk
    return result


def get_quantile(values, share):
    """Of sorted values, between neighbours where it falls between them."""
    at = share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def sum_up(values):
    """(median, lower, upper quartile); of less than four values the smallest and the largest."""
    values = sorted(values)
    if len(values) < 4:
        return get_quantile(values, 0.5), values[0], values[-1]
    return tuple(get_quantile(values, share) for share in (0.5, 0.25, 0.75))
