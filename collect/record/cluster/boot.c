/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/boot.h"

#include "collect/record/cluster/agent.h"
#include "collect/record/cluster/remains.h"

/*
 * No message of a shell's gets between its own lines, since it says what it has to say on one line of its own. Of the
 * URI's escapes it makes those for what would end a word, or be taken for an escape. `head -c` reads no further than it
 * has to: what follows comes only after the next message. Whoever asked may be gone before any message: what a signal
 * ends runs no EXIT trap in dash, so each of them is made an exit.
 */
static const char script[] =
	"umask 077\n"
	"say() { printf '\\nboot %s\\n' \"$*\"; }\n"
	"escape() { printf '%s\\n' \"$*\" | head -n 1 | sed 's/%/%25/g; s/ /%20/g'; }\n"
	"fail() { say failed \"$(escape \"$*\")\"; exit 1; }\n"
	"works() { [ \"$(\"$1\" agent version 2>/dev/null)\" = \"$version\" ]; }\n"
	"sudo=; root=user\n"
	"[ \"$(id -u)\" = 0 ] && root=root\n"
	"if [ $root = user ] && sudo -n true 2>/dev/null; then sudo='sudo -n'; root=sudo; fi\n"
	"[ \"$needs_sudo\" = no ] || [ $root != user ] || fail 'sudo asks for a password, or does not allow it'\n"
	"program=$(command -v dtrace-collect 2>/dev/null)\n"
	"if [ -n \"$folder\" ]; then\n"
	"	[ -d \"$folder\" ] || fail \"nothing of it is left\"\n"
	"	[ ! -x \"$folder/dtrace-collect\" ] || program=$folder/dtrace-collect\n"
	"	say run \"$(escape \"$folder\")\" $root\n"
	"	exec $sudo \"$program\" agent resume \"$folder\"\n"
	"fi\n"
	"folder=$(mktemp -d \"$place/$prefix\"XXXXXXXXXX 2>&1) || fail \"$folder\"\n"
	"trap 'rm -rf \"$folder\"' EXIT\n"
	"trap 'exit 1' HUP INT PIPE TERM\n"
	"if [ $copies = yes ] || ! works \"$program\"; then\n"
	"	program=$folder/dtrace-collect\n"
	"	say need \"$(uname -m)\"\n"
	"	head -c $bytes >\"$program\" || fail \"cannot write to $folder\"\n"
	"	[ \"$(wc -c <\"$program\")\" -eq $bytes ] || fail \"the program did not arrive, or $folder is full\"\n"
	"	chmod 700 \"$program\"\n"
	"	works \"$program\" || fail \"the program does not run there: $(\"$program\" agent version 2>&1)\"\n"
	"fi\n"
	"say run \"$(escape \"$folder\")\" $root\n"
	"trap - EXIT HUP INT PIPE TERM\n"
	"$sudo \"$program\" agent serve \"$folder\"\n"
	"code=$?\n"
	"if [ $code -ge 128 ] && [ -d \"$folder\" ]; then\n"
	"	$sudo \"$program\" agent resume \"$folder\" </dev/null >/dev/null 2>&1 &\n"
	"elif [ $code -ne 0 ]; then rm -rf \"$folder\"; fi\n"
	"exit $code\n";

static void append_setting(GString *out, const char *name, const char *value)
{
	g_autofree char *quoted = g_shell_quote(value);

	g_string_append_printf(out, "%s=%s\n", name, quoted);
}

char *dtc_boot_get_script(const struct dtc_boot *boot)
{
	GString *out = g_string_new(NULL);

	append_setting(out, "version", dtc_boot_get_version());
	append_setting(out, "prefix", DTC_REMAINS_PREFIX);
	append_setting(out, "place", boot->place);
	append_setting(out, "folder", boot->resumed ? boot->resumed : "");
	g_string_append_printf(out, "bytes=%" G_GUINT64_FORMAT "\n", boot->program_bytes);
	append_setting(out, "copies", boot->copies ? "yes" : "no");
	append_setting(out, "needs_sudo", boot->needs_sudo ? "yes" : "no");
	g_string_append(out, script);
	return g_string_free(out, FALSE);
}

const char *dtc_boot_get_version(void)
{
	return "dtrace-collect " DTC_VERSION " agent " DTC_AGENT_PROTOCOL;
}
