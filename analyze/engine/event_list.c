/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/event_list.h"

#include "analyze/engine/event_source.h"
#include "analyze/engine/event_stream.h"
#include "analyze/engine/moment.h"
#include "analyze/engine/owners.h"
#include "analyze/engine/reading.h"
#include "collect/bundle/suggest.h"
#include "collect/read/merge.h"
#include "dtrace-chain/error.h"

#include <string.h>

/* The events of a node: here, or of its owner. */
struct source {
	const char *name; /* of the node */
	guint node;
	DtcEventSource *here; /* owned; or NULL */
	DtcEventFeed *feed;   /* owned; or NULL */
	bool has_event;	      /* there is a next one */
	DtcClusterTime time;  /* of it */
	int64_t origin_ns;
	struct dtc_event_wants wants;
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
	struct source *given; /* whose event was given last, and not yet left; NULL: none */
	struct dtc_event_line line;
};

void dtc_event_list_free(DtcEventList *list)
{
	if (!list)
		return;
	for (guint i = 0; i < list->source_count; i++) {
		dtc_event_source_free(list->sources[i].here);
		dtc_event_feed_free(list->sources[i].feed);
	}
	g_free(list->sources);
	g_strfreev(list->patterns);
	if (list->merge)
		dtc_merge_free(list->merge);
	g_free(list);
}

/* Where the source is now. */
static void note_time(struct source *source)
{
	source->has_event = source->here ? dtc_event_source_get_time(source->here, &source->time)
					 : dtc_event_feed_get_time(source->feed, &source->time);
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
		struct source source = { .name = from->name,
					 .node = node,
					 .wants = { .tid = list->filter->tid, .patterns = list->patterns } };
		if (from->is_elsewhere)
			source.feed = dtc_event_feed_open(bundle, node, list->clocks, &source.wants, &open_error);
		else
			source.here = dtc_event_source_open(from, list->clocks, node, &open_error);
		if (!source.here && !source.feed) {
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
		note_time(&source);
		list->sources[list->source_count++] = source;
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
			if (!other->has_event || dtc_clocks_get_group(list->clocks, other->node) !=
							 dtc_clocks_get_group(list->clocks, source->node))
				continue;
			if (!has_origin || other->time.ns < source->origin_ns)
				source->origin_ns = other->time.ns;
			has_origin = true;
		}
		source->wants.from_ns = INT64_MIN;
		source->wants.to_ns = INT64_MAX;
		if ((filter->from && !dtc_moment_resolve("--from", filter->from, &from, source->origin_ns,
							 filter->end_ns, &source->wants.from_ns, error)) ||
		    (filter->to && !dtc_moment_resolve("--to", filter->to, &to, source->origin_ns, filter->end_ns,
						       &source->wants.to_ns, error)))
			return false;
		if (has_origin && source->wants.from_ns > source->wants.to_ns) {
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "--from '%s' is after --to '%s'",
				    filter->from ? filter->from : "the begin", filter->to ? filter->to : "the end");
			return false;
		}
	}
	return true;
}

static bool look(DtcEventList *list, struct source *source)
{
	bool is_wanted = source->here ? dtc_event_source_look(source->here, &source->wants, &list->line)
				      : dtc_event_feed_look(source->feed, &list->line);

	list->line.origin_ns = source->origin_ns;
	return is_wanted;
}

/* On to the source's next event. */
static void leave(DtcEventList *list, struct source *source)
{
	source->saw_loss |= source->here ? dtc_event_source_leave(source->here) : dtc_event_feed_leave(source->feed);
	note_time(source);
	dtc_merge_replace_top(list->merge, source->time.ns, !source->has_event);
}

const struct dtc_event_line *dtc_event_list_next(DtcEventList *list)
{
	guint top;

	if (list->given)
		leave(list, g_steal_pointer(&list->given));
	while ((top = dtc_merge_get_top(list->merge)) != G_MAXUINT) {
		struct source *source = &list->sources[top];
		if (source->time.ns > source->wants.to_ns) { /* time goes one way: the rest is later still */
			dtc_merge_replace_top(list->merge, source->time.ns, true);
			continue;
		}
		if (!look(list, source)) {
			leave(list, source);
			continue;
		}
		list->given = source;
		return &list->line;
	}
	return NULL;
}

/* Owners look for what is wanted from here on. */
static void begin_feeds(DtcEventList *list)
{
	for (guint i = 0; i < list->source_count; i++) {
		struct source *source = &list->sources[i];
		if (!source->feed)
			continue;
		dtc_event_feed_begin(source->feed, &source->wants);
		note_time(source);
	}
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
	begin_feeds(list);
	list->merge = dtc_merge_new(list->source_count);
	for (guint i = 0; i < list->source_count; i++)
		dtc_merge_set(list->merge, i, list->sources[i].time.ns, !list->sources[i].has_event);
	dtc_merge_build(list->merge);
	return g_steal_pointer(&list);
}

static bool has_matched(const DtcEventList *list)
{
	for (guint i = 0; i < list->source_count; i++) {
		const struct source *source = &list->sources[i];
		if (source->here ? dtc_event_source_has_matched(source->here)
				 : dtc_event_feed_has_matched(source->feed))
			return true;
	}
	return false;
}

/* The nearest of the names of the source's events that were read; NULL: none is near. */
static const char *suggest(const struct source *source, const char *kinds)
{
	if (source->feed)
		return dtc_suggest(kinds, dtc_event_feed_get_names(source->feed));
	const DtcReader *reader = dtc_event_source_get_reader(source->here);
	guint count = dtc_reader_get_event_name_count(reader);
	g_autofree const char **names = g_new0(const char *, count + 1);
	for (guint k = 0; k < count; k++)
		names[k] = dtc_reader_get_event_name(reader, k);
	return dtc_suggest(kinds, names);
}

static bool check_kinds(const DtcEventList *list, GError **error)
{
	if (!list->patterns || has_matched(list))
		return true;
	/* by the first source that has one */
	const char *nearest = NULL;
	for (guint i = 0; !nearest && i < list->source_count; i++)
		nearest = suggest(&list->sources[i], list->filter->kinds);
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
		    "no event up to the end of the span is called '%s'\n%s%s%s"
		    "`dtrace-chain stats` lists the names; * stands for any characters, as in 'syscall_*'",
		    list->filter->kinds, nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "");
	return false;
}

static bool finish_source(const struct source *source, DtcFindings *findings, GError **error)
{
	return source->here ? dtc_reader_finish(dtc_event_source_get_reader(source->here), findings, error)
			    : dtc_event_feed_finish(source->feed, findings, error);
}

static bool finish_sources(DtcEventList *list, GError **error)
{
	for (guint i = 0; i < list->source_count; i++) {
		struct source *source = &list->sources[i];
		if (!source->has_event && !(source->feed && dtc_event_feed_is_past(source->feed))) {
			if (!finish_source(source, list->findings, error))
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
