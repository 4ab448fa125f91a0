#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command and every option that --help names is in its man page and in the three completions; man pages and
# completions are well-formed. usage: options.sh SOURCE-DIR PROGRAM MANUAL-DIR
set -eu
cd "$1"
program=$2
name=$(basename "$program")
manual=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=$scratch/bad
: >"$bad"
"$program" --help >"$scratch/help"
commands=$(awk '/^Commands:/ { on = 1; next } on && !NF { exit } on { print $1 }' "$scratch/help")
[ -n "$commands" ] || { echo "--help lists no commands under 'Commands:'"; exit 1; }
[ "$commands" = "$("$program" --help-table)" ] || echo "--help-table lists other commands than --help" >>"$bad"

# has FILE OPTION WHAT: the option as a word of its own
has() { grep -qE -- "(^|[^a-z-])$2([^a-z-]|\$)" "$1" || echo "$3: $2 is not in $(basename "$1")" >>"$bad"; }

count=0
for command in $commands; do
	"$program" "$command" --help >"$scratch/help"
	page=$manual/man/$name-$command.1
	[ -f "$page" ] || { echo "$command: no man page" >>"$bad"; continue; }
	sed 's/\\-/-/g; s/\\f[BIR]//g' "$page" >"$scratch/page"
	grep -E '^  (-., )?--' "$scratch/help" | sed 's/^ *\(-., \)*\(--[a-z-]*\).*/\2/' >"$scratch/options"
	[ -s "$scratch/options" ] || echo "$command: --help lists no options" >>"$bad"
	# what belongs to this command in the completions
	grep -E "^	$command\\) options=" "$manual/completions/$name.bash" >"$scratch/bash" || true
	awk -v command="$command" '$0 == "\t" command ")" { on = 1; next } /^\t[a-z]+\)$/ { on = 0 } on' \
		"$manual/completions/_$name" >"$scratch/zsh"
	grep -E "from $command(;|')" "$manual/completions/$name.fish" |
		sed 's/ -l / --/' >"$scratch/fish" || true
	while read -r option; do
		count=$((count + 1))
		for file in page bash zsh fish; do has "$scratch/$file" "$option" "$command"; done
	done <"$scratch/options"
	grep -q '^Examples:' "$scratch/help" || echo "$command: --help has no examples" >>"$bad"
	sed 's/\\-/-/g' "$manual/man/$name.1" | grep -q "$name $command" ||
		echo "$command: not in $name.1" >>"$bad"
done

if command -v man >/dev/null && command -v groff >/dev/null; then
	for page in "$manual/man/$name"*; do
		LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings=all -l "$page" 2>&1 >/dev/null |
			sed "s|^|$(basename "$page"): |"
	done >>"$bad"
else
	echo "skipped: no man, groff to read the man pages with"
fi
for shell in bash:$name.bash zsh:_$name fish:$name.fish; do
	if command -v "${shell%%:*}" >/dev/null; then
		"${shell%%:*}" -n "$manual/completions/${shell#*:}" 2>>"$bad" ||
			echo "${shell#*:} is no ${shell%%:*}" >>"$bad"
	else
		echo "skipped: no ${shell%%:*} to read ${shell#*:} with"
	fi
done
if command -v shellcheck >/dev/null; then
	shellcheck --shell=bash "$manual/completions/$name.bash" >>"$bad" || true
fi
# bash completes what a person would type
cat >"$scratch/ask.bash" <<'END'
. "$1"
function=_${2//-/_}
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"$function"
printf '%s\n' "${COMPREPLY[@]}"
END
ask() { bash "$scratch/ask.bash" "$manual/completions/$name.bash" "$name" "$@" | tr '\n' ' '; }
expect() {
	want=$1
	shift
	got=$(ask "$@")
	[ "$got" = "$want" ] || echo "completion of '$name $*' is '$got', not '$want'" >>"$bad"
}
case $name in
dtrace-chain)
	expect '--format ' requests --for
	expect 'text json ' stats --format ''
	expect 'always ' sync --color al
	expect '--request-id ' --req
	expect 'create redact check show ' bundle ''
	expect 'requests ' reque
	;;
dtrace-collect)
	expect 'minimal default full ' record --events-set ''
	expect '--headers-only ' check --head
	expect 'seal ' se
	;;
esac

cat "$bad"
echo "$count options of $(echo "$commands" | wc -w) commands"
[ ! -s "$bad" ]
