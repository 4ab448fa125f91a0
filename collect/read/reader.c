/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merges the streams of a back end into one sequence of events, counts them, and reports what was odd. */
#include "collect/read/reader.h"

#include "collect/bundle/access.h"
#include "collect/read/backend.h"
#include "collect/read/call_numbers.h"
#include "collect/read/child/child.h"
#include "collect/read/cpus.h"
#include "collect/read/ctf/metadata.h"
#include "collect/read/fast/fast.h"
#include "collect/read/merge.h"
#include "dtrace-chain/error.h"

#include <string.h>

/* The first that recognizes a trace and can read it does; NULL ends the list. */
static const struct dtc_backend_kind *const choices[][3] = {
	[DTC_READER_AUTO] = { &dtc_fast_backend, &dtc_child_backend, NULL },
	[DTC_READER_FAST] = { &dtc_fast_backend, NULL },
	[DTC_READER_REFERENCE] = { &dtc_child_backend, NULL },
};

/* The items of a stream that were not given out. */
struct lane {
	const struct dtc_item *next, *end;
	int64_t then_ns; /* the time of the one after the next, if there is one: at hand before its turn */
};

/* Items of one stream that come before all others'. */
struct turn {
	const struct dtc_item *next, *end;
	guint stream;
};

#define TURNS 32 /* planned at once: enough that what the last of them needs is there when it comes */

/* Of dtc_reader_count. */
struct counting {
	guint stream;	   /* that is being passed */
	guint class_count; /* of those here */
	guint64 *counts;   /* of its events, by class */
	bool *is_passed;   /* by class: it was met, and its events need no look */
	int64_t begin_ns, end_ns;
};

struct DtcReader {
	char *node;
	char *path;
	struct dtc_backend *backend;
	DtcMerge *merge;
	guint current;			   /* stream that gave the last event, G_MAXUINT: none yet */
	struct dtc_stream *stream;	   /* that is that one */
	const struct dtc_item *next, *end; /* of its turn */
	struct turn turns[TURNS];
	guint turn, turn_count;
	guint drained;		    /* stream whose items end with the last turn, G_MAXUINT: none */
	struct lane *lanes;	    /* of the streams */
	struct dtc_item *own_items; /* of those whose back end gives one at a time */
	struct counting counting;
	DtcNames *event_names;
	DtcNames *call_names;  /* 0: "unknown" */
	guint64 *event_counts; /* by event name, of which there are no more than 16 bits tell */
	guint64 lost_count;
	guint64 gap_count;
	guint64 uncounted_gap_count; /* gaps whose number of events is not known */
	guint64 lost_packet_count;   /* in those gaps, as the numbers of packets tell */
	guint cpu_count;
	DtcCpus *cpus;
	struct dtc_event lost; /* of a gap */
};

/* Events that the reader makes itself have no name in the trace. */
#define NO_NAME UINT16_MAX
/* What dtc_spelling_name_call makes of a number without a name. */
#define NUMBERED "syscall_"

int dtc_reader_serve(const char *node, const char *path)
{
	return dtc_child_serve(node, path);
}

static const struct dtc_backend_kind *find_backend(const char *path)
{
	guint i = 0;
	while (choices[DTC_READER_AUTO][i] && !choices[DTC_READER_AUTO][i]->recognizes(path))
		i++;
	return choices[DTC_READER_AUTO][i];
}

/* No back end reads this: what each of them misses. */
static void set_not_found(const struct dtc_backend_kind *const *backend_kinds, const char *node, const char *path,
			  GError **error)
{
	g_autoptr(GString) missing = g_string_new(NULL), layouts = g_string_new(NULL);
	for (guint i = 0; backend_kinds[i]; i++) {
		g_string_append_printf(missing, "%s%s", i ? ", " : "", backend_kinds[i]->missing);
		g_string_append_printf(layouts, "%s%s", i ? ", or " : "", backend_kinds[i]->layout);
	}
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND,
		    "'%s' holds no trace of node '%s': %s\na trace is %s", path, node, missing->str, layouts->str);
}

