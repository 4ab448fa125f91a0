#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Names every include that runs against the flow of data, which is the order of the stages in CMakeLists.txt, and every
# use of something that only one place may use: babeltrace2, libpcap, libarchive, GLPK and MPI live behind one door
# each, and below the command lines nothing prints or exits; and a hash that takes half of its key.
# usage: layers.sh SOURCE-DIR
set -eu
cd "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sources=$(find collect sync analyze include -name '*.[ch]' | LC_ALL=C sort)

awk '$1 ~ /^dtc_stage\(/ && $1 != "dtc_stage(NAME" { print ++n, $2 }' CMakeLists.txt >"$scratch/stages"
[ -s "$scratch/stages" ] || { echo "no dtc_stage() in CMakeLists.txt"; exit 1; }

# shellcheck disable=SC2086 # no file here has a space in its name
grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' $sources |
	sed 's/^\([^:]*\):[^"]*"\([^"]*\)".*/\1 \2/' | awk -v stages="$scratch/stages" '
	BEGIN { while ((getline line <stages) > 0) { split(line, f, " "); order[f[2]] = f[1] } }
	# a stage is its folder and what is below it
	function rank(path) {
		while (sub("/[^/]*$", "", path))
			if (path in order)
				return order[path]
		return 0
	}
	index($2, "/") == 0 && $2 !~ /\.pb-c\.h$/ { print $1 ": include \"" $2 "\" is not written from the root"; next }
	rank($1) && rank($2) > rank($1) { print $1 ": includes " $2 ", a later stage" }
	$1 ~ /^include\// && rank($2) && $2 !~ /^collect\/packets\// { print $1 ": a public header includes " $2 }
' >"$scratch/bad"

# only HEADER-PATTERN FILE-PATTERN: who may include a foreign header
only() {
	# shellcheck disable=SC2086
	grep -nHE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$1" $sources |
		OWNERS=$2 awk -F: '$1 !~ ENVIRON["OWNERS"] { print $0 "  (only " ENVIRON["OWNERS"] ")" }'
}
{
	only 'babeltrace2?/' '^collect/read/ctf/'
	# back ends of the reader are behind backend.h; only the reader knows which ones there are
	only 'collect/read/[a-z_]*/' '^collect/read/([a-z_]*/|reader\.c$)'
	only 'pcap' '^collect/packets/capture\.c$|^collect/record/captures\.c$'
	only 'tracefs' '^collect/record/tracefs\.c$'
	only 'lttng/' '^collect/record/lttng\.c$'
	only 'archive' '^collect/bundle/pack\.c$'
	only 'glpk' '^sync/fit/'
	only '[a-z_]*\.pb-c\.h' '^collect/bundle/manifest\.c$|^sync/fit/saved\.c$|^analyze/report/perfetto\.c$'
	only 'json-glib' '^analyze/request/id_spans_otlp\.c$'
	only 'nghttp2/' '^analyze/exchange/hpack\.c$'
	only 'mpi\.h' '^analyze/ranks/mpi\.c$'
	only 'zlib\.h' '^analyze/ranks/squeeze\.c$'
} >>"$scratch/bad"

# The lower half of a key made of two numbers says little of it: dtc_hash_int64().
grep -rnw --include='*.c' g_int64_hash collect/packets collect/seal sync analyze |
	sed 's#$#  (the lower half only: dtc_hash_int64)#' >>"$scratch/bad" || true

# The command line asks the engine and prints what report makes of the answer; it knows nothing of how it came about.
below='collect/(packets|seal|read|record)|sync/match'
below="$below|analyze/(history|state|guest|exchange|edge|request|path|profile|finding)"
grep -nE "^[[:space:]]*#[[:space:]]*include \"($below)/" analyze/cli/*.[ch] | sed 's#$#  (below the engine)#' \
	>>"$scratch/bad" || true

# Comments are stripped first, where it matters: they may speak of exit() and printf().
calls='v?printf|puts|putchar|perror|_?exit|_Exit|quick_exit|g_print|g_printerr|g_message|g_warning|g_critical'
uses="(^|[^A-Za-z0-9_>.])($calls)[[:space:]]*\\(|[^A-Za-z0-9_](stdout|stderr)[^A-Za-z0-9_]"
# shellcheck disable=SC2086,SC2013
for file in $(grep -lE "$uses" $sources); do
	case $file in analyze/cli/* | analyze/ranks/* | collect/console/* | collect/record/*) continue ;; esac
	cc -fpreprocessed -dD -E "$file" 2>/dev/null | sed 's/"\([^"\\]\|\\.\)*"/""/g' |
		grep -E "$uses" |
		sed "s#^[[:space:]]*#$file: prints or exits: #"
done >>"$scratch/bad"

cat "$scratch/bad"
[ ! -s "$scratch/bad" ]
