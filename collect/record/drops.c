/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/drops.h"

#include <string.h>

bool dtc_drops_parse(const char *text, struct dtc_drops *ret_drops)
{
	struct dtc_drops drops = { 0 };
	const struct {
		const char *name;
		guint64 *value;
	} lines[] = {
		{ "entries: ", &drops.entries },
		{ "overrun: ", &drops.overrun },
		{ "commit overrun: ", &drops.commit_overrun },
		{ "bytes: ", &drops.bytes },
		{ "dropped events: ", &drops.dropped },
		{ "read events: ", &drops.read },
	};
	guint found = 0;

	for (const char *line = text; line && *line;) {
		for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
			gsize length = strlen(lines[i].name);
			if (strncmp(line, lines[i].name, length) != 0 || !g_ascii_isdigit(line[length]))
				continue;
			*lines[i].value = g_ascii_strtoull(line + length, NULL, 10);
			found++;
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (found == 0)
		return false;
	*ret_drops = drops;
	return true;
}

guint64 dtc_drops_count_lost(const struct dtc_drops *drops)
{
	return drops->overrun + drops->commit_overrun + drops->dropped;
}
