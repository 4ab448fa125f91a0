#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# No script and no golden command has anything that shellcheck would name. usage: shell.sh SOURCE-DIR
set -eu
cd "$1"
scripts=$(find .ci clusters collect tests docs -type f ! -name '*.[ch]' -size -200k -exec sh -c '
	for file; do head -c 64 "$file" | head -n 1 | grep -aqE "^#!/(usr/)?bin/(env )?(ba|da)?sh" && echo "$file"; done
	exit 0' sh {} +)
commands=$(find tests/golden -name cmd -type f)
# shellcheck disable=SC2086 # lists of names without blanks
shellcheck $scripts
if [ -n "$commands" ]; then
	# shellcheck disable=SC2086
	shellcheck --shell=sh $commands
fi
echo "$scripts $commands" | wc -w | sed 's/$/ scripts/'
