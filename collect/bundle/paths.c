/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/paths.h"

#include <glib.h>
#include <stdlib.h>
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

static bool is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);
	while (length > 0 && directory[length - 1] == '/')
		length--;
	return strncmp(path, directory, length) == 0 && path[length] == '/';
}

char *dtc_path_find_outside(const char *directory, const char *path)
{
	if (!directory || !path)
		return NULL;
	g_autofree char *named = g_canonicalize_filename(path, NULL);
	g_autofree char *named_directory = g_canonicalize_filename(directory, NULL);
	if (!is_below(named, named_directory))
		return NULL;
	char *real = realpath(path, NULL), *root = realpath(directory, NULL);
	char *outside = real && root && !is_below(real, root) && strcmp(real, root) != 0 ? g_strdup(real) : NULL;
	free(real);
	free(root);
	return outside;
}
