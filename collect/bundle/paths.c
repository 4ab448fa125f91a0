/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/paths.h"

#include <glib.h>
#include <string.h>

#define MAX_PARTS 16
#define MAX_PART_BYTES 255 /* what file systems take */
#define MAX_NAME_BYTES 128

static bool has_control(const char *text)
{
	for (const char *c = text; *c; c = g_utf8_next_char(c))
		if (g_unichar_iscntrl(g_utf8_get_char(c)))
			return true;
	return false;
}

/* Names go to reports and command lines: no separators, no control characters, no "." games. */
bool dtc_node_name_check(const char *name)
{
	return *name && *name != '.' && *name != '-' && strlen(name) <= MAX_NAME_BYTES &&
	       g_utf8_validate(name, -1, NULL) && !has_control(name) && !strpbrk(name, "/,=:");
}

bool dtc_bundle_path_check(const char *path)
{
	guint parts = 0;

	if (!*path || !g_utf8_validate(path, -1, NULL) || has_control(path))
		return false;
	for (const char *part = path;;) {
		size_t length = strcspn(part, "/");
		if (length == 0 || length > MAX_PART_BYTES || ++parts > MAX_PARTS)
			return false;
		if (part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.')))
			return false;
		if (!part[length])
			return true;
		part += length + 1;
	}
}
