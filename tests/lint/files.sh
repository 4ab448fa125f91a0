#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What every file keeps to: the licence line, lines of up to 120 columns and files of up to 900 lines
# (400 in the command line, which only parses and prints), a name that says
# what it holds, no path of somebody's machine. usage: files.sh SOURCE-DIR
set -eu
cd "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=$scratch/bad
find .ci CMakeLists.txt CMakePresets.json README.md NEWS.md CONTRIBUTING.md cmake collect sync analyze proto \
	include tests docs clusters -type f \
	! -path 'clusters/demo/*/kernel/*' ! -name '*.pcap' ! -path 'tests/fuzz/corpus/*' \
	2>/dev/null | LC_ALL=C sort >"$scratch/all"
grep -E '\.(c|h|py|sh|proto)$|^\.ci/(install|demo|check|run)$' "$scratch/all" >"$scratch/sources"

# One process for all of them: six for each took a minute on a busy machine.
# shellcheck disable=SC2016 # the dollars are awk's
LC_ALL=C xargs awk '
	function close_file() {
		if (!file)
			return
		if (!has_licence)
			print file ": no SPDX line"
		if (lines > (file ~ /^analyze\/cli\// ? 400 : 900))
			print file ": " lines " lines"
	}
	FNR == 1 {
		close_file()
		file = FILENAME
		has_licence = 0
		if (file ~ /(^|\/)(utils?|helpers?|common|misc)\.[^\/]*$/)
			print file ": a name in which code loses its owner"
	}
	{ lines = FNR }
	FNR <= 3 && /SPDX-License-Identifier: GPL-3.0-or-later/ { has_licence = 1 }
	/[ \t]$/ { print file ":" FNR ": blank at the end of the line" }
	length > 120 || /\t/ { # a tab is up to 8 columns
		line = $0
		gsub(/[\200-\277]/, "", line) # the later bytes of a character: in C, awk counts bytes
		count = split(line, parts, "\t")
		columns = length(parts[1])
		for (i = 2; i <= count; i++)
			columns += 8 - columns % 8 + length(parts[i])
		if (columns > 120)
			print file ":" FNR ": " columns " columns"
	}
	END { close_file() }' <"$scratch/sources" >"$bad"

folders='work|root|home/[A-Za-z]+|Users/[A-Za-z]+|tmp/[A-Za-z]+|var/tmp/[A-Za-z]+'
# Expected outputs may name files of the recorded machines; everything else has no business with absolute homes.
grep -vE '^tests/golden/.*/stdout\.exact$|^tests/lint/files\.sh$' "$scratch/all" | xargs \
	grep -nHIE "(^|[^A-Za-z0-9_.\$}])/($folders)(/|[^A-Za-z0-9_-]|\$)" | sed 's|^|machine path: |' >>"$bad"

# The C locale's order, so that a diff shows what was added and nothing else.
LC_ALL=C sort -cu .ci/packages 2>>"$bad" || true
grep -nvE '^[a-z0-9][a-z0-9.+-]+$' .ci/packages | sed 's|^|.ci/packages: not a package name: |' >>"$bad"

cat "$bad"
[ ! -s "$bad" ]
