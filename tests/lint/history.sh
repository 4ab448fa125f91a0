#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A history is written by analyze/state and by history, intervals, calls, contexts, moments, wakes and forget.c of
# analyze/history, or made of an image (analyze/history/image.c), and by nobody else: names every other file that sees
# its arrays, calls what fills or seals it, or takes const from a record, and a getter that does not ask whether it is
# sealed. And a record can be written to a file as it is: names one that holds a pointer, may hold padding, or whose
# size nothing holds.
# usage: history.sh SOURCE-DIR
set -eu
cd "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
inside=analyze/history/records.h
public=include/dtrace-chain/history.h
sources=$(find collect sync analyze include -name '*.[ch]' | LC_ALL=C sort)
writers='^analyze/state/|^analyze/history/(history|image|intervals|calls|contexts|moments|wakes|forget|grouper)\.c$'
others=$(echo "$sources" | grep -vE "$writers|^$inside\$")

# shellcheck disable=SC2086 # lists of files without spaces
{
	grep -n '"analyze/history/records\.h"' $others | grep -v '^analyze/history/' | sed 's/$/  (sees the arrays)/'

	calls=$(grep -o 'dtc_history_[a-z_]*(' $inside | sort -u | tr -d '(' | paste -sd'|')
	[ -n "$calls" ] || echo "$inside: no functions found"
	grep -nE "(^|[^a-z_])($calls)[[:space:]]*\\(" $others | sed 's/$/  (fills a history)/'

	# what may see the arrays, but not write: appends, assignments to a record
	verbs='append|insert|prepend|remove|set|sort|steal|free|reserve'
	for file in $(echo "$others" | grep '^analyze/history/'); do
		grep -nE "_($verbs)[a-z_]*\((h|history|c->h)->|dtc_packets_(add|seal)" "$file" | sed "s#^#$file:#"
		grep -nE '(DTC_AT|g_array_index)\(.*\)(->|\.)[a-z_.]+ *([-+|&^]?=[^=]|\+\+|--)' "$file" |
			sed "s#^#$file:#"
	done | sed 's/$/  (writes to a history)/'

	records=$(sed -n 's/^struct \(dtc_[a-z_]*\) {$/\1/p' $public | paste -sd'|')
	[ -n "$records" ] || echo "$public: no records found"
	grep -nE "\\(struct ($records) \\*\\)" $others | sed 's/$/  (takes const from a record)/'
} >"$scratch/bad" || true

for header in $public $inside collect/packets/packets.h; do
	awk -v file="$header" '
		/^#pragma GCC diagnostic push/ { pushed = 1 }
		/^#pragma GCC diagnostic error "-Wpadded"/ { strict = pushed }
		/^#pragma GCC diagnostic pop/ { strict = pushed = 0 }
		/^struct (DtcHistory|dtc_history_filling) \{/ { next } # what holds the records
		/^struct [a-z_]+ \{/ { name = $2; seen[name] = NR }
		name {
			line = inside ? "/*" $0 : $0
			gsub(/\/\*[^*]*\*\//, "", line)
			inside = sub(/\/\*.*/, "", line)
			if (line ~ /\*/) print file ":" NR ": " name " holds a pointer"
		}
		name && !strict { print file ":" NR ": " name " may hold padding"; name = "" }
		/^};/ { name = "" }
		/_Static_assert\(sizeof\(struct/ {
			match($0, /struct [a-z_]+/)
			held[substr($0, RSTART + 7, RLENGTH - 7)] = 1
		}
		END { for (n in seen) if (!(n in held)) print file ":" seen[n] ": nothing holds the size of " n }
	' "$header" >>"$scratch/bad"
done

# Who asks too early is stopped, but for what analyze/state needs while it fills: strings and threads by their tids.
awk '
	/^[a-z].*[ *]dtc_history_(get|find)_[a-z_]+\(const DtcHistory \*/ {
		match($0, /dtc_history_[a-z_]+/)
		name = substr($0, RSTART, RLENGTH)
		count++
	}
	name && opened {
		if ($0 !~ /g_assert\(!?h->is_sealed\);/ && name !~ /^dtc_history_(get_string|find_thread)$/)
			print FILENAME ":" NR ": " name " does not ask whether the history is sealed"
		name = opened = ""
	}
	/^\{/ { opened = name }
	END { if (!count) print FILENAME ": no getters found" }
' analyze/history/history.c analyze/history/intervals.c analyze/history/calls.c analyze/history/contexts.c \
	analyze/history/moments.c analyze/history/wakes.c \
	>>"$scratch/bad"

cat "$scratch/bad"
[ ! -s "$scratch/bad" ]
