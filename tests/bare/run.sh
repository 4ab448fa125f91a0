#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Both commands of README.md on a bare machine: Debian 12 as debootstrap makes it, with a clean clone and nothing beside
# it. The machine lives in memory, in namespaces of its own, so that nothing of it is left however this ends. It has no
# recordings, and leaves out the sanitizer build. Only where CI is set, because it takes minutes and some 400 MB from
# apt's mirror. Before that, the package dtrace-collect of the build is installed alone on it, and removed again.
# usage: run.sh SOURCE-DIR SCRATCH-DIR BUILD-DIR [MIRROR: from within]
set -eu
suite=bookworm
root=$2/root
PATH=$PATH:/usr/sbin:/sbin
skip() { echo "skipped: $*"; exit 77; }
# Lines "ADDRESS SUITE COMPONENT" of what this machine's apt is told to use.
# shellcheck disable=SC2016 # the dollars are apt's
list_sources() { apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u; }

if [ $# -eq 3 ]; then
	case ${CI:-false} in false | 0) skip "CI is not set" ;; esac
	[ "$(id -u)" -eq 0 ] || skip "only root can make a machine"
	git -C "$1" rev-parse --quiet --verify HEAD >/dev/null || skip "$1 is not a clone"
	command -v debootstrap >/dev/null || skip "debootstrap is not installed"
	mirror=$(list_sources | awk -v suite=$suite '$2 == suite && $3 == "main" { print $1; exit }')
	mirror=${mirror%/}
	[ -n "$mirror" ] || skip "apt has no mirror of $suite here"
	/usr/lib/apt/apt-helper download-file "$mirror/dists/$suite/InRelease" "$2/InRelease" >"$2/log" 2>&1 ||
		{ cat "$2/log"; skip "apt's mirror does not answer"; }
	awk '/^MemAvailable:/ { exit $2 < 5000000 }' /proc/meminfo || skip "less than 5 GB of memory are free"
	unshare --mount true 2>"$2/log" || { cat "$2/log"; skip "no namespace for its mounts"; }
	exec unshare --mount --pid --fork --kill-child "$0" "$@" "$mirror"
fi

since=$(date +%s)
part() { echo "== bare: $(($(date +%s) - since)) s: $*"; }
inside() { chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/ "$@"; }
mkdir -p "$root"
mount -t tmpfs -o size=4g,mode=755 tmpfs "$root"

part "debootstrap $suite"
eval "$(apt-config shell proxy Acquire::http::Proxy)"
[ -z "${proxy:-}" ] || export http_proxy="$proxy"
debootstrap --variant=minbase "$suite" "$root" "$4" >"$2/log" 2>&1 || { tail -n 30 "$2/log"; exit 1; }
mount -t proc proc "$root/proc"
mount -t devpts devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
# what an installer writes; the browser's driver asks for it
echo "127.0.0.1 localhost" >"$root/etc/hosts"
list_sources | awk -v suite=$suite '$3 == "main" && $2 ~ "^" suite "(-updates|-security)?$" { print "deb", $0 }' \
	>"$root/etc/apt/sources.list"
apt-config dump | grep -E '^Acquire::https?::' >"$root/etc/apt/apt.conf.d/99host" || true
[ -z "${http_proxy:-}" ] || echo "Acquire::http::Proxy \"$http_proxy\";" >>"$root/etc/apt/apt.conf.d/99host"
# What records goes to every node: alone, without what reading needs.
part "dtrace-collect"
if ! grep -qx "VERSION_CODENAME=$suite" /etc/os-release; then
	echo "left out: it was built on another Debian"
elif ! command -v dpkg-shlibdeps >/dev/null; then
	echo "left out: no dpkg-dev to make its package with"
else
	(cd "$3" && cpack -G DEB -B "$2/packages") >"$2/log" 2>&1 || { cat "$2/log"; exit 1; }
	cp "$2"/packages/dtrace-collect_*.deb "$root/dtrace-collect.deb"
	{ inside apt-get -q update && inside apt-get -qy install --no-install-recommends /dtrace-collect.deb; } \
		>"$2/log" 2>&1 || { tail -n 30 "$2/log"; part "dtrace-collect does not install alone"; exit 1; }
	grep -hoE '^Setting up [^ :]+' "$2/log"
	grep -E '^Setting up (libbabeltrace2|libglpk|libjson-glib|libarchive)' "$2/log" &&
		{ part "dtrace-collect brings what only reading needs"; exit 1; }
	inside dtrace-collect --version
	inside dtrace-collect check || [ $? -le 3 ] || { part "dtrace-collect cannot check its machine"; exit 1; }
	inside apt-get -qy purge --auto-remove dtrace-collect >"$2/log" 2>&1 || { cat "$2/log"; exit 1; }
	rm "$root/dtrace-collect.deb"
fi
git clone -q "$1" "$root/dtrace-chain"

part ".ci/demo"
inside /dtrace-chain/.ci/demo >"$2/demo" 2>&1 || { cat "$2/demo"; part ".ci/demo failed"; exit 1; }
grep -v '^\[[0-9/]*\]' "$2/demo"
grep -q '^Mostly labsrv@backend timer' "$2/demo" || { part ".ci/demo did not answer"; exit 1; }

part ".ci/check"
inside /dtrace-chain/.ci/check --label-exclude '^(bare|sanitizer)$' || { part ".ci/check failed"; exit 1; }
part "done, $(du -sm "$root" 2>/dev/null | cut -f1) MB"
