/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/event_list.h"

#include "analyze/engine/event_fields.h"
#include "analyze/engine/moment.h"
#include "analyze/engine/reading.h"
#include "collect/bundle/suggest.h"
#include "collect/read/merge.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define COMM_BYTES 64 /* 16 in the kernel */

/* Who runs on a CPU. */
struct occupant {
	int32_t tid; /* -1: not known */
	char comm[COMM_BYTES];
};

struct source {
	const char *name; /* of the node */
	guint node;
	DtcReader *reader;
	const struct dtc_event *event; /* the next one; NULL: ended */
	DtcClusterTime time;
	int64_t origin_ns;
	int64_t from_ns; /* cluster time, both inclusive */
	int64_t to_ns;
	GArray *occupants; /* struct occupant by CPU */
	GArray *wanted;	   /* uint8_t by event name: 0 not yet matched, 1 no, 2 yes */
	bool saw_loss;
};

struct DtcEventList {
	const struct dtc_event_filter *filter;
	const DtcClocks *clocks;
	struct source *sources; /* owned */
	guint source_count;
	DtcMerge *merge;
	DtcFindings *findings;
	char **patterns;      /* owned: of the names; or NULL */
	bool matched_any;     /* an event's name fits one */
	struct source *given; /* whose event was given last, and not yet left; NULL: none */
	struct dtc_event_line line;
};

void dtc_event_list_free(DtcEventList *list)
{
	if (!list)
		return;
	for (guint i = 0; i < list->source_count; i++) {
		struct source *source = &list->sources[i];
		dtc_reader_free(source->reader);
		g_array_unref(source->occupants);
		g_array_unref(source->wanted);
	}
	g_free(list->sources);
	g_strfreev(list->patterns);
	if (list->merge)
		dtc_merge_free(list->merge);
	g_free(list);
}

static void advance(const DtcEventList *list, struct source *source)
{
	source->event = dtc_reader_next(source->reader);
	if (source->event)
		source->time =
			dtc_clocks_to_cluster(list->clocks, source->node, (DtcNodeTime){ source->event->time_ns });
}

static void report_index(const char *node, DtcFindings *findings)
{
	dtc_findings_add_coded(findings, DTC_FINDING_INDEX_ONLY, DTC_SEVERITY_ERROR, true, node,
			       "there is an index in place of its trace, which answers every question but this: its "
			       "events are in the bundle that it was made of");
}

static bool open_sources(DtcEventList *list, const DtcBundle *bundle, GError **error)
{
	guint count = dtc_bundle_get_count(bundle);
	GError *first_error = NULL;

	list->sources = g_new0(struct source, count + 1);
	for (guint node = 0; node < count; node++) {
		const struct dtc_bundle_node *from = dtc_bundle_get_node(bundle, node);
		if (from->kernel_image)
			report_index(from->name, list->findings);
		if (!from->kernel_path)
			continue;
		g_autoptr(GError) open_error = NULL;
		DtcReader *reader = dtc_reader_open_node(from, &open_error);
		if (!reader) {
			if (g_error_matches(open_error, DTC_COLLECT_ERROR, DTC_ERROR_LIMIT)) {
				g_clear_error(&first_error);
				g_propagate_error(error, g_steal_pointer(&open_error));
				return false;
			}
			dtc_reading_report_error(from->name, open_error, list->findings);
			if (!first_error)
				first_error = g_steal_pointer(&open_error);
			continue;
		}
		struct source *source = &list->sources[list->source_count++];
		source->name = from->name;
		source->node = node;
		source->reader = reader;
		source->occupants = g_array_new(FALSE, TRUE, sizeof(struct occupant));
		source->wanted = g_array_new(FALSE, TRUE, sizeof(uint8_t));
		advance(list, source);
	}
	if (list->source_count > 0) {
		g_clear_error(&first_error);
		return true;
	}
	if (first_error)
		g_propagate_error(error, first_error);
	else
		g_set_error(
			error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			"no node has a kernel trace, so there are no events to list\n"
			"`dtrace-chain stats` tells what each node has; an index has no events, but answers all else");
	return false;
}