/* At least one event that spellings.c knows. */
static bool declares_kernel_events(const DtcReader *reader)
{
	for (int kind = DTC_EVENT_OTHER + 1; kind < DTC_EVENT_KINDS; kind++)
		if (reader->backend->declares[kind])
			return true;
	return false;
}

static const char *get_environment(const DtcReader *reader, const char *key)
{
	return reader->backend->kind->get_environment(reader->backend, key);
}

static bool check_trace(const DtcReader *reader, GError **error)
{
	bool is_user = g_strcmp0(get_environment(reader, "domain"), "ust") == 0;
	if (reader->backend->has_no_clock) {
		dtc_metadata_set_no_clock(reader->node, reader->path, error);
		return false;
	}
	if (reader->backend->stream_count == 0 || (!is_user && declares_kernel_events(reader)))
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "the trace of node '%s' in '%s' is %s trace\ngive the directory of the kernel trace", reader->node,
		    reader->path, is_user ? "a user-space" : "not a kernel");
	return false;
}

static void set_then(struct lane *lane)
{
	if (lane->end - lane->next > 1)
		lane->then_ns = lane->next[1].time_ns;
}

static struct lane *fill_lane(DtcReader *reader, guint index)
{
	const struct dtc_stream *stream = reader->backend->streams[index];
	struct lane *lane = &reader->lanes[index];
	reader->own_items[index] = (struct dtc_item){ .time_ns = stream->last_ns };
	lane->next = stream->item_count > 0 ? stream->items : &reader->own_items[index];
	lane->end = lane->next + (stream->item_count > 0 ? stream->item_count : stream->has_item);
	set_then(lane);
	return lane;
}

static void build_merge(DtcReader *reader)
{
	const struct dtc_backend *backend = reader->backend;
	reader->merge = dtc_merge_new(backend->stream_count);
	reader->lanes = g_new0(struct lane, backend->stream_count + 1);
	reader->own_items = g_new0(struct dtc_item, backend->stream_count + 1);
	for (guint i = 0; i < backend->stream_count; i++) {
		const struct lane *lane = fill_lane(reader, i);
		dtc_merge_set(reader->merge, i, lane->next->time_ns, lane->next == lane->end);
	}
	dtc_merge_build(reader->merge);
}

static bool was_all_seen(const DtcReader *reader, GError **error)
{
	if (dtc_access_check(error))
		return true;
	g_prefix_error(error, "cannot read the trace of node '%s': ", reader->node);
	return false;
}

static DtcReader *open_reader(const struct dtc_backend_kind *kind, const struct dtc_reader_options *options,
			      const char *node, const char *path, const char **ret_refused_by, GError **error)
{
	g_autoptr(DtcReader) reader = g_new0(DtcReader, 1);
	reader->node = g_strdup(node);
	reader->path = g_strdup(path);
	reader->current = reader->drained = G_MAXUINT;
	reader->counting.begin_ns = reader->counting.end_ns = DTC_ABSENT;
	reader->event_names = dtc_names_new();
	reader->call_names = dtc_names_new();
	dtc_names_add(reader->call_names, "unknown");
	reader->event_counts = g_new0(guint64, UINT16_MAX + 1);
	g_autoptr(GError) reason = NULL;
	const struct dtc_backend_request request = {
		.node = node,
		.path = path,
		.program = options->program,
		.event_names = reader->event_names,
		.call_names = reader->call_names,
		.known = options->known,
	};
	reader->backend = kind->open(&request, &reason);
	if (reason)
		dtc_access_note_text(reason->message, path);
	/* what the machine refuses comes out as damage of all kinds */
	if (!was_all_seen(reader, error))
		return NULL;
	if (!reader->backend) {
		g_propagate_error(error, g_steal_pointer(&reason));
		return NULL;
	}
	if (!check_trace(reader, error)) {
		if (ret_refused_by)
			*ret_refused_by = kind->name;
		return NULL;
	}
	build_merge(reader);
	reader->cpus = dtc_cpus_new();
	for (guint i = 0; i < reader->backend->stream_count; i++)
		dtc_cpus_add(reader->cpus, reader->backend->streams[i]->cpu);
	return g_steal_pointer(&reader);
}

