/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/url_pattern.h"

#include "collect/packets/url_segment.h"

#include <glib.h>
#include <string.h>

char *dtc_url_fold(const char *url)
{
	gsize bytes = strcspn(url, "?#");
	GString *out = g_string_new(NULL);

	for (gsize at = 0; at < bytes;) {
		gsize length = strcspn(url + at, "/?#");
		if (dtc_url_segment_is_id(url + at, length))
			g_string_append_c(out, '*');
		else
			g_string_append_len(out, url + at, (gssize)length);
		at += length;
		if (at < bytes)
			g_string_append_c(out, url[at++]);
	}
	return g_string_free(out, FALSE);
}
