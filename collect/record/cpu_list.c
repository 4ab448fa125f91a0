/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cpu_list.h"

#define ONLINE "/sys/devices/system/cpu/online"
#define MAX_CPU 65535

GArray *dtc_cpu_list_parse(const char *text)
{
	GArray *cpus = g_array_new(FALSE, FALSE, sizeof(guint));

	while (g_ascii_isdigit(*text)) {
		char *end;
		guint64 first = g_ascii_strtoull(text, &end, 10);
		guint64 last = *end == '-' ? g_ascii_strtoull(end + 1, &end, 10) : first;
		if (last > MAX_CPU)
			break;
		for (guint cpu = (guint)first; cpu <= last; cpu++)
			g_array_append_val(cpus, cpu);
		text = *end == ',' ? end + 1 : end;
	}
	return cpus;
}

GArray *dtc_cpu_list_get_online(void)
{
	g_autofree char *text = NULL;
	GArray *cpus = dtc_cpu_list_parse(g_file_get_contents(ONLINE, &text, NULL, NULL) ? text : "");
	const guint only = 0;

	if (cpus->len == 0)
		g_array_append_val(cpus, only);
	return cpus;
}