/*
 * What one does not understand the next may; what the machine refuses (files, memory, a disk) it refuses all of them.
 * The last one's error counts.
 */
static DtcReader *open_any(const struct dtc_reader_options *options, const char *node, const char *path,
			   const char **ret_refused_by, GError **error)
{
	const struct dtc_backend_kind *const *backend_kinds = choices[options->choice];
	g_autoptr(GError) reason = NULL;
	for (guint i = 0; backend_kinds[i]; i++) {
		if (reason && !g_error_matches(reason, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED))
			break;
		if (!backend_kinds[i]->recognizes(path))
			continue;
		g_clear_error(&reason);
		DtcReader *reader = open_reader(backend_kinds[i], options, node, path, ret_refused_by, &reason);
		if (reader)
			return reader;
	}
	if (reason)
		g_propagate_error(error, g_steal_pointer(&reason));
	else
		set_not_found(backend_kinds, node, path, error);
	return NULL;
}

DtcReader *dtc_reader_open(const char *node, const char *path, GError **error)
{
	static const struct dtc_reader_options options = { .choice = DTC_READER_AUTO };
	return open_any(&options, node, path, NULL, error);
}

DtcReader *dtc_reader_open_node(const struct dtc_bundle_node *node, GError **error)
{
	return dtc_reader_try_node(node, NULL, error);
}

DtcReader *dtc_reader_try_node(const struct dtc_bundle_node *node, const char **ret_refused_by, GError **error)
{
	return open_any(&node->reader, node->name, node->kernel_path, ret_refused_by, error);
}

DtcReader *dtc_reader_open_with(const struct dtc_backend_kind *kind, const char *node, const char *path, GError **error)
{
	static const struct dtc_reader_options options = { .choice = DTC_READER_AUTO };
	return open_reader(kind, &options, node, path, NULL, error);
}

void dtc_reader_share_threads(DtcReader *reader, gint *spare)
{
	if (reader->backend->kind->share_threads)
		reader->backend->kind->share_threads(reader->backend, spare);
}

void dtc_reader_free(DtcReader *reader)
{
	if (!reader)
		return;
	dtc_merge_free(reader->merge);
	g_free(reader->lanes);
	g_free(reader->own_items);
	g_free(reader->counting.counts);
	g_free(reader->counting.is_passed);
	dtc_cpus_free(reader->cpus);
	if (reader->backend)
		reader->backend->kind->close(reader->backend);
	dtc_names_free(reader->event_names);
	dtc_names_free(reader->call_names);
	g_free(reader->event_counts);
	g_free(reader->node);
	g_free(reader->path);
	g_free(reader);
}

/* What a tracer counts may be anything. */
static guint64 add_saturated(guint64 a, guint64 b)
{
	return a > G_MAXINT64 - MIN(b, (guint64)G_MAXINT64) ? (guint64)G_MAXINT64 : a + b;
}

static void fill_lost(DtcReader *reader, const struct dtc_gap *gap)
{
	struct dtc_event *event = &reader->lost;
	event->kind = DTC_EVENT_LOST;
	event->name = NO_NAME;
	event->text[0] = event->text[1] = NULL;
	event->has_address = false;
	event->has_tid = false;
	event->ready_count = 0;
	for (guint i = 0; i < DTC_EVENT_SLOTS; i++)
		event->v[i] = DTC_ABSENT;
	event->v[DTC_LOST_COUNT] = gap->count;
	event->v[DTC_LOST_BEGIN] = MIN(gap->begin_ns, event->time_ns);
	if (gap->is_damage)
		return; /* reported as such */
	reader->gap_count++;
	reader->lost_packet_count = add_saturated(reader->lost_packet_count, (guint64)gap->packets);
	if (gap->count == DTC_ABSENT)
		reader->uncounted_gap_count++;
	else
		reader->lost_count = add_saturated(reader->lost_count, (guint64)gap->count);
}

