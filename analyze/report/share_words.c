/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/share_words.h"

char *dtc_share_describe(const struct dtc_share *share)
{
	if (share->detail)
		return g_strdup_printf("%s %s, %s", share->tier, dtc_cause_to_string(share->cause), share->detail);
	return g_strdup_printf("%s %s", share->tier, dtc_cause_to_string(share->cause));
}

void dtc_figure_add(DtcLayout *layout, struct dtc_scale scale, int64_t ns, enum dtc_style style)
{
	g_autofree char *text = dtc_scale_format(scale, ns);

	dtc_layout_add_right(layout, text, DTC_FIGURE_COLUMNS, style);
}
