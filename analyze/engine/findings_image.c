/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/findings_image.h"

struct saved_finding {
	uint32_t severity;
	uint32_t is_incomplete;
	uint32_t list;
	uint32_t code; /* strings, as the next two; NO_STRING */
	uint32_t node;
	uint32_t text;
};

#define NO_STRING UINT32_MAX

static uint32_t add_string(GPtrArray *strings, const char *string)
{
	if (!string)
		return NO_STRING;
	g_ptr_array_add(strings, (gpointer)string);
	return strings->len - 1;
}

static void add_list(const DtcFindings *findings, uint32_t list, GArray *records, GPtrArray *strings)
{
	for (guint i = 0; i < dtc_findings_get_count(findings); i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		const struct saved_finding saved = { finding->severity,
						     finding->incomplete,
						     list,
						     add_string(strings, finding->code),
						     add_string(strings, finding->node),
						     add_string(strings, finding->text) };
		g_array_append_val(records, saved);
	}
}

void dtc_findings_save(const DtcFindings *const *lists, guint count, DtcImageWriter *writer)
{
	g_autoptr(GArray) records = g_array_new(FALSE, FALSE, sizeof(struct saved_finding));
	g_autoptr(GPtrArray) strings = g_ptr_array_new();

	for (guint i = 0; i < count; i++)
		add_list(lists[i], i, records, strings);
	dtc_image_add_copy(writer, "findings.records", sizeof(struct saved_finding), records->data, records->len);
	dtc_image_add_strings(writer, "findings.strings", (const char *const *)strings->pdata, strings->len);
}

bool dtc_findings_load(DtcFindings *const *lists, guint count, const DtcImage *image, GError **error)
{
	gsize record_count, string_count;
	const struct saved_finding *records =
		dtc_image_get(image, "findings.records", sizeof(struct saved_finding), &record_count, error);
	g_autofree const char **strings =
		records ? dtc_image_get_strings(image, "findings.strings", &string_count, error) : NULL;

	if (!strings)
		return false;
	for (gsize i = 0; i < record_count; i++) {
		const struct saved_finding *saved = &records[i];
		if (saved->severity > DTC_SEVERITY_ERROR || saved->list >= count || saved->text >= string_count ||
		    (saved->code != NO_STRING && saved->code >= string_count) ||
		    (saved->node != NO_STRING && saved->node >= string_count))
			return dtc_image_refuse(image, error, "a finding in it is none");
		dtc_findings_add_coded(
			lists[saved->list], saved->code == NO_STRING ? NULL : g_intern_string(strings[saved->code]),
			(enum dtc_severity)saved->severity, saved->is_incomplete,
			saved->node == NO_STRING ? NULL : strings[saved->node], "%s", strings[saved->text]);
	}
	return true;
}