/*
 * How many items come before all others' is asked of a stream that has its turn again: where all take turns it is one.
 */
static const struct dtc_item *find_turn_end(const DtcReader *reader, const struct lane *lane, bool is_again)
{
	const struct dtc_item *end = lane->next + 1;
	int64_t bound_ns;
	if (!is_again || end == lane->end)
		return end;
	bool is_tie_won = dtc_merge_get_bound(reader->merge, &bound_ns);
	if (lane->end[-1].time_ns < bound_ns) /* times never decrease: as a rule where streams are few */
		return lane->end;
	while (end < lane->end && (end->time_ns < bound_ns || (end->time_ns == bound_ns && is_tie_won)))
		end++;
	return end;
}

/* The stream whose items were the last ones that were planned goes on now that they are given out. */
static void refill_drained(DtcReader *reader)
{
	struct dtc_backend *backend = reader->backend;
	backend->kind->advance(backend, reader->drained);
	const struct lane *lane = fill_lane(reader, reader->drained);
	dtc_merge_replace_top(reader->merge, lane->next->time_ns, lane->next == lane->end);
	reader->drained = G_MAXUINT;
}

/*
 * Merges ahead up to where a stream has no more items at hand: what is given out lies all over the memory where streams
 * are many, and is asked for here, long before it is looked at.
 */
static void plan_turns(DtcReader *reader)
{
	struct dtc_backend *backend = reader->backend;
	guint last = reader->current, stream;
	if (reader->drained != G_MAXUINT)
		refill_drained(reader);
	reader->turn = reader->turn_count = 0;
	while (reader->turn_count < TURNS && (stream = dtc_merge_get_top(reader->merge)) != G_MAXUINT) {
		struct lane *lane = &reader->lanes[stream];
		const struct dtc_item *begin = lane->next;
		int64_t then_ns = lane->then_ns;
		lane->next = find_turn_end(reader, lane, stream == last);
		reader->turns[reader->turn_count++] = (struct turn){ begin, lane->next, stream };
		if (backend->kind->expect && begin != &reader->own_items[stream])
			backend->kind->expect(backend, stream, begin);
		if (lane->next == lane->end) {
			reader->drained = stream;
			if (backend->kind->expect)
				backend->kind->expect(backend, stream, NULL);
			return;
		}
		dtc_merge_replace_top(reader->merge, lane->next == begin + 1 ? then_ns : lane->next->time_ns, false);
		set_then(lane);
		last = stream;
	}
}

/* To the stream whose turn it is; false at the end. */
static G_GNUC_NO_INLINE bool begin_turn(DtcReader *reader)
{
	if (reader->turn == reader->turn_count)
		plan_turns(reader);
	if (reader->turn == reader->turn_count)
		return false;
	const struct turn *turn = &reader->turns[reader->turn++];
	reader->current = turn->stream;
	reader->next = turn->next;
	reader->end = turn->end;
	reader->stream = reader->backend->streams[turn->stream];
	reader->cpu_count = MAX(reader->cpu_count, reader->stream->cpu + 1);
	return true;
}

static G_GNUC_NO_INLINE const struct dtc_event *give_gap(DtcReader *reader, const struct dtc_item *item)
{
	reader->lost.time_ns = item->time_ns;
	reader->lost.cpu = reader->stream->cpu;
	fill_lost(reader, &reader->stream->gap);
	return &reader->lost;
}

const struct dtc_event *dtc_reader_next(DtcReader *reader)
{
	if (G_UNLIKELY(reader->next == reader->end) && !begin_turn(reader))
		return NULL;
	const struct dtc_item *item = reader->next++;
	struct dtc_stream *stream = reader->stream;
	if (G_UNLIKELY(stream->is_gap))
		return give_gap(reader, item);
	stream->item = item;
	struct dtc_event *event = reader->backend->kind->get_event(reader->backend, reader->current);
	event->time_ns = item->time_ns;
	event->cpu = stream->cpu;
	reader->event_counts[event->name]++;
	if (G_UNLIKELY(dtc_cpus_are_named_by(event->kind)))
		dtc_cpus_name(reader->cpus, event);
	return event;
}

