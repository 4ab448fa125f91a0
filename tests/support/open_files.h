/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Descriptors, for tests of what must not hold any. */
#pragma once

#include <glib.h>

static inline guint count_open_files(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GDir) files = g_dir_open("/proc/self/fd", 0, &error);
	guint count = 0;
	g_assert_no_error(error);
	while (g_dir_read_name(files))
		count++;
	return count;
}
