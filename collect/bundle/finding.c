/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dtrace-chain/finding.h"
#include "dtrace-chain/error.h"

#include <string.h>

/* clang-format off: the names are words, not subtractions */
G_DEFINE_QUARK(dtc - collect - error, dtc_collect_error)
G_DEFINE_QUARK(dtc - sync - error, dtc_sync_error)
G_DEFINE_QUARK(dtc - analyze - error, dtc_analyze_error)
/* clang-format on */

struct DtcFindings {
	GArray *list; /* struct dtc_finding */
};

static void finding_clear(void *data)
{
	struct dtc_finding *finding = data;
	g_free(finding->node);
	g_free(finding->text);
}

DtcFindings *dtc_findings_new(void)
{
	DtcFindings *findings = g_new0(DtcFindings, 1);
	findings->list = g_array_new(FALSE, FALSE, sizeof(struct dtc_finding));
	g_array_set_clear_func(findings->list, finding_clear);
	return findings;
}

void dtc_findings_free(DtcFindings *findings)
{
	if (!findings)
		return;
	g_array_unref(findings->list);
	g_free(findings);
}

static bool has_finding(const DtcFindings *findings, const char *node, const char *text)
{
	for (guint i = 0; i < findings->list->len; i++) {
		const struct dtc_finding *f = &g_array_index(findings->list, struct dtc_finding, i);
		if (g_strcmp0(f->node, node) == 0 && strcmp(f->text, text) == 0)
			return true;
	}
	return false;
}

/* Takes the text. */
static void add(DtcFindings *findings, const char *code, enum dtc_severity severity, bool incomplete, const char *node,
		char *text)
{
	if (has_finding(findings, node, text)) {
		g_free(text);
		return;
	}
	struct dtc_finding finding = { severity, incomplete, code, g_strdup(node), text };
	guint at = findings->list->len;
	while (at > 0 && g_array_index(findings->list, struct dtc_finding, at - 1).severity < severity)
		at--;
	g_array_insert_val(findings->list, at, finding);
}

void dtc_findings_add(DtcFindings *findings, enum dtc_severity severity, bool incomplete, const char *node,
		      const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add(findings, NULL, severity, incomplete, node, g_strdup_vprintf(format, args));
	va_end(args);
}

void dtc_findings_add_coded(DtcFindings *findings, const char *code, enum dtc_severity severity, bool incomplete,
			    const char *node, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add(findings, code, severity, incomplete, node, g_strdup_vprintf(format, args));
	va_end(args);
}

void dtc_findings_move(DtcFindings *to, DtcFindings *from)
{
	for (guint i = 0; i < from->list->len; i++) {
		const struct dtc_finding *f = &g_array_index(from->list, struct dtc_finding, i);
		add(to, f->code, f->severity, f->incomplete, f->node, g_strdup(f->text));
	}
	g_array_set_size(from->list, 0);
}

guint dtc_findings_get_count(const DtcFindings *findings)
{
	return findings->list->len;
}

const struct dtc_finding *dtc_findings_get(const DtcFindings *findings, guint index)
{
	return &g_array_index(findings->list, struct dtc_finding, index);
}

bool dtc_findings_get_complete(const DtcFindings *findings)
{
	for (guint i = 0; i < findings->list->len; i++)
		if (g_array_index(findings->list, struct dtc_finding, i).incomplete)
			return false;
	return true;
}

const char *dtc_severity_to_string(enum dtc_severity severity)
{
	static const char *const names[] = { "info", "warning", "error" };
	return names[severity];
}
