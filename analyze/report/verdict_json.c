/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/verdict_json.h"

#include "collect/console/json_object.h"

void dtc_verdict_append_json(GString *out, const struct dtc_report_verdict *verdict, const char *tier,
			     enum dtc_cause cause, int64_t ns, int64_t duration_ns)
{
	char share[G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_formatd(share, sizeof(share), "%.4f", (double)ns / (double)duration_ns);
	dtc_json_pack_open(out, NULL, '{');
	g_string_append_printf(out, "\"single\":%s", verdict->is_single ? "true" : "false");
	dtc_json_pack_string(out, "machine", verdict->machine);
	dtc_json_pack_string(out, "family", dtc_family_to_string(verdict->family));
	dtc_json_pack_string(out, "tier", tier);
	dtc_json_pack_string(out, "cause", dtc_cause_to_string(cause));
	g_string_append_printf(out, ",\"share\":%s", share);
	if (!verdict->waited_for) {
		dtc_json_pack_null(out, "waited_for");
	} else {
		dtc_json_pack_open(out, "waited_for", '{');
		dtc_json_pack_string(out, "request", verdict->waited_for);
		dtc_json_pack_string(out, "tier", verdict->waited_tier);
		dtc_json_pack_integer(out, "ns", verdict->waited_ns);
		dtc_json_pack_integer(out, "tier_ns", verdict->waited_tier_ns);
		dtc_json_pack_string(out, "candidate", verdict->waited_candidate);
		dtc_json_pack_integer(out, "candidate_ns", verdict->waited_candidate_ns);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, '}');
}
