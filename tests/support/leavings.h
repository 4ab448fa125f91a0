/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this process has of the kernel: "task", its threads, and "fd", its open files. */
#pragma once

#include <glib.h>

static inline guint dtc_leavings_count(const char *of)
{
	g_autofree char *path = g_build_filename("/proc/self", of, NULL);
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	guint count = 0;

	g_assert_nonnull(entries);
	while (g_dir_read_name(entries))
		count++;
	return count;
}

/* Nothing has come that stays: a thread that was joined may be seen for a moment more. */
static inline void dtc_leavings_assert(const char *of, guint before)
{
	for (guint i = 0; i < 200 && dtc_leavings_count(of) > before; i++)
		g_usleep(10000);
	g_assert_cmpuint(dtc_leavings_count(of), ==, before);
}
