#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command and every option that --help names is described in docs/. usage: options.sh SOURCE-DIR PROGRAM
set -eu
cd "$1"
program=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$program" --help >"$scratch/help"
commands=$(awk '/^Commands:/ { on = 1; next } on && !NF { exit } on { print $1 }' "$scratch/help")
[ -n "$commands" ] || { echo "--help lists no commands under 'Commands:'"; exit 1; }
for command in $commands; do
	"$program" "$command" --help-all 2>/dev/null || "$program" "$command" --help
done >>"$scratch/help"
find docs README.md \( -name '*.md' -o -name '*.1' \) -exec cat {} + | sed 's/\\-/-/g' >"$scratch/docs"
grep -oE -- '(^|[[:space:],])--[a-z][a-z-]+' "$scratch/help" | sed 's/^[[:space:],]*//' | LC_ALL=C sort -u |
	grep -vxE -- '--help(-[a-z]+)?' >"$scratch/options"
failed=0
while read -r option; do
	grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" "$scratch/docs" || { echo "$option: not in docs/"; failed=1; }
done <"$scratch/options"
for command in $commands; do
	grep -qE "dtrace-chain $command([^a-z-]|\$)" "$scratch/docs" || { echo "$command: not in docs/"; failed=1; }
done
echo "$(wc -l <"$scratch/options") options, $(echo "$commands" | wc -w) commands"
exit $failed
