/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every field of every event of a trace as text, by either decoder, so that two of them can be compared line by line.
 * The streams come one after the other, by the names of their files. What babeltrace2 does not show is not shown: the
 * headers of packets and events, and numbers that only tell times, sizes and counts of packets.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Zero if all could be read; else why not is on the standard error. */
int print_fast(const char *path);
int print_reference(const char *path);

/* As babeltrace2 names members and options: without one leading underscore. */
static inline const char *get_plain_name(const char *name)
{
	return *name == '_' ? name + 1 : name;
}

/* In quotes; what is not printable ASCII is escaped. */
void print_text(GString *to, const char *text, gsize bytes);
/* "5" or, of an enumeration, "5:"label"" */
void print_number(GString *to, uint64_t value, bool is_signed);
/* Writes the line and empties it. */
void print_line(GString *line);
