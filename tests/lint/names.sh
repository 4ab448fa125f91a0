#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Names every type, constant and macro with our prefix that is defined in two places: a name has one meaning
# (docs/glossary.md), and headers with two could not be included together. usage: names.sh SOURCE-DIR
set -eu
cd "$1"
twice=$(find collect sync analyze include -name '*.[ch]' -exec cat {} + | sed -nE '
	s/^(struct|enum) ((dtc_|Dtc)[A-Za-z0-9_]+) \{.*/\2/p
	s/^#define (DTC_[A-Z0-9_]+).*/\1/p
	s/^\t(DTC_[A-Z0-9_]+)( = [^,{};]*)?,.*/\1/p' | LC_ALL=C sort | uniq -d)
for name in $twice; do
	grep -rnE --include='*.[ch]' "^(struct|enum) $name \{|^#define $name([^A-Z0-9_]|\$)|^	$name( = .*)?," \
		collect sync analyze include
done
[ -z "$twice" ]