/* ---- counting ---- */

/* An event of a class that was not met yet, or that names CPUs. */
static void look_at(DtcReader *reader, struct dtc_stream *stream, const struct dtc_item *item)
{
	struct dtc_backend *backend = reader->backend;
	struct counting *counting = &reader->counting;
	stream->item = item;
	if (!dtc_cpus_are_named_by(backend->kind->get_class(backend, counting->stream, item->class).kind)) {
		counting->is_passed[item->class] = true;
		return;
	}
	struct dtc_event *event = backend->kind->get_event(backend, counting->stream);
	event->time_ns = item->time_ns;
	event->cpu = stream->cpu;
	dtc_cpus_name(reader->cpus, event);
}

static void pass_items(DtcReader *reader, struct dtc_stream *stream, const struct lane *lane)
{
	struct counting *counting = &reader->counting;
	for (const struct dtc_item *item = lane->next; item < lane->end; item++) {
		counting->counts[item->class]++;
		if (G_UNLIKELY(!counting->is_passed[item->class]))
			look_at(reader, stream, item);
	}
	int64_t begin_ns = lane->next->time_ns, end_ns = lane->end[-1].time_ns;
	counting->begin_ns = counting->begin_ns == DTC_ABSENT ? begin_ns : MIN(counting->begin_ns, begin_ns);
	counting->end_ns = MAX(counting->end_ns, end_ns); /* DTC_ABSENT is the least */
}

static void begin_counting(DtcReader *reader, guint class_count)
{
	struct counting *counting = &reader->counting;
	g_free(counting->counts);
	g_free(counting->is_passed);
	counting->class_count = class_count;
	counting->counts = g_new0(guint64, class_count + 1u);
	counting->is_passed = g_new0(bool, class_count + 1u);
}

static void end_counting(DtcReader *reader)
{
	struct counting *counting = &reader->counting;
	for (guint class = 0; class < counting->class_count; class ++)
		if (counting->counts[class] > 0)
			reader->event_counts[reader->backend->kind->get_class(reader->backend, counting->stream, class)
						     .name] += counting->counts[class];
	g_clear_pointer(&counting->counts, g_free);
}

/* The items of a stream that its back end gave; the count of events. */
static guint64 pass_lane(DtcReader *reader, struct dtc_stream *stream, struct lane *lane)
{
	guint64 count = (guint64)(lane->end - lane->next);
	reader->cpu_count = MAX(reader->cpu_count, stream->cpu + 1);
	if (stream->is_gap) {
		fill_lost(reader, &stream->gap);
		return 0;
	}
	pass_items(reader, stream, lane);
	return count;
}

/* A back end that gives one event after the other is asked for the events. */
static guint64 count_next(DtcReader *reader)
{
	struct counting *counting = &reader->counting;
	const struct dtc_event *event;
	while ((event = dtc_reader_next(reader)) && event->kind == DTC_EVENT_LOST)
		continue;
	if (!event)
		return 0;
	if (counting->begin_ns == DTC_ABSENT)
		counting->begin_ns = event->time_ns;
	counting->end_ns = event->time_ns;
	return 1;
}

guint64 dtc_reader_count(DtcReader *reader)
{
	struct dtc_backend *backend = reader->backend;
	struct counting *counting = &reader->counting;
	if (!backend->kind->get_class)
		return count_next(reader);
	for (; counting->stream < backend->stream_count; counting->stream++) {
		struct dtc_stream *stream = backend->streams[counting->stream];
		struct lane *lane = &reader->lanes[counting->stream];
		if (!counting->counts)
			begin_counting(reader, stream->class_count);
		while (lane->next < lane->end) {
			guint64 count = pass_lane(reader, stream, lane);
			backend->kind->advance(backend, counting->stream);
			fill_lane(reader, counting->stream);
			if (count > 0)
				return count;
		}
		end_counting(reader);
	}
	return 0;
}

