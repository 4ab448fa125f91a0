/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/thread_spec.h"

#include "analyze/engine/moment.h"
#include "analyze/path/lineage.h"
#include "collect/bundle/suggest.h"
#include "dtrace-chain/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NEAREST_COUNT 5
#define NAMED_COUNT 10 /* tids of one name */
#define NS_PER_S G_GINT64_CONSTANT(1000000000)

/* Where the node's name ends: at a colon, or NULL. */
static const char *find_node_end(const char *text, const DtcBundle *bundle)
{
	const char *end = NULL, *last = strrchr(text, ':');
	guint64 tid;

	for (guint i = 0; bundle && i < dtc_bundle_get_count(bundle); i++) {
		const char *name = dtc_bundle_get_node(bundle, i)->name;
		gsize length = strlen(name);
		if (strncmp(text, name, length) == 0 && text[length] == ':' && text + length > end)
			end = text + length;
	}
	if (end || !last)
		return end;
	return g_ascii_string_to_unsigned(last + 1, 10, 0, INT32_MAX, &tid, NULL) ? last : strchr(text, ':');
}

bool dtc_thread_spec_parse(const char *text, const DtcBundle *bundle, struct dtc_thread_spec *ret_spec, GError **error)
{
	const char *end = find_node_end(text, bundle);
	guint64 tid;

	if (!end || end == text || !end[1]) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "--thread '%s' is not of the form NODE:TID or NODE:NAME\n"
			    "for example --thread web:1234",
			    text);
		return false;
	}
	bool is_tid = g_ascii_string_to_unsigned(end + 1, 10, 0, INT32_MAX, &tid, NULL);
	*ret_spec = (struct dtc_thread_spec){
		.node = g_strndup(text, (gsize)(end - text)),
		.name = is_tid ? NULL : g_strdup(end + 1),
		.tid = is_tid ? (int32_t)tid : -1,
	};
	return true;
}

void dtc_thread_spec_clear(struct dtc_thread_spec *spec)
{
	g_free(spec->node);
	g_free(spec->name);
}

struct candidate {
	int32_t tid;
	int64_t distance;
	uint32_t thread;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = (x->distance > y->distance) - (x->distance < y->distance);
	if (order == 0)
		order = (x->tid > y->tid) - (x->tid < y->tid);
	return order ? order : (x->thread < y->thread) - (x->thread > y->thread); /* the last owner of a tid first */
}

/* "1203 (nginx), 1204 (nginx), ...": the threads with the nearest tids, each tid once. */
static char *list_nearest(const DtcHistory *history, int32_t tid)
{
	uint32_t count = dtc_history_get_thread_count(history);
	g_autofree struct candidate *candidates = g_new(struct candidate, count + 1);
	g_autoptr(GString) text = g_string_new(NULL);
	uint32_t used = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(history, i);
		if (thread->tid > 0)
			candidates[used++] = (struct candidate){ thread->tid, llabs((long long)thread->tid - tid), i };
	}
	qsort(candidates, used, sizeof(*candidates), compare_candidates);
	guint listed = 0;
	for (uint32_t i = 0; i < used && listed < NEAREST_COUNT; i++) {
		if (i > 0 && candidates[i].tid == candidates[i - 1].tid)
			continue;
		const struct dtc_thread *thread = dtc_history_get_thread(history, candidates[i].thread);
		const char *comm = dtc_history_get_comm(history, candidates[i].thread, thread->end_ns);
		g_string_append_printf(text, "%s%d (%s)", listed++ ? ", " : "", candidates[i].tid,
				       comm && *comm ? comm : "?");
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

static bool resolve(const DtcHistory *history, const char *option, const char *text, int64_t otherwise_ns,
		    int64_t *ret_ns, GError **error)
{
	struct dtc_moment moment;

	*ret_ns = otherwise_ns;
	if (!text)
		return true;
	return dtc_moment_parse(option, text, &moment, error) &&
	       dtc_moment_resolve(option, text, &moment, dtc_history_get_begin_ns(history),
				  dtc_history_get_end_ns(history), ret_ns, error);
}

static guint count_owners(const DtcHistory *history, int32_t tid)
{
	uint32_t count = dtc_history_get_thread_count(history);
	guint owners = 0;

	for (uint32_t i = 0; i < count; i++)
		owners += dtc_history_get_thread(history, i)->tid == tid;
	return owners;
}

/* Whether it lived, and was no zombie, at some time of the span. */
static bool lives_in(const DtcHistory *history, uint32_t thread, int64_t from_ns, int64_t to_ns)
{
	int64_t begin_ns = dtc_history_get_thread(history, thread)->begin_ns;

	return MAX(begin_ns, from_ns) < MIN(dtc_lineage_get_exit_ns(history, thread), to_ns);
}

/* The owner of tid whose life meets [from, to], the last one if there are several. */
static uint32_t find_owner(const DtcHistory *history, int32_t tid, int64_t from_ns, int64_t to_ns)
{
	uint32_t count = dtc_history_get_thread_count(history), found = DTC_NONE;

	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(history, i);
		if (thread->tid != tid || !lives_in(history, i, from_ns, to_ns))
			continue;
		if (found == DTC_NONE || thread->begin_ns > dtc_history_get_thread(history, found)->begin_ns)
			found = i;
	}
	return found;
}

