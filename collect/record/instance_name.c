/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/instance_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "dtrace-collect-"
#define FIRST_NAMESPACE 0xEFFFFFFCu /* its inode (PROC_PID_INIT_INO of the kernel); it has all processes */
#define NOBODY 1 /* no inode of any: there is no such process, or this kernel has no namespaces of them */
#define LINK_BYTES 64
#define START_FIELD 19 /* fields after the name, from the state on: proc(5) calls it the 22nd */

guint64 dtc_instance_name_get_start(const char *proc, guint pid)
{
	g_autofree char *path = g_strdup_printf("%s/%u/stat", proc, pid);
	g_autofree char *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return 0;
	const char *at = strrchr(text, ')'); /* a name may hold anything */
	for (guint field = 0; at && field <= START_FIELD; field++)
		at = strchr(at + 1, ' ');
	return at ? g_ascii_strtoull(at, NULL, 10) : 0;
}

/* Of /proc/PID/ns/pid: "pid:[4026531836]". 0: it cannot be read. */
static guint64 read_namespace(const char *proc, const char *pid)
{
	g_autofree char *path = g_build_filename(proc, pid, "ns", "pid", NULL);
	char text[LINK_BYTES] = "";
	ssize_t bytes = readlink(path, text, sizeof(text) - 1);
	bool is_missing = bytes < 0 && (errno == ENOENT || errno == ESRCH);
	const char *number = bytes > 0 ? strchr(text, '[') : NULL;

	if (is_missing)
		return NOBODY;
	return number ? g_ascii_strtoull(number + 1, NULL, 10) : 0;
}

/* 0: this /proc shows another namespace, where this process has another number. */
static guint64 get_own_namespace(const char *proc)
{
	g_autofree char *path = g_build_filename(proc, "self", NULL);
	g_autofree char *own = g_strdup_printf("%d", (int)getpid());
	g_autofree char *shown = g_file_read_link(path, NULL);

	return g_strcmp0(own, shown) == 0 ? read_namespace(proc, own) : 0;
}

char *dtc_instance_name_new(const char *proc)
{
	guint pid = (guint)getpid();
	guint64 space = get_own_namespace(proc), start = dtc_instance_name_get_start(proc, pid);

	if (space == 0 || start == 0)
		return g_strdup_printf(PREFIX "unknown-%08x%08x", g_random_int(), g_random_int());
	return g_strdup_printf(PREFIX "%" G_GUINT64_FORMAT "-%u-%" G_GUINT64_FORMAT, space, pid, start);
}

/* Seen from the first namespace, whose own first process is in no other. What cannot be looked at may be in it. */
static bool is_inhabited(const char *proc, guint64 space)
{
	g_autoptr(GDir) dir = g_dir_open(proc, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		if (!g_ascii_isdigit(*name) || strcmp(name, "1") == 0)
			continue;
		guint64 found = read_namespace(proc, name);
		if (found == space || found == 0)
			return true;
	}
	return !dir;
}

/* A number that has no sign, and what follows it. */
static bool take_number(const char **text, guint64 *ret_number)
{
	char *end;

	if (!g_ascii_isdigit(**text))
		return false;
	*ret_number = g_ascii_strtoull(*text, &end, 10);
	*text = end;
	return *ret_number > 0;
}

static bool take_dash(const char **text)
{
	return *(*text)++ == '-';
}

bool dtc_instance_name_is_stale(const char *name, const char *proc)
{
	guint64 space, pid, start;
	const char *rest = g_str_has_prefix(name, PREFIX) ? name + strlen(PREFIX) : "";

	if (!take_number(&rest, &space) || !take_dash(&rest) || !take_number(&rest, &pid) || !take_dash(&rest) ||
	    !take_number(&rest, &start) || *rest || pid > G_MAXINT)
		return false;
	guint64 own = get_own_namespace(proc);
	if (space == own)
		return dtc_instance_name_get_start(proc, (guint)pid) != start;
	return own == FIRST_NAMESPACE && !is_inhabited(proc, space);
}
