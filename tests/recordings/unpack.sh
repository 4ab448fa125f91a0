#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Unpacks the recordings that lie beside the repository, once. Without them the tests that need them are skipped.
# usage: unpack.sh ARCHIVE-DIR TARGET-DIR NAME...
set -eu
archives=$1 target=$2
shift 2
if [ ! -d "$archives" ]; then
	echo "SKIPPED: no recordings at $archives (set DTC_RECORDINGS when configuring to say where they are)"
	exit 77
fi
mkdir -p "$target"
for name; do
	[ ! -e "$target/.$name.done" ] || continue
	[ -e "$archives/$name.tar.xz" ] || { echo "no $archives/$name.tar.xz"; continue; }
	part=$target/$name.part
	rm -rf "$part" "${target:?}/${name:?}"
	mkdir "$part"
	tar -C "$part" -xf "$archives/$name.tar.xz"
	# an archive holds a bundle of its own name, or a single trace (arm32) and then is a bundle itself
	if [ -d "$part/$name" ]; then
		mv "$part/$name" "$target/$name"
		rmdir "$part"
	else
		mv "$part" "$target/$name"
	fi
	touch "$target/.$name.done"
done