void dtc_reader_get_counted_span(const DtcReader *reader, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
	*ret_begin_ns = reader->counting.begin_ns;
	*ret_end_ns = reader->counting.end_ns;
}

/* ---- what was odd ---- */

/* "a packet of stream 'ch0_1' (byte 24576)". Caller frees. */
static char *describe_packet(const struct dtc_stream *stream, int64_t at)
{
	const char *name = stream->name ? stream->name : "(unnamed)";
	return at < 0 ? g_strdup_printf("a packet of stream '%s'", name)
		      : g_strdup_printf("a packet of stream '%s' (byte %" G_GINT64_FORMAT ")", name, at);
}

static char *describe_fault(const struct dtc_stream *stream, enum dtc_stream_fault fault)
{
	const struct dtc_stream_fault_note *first = &stream->faults[fault];

	if (fault == DTC_STREAM_FAULT_CPU)
		return g_strdup_printf("it claims CPU %" G_GINT64_FORMAT " in a stream of CPU %u", first->amount,
				       stream->cpu);
	return g_strdup_printf("events lie outside of its time, the first by %.3f s; they were put in order by their "
			       "neighbours",
			       (double)first->amount / 1e9);
}

static void report_faults(const DtcReader *reader, guint index, DtcFindings *findings)
{
	static const char *const codes[DTC_STREAM_FAULTS] = {
		[DTC_STREAM_FAULT_TIME] = DTC_FINDING_PACKET_TIME,
		[DTC_STREAM_FAULT_CPU] = DTC_FINDING_PACKET_CPU,
	};
	const struct dtc_stream *stream = reader->backend->streams[index];

	for (guint fault = 0; fault < DTC_STREAM_FAULTS; fault++) {
		const struct dtc_stream_fault_note *note = &stream->faults[fault];
		if (note->count == 0)
			continue;
		g_autofree char *packet = describe_packet(stream, note->first_at);
		g_autofree char *what = describe_fault(stream, fault);
		g_autofree char *more = note->count > 1
						? g_strdup_printf(" (%" G_GUINT64_FORMAT " %s in all)", note->count,
								  fault == DTC_STREAM_FAULT_TIME ? "events" : "packets")
						: g_strdup("");
		dtc_findings_add_coded(findings, codes[fault], DTC_SEVERITY_ERROR, true, reader->node,
				       "%s is damaged: %s%s", packet, what, more);
	}
}

static void report_stream(const DtcReader *reader, guint index, DtcFindings *findings)
{
	const struct dtc_stream *stream = reader->backend->streams[index];
	const char *name = stream->name ? stream->name : "(unnamed)";
	g_autofree char *at =
		stream->packet_at < 0
			? g_strdup("")
			: g_strdup_printf(", in the packet that begins at byte %" G_GINT64_FORMAT, stream->packet_at);
	if (stream->error)
		dtc_findings_add_coded(findings, DTC_FINDING_STREAM_DAMAGED, DTC_SEVERITY_ERROR, true, reader->node,
				       "stream '%s' is damaged after %" G_GUINT64_FORMAT " events%s: %s", name,
				       stream->event_count, at, stream->error);
	report_faults(reader, index, findings);
	if (stream->reversal_count > 0)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, reader->node,
				 "the clock of stream '%s' ran backward %" G_GUINT64_FORMAT
				 " times, by up to %" G_GINT64_FORMAT " ns; those events were held in order",
				 name, stream->reversal_count, stream->reversal_max_ns);
}

