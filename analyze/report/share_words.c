/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/share_words.h"

#include "collect/console/printable.h"

char *dtc_share_describe(const struct dtc_share *share)
{
	if (share->detail)
		return g_strdup_printf("%s %s, %s", share->tier, dtc_cause_to_string(share->cause), share->detail);
	return g_strdup_printf("%s %s", share->tier, dtc_cause_to_string(share->cause));
}

void dtc_share_add(DtcLayout *layout, const struct dtc_share *share, int64_t whole_ns)
{
	const char *cause = dtc_cause_to_string(share->cause);
	g_autofree char *percent = dtc_percent_format(share->ns, whole_ns);
	g_autofree char *figure = g_strdup_printf(" %3s%% ", percent);
	g_autofree char *least = g_strdup_printf("%s%s %s", figure, share->tier, cause);
	g_autofree char *whole = dtc_share_describe(share);
	g_autofree char *brief = g_strdup_printf("%s %s", share->node, cause);
	bool has_room = dtc_printable_get_columns(least) <= dtc_layout_get_rest(layout);

	dtc_layout_add(layout, DTC_STYLE_PLAIN, "%s%s", figure, has_room ? whole : brief);
}

void dtc_figure_add(DtcLayout *layout, struct dtc_scale scale, int64_t ns, enum dtc_style style)
{
	g_autofree char *text = dtc_scale_format(scale, ns);

	dtc_layout_add_right(layout, text, DTC_FIGURE_COLUMNS, style);
}
