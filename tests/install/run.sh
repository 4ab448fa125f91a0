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
collect_files="share/bash-completion/completions/dtrace-collect share/zsh/site-functions/_dtrace-collect
share/fish/vendor_completions.d/dtrace-collect.fish share/man/man1/dtrace-collect.1
share/man/man1/dtrace-collect-record.1 share/doc/dtrace-collect/collecting.md"
for file in $files $collect_files; do
	[ -s "$scratch/usr/$file" ] || fail "not installed: $file"
done

if ! command -v dpkg-shlibdeps >/dev/null || ! command -v dpkg-deb >/dev/null; then
	echo "skipped: no dpkg-dev to make a Debian package with"
	[ "$failed" -eq 0 ] && exit 77
	exit 1
fi
(cd "$build" && cpack -G DEB -B "$scratch/package") >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
# find_package NAME: the file that cpack made
find_package() { find "$scratch/package" -maxdepth 1 -name "$1_*.deb"; }
# check_package NAME PROGRAM-FILE...: what is inside, that it reaches nowhere else, and that its program runs
check_package() {
	name=$1
	shift
	package=$(find_package "$name")
	[ -f "$package" ] || { fail "cpack made no package $name"; return; }
	dpkg-deb --contents "$package" | awk '{ print $6 }' >"$scratch/contents"
	# as Debian wants them: pages compressed, and a copyright in place of the licence
	for file in "bin/$name" "share/doc/$name/changelog.gz" "share/doc/$name/copyright" $(echo "$@" |
		sed -E "s#(man[15]/[a-z-]+\.[15])#\1.gz#g; s#doc/$name/LICENSE#doc/$name/copyright#"); do
		grep -qx "./usr/$file" "$scratch/contents" || fail "not in $name: $file"
	done
	grep -vE '^\./(usr/.*)?$' "$scratch/contents" && fail "$name reaches outside of /usr"
	dpkg-deb --extract "$package" "$scratch/root-$name"
	[ "$("$scratch/root-$name/usr/bin/$name" --version)" = "$name $(dpkg-deb --field "$package" Version)" ] ||
		fail "the packaged $name has another version than its package"
	if command -v lintian >/dev/null; then
		lintian --fail-on error "$package" 2>/dev/null || fail "lintian finds errors in $name"
	else
		echo "skipped: no lintian to look at $name"
	fi
	basename "$package"
}
# shellcheck disable=SC2086 # both are lists
check_package dtrace-chain $files
# shellcheck disable=SC2086
check_package dtrace-collect $collect_files

# one that is dtrace-chain but for how it is started; nothing else knows MPI
mpi=$(find_package dtrace-chain-mpi)
if [ -x "$build/dtrace-chain-mpi" ]; then
	[ -f "$mpi" ] || fail "cpack made no package dtrace-chain-mpi"
	dpkg-deb --contents "$mpi" | awk '{ print $6 }' >"$scratch/contents"
	for file in bin/dtrace-chain-mpi share/man/man1/dtrace-chain-mpi.1.gz share/doc/dtrace-chain-mpi/copyright; do
		grep -qx "./usr/$file" "$scratch/contents" || fail "not in dtrace-chain-mpi: $file"
	done
	dpkg-deb --field "$mpi" Depends | grep -q libopenmpi || fail "dtrace-chain-mpi does not depend on MPI"
	basename "$mpi"
fi
dpkg-deb --field "$(find_package dtrace-chain)" Depends >"$scratch/depends"
grep -q openmpi "$scratch/depends" && fail "dtrace-chain depends on MPI"
for library in libbabeltrace2 libglib2.0 libarchive libpcap; do
	grep -q "$library" "$scratch/depends" || fail "dtrace-chain does not depend on $library"
done
# it goes to every node: what only reading needs is not its business
dpkg-deb --field "$(find_package dtrace-collect)" Depends | tr ',' '\n' | awk '{ print $1 }' >"$scratch/depends"
grep -vxE 'libc6|libglib2\.0-0|libpcap0\.8|libprotobuf-c1|libtraceevent1|libtracefs1' "$scratch/depends" &&
	fail "dtrace-collect depends on more than it should"
"$scratch/root-dtrace-collect/usr/bin/dtrace-collect" check >"$scratch/log" 2>&1 || [ $? -le 3 ] ||
	fail "the packaged dtrace-collect cannot check this machine: $(cat "$scratch/log")"
exit $failed
