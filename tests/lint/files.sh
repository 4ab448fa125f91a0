#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What every file keeps to: the licence line, lines of up to 120 columns and files of up to 900 lines, a name that says
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

while read -r file; do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: GPL-3.0-or-later' || echo "$file: no SPDX line"
	lines=$(wc -l <"$file")
	[ "$lines" -le 900 ] || echo "$file: $lines lines"
	case $(basename "$file") in
	util.* | utils.* | helper.* | helpers.* | common.* | misc.*)
		echo "$file: a name in which code loses its owner" ;;
	esac
	# a tab is up to 8 columns
	expand -t 8 "$file" | awk -v file="$file" 'length > 120 { print file ":" NR ": " length " columns" }'
	grep -nE '[[:space:]]+$' "$file" | sed "s|^\([0-9]*\):.*|$file:\1: blank at the end of the line|"
done <"$scratch/sources" >"$bad"

folders='work|root|home/[A-Za-z]+|Users/[A-Za-z]+|tmp/[A-Za-z]+|var/tmp/[A-Za-z]+'
# Expected outputs may name files of the recorded machines; everything else has no business with absolute homes.
while read -r file; do
	case $file in tests/golden/*/stdout.exact | tests/lint/files.sh) continue ;; esac
	grep -nHIE "(^|[^A-Za-z0-9_.\$}])/($folders)(/|[^A-Za-z0-9_-]|\$)" "$file" |
		sed 's|^|machine path: |'
done <"$scratch/all" >>"$bad"

# The C locale's order, so that a diff shows what was added and nothing else.
LC_ALL=C sort -cu .ci/packages 2>>"$bad" || true
grep -nvE '^[a-z0-9][a-z0-9.+-]+$' .ci/packages | sed 's|^|.ci/packages: not a package name: |' >>"$bad"

cat "$bad"
[ ! -s "$bad" ]
