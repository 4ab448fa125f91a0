/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/finding_list.h"

#include "collect/console/json_object.h"
#include "collect/console/printable.h"

#define FINDING_MAX 1000 /* characters; see docs/formats.md */

void dtc_finding_list_add_text(DtcLayout *layout, const DtcFindings *findings)
{
	static const enum dtc_style styles[] = { DTC_STYLE_DIM, DTC_STYLE_YELLOW, DTC_STYLE_RED };
	guint count = dtc_findings_get_count(findings);

	if (count == 0)
		return;
	dtc_layout_add_heading(layout, "Findings", NULL);
	for (guint i = 0; i < count; i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		g_autofree char *raw =
			g_strconcat(finding->node ? finding->node : "", finding->node ? ": " : "", finding->text, NULL);
		g_autofree char *text = dtc_printable(raw, FINDING_MAX);
		dtc_layout_add_left(layout, dtc_severity_to_string(finding->severity), 9, styles[finding->severity]);
		dtc_layout_add_paragraph(layout, text, 9);
	}
}

void dtc_finding_list_append_json(GString *out, const DtcFindings *findings)
{
	guint count = dtc_findings_get_count(findings);

	g_string_append_c(out, '[');
	for (guint i = 0; i < count; i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		g_string_append(out, i ? ",\n    {" : "\n    {");
		dtc_json_add_text(out, "severity", dtc_severity_to_string(finding->severity));
		dtc_json_add_text(out, "code", finding->code);
		dtc_json_add_name(out, "node", finding->node);
		dtc_json_append_key(out, "text");
		dtc_json_append_text(out, finding->text, FINDING_MAX);
		g_string_append_c(out, '}');
	}
	g_string_append(out, count ? "\n  ]" : "]");
}

void dtc_finding_list_add_json(GString *out, const DtcFindings *findings)
{
	dtc_json_append_key(out, "findings");
	dtc_finding_list_append_json(out, findings);
	dtc_json_add_bool(out, "complete", dtc_findings_get_complete(findings));
}