static void report_partial_cpus(const DtcReader *reader, DtcFindings *findings)
{
	int64_t before_ns, after_ns;

	for (guint i = 0; i < reader->backend->stream_count; i++) {
		const struct dtc_stream *stream = reader->backend->streams[i];
		bool has_limit = stream->limit_ns != INT64_MAX;
		if (stream->packet_count > 0)
			dtc_cpus_add_span(reader->cpus, stream->cpu, stream->begin_ns,
					  has_limit ? MAX(stream->last_ns, stream->limit_ns) : stream->last_ns);
	}
	for (guint cpu = 0; dtc_cpus_find_partial(reader->cpus, &cpu, &before_ns, &after_ns); cpu++) {
		if (before_ns > 0)
			dtc_findings_add_coded(
				findings, DTC_FINDING_STREAM_MISSING, DTC_SEVERITY_ERROR, true, reader->node,
				"the stream of CPU %u begins %.3f s after events of other CPUs name it: its "
				"begin is missing",
				cpu, (double)before_ns / 1e9);
		if (after_ns > 0)
			dtc_findings_add_coded(
				findings, DTC_FINDING_STREAM_MISSING, DTC_SEVERITY_ERROR, true, reader->node,
				"the stream of CPU %u ends %.3f s before events of other CPUs last name it: "
				"its end is missing",
				cpu, (double)after_ns / 1e9);
	}
}

/* Without switches a CPU may have had nothing to record. */
static void report_missing_cpus(const DtcReader *reader, DtcFindings *findings)
{
	guint count;
	g_autofree char *missing = dtc_cpus_list_missing(reader->cpus, &count);

	if (!reader->backend->declares[DTC_EVENT_SCHED_SWITCH])
		return;
	if (missing)
		dtc_findings_add_coded(
			findings, DTC_FINDING_STREAM_MISSING, DTC_SEVERITY_ERROR, true, reader->node,
			count == 1 ? "CPU %s has no stream, but events of other CPUs name it: what happened there is "
				     "missing"
				   : "CPUs %s have no streams, but events of other CPUs name them: what happened there "
				     "is missing",
			missing);
	report_partial_cpus(reader, findings);
}

/* ", among them 3 whole packets" where the packets' numbers tell. Caller frees. */
static char *describe_lost_packets(const DtcReader *reader)
{
	if (reader->lost_packet_count == 0)
		return g_strdup("");
	return g_strdup_printf(", among them %" G_GUINT64_FORMAT " whole packet%s", reader->lost_packet_count,
			       reader->lost_packet_count == 1 ? "" : "s");
}

static void report_lost(const DtcReader *reader, DtcFindings *findings)
{
	g_autofree char *packets = describe_lost_packets(reader);

	if (reader->uncounted_gap_count > 0 && reader->lost_count == 0)
		dtc_findings_add_coded(findings, DTC_FINDING_EVENTS_LOST, DTC_SEVERITY_WARNING, true, reader->node,
				       "events were lost in %" G_GUINT64_FORMAT " gaps%s; how many is not known",
				       reader->gap_count, packets);
	else if (reader->uncounted_gap_count > 0)
		dtc_findings_add_coded(findings, DTC_FINDING_EVENTS_LOST, DTC_SEVERITY_WARNING, true, reader->node,
				       "events were lost: %" G_GUINT64_FORMAT " or more in %" G_GUINT64_FORMAT
				       " gaps%s; how many in %" G_GUINT64_FORMAT " of them is not known",
				       reader->lost_count, reader->gap_count, packets, reader->uncounted_gap_count);
	else if (reader->gap_count > 0)
		dtc_findings_add_coded(findings, DTC_FINDING_EVENTS_LOST, DTC_SEVERITY_WARNING, true, reader->node,
				       "%" G_GUINT64_FORMAT " events were lost in %" G_GUINT64_FORMAT " gaps%s",
				       reader->lost_count, reader->gap_count, packets);
}

static bool has_events(const DtcReader *reader)
{
	for (guint i = 0; i < dtc_names_get_count(reader->event_names) && i <= UINT16_MAX; i++)
		if (reader->event_counts[i] > 0)
			return true;
	return false;
}

