#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Names every variable of the stages that outlives a call and can change: two analyses in one process would share it.
# What may: the numbers of error domains (q), which GLib makes once, and the lock of a library with state of its own.
# usage: globals.sh SOURCE-DIR BINARY-DIR
set -eu
cd "$2"
bad=0
for library in libdtc_*.a; do
	[ -e "$library" ] || { echo "skipped: nothing is built in $2"; exit 77; }
	found=$(objdump -t "$library" | awk '
		/file format/ { object = $1; next }
		$3 == "O" && $4 ~ /^\.t?(bss|data)$/ && $NF !~ /^q\.[0-9]+$|^setup_mutex$|^__/ {
			print object " " $NF
		}')
	[ -z "$found" ] || { echo "$found" | sed "s|^|$library: |"; bad=1; }
done
exit $bad