static void set_not_alive(GError **error, const DtcHistory *history, const char *node, int32_t tid)
{
	uint32_t last = dtc_history_find_thread(history, tid, DTC_TIME_NONE);
	const struct dtc_thread *thread = last == DTC_NONE ? NULL : dtc_history_get_thread(history, last);
	int64_t origin_ns = dtc_history_get_begin_ns(history);

	if (!thread) {
		g_autofree char *nearest = list_nearest(history, tid);
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "node '%s' has no thread %d in its trace\nthe nearest are %s", node, tid, nearest);
		return;
	}
	int64_t begin_ns = thread->begin_ns - origin_ns;
	int64_t end_ns = dtc_lineage_get_exit_ns(history, last) - origin_ns;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
		    "thread %d of '%s' is not in the trace in that span\n"
		    "it is there from +%" PRId64 ".%09" PRId64 "s to +%" PRId64 ".%09" PRId64
		    "s; absolute times are of the trace's clock, which begins at %" PRId64 ".%09" PRId64,
		    tid, node, begin_ns / NS_PER_S, begin_ns % NS_PER_S, end_ns / NS_PER_S, end_ns % NS_PER_S,
		    origin_ns / NS_PER_S, ABS(origin_ns % NS_PER_S));
}

/* Borrowed; NULL if no thread's last name is alike, or one is the same. */
static const char *suggest_name(const DtcHistory *history, const char *name)
{
	uint32_t count = dtc_history_get_thread_count(history);
	g_autofree const char **names = g_new0(const char *, count + 1);

	for (uint32_t i = 0; i < count; i++)
		names[i] = dtc_history_get_comm(history, i, dtc_history_get_thread(history, i)->end_ns);
	const char *nearest = dtc_suggest(name, names);
	return nearest && strcmp(nearest, name) != 0 ? nearest : NULL;
}

/* The tid of the one thread of that name in the span. */
static bool find_name(const DtcHistory *history, const struct dtc_thread_spec *spec, int64_t from_ns, int64_t to_ns,
		      int32_t *ret_tid, GError **error)
{
	g_autoptr(GString) tids = g_string_new(NULL);
	guint count = 0;

	for (uint32_t i = 0; i < dtc_history_get_thread_count(history); i++) {
		const struct dtc_thread *thread = dtc_history_get_thread(history, i);
		if (!lives_in(history, i, from_ns, to_ns) ||
		    strcmp(dtc_history_get_comm(history, i, MIN(thread->end_ns, to_ns)), spec->name) != 0)
			continue;
		*ret_tid = thread->tid;
		if (count++ < NAMED_COUNT)
			g_string_append_printf(tids, "%s%d", count > 1 ? ", " : "", thread->tid);
	}
	if (count == 1)
		return true;
	if (count == 0) {
		const char *nearest = suggest_name(history, spec->name);
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "node '%s' has no thread '%s' in that span\n"
			    "%s%s%s`dtrace-chain top --threads --limit 0` lists all",
			    spec->node, spec->name, nearest ? "did you mean '" : "", nearest ? nearest : "",
			    nearest ? "'? " : "");
	} else {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "node '%s' has %u threads '%s' in that span\ngive the tid of one: %s%s", spec->node, count,
			    spec->name, tids->str, count > NAMED_COUNT ? ", ..." : "");
	}
	return false;
}

