#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Wall time, CPU time and peak memory of one answer about a bundle, beside babeltrace2 decoding the same kernel traces
# and throwing the events away. The first of each is cold if the file cache can be dropped (root), the next are warm.
# usage: demo.sh PROGRAM BUNDLE REQUEST-ID [RUNS]
set -eu
program=$1 bundle=$2 id=$3 runs=${4:-3}
exec python3 - "$program" "$bundle" "$id" "$runs" <<'END'
import glob, os, resource, subprocess, sys, time

program, bundle, request, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
metadata = glob.glob(bundle + "/*/kernel/metadata") + glob.glob(bundle + "/*/metadata")
kernels = sorted(os.path.dirname(path) for path in metadata)


def drop_cache():
    os.sync()
    try:
        with open("/proc/sys/vm/drop_caches", "w") as file:
            file.write("3\n")
        return True
    except OSError:
        return False


def measure(commands):
    """Wall and CPU seconds of the commands one after another, and the largest of their peaks in MiB."""
    wall = cpu = peak = 0
    for command in commands:
        begin = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        wall += time.monotonic() - begin
        cpu += usage.ru_utime + usage.ru_stime
        peak = max(peak, usage.ru_maxrss / 1024)
        code = os.waitstatus_to_exitcode(status)
        if code not in (0, 3):
            sys.exit(f"exit {code}: {' '.join(command)}")
    return wall, cpu, peak


rows = [("dtrace-chain --request-id", [[program, "--bundle", bundle, "--request-id", request]]),
        ("babeltrace2 -o dummy", [["babeltrace2", "-o", "dummy", kernel] for kernel in kernels])]
print(f"{'':<28} {'':<5} {'wall s':>8} {'CPU s':>8} {'peak MiB':>9}")
for name, commands in rows:
    cold = drop_cache()
    for run in range(runs):
        wall, cpu, peak = measure(commands)
        print(f"{name:<28} {'cold' if cold and run == 0 else 'warm':<5} {wall:8.3f} {cpu:8.3f} {peak:9.1f}")
END
