/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/briefs.h"

#include "analyze/engine/capture_fit.h"
#include "sync/match/relation.h"

#include <string.h>

#define OTHERS "others"

GBytes *dtc_node_brief_save(const char *name, const DtcPackets *kernel, const DtcPackets *capture, DtcSpace *scratch,
			    GError **error)
{
	const struct dtc_match_source source = { .node = name, .kernel = kernel, .capture = capture };
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autoptr(DtcBrief) brief = dtc_brief_make(&source, scratch);
	g_autoptr(DtcMatches) matches = dtc_matches_new(&name, 1);
	bool are_both = kernel && capture && dtc_packets_get_count(kernel) && dtc_packets_get_count(capture);
	bool is_others = are_both && dtc_capture_fit_is_others(kernel, capture);

	dtc_relation_copy(dtc_matches_get_relation(matches, 0), dtc_brief_get_relation(brief));
	g_autofree char *time =
		are_both && !is_others ? dtc_capture_fit_describe_time(kernel, capture, matches, 0) : NULL;
	const char *const texts[] = { is_others ? OTHERS : "", time ? time : "" };
	dtc_image_add_strings(writer, "brief.capture", texts, G_N_ELEMENTS(texts));
	dtc_brief_save(brief, writer);
	return dtc_image_to_bytes(writer, error);
}

void dtc_node_brief_load(struct dtc_node_brief *brief, const DtcImage *told)
{
	gsize count;
	g_autofree const char **texts = dtc_image_get_strings(told, "brief.capture", &count, NULL);

	*brief = (struct dtc_node_brief){ 0 };
	if (!texts || count != 2)
		return;
	brief->is_others = strcmp(texts[0], OTHERS) == 0;
	brief->time = *texts[1] ? g_strdup(texts[1]) : NULL;
	brief->brief = dtc_brief_load(told, NULL);
}

void dtc_node_brief_clear(struct dtc_node_brief *brief)
{
	dtc_brief_free(brief->brief);
	g_free(brief->time);
	*brief = (struct dtc_node_brief){ 0 };
}
