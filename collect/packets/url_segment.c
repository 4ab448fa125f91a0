/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/packets/url_segment.h"

#define HEX_MIN 8
#define TOKEN_MIN 20
#define NUMBER_MIN 2

static bool is_joint(char c)
{
	return c == '-' || c == '_' || c == '.' || c == ':' || c == ',';
}

/* Digits from the end, after a joint. */
static bool ends_in_number(const char *segment, gsize bytes)
{
	gsize at = bytes;

	while (at > 0 && g_ascii_isdigit(segment[at - 1]))
		at--;
	return bytes - at >= NUMBER_MIN && at > 0 && is_joint(segment[at - 1]);
}

bool dtc_url_segment_is_id(const char *segment, gsize bytes)
{
	gsize figures = 0, hex = 0, letters = 0, joints = 0;

	for (gsize i = 0; i < bytes; i++) {
		figures += g_ascii_isdigit(segment[i]);
		letters += g_ascii_isalpha(segment[i]);
		hex += g_ascii_isxdigit(segment[i]);
		joints += is_joint(segment[i]);
	}
	if (!figures)
		return false;
	if (figures + joints == bytes || ends_in_number(segment, bytes))
		return true;
	if (hex >= HEX_MIN && hex + joints == bytes)
		return true;
	return letters + figures + joints == bytes && letters + figures >= TOKEN_MIN && letters > 0;
}
