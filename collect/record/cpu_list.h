/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of CPUs as the kernel writes them: "0-3,8". */
#pragma once

#include <glib.h>

/* The numbers in order; what is no list gives none. Free with g_array_unref (guint). */
GArray *dtc_cpu_list_parse(const char *text);
/* Of the CPUs that run now; at least one. */
GArray *dtc_cpu_list_get_online(void);
