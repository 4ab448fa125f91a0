/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON written as text, for documents of a hundred thousand elements and for data inside a web page: no string can end
 * the script element that it stands in ('<', '>' and '&' are written as \u003c and so on), nor break a line of
 * JavaScript (U+2028, U+2029). Bytes that are not UTF-8 become U+FFFD.
 */
#pragma once

#include <glib.h>

/* The quoted string, or null for NULL. */
void dtc_json_text_append_string(GString *out, const char *text);
/* "key": with a comma before it unless it is the first of its object. */
void dtc_json_text_append_key(GString *out, const char *key);
/* A comma, unless out ends with an opening bracket. */
void dtc_json_text_append_comma(GString *out);
