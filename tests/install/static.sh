#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds dtrace-collect with `cmake --preset static` and runs it where there is nothing else: no library, no shell, no
# /etc. usage: static.sh SOURCE-DIR BUILD-DIR OTHER-BUILD-DIR
set -eu
source=$1
build=$2
root=$(mktemp -d)
trap 'rmdir "$root/proc" "$root/sys" 2>/dev/null; rm -f "$root/dtrace-collect"; rmdir "$root"' EXIT
fail() { echo "$*"; exit 1; }

# as the build that asks is built
launcher=$(sed -n 's/^CMAKE_C_COMPILER_LAUNCHER:[A-Z]*=//p' "$3/CMakeCache.txt")
(cd "$source" && cmake --preset static -B "$build" ${launcher:+"-DCMAKE_C_COMPILER_LAUNCHER=$launcher"} \
	--log-level=WARNING) >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" -- --quiet >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }

file=$build/dtrace-collect
readelf --program-headers "$file" | grep -q INTERP && fail "dtrace-collect asks for a dynamic linker"
readelf --dynamic "$file" | grep NEEDED && fail "dtrace-collect asks for libraries"
"$file" --version | grep -q '^dtrace-collect [0-9]' || fail "dtrace-collect does not tell its version"
"$file" check >/dev/null || [ $? -le 3 ] || fail "dtrace-collect cannot check this machine"
chroot=$(PATH=$PATH:/usr/sbin command -v chroot)
strip -o "$root/dtrace-collect" "$file"
echo "$(stat --format %s "$root/dtrace-collect") bytes"
[ "$(id -u)" -eq 0 ] || { echo "only root can take everything else away"; exit 0; }
mkdir "$root/proc" "$root/sys"
# mounts of its own, so that nothing stays whatever happens
# shellcheck disable=SC2016 # the inner shell expands it
unshare --mount sh -euc '
	mount --bind /proc "$1/proc"
	mount --rbind /sys "$1/sys"
	env -i "$2" "$1" /dtrace-collect --version
	env -i "$2" "$1" /dtrace-collect check || [ $? -le 3 ]' sh "$root" "$chroot" ||
	fail "dtrace-collect does not run alone"
