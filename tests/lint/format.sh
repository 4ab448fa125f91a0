#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Names every C file that clang-format 14 with .clang-format would write differently. Other versions break lines at
# other places, so that they are no judge: skipped aloud. usage: format.sh SOURCE-DIR
set -eu
cd "$1"
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	echo "skipped: no clang-format 14 here (Debian 12: apt-get install clang-format)"
	exit 77
fi
find collect sync analyze include tests -name '*.[ch]' ! -path 'tests/fuzz/corpus/*' -print0 |
	xargs -0 clang-format --dry-run --Werror --ferror-limit=1