/* Relative times count from the first event of the nodes that are aligned with each other. */
static bool set_spans(DtcEventList *list, GError **error)
{
	const struct dtc_event_filter *filter = list->filter;
	struct dtc_moment from = { 0 }, to = { 0 };

	if ((filter->from && !dtc_moment_parse("--from", filter->from, &from, error)) ||
	    (filter->to && !dtc_moment_parse("--to", filter->to, &to, error)))
		return false;

	for (guint i = 0; i < list->source_count; i++) {
		struct source *source = &list->sources[i];
		bool has_origin = false;
		for (guint k = 0; k < list->source_count; k++) {
			const struct source *other = &list->sources[k];
			if (!other->event || dtc_clocks_get_group(list->clocks, other->node) !=
						     dtc_clocks_get_group(list->clocks, source->node))
				continue;
			if (!has_origin || other->time.ns < source->origin_ns)
				source->origin_ns = other->time.ns;
			has_origin = true;
		}
		source->from_ns = INT64_MIN;
		source->to_ns = INT64_MAX;
		if ((filter->from && !dtc_moment_resolve("--from", filter->from, &from, source->origin_ns,
							 filter->end_ns, &source->from_ns, error)) ||
		    (filter->to && !dtc_moment_resolve("--to", filter->to, &to, source->origin_ns, filter->end_ns,
						       &source->to_ns, error)))
			return false;
		if (has_origin && source->from_ns > source->to_ns) {
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "--from '%s' is after --to '%s'",
				    filter->from ? filter->from : "the begin", filter->to ? filter->to : "the end");
			return false;
		}
	}
	return true;
}

static struct occupant *get_occupant(struct source *source, uint32_t cpu)
{
	guint length = source->occupants->len;

	if (cpu >= length) {
		g_array_set_size(source->occupants, cpu + 1);
		for (guint i = length; i <= cpu; i++)
			g_array_index(source->occupants, struct occupant, i).tid = -1;
	}
	return &g_array_index(source->occupants, struct occupant, cpu);
}

static void set_occupant(struct occupant *occupant, int64_t tid, const char *comm)
{
	bool is_known = tid >= 0 && tid <= INT32_MAX;

	occupant->tid = is_known ? (int32_t)tid : -1;
	g_strlcpy(occupant->comm, is_known && comm ? comm : "", COMM_BYTES);
}

static bool fits_kind(DtcEventList *list, struct source *source)
{
	guint name = source->event->name;

	if (!list->patterns)
		return true;
	if (name >= source->wanted->len)
		g_array_set_size(source->wanted, name + 1);
	uint8_t *wanted = &g_array_index(source->wanted, uint8_t, name);
	if (*wanted == 0) {
		const char *text = dtc_reader_get_event_name(source->reader, name);
		*wanted = 1;
		for (char **pattern = list->patterns; *pattern; pattern++)
			if (g_pattern_match_simple(*pattern, text))
				*wanted = 2;
	}
	list->matched_any |= *wanted == 2;
	return *wanted == 2;
}

static bool is_wanted(DtcEventList *list, struct source *source, const struct occupant *occupant)
{
	const struct dtc_event_filter *filter = list->filter;

	if (!fits_kind(list, source) || source->time.ns < source->from_ns || source->time.ns > source->to_ns)
		return false;
	return filter->tid < 0 || occupant->tid == filter->tid || dtc_event_names_thread(source->event, filter->tid);
}

/* On to the source's next event: who runs after this one is whose the next ones on its CPU are. */
static void leave(DtcEventList *list, struct source *source)
{
	const struct dtc_event *event = source->event;
	struct occupant *occupant = get_occupant(source, event->cpu);

	if (event->kind == DTC_EVENT_SCHED_SWITCH) {
		set_occupant(occupant, event->v[DTC_SWITCH_NEXT_TID], event->text[1]);
	} else if (event->kind == DTC_EVENT_LOST) {
		set_occupant(occupant, -1, NULL);
		source->saw_loss = true;
	}
	advance(list, source);
	dtc_merge_replace_top(list->merge, source->time.ns, !source->event);
}

