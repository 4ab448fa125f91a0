#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What building the histories of a bundle costs, trace by trace, beside babeltrace2 decoding the same files and throwing
# the events away. Budget: 1.5 times its CPU time (5 M events or more, warm), 20 MB + 10 bytes an event anonymous.
# usage: history.sh BENCH-HISTORY BUNDLE [RUNS]
set -eu
program=$1 bundle=$2 runs=${3:-3}
for metadata in "$bundle"/*/kernel/metadata; do
	trace=$(dirname "$metadata")
	run=0
	while [ "$run" -lt "$runs" ]; do
		run=$((run + 1))
		echo "$trace: $("$program" "$trace")"
		/usr/bin/env python3 - "$trace" <<'END'
import resource, subprocess, sys
subprocess.run(["babeltrace2", "-o", "dummy", sys.argv[1]], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{sys.argv[1]}: babeltrace2 -o dummy {used.ru_utime + used.ru_stime:.2f} s CPU")
END
	done
done
