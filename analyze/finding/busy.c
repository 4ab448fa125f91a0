/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/findings.h"

#define SHARE 100 /* without a hundredth of the whole, nobody would be served noticeably sooner */
#define SHOWN 5	  /* the rest is smaller, and the path names all of them */

/* What a thread did for others on the path. */
struct busy {
	const struct dtc_segment *first; /* names the thread */
	const char *other;
	int64_t ns;
};

static int compare_busy(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->first->begin.ns < y->first->begin.ns ? -1 : x->first->begin.ns > y->first->begin.ns;
}

/* Waiting for other requests in the same loop, pool or lock, if it is a part of the whole that matters. */
void dtc_finding_add_busy(const struct dtc_finding_input *input, DtcFindings *findings)
{
	int64_t whole_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns;
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct busy));
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		if (!s->busy_with)
			continue;
		char *key = g_strdup_printf("%u %u %s", s->node, s->thread, s->busy_with);
		guint at = GPOINTER_TO_UINT(g_hash_table_lookup(seen, key));
		if (!at) {
			struct busy new = { s, s->busy_with, 0 };
			g_array_append_val(all, new);
			at = all->len;
		}
		g_hash_table_insert(seen, key, GUINT_TO_POINTER(at));
		g_array_index(all, struct busy, at - 1).ns += s->end.ns - s->begin.ns;
	}
	if (all->len)
		g_array_sort(all, compare_busy);
	for (guint i = 0; i < MIN(all->len, SHOWN); i++) {
		const struct busy *busy = &g_array_index(all, struct busy, i);
		if (busy->ns < whole_ns / SHARE)
			break;
		dtc_findings_add_coded(findings, DTC_FINDING_BUSY, DTC_SEVERITY_INFO, false,
				       dtc_links_get_node_name(input->links, busy->first->node),
				       "%s (tid %d) worked %.3f ms for request %s while this one waited",
				       busy->first->comm, busy->first->tid, (double)busy->ns / 1e6, busy->other);
	}
}
