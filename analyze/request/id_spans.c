/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/id_spans_build.h"

#include "analyze/exchange/identity.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define MAX_SPANS 4000000u /* with their ids about 500 MB at the worst; more is no question about one request */
#define MAX_LISTED 10

struct DtcIdSpans {
	struct dtc_id_spans_input input;
	GArray *spans; /* struct dtc_id_span */
	GStringChunk *chunk;
};

DtcIdSpans *dtc_id_spans_new(const struct dtc_id_spans_input *input)
{
	DtcIdSpans *spans = g_new0(DtcIdSpans, 1);

	spans->input = *input;
	spans->spans = g_array_new(FALSE, FALSE, sizeof(struct dtc_id_span));
	spans->chunk = g_string_chunk_new(4096);
	return spans;
}

void dtc_id_spans_free(DtcIdSpans *spans)
{
	if (!spans)
		return;
	g_array_unref(spans->spans);
	g_string_chunk_free(spans->chunk);
	g_free(spans);
}

const struct dtc_id_spans_input *dtc_id_spans_get_input(const DtcIdSpans *spans)
{
	return &spans->input;
}

const char *dtc_id_spans_keep(DtcIdSpans *spans, const char *text)
{
	return g_string_chunk_insert_const(spans->chunk, text);
}

bool dtc_id_spans_add(DtcIdSpans *spans, const struct dtc_id_span *span, gsize id_bytes)
{
	char clean[DTC_REQUEST_TEXT_BYTES + 1];
	struct dtc_id_span kept = *span;

	dtc_identity_clean(span->id, id_bytes, clean);
	if (!*clean || spans->spans->len >= MAX_SPANS)
		return false;
	kept.id = dtc_id_spans_keep(spans, clean);
	kept.end.ns = MAX(span->begin.ns, span->end.ns);
	g_array_append_val(spans->spans, kept);
	return true;
}

guint dtc_id_spans_get_count(const DtcIdSpans *spans)
{
	return spans->spans->len;
}

const struct dtc_id_span *dtc_id_spans_get(const DtcIdSpans *spans, guint index)
{
	return &g_array_index(spans->spans, struct dtc_id_span, index);
}

/* --- marks --- */

/* The group that is the id: its number, or -1 if the expression has none. */
static int find_group(const GRegex *regex)
{
	int named = g_regex_get_string_number(regex, "id");

	return named > 0 ? named : g_regex_get_capture_count(regex) > 0 ? 1 : -1;
}

/* The thread's span so far with that id, by (node, thread, id); the id is one that the set keeps. */
struct mark_key {
	guint node;
	uint32_t thread;
	const char *id;
};

static guint mark_key_hash(gconstpointer data)
{
	const struct mark_key *key = data;

	return g_direct_hash(key->id) * 31 + key->thread * 0x9e3779b1u + key->node;
}

static gboolean mark_key_equal(gconstpointer a, gconstpointer b)
{
	const struct mark_key *x = a, *y = b;

	return x->id == y->id && x->thread == y->thread && x->node == y->node;
}

static void add_mark(DtcIdSpans *spans, GHashTable *known, guint node, const struct dtc_mark *mark, const char *text,
		     int from, int to)
{
	char clean[DTC_REQUEST_TEXT_BYTES + 1];

	dtc_identity_clean(text + from, (gsize)(to - from), clean);
	if (!*clean || mark->thread == DTC_NONE)
		return;
	struct mark_key key = { node, mark->thread, dtc_id_spans_keep(spans, clean) };
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(known, &key));
	if (at) {
		g_array_index(spans->spans, struct dtc_id_span, at - 1).end.ns = mark->time_ns;
		return;
	}
	const struct dtc_id_span span = {
		.id = text + from,
		.source = "mark",
		.node = node,
		.thread = mark->thread,
		.begin = { mark->time_ns },
		.end = { mark->time_ns },
	};
	if (dtc_id_spans_add(spans, &span, (gsize)(to - from)))
		g_hash_table_insert(known, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(spans->spans->len));
}

