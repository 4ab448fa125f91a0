#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the build into a scratch folder, asks the installed program a question, then packs a Debian package and looks
# inside. usage: run.sh SOURCE-DIR BUILD-DIR
set -eu
source=$1
build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
fail() { echo "$*"; failed=1; }

cmake --install "$build" --prefix "$scratch/usr" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
program=$scratch/usr/bin/dtrace-chain
[ -x "$program" ] || { echo "no program at bin/dtrace-chain"; exit 1; }
"$program" stats "$source/clusters/demo" >"$scratch/answer"
grep -q '^backend  *108302' "$scratch/answer" || fail "the installed program does not read the demo"

files="share/bash-completion/completions/dtrace-chain share/zsh/site-functions/_dtrace-chain
share/fish/vendor_completions.d/dtrace-chain.fish share/man/man1/dtrace-chain.1 share/man/man5/dtrace-bundle.5
share/doc/dtrace-chain/README.md share/doc/dtrace-chain/tutorial.md share/doc/dtrace-chain/formats.md
share/doc/dtrace-chain/schemas/report-1.json share/doc/dtrace-chain/LICENSE"
for command in $("$program" --help-table); do
	files="$files share/man/man1/dtrace-chain-$command.1"
done
for file in $files; do
	[ -s "$scratch/usr/$file" ] || fail "not installed: $file"
done

if ! command -v dpkg-shlibdeps >/dev/null || ! command -v dpkg-deb >/dev/null; then
	echo "skipped: no dpkg-dev to make a Debian package with"
	[ "$failed" -eq 0 ] && exit 77
	exit 1
fi
(cd "$build" && cpack -G DEB -B "$scratch/package") >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
set -- "$scratch"/package/*.deb
[ -f "$1" ] || { echo "cpack made no package"; exit 1; }
dpkg-deb --contents "$1" | awk '{ print $6 }' >"$scratch/contents"
# as Debian wants them: pages compressed, and a copyright in place of the licence
files=$(echo "$files" |
	sed -E 's#(man[15]/[a-z-]+\.[15])#\1.gz#g; s#doc/dtrace-chain/LICENSE#doc/dtrace-chain/copyright#')
for file in bin/dtrace-chain share/doc/dtrace-chain/changelog.gz $files; do
	grep -qx "./usr/$file" "$scratch/contents" || fail "not in the package: $file"
done
grep -vE '^\./(usr/.*)?$' "$scratch/contents" && fail "the package reaches outside of /usr"
dpkg-deb --field "$1" Depends >"$scratch/depends"
for library in libbabeltrace2 libglib2.0 libarchive libpcap; do
	grep -q "$library" "$scratch/depends" || fail "the package does not depend on $library"
done
dpkg-deb --extract "$1" "$scratch/root"
[ "$("$scratch/root/usr/bin/dtrace-chain" --version)" = "dtrace-chain $(dpkg-deb --field "$1" Version)" ] ||
	fail "the packaged program has another version than the package"
if command -v lintian >/dev/null; then
	lintian --fail-on error "$1" 2>/dev/null || fail "lintian finds errors"
else
	echo "skipped: no lintian to look at the package"
fi
basename "$1"
exit $failed
