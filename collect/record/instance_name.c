/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/instance_name.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "dtrace-collect-"
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

char *dtc_instance_name_new(const char *proc)
{
	guint pid = (guint)getpid();
	guint64 start = dtc_instance_name_get_start(proc, pid);

	return start ? g_strdup_printf(PREFIX "%u-%" G_GUINT64_FORMAT, pid, start) : NULL;
}

bool dtc_instance_name_is_stale(const char *name, const char *proc)
{
	guint64 pid = 0, start = 0;
	const char *rest;
	char *end = NULL;

	if (!g_str_has_prefix(name, PREFIX))
		return false;
	rest = name + strlen(PREFIX);
	if (!g_ascii_isdigit(*rest))
		return false;
	pid = g_ascii_strtoull(rest, &end, 10);
	if (pid == 0 || pid > G_MAXINT || *end != '-' || !g_ascii_isdigit(end[1]))
		return false;
	start = g_ascii_strtoull(end + 1, &end, 10);
	return *end == 0 && start > 0 && dtc_instance_name_get_start(proc, (guint)pid) != start;
}