bool dtc_reader_finish(DtcReader *reader, DtcFindings *findings, GError **error)
{
	const struct dtc_stream *damaged = NULL;
	if (!was_all_seen(reader, error))
		return false;
	if (reader->backend->findings)
		dtc_findings_move(findings, reader->backend->findings);
	for (guint i = 0; i < reader->backend->stream_count; i++) {
		const struct dtc_stream *stream = reader->backend->streams[i];
		if (stream->error && !damaged)
			damaged = stream;
		report_stream(reader, i, findings);
		if (stream->findings)
			dtc_findings_move(findings, stream->findings);
	}
	report_missing_cpus(reader, findings);
	bool is_empty = !has_events(reader);
	if (is_empty && damaged) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
			    "no event of node '%s' in '%s' can be read: %s\ncheck the copy against the original",
			    reader->node, reader->path, damaged->error);
		return false;
	}
	if (is_empty)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, reader->node, "the trace holds no events");
	report_lost(reader, findings);
	return true;
}

const char *dtc_reader_get_backend(const DtcReader *reader)
{
	return reader->backend->kind->name;
}

guint dtc_reader_get_event_name_count(const DtcReader *reader)
{
	return dtc_names_get_count(reader->event_names);
}

const char *dtc_reader_get_event_name(const DtcReader *reader, guint index)
{
	return index == NO_NAME ? "(lost events)" : dtc_names_get(reader->event_names, index);
}

guint64 dtc_reader_get_event_count(const DtcReader *reader, guint index)
{
	return index <= UINT16_MAX ? reader->event_counts[index] : 0;
}

const char *dtc_reader_get_syscall_name(const DtcReader *reader, guint index)
{
	const char *name = dtc_names_get(reader->call_names, index);
	guint64 number;

	/* perf tells numbers, and of which machine they are; LTTng has names for what its machine calls */
	if (!g_str_has_prefix(name, NUMBERED) ||
	    !g_ascii_string_to_unsigned(name + strlen(NUMBERED), 10, 0, G_MAXUINT, &number, NULL))
		return name;
	const char *known = dtc_call_number_get_name(dtc_reader_get_environment(reader, "machine"), (gint64)number);
	return known ? known : name;
}

guint64 dtc_reader_get_consumed_bytes(const DtcReader *reader)
{
	return reader->backend->consumed_bytes;
}

guint64 dtc_reader_get_lost_count(const DtcReader *reader)
{
	return reader->lost_count;
}

guint dtc_reader_get_cpu_count(const DtcReader *reader)
{
	return reader->cpu_count;
}

bool dtc_reader_declares(const DtcReader *reader, enum dtc_event_kind kind)
{
	return reader->backend->declares[kind];
}

const char *dtc_reader_get_environment(const DtcReader *reader, const char *key)
{
	static const struct {
		const char *lttng;
		const char *perf;
	} spellings[] = { { "kernel_release", "release" }, { "hostname", "host" } };
	const char *value = get_environment(reader, key);
	for (gsize i = 0; !value && i < G_N_ELEMENTS(spellings); i++)
		if (strcmp(key, spellings[i].lttng) == 0)
			value = get_environment(reader, spellings[i].perf);
	return value ? value : "";
}

guint64 dtc_reader_measure(const char *path)
{
	const struct dtc_backend_kind *kind = find_backend(path);
	return kind ? kind->measure(path) : 0;
}

bool dtc_reader_describe_clock(const char *path, struct dtc_clock_class *ret_clock)
{
	const struct dtc_backend_kind *kind = find_backend(path);
	return kind && kind->describe_clock(path, ret_clock);
}

bool dtc_reader_describe_origin(const char *path, struct dtc_trace_origin *ret_origin)
{
	const struct dtc_backend_kind *kind = find_backend(path);
	return kind && kind->describe_origin(path, ret_origin);
}

void dtc_trace_origin_clear(struct dtc_trace_origin *origin)
{
	g_clear_pointer(&origin->uuid, g_free);
	g_clear_pointer(&origin->host, g_free);
	g_clear_pointer(&origin->boot, g_free);
}