/* "+1.500000000s" */
static char *format_since_begin(const DtcHistory *history, int64_t time_ns)
{
	int64_t ns = time_ns - dtc_history_get_begin_ns(history);

	return g_strdup_printf("+%" PRId64 ".%09" PRId64 "s", ns / NS_PER_S, ns % NS_PER_S);
}

/* What was asked for and is not there: why the span is shorter. */
static void add_cut(const DtcHistory *history, const struct dtc_thread_spec *spec, const char *option, int64_t cut_ns,
		    const char *why, DtcFindings *findings)
{
	g_autofree char *at = format_since_begin(history, cut_ns);

	dtc_findings_add_coded(findings, DTC_FINDING_CUT, DTC_SEVERITY_INFO, false, spec->node,
			       "the span %s at %s, not at %s: %s", strcmp(option, "--to") == 0 ? "ends" : "begins", at,
			       option, why);
}

static int64_t cut_begin(const DtcHistory *history, const struct dtc_thread_spec *spec, uint32_t thread,
			 int64_t from_ns, int64_t end_ns, bool with_parents, DtcFindings *findings)
{
	int64_t trace_ns = dtc_history_get_begin_ns(history);
	int64_t begin_ns = dtc_history_get_thread(history, thread)->begin_ns;
	g_autoptr(GArray) lineage =
		dtc_lineage_new(history, thread, (DtcNodeTime){ MAX(from_ns, trace_ns) }, (DtcNodeTime){ end_ns });
	const struct dtc_lineage_part *earliest = dtc_lineage_get(lineage, lineage->len - 1);

	if (from_ns >= begin_ns)
		return from_ns;
	if (with_parents)
		begin_ns = earliest->begin.ns;
	const struct dtc_thread *first = dtc_history_get_thread(history, with_parents ? earliest->thread : thread);
	g_autofree char *why = begin_ns <= trace_ns ? g_strdup("there the trace begins")
			       : with_parents
				       ? g_strdup_printf("the trace does not tell who made thread %d", first->tid)
				       : g_strdup_printf("thread %d was not there before", first->tid);
	if (from_ns != INT64_MIN && begin_ns > from_ns)
		add_cut(history, spec, "--from", begin_ns, why, findings);
	return begin_ns;
}

static int64_t cut_end(const DtcHistory *history, const struct dtc_thread_spec *spec, uint32_t thread, int64_t to_ns,
		       DtcFindings *findings)
{
	const struct dtc_thread *of = dtc_history_get_thread(history, thread);
	int64_t exit_ns = dtc_lineage_get_exit_ns(history, thread);

	if (to_ns <= exit_ns)
		return to_ns;
	bool is_trace = exit_ns >= dtc_history_get_end_ns(history);
	g_autofree char *why =
		is_trace ? g_strdup("there the trace ends") : g_strdup_printf("there thread %d exited", of->tid);
	if (to_ns != INT64_MAX)
		add_cut(history, spec, "--to", exit_ns, why, findings);
	return exit_ns;
}

bool dtc_thread_spec_find(const DtcHistory *history, const struct dtc_thread_spec *spec, const char *from,
			  const char *to, bool with_parents, DtcFindings *findings, struct dtc_thread_span *ret_span,
			  GError **error)
{
	int64_t from_ns, to_ns;
	int32_t tid = spec->tid;

	if (!resolve(history, "--from", from, INT64_MIN, &from_ns, error) ||
	    !resolve(history, "--to", to, INT64_MAX, &to_ns, error))
		return false;
	if (from_ns >= to_ns) {
		g_set_error(
			error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			"--from '%s' is not before --to '%s'\nthe span would be empty; for example --from +1s --to +2s",
			from ? from : "the begin", to ? to : "the end");
		return false;
	}
	if (spec->name && !find_name(history, spec, from_ns, to_ns, &tid, error))
		return false;
	uint32_t owner = find_owner(history, tid, from_ns, to_ns);
	if (owner == DTC_NONE) {
		set_not_alive(error, history, spec->node, tid);
		return false;
	}
	guint owners = count_owners(history, tid);
	if (owners > 1 && tid != 0)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, spec->node,
				 "tid %d was used by %u threads; this is the last one in the span", tid, owners);
	ret_span->thread = owner;
	ret_span->end.ns = cut_end(history, spec, owner, to_ns, findings);
	/* without --from its life is meant, as without --to; who made it is asked for by an earlier begin */
	ret_span->begin.ns = cut_begin(history, spec, owner, from_ns, ret_span->end.ns, with_parents && from, findings);
	return true;
}