const struct dtc_event_line *dtc_event_list_next(DtcEventList *list)
{
	guint top;

	if (list->given)
		leave(list, g_steal_pointer(&list->given));
	while ((top = dtc_merge_get_top(list->merge)) != G_MAXUINT) {
		struct source *source = &list->sources[top];
		const struct dtc_event *event = source->event;
		if (source->time.ns > source->to_ns) { /* time goes one way: the rest is later still */
			dtc_merge_replace_top(list->merge, source->time.ns, true);
			continue;
		}
		/* who runs before an event is whose event it is */
		struct occupant *occupant = get_occupant(source, event->cpu);
		if (event->kind == DTC_EVENT_SCHED_SWITCH)
			set_occupant(occupant, event->v[DTC_SWITCH_PREV_TID], event->text[0]);
		if (!is_wanted(list, source, occupant)) {
			leave(list, source);
			continue;
		}
		list->given = source;
		list->line = (struct dtc_event_line){
			.node = source->name,
			.reader = source->reader,
			.event = event,
			.time = source->time,
			.origin_ns = source->origin_ns,
			.tid = occupant->tid,
			.comm = occupant->tid >= 0 && *occupant->comm ? occupant->comm : NULL,
		};
		return &list->line;
	}
	return NULL;
}

DtcEventList *dtc_event_list_new(const DtcBundle *bundle, const DtcClocks *clocks,
				 const struct dtc_event_filter *filter, DtcFindings *findings, GError **error)
{
	g_autoptr(DtcEventList) list = g_new0(DtcEventList, 1);

	list->filter = filter;
	list->clocks = clocks;
	list->findings = findings;
	if (filter->kinds) {
		list->patterns = g_strsplit(filter->kinds, ",", -1);
		for (char **pattern = list->patterns; *pattern; pattern++)
			g_strstrip(*pattern);
	}
	if (!open_sources(list, bundle, error) || !set_spans(list, error))
		return NULL;
	list->merge = dtc_merge_new(list->source_count);
	for (guint i = 0; i < list->source_count; i++)
		dtc_merge_set(list->merge, i, list->sources[i].time.ns, !list->sources[i].event);
	dtc_merge_build(list->merge);
	return g_steal_pointer(&list);
}

static bool check_kinds(const DtcEventList *list, GError **error)
{
	if (list->matched_any || !list->patterns)
		return true;
	/* the nearest of the names that were read, by the first source that has one */
	const char *nearest = NULL;
	for (guint i = 0; !nearest && i < list->source_count; i++) {
		const DtcReader *reader = list->sources[i].reader;
		guint count = dtc_reader_get_event_name_count(reader);
		g_autofree const char **names = g_new0(const char *, count + 1);
		for (guint k = 0; k < count; k++)
			names[k] = dtc_reader_get_event_name(reader, k);
		nearest = dtc_suggest(list->filter->kinds, names);
	}
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
		    "no event up to the end of the span is called '%s'\n%s%s%s"
		    "`dtrace-chain stats` lists the names; * stands for any characters, as in 'syscall_*'",
		    list->filter->kinds, nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "");
	return false;
}

static bool finish_sources(DtcEventList *list, GError **error)
{
	for (guint i = 0; i < list->source_count; i++) {
		struct source *source = &list->sources[i];
		if (!source->event) {
			if (!dtc_reader_finish(source->reader, list->findings, error))
				return false;
		} else if (source->saw_loss) {
			dtc_findings_add(list->findings, DTC_SEVERITY_WARNING, true, source->name, "events were lost");
		}
	}
	return true;
}

bool dtc_event_list_finish(DtcEventList *list, GError **error)
{
	if (list->given)
		leave(list, g_steal_pointer(&list->given));
	return check_kinds(list, error) && finish_sources(list, error);
}
