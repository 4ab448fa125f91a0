/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is matched in brief (sync/match/brief.h) is what is matched of the packets themselves. */
#pragma once

#include "sync/match/brief.h"

/* As it comes from elsewhere. */
static inline DtcBrief *brief_matches_carry(const struct dtc_match_source *source)
{
	g_autoptr(DtcBrief) brief = dtc_brief_make(source, NULL);
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autoptr(GError) error = NULL;
	dtc_brief_save(brief, writer);
	g_autoptr(GBytes) bytes = dtc_image_to_bytes(writer, &error);
	g_assert_no_error(error);
	gsize count;
	const void *data = g_bytes_get_data(bytes, &count);
	g_autoptr(DtcImage) image = dtc_image_from_bytes(data, count, "brief", &error);
	g_assert_no_error(error);
	DtcBrief *carried = dtc_brief_load(image, &error);
	g_assert_no_error(error);
	return carried;
}

static inline void brief_matches_assert_pair(const DtcMatches *expected, const DtcMatches *got, guint index)
{
	struct dtc_match_pair p, q;
	dtc_matches_get_pair(expected, index, &p);
	dtc_matches_get_pair(got, index, &q);
	g_assert_cmpuint(p.a, ==, q.a);
	g_assert_cmpuint(p.b, ==, q.b);
	g_assert_cmpuint(p.unmatched_a, ==, q.unmatched_a);
	g_assert_cmpuint(p.unmatched_b, ==, q.unmatched_b);
	g_assert_cmpuint(p.ambiguous, ==, q.ambiguous);
	g_assert_cmpmem(p.ab, p.ab_count * sizeof(*p.ab), q.ab, q.ab_count * sizeof(*q.ab));
	g_assert_cmpmem(p.ba, p.ba_count * sizeof(*p.ba), q.ba, q.ba_count * sizeof(*q.ba));
}

/* Every second node alone, and all, are told in brief. */
static inline void brief_matches_assert_same(const struct dtc_match_source *sources, guint count,
					     const DtcMatches *expected)
{
	for (guint step = 1; step <= 2; step++) {
		g_autofree struct dtc_match_source *brief = g_memdup2(sources, count * sizeof(*sources));
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		for (guint i = 0; i < count; i += step) {
			brief[i].brief = brief_matches_carry(&sources[i]);
			g_assert_true(dtc_brief_is_of(brief[i].brief, &sources[i]));
		}
		g_autoptr(DtcMatches) got = dtc_match_packets(brief, count, NULL, findings);
		g_assert_cmpuint(dtc_matches_get_pair_count(got), ==, dtc_matches_get_pair_count(expected));
		for (guint i = 0; i < dtc_matches_get_pair_count(expected); i++)
			brief_matches_assert_pair(expected, got, i);
		for (guint i = 0; i < count; i++) {
			g_assert_cmpint(dtc_matches_get_capture_error_ns(got, i), ==,
					dtc_matches_get_capture_error_ns(expected, i));
			dtc_brief_free((DtcBrief *)brief[i].brief);
		}
	}
}
