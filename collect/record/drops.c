/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/drops.h"

#include <string.h>

/* Seconds with six digits behind the point; 0: there is none such. */
static gint64 parse_time(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? (gint64)(g_ascii_strtod(line + strlen(name), NULL) * 1e6 + 0.5) * 1000 : 0;
}

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
	gint64 oldest_ns = parse_time(text, "oldest event ts:"), now_ns = parse_time(text, "now ts:");
	drops.span_ns = oldest_ns > 0 ? now_ns - oldest_ns : 0;
	*ret_drops = drops;
	return true;
}

guint64 dtc_drops_count_lost(const struct dtc_drops *drops, bool is_flight)
{
	return (is_flight ? 0 : drops->overrun) + drops->commit_overrun + drops->dropped;
}
