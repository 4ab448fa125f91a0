#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# clang-tidy has nothing to say. A file takes seconds, all of them minutes, so that a file is looked at again only after
# it, a header or the checks changed, and a run ends after so many seconds with what it has: files that the last commits
# touched come first, and what was not looked at is said. usage: tidy.sh SOURCE-DIR BUILD-DIR [SECONDS|all]
set -eu
seconds=${3:-60}
build=$(cd "$2" && pwd)
cd "$1"
command -v clang-tidy >/dev/null || { echo "skipped: clang-tidy is not installed"; exit 77; }
[ -f "$build/compile_commands.json" ] || { echo "skipped: no compile_commands.json"; exit 77; }
stamps=$build/tidy
mkdir -p "$stamps"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

find collect sync analyze -name '*.c' | LC_ALL=C sort >"$scratch/all"
# what has no compile command here is not part of this build
sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$build/compile_commands.json" | sed "s|^$PWD/||" | LC_ALL=C sort -u |
	LC_ALL=C comm -12 "$scratch/all" - >"$scratch/built"
{
	git diff --name-only HEAD 2>/dev/null || true
	git log -n 30 --name-only --format= 2>/dev/null || true
} | cat - "$scratch/built" | awk 'NR == FNR { known[$0] = 1; next } known[$0] && !seen[$0]++' "$scratch/built" - \
	>"$scratch/order"
headers=$({ find collect sync analyze include -name '*.h' -exec cat {} +; cat .clang-tidy; clang-tidy --version; } |
	sha256sum | cut -c1-16)
end=$(($(date +%s) + $([ "$seconds" = all ] && echo 1000000 || echo "$seconds")))

failed=0 checked=0 known=0 left=0
while read -r file; do
	stamp=$stamps/$(sha256sum "$file" | cut -c1-16)-$headers
	if [ -e "$stamp" ]; then
		known=$((known + 1))
	elif [ "$(date +%s)" -ge "$end" ]; then
		left=$((left + 1))
	else
		checked=$((checked + 1))
		if clang-tidy --quiet --warnings-as-errors='*' -p "$build" "$file" >"$scratch/said" 2>&1; then
			: >"$stamp"
		else
			grep -E '^[^ ]+:[0-9]+:[0-9]+: (warning|error):' "$scratch/said" || cat "$scratch/said"
			failed=1
		fi
	fi
done <"$scratch/order"
echo "$checked files looked at, $known known to be clean"
[ $left -eq 0 ] || echo "skipped: $left files for want of time; all: tests/lint/tidy.sh . BUILD-DIR all"
exit $failed