bool dtc_id_spans_add_marks(DtcIdSpans *spans, const char *expression, GError **error)
{
	GError *wrong = NULL;
	/* marks are bytes: whatever a program wrote must not make the expression fail */
	g_autoptr(GRegex) regex = g_regex_new(expression, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, &wrong);
	if (!regex) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "--mark-regex '%s' is no regular expression: %s\n"
			    "for example 'request=(?<id>[^ ]+)'",
			    expression, wrong->message);
		g_error_free(wrong);
		return false;
	}
	int group = find_group(regex);
	if (group < 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "--mark-regex '%s' has no group that is the id\nfor example 'request=(?<id>[^ ]+)'",
			    expression);
		return false;
	}
	g_autoptr(GHashTable) known = g_hash_table_new_full(mark_key_hash, mark_key_equal, g_free, NULL);
	for (guint node = 0; node < spans->input.node_count; node++) {
		const DtcHistory *history = spans->input.histories[node];
		for (uint32_t i = 0; history && i < dtc_history_get_mark_count(history); i++) {
			const struct dtc_mark *mark = dtc_history_get_mark(history, i);
			const char *text = dtc_history_get_string(history, mark->text);
			g_autoptr(GMatchInfo) match = NULL;
			int from, to;
			/* one that takes too long on some text fits not: the matcher gives up by itself */
			if (g_regex_match(regex, text, 0, &match) && g_match_info_fetch_pos(match, group, &from, &to) &&
			    from >= 0)
				add_mark(spans, known, node, mark, text, from, to);
		}
	}
	return true;
}

/* --- finding --- */

static const struct dtc_id_span *find_longest(const DtcIdSpans *spans, const char *id)
{
	const struct dtc_id_span *best = NULL;

	for (guint i = 0; i < spans->spans->len; i++) {
		const struct dtc_id_span *span = dtc_id_spans_get(spans, i);
		if (strcmp(span->id, id) == 0 &&
		    (!best || span->end.ns - span->begin.ns > best->end.ns - best->begin.ns))
			best = span;
	}
	return best;
}

/* The ids that begin with a text, each once; strings are kept once, so that addresses tell them apart. */
static GPtrArray *find_begins(const DtcIdSpans *spans, const char *text)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
	GPtrArray *found = g_ptr_array_new();

	for (guint i = 0; i < spans->spans->len; i++) {
		const char *id = dtc_id_spans_get(spans, i)->id;
		if (g_str_has_prefix(id, text) && g_hash_table_add(seen, (void *)id))
			g_ptr_array_add(found, (void *)id);
	}
	return found;
}

static int compare_ids(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool dtc_id_spans_find(const DtcIdSpans *spans, const char *id, struct dtc_id_span *ret_span, GError **error)
{
	char wanted[DTC_REQUEST_TEXT_BYTES + 1];

	dtc_identity_clean(id, strlen(id), wanted);
	const struct dtc_id_span *span = *wanted ? find_longest(spans, wanted) : NULL;
	if (!span && *wanted) {
		g_autoptr(GPtrArray) found = find_begins(spans, wanted);
		if (found->len > 1) {
			g_autoptr(GString) list = g_string_new(NULL);
			g_ptr_array_sort(found, compare_ids);
			for (guint i = 0; i < MIN(found->len, MAX_LISTED); i++)
				g_string_append_printf(list, "%s'%s'", i ? ", " : "",
						       (const char *)g_ptr_array_index(found, i));
			if (found->len > MAX_LISTED)
				g_string_append_printf(list, " and %u more", found->len - MAX_LISTED);
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "'%s' fits %u requests\nname one of %s",
				    wanted, found->len, list->str);
			return false;
		}
		if (found->len == 1)
			span = find_longest(spans, g_ptr_array_index(found, 0));
	}
	if (!span) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
			    "no mark or span has the id '%s'\n%u were read from --mark-regex and --spans", wanted,
			    spans->spans->len);
		return false;
	}
	if (span->end.ns <= span->begin.ns) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "'%s' has a single mark in each thread, so there is no span to explain\n"
			    "let the expression fit the mark at the begin and the one at the end",
			    wanted);
		return false;
	}
	*ret_span = *span;
	return true;
}
