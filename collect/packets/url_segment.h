/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Segments of the paths of URLs: which are ids, and so differ from request to request. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * A segment of a path is an id if it is
 * - digits, or such with "-", "_", ".", ":" or "," between;
 * - hexadecimal of 8 or more digits, a UUID with its dashes included, with at least one figure;
 * - a word and a number of 2 or more digits with "-", "_", "." or ":" between ("req-0111", "f.req-0111");
 * - 20 or more letters and figures with both of them (tokens);
 * so that "v1", "app2", "utf-8" and "2fa" are not.
 */
bool dtc_url_segment_is_id(const char *segment, gsize bytes);
