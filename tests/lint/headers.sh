#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every header compiles alone, so that the order of includes never matters. usage: headers.sh SOURCE-DIR [INCLUDE-DIR]
set -eu
cd "$1"
flags=$(pkg-config --cflags glib-2.0 babeltrace2 libpcap libprotobuf-c json-glib-1.0)
failed=0
for header in $(find collect sync analyze include tests -name '*.h' | LC_ALL=C sort); do
	# shellcheck disable=SC2086 # a list of options
	cc -std=gnu17 -fsyntax-only -Wall -Wextra -Werror -I. -Iinclude ${2:+-I"$2"} $flags -x c \
		-include "$header" /dev/null || { echo "$header: does not compile alone"; failed=1; }
	grep -q '^#pragma once$' "$header" || { echo "$header: no #pragma once"; failed=1; }
done
exit $failed
