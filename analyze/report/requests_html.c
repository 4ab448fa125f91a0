/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/requests_html.h"

#include "analyze/report/page.h"

#include <string.h>

/* The document as it is, with one more member at its end. */
static char *make_data(const char *json, const struct dtc_requests_input *input, const DtcQuality *quality)
{
	GString *out = g_string_new(NULL);

	g_string_append_len(out, json, strrchr(json, '}') - json);
	g_string_append_printf(out, ",\n\"clocks\":{\"origin\":%" G_GINT64_FORMAT, input->origin_ns);
	dtc_quality_append_json(out, quality, input->origin_ns);
	g_string_append(out, "}}\n");
	return g_string_free(out, FALSE);
}

char *dtc_requests_to_html(const struct dtc_requests_input *input, const DtcQuality *quality)
{
	const struct dtc_summary_text_options text_options = { .width = 100, .has_utf8 = true };
	struct dtc_requests_input all = *input;

	all.slowest = all.limit = 0;
	g_autofree char *json = dtc_requests_to_json(&all);
	g_autofree char *data = make_data(json, &all, quality);
	g_autofree char *plain = dtc_requests_to_text(&all, &text_options);
	g_autofree char *title = g_strdup_printf("%u requests", input->summary->rows->len);
	const struct dtc_page page = {
		.body = dtc_requests_html,
		.scripts = { dtc_clocks_js, dtc_requests_js },
		.title = title,
		.plain = plain,
		.data = data,
	};
	return dtc_page_make(&page);
}
