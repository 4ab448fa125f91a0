/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which names a bundle may contain: those that stay inside it and can be printed. */
#pragma once

#include <stdbool.h>

/* Of one node: no '/', ',', ':', '=' or control characters, not hidden, not an option. */
bool dtc_node_name_check(const char *name);
/*
 * Of a file in a bundle: relative, '/' between parts, none of them empty, "." or "..", valid UTF-8 without control
 * characters, at most 16 parts of at most 255 bytes.
 */
bool dtc_bundle_path_check(const char *path);

/*
 * Where a path that lies in a directory by its name really leads to, if that is outside of the directory; NULL if it
 * stays inside, cannot be told or never was there by its name. Caller frees.
 */
char *dtc_path_find_outside(const char *directory, const char *path);
