/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/lanes.h"

#include "analyze/edge/arrival.h"
#include "analyze/edge/cause.h"
#include "analyze/report/model.h"
#include "analyze/report/words.h"
#include "collect/console/printable.h"

#include <dtrace-chain/bisect.h>
#include <dtrace-chain/hash.h>

#include <string.h>

/* A thread before it is known where its lane stands. */
struct candidate {
	guint node;
	uint32_t thread;
	guint first; /* order of appearance */
	int64_t path_ns;
	int64_t longest_ns; /* of its steps on the path */
	bool on_path;
	const struct dtc_report_thread *who; /* borrowed from the report: in its longest step */
	guint lane;
};

struct build {
	DtcLanes *lanes;
	const DtcReport *report;
	const DtcPath *path;
	const DtcLinks *links; /* may be NULL, then clocks are as well */
	const DtcClocks *clocks;
	const struct dtc_lanes_options *options;
	GArray *candidates;  /* struct candidate, in order of appearance */
	GHashTable *indexes; /* (node, thread) -> index in candidates + 1 */
	GArray *sources;     /* struct candidate, by lane */
};

static struct candidate *get_candidate(const struct build *b, guint index)
{
	return &g_array_index(b->candidates, struct candidate, index);
}

static guint find_candidate(const struct build *b, guint node, uint32_t thread)
{
	gint64 key = (gint64)((guint64)node << 32 | thread);
	return GPOINTER_TO_UINT(g_hash_table_lookup(b->indexes, &key)) - 1;
}

static guint add_candidate(struct build *b, guint node, uint32_t thread, const struct dtc_report_thread *who)
{
	guint index = find_candidate(b, node, thread);

	if (index != G_MAXUINT)
		return index;
	gint64 *key = g_new(gint64, 1);
	*key = (gint64)((guint64)node << 32 | thread);
	index = b->candidates->len;
	struct candidate candidate = { .node = node, .thread = thread, .first = index, .who = who };
	g_array_append_val(b->candidates, candidate);
	g_hash_table_insert(b->indexes, key, GUINT_TO_POINTER(index + 1));
	return index;
}

/* The report leaves out blockings below a depth; the others are in the same order on both sides. */
static guint next_kept_blocking(const DtcPath *path, guint at)
{
	while (at < dtc_path_get_blocking_count(path) && dtc_path_get_blocking(path, at)->depth >= DTC_REPORT_MAX_DEPTH)
		at++;
	return at;
}

static void collect_candidates(struct build *b)
{
	const DtcReport *report = b->report;

	for (guint i = 0; i < report->steps->len; i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(b->path, i);
		const struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, i);
		struct candidate *candidate =
			get_candidate(b, add_candidate(b, segment->node, segment->thread, &step->who));
		candidate->path_ns += step->end_ns - step->begin_ns;
		/* names change (exec, prctl): the one under which it did most of it */
		if (step->end_ns - step->begin_ns > candidate->longest_ns) {
			candidate->longest_ns = step->end_ns - step->begin_ns;
			candidate->who = &step->who;
		}
		candidate->on_path = true;
	}
	for (guint i = 0, at = 0; i < report->blockings->len; i++, at++) {
		at = next_kept_blocking(b->path, at);
		const struct dtc_blocking *blocking = dtc_path_get_blocking(b->path, at);
		add_candidate(b, blocking->node, blocking->thread,
			      &DTC_AT(report->blockings, struct dtc_report_blocking, i)->who);
	}
}

/* Those with the most time on the path first; threads of the causality alone after them. */
static int compare_by_weight(const void *a, const void *b)
{
	const struct candidate *x = *(const struct candidate *const *)a, *y = *(const struct candidate *const *)b;

	if (x->on_path != y->on_path)
		return x->on_path ? -1 : 1;
	if (x->path_ns != y->path_ns)
		return x->path_ns > y->path_ns ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* Threads beyond the limit get no lane of their own: true for those that have one. */
static bool *choose_candidates(const struct build *b)
{
	guint count = b->candidates->len;
	bool *is_chosen = g_new0(bool, count);
	g_autofree struct candidate **order = g_new(struct candidate *, count);

	for (guint i = 0; i < count; i++)
		order[i] = get_candidate(b, i);
	if (count)
		qsort(order, count, sizeof(struct candidate *), compare_by_weight);
	for (guint i = 0; i < MIN(count, b->options->max_lanes); i++)
		is_chosen[order[i]->first] = true;
	return is_chosen;
}

static const char *keep(struct build *b, const char *text, guint max)
{
	if (!text || !*text)
		return NULL;
	g_autofree char *printable = dtc_printable(text, max);
	return g_string_chunk_insert_const(b->lanes->strings, printable);
}

static guint add_lane(struct build *b, const struct candidate *candidate, bool is_shared)
{
	const struct dtc_report_thread *who = candidate->who;
	bool is_thread = !is_shared && candidate->thread != DTC_NONE;
	struct dtc_lane lane = {
		.node = g_string_chunk_insert_const(b->lanes->strings, who->node),
		.comm = is_thread ? keep(b, who->comm, DTC_PRINTABLE_NAME_MAX) : NULL,
		.process = is_shared ? "other threads" : keep(b, who->process, DTC_PRINTABLE_NAME_MAX),
		.pid = is_thread ? who->pid : -1,
		.tid = is_thread ? who->tid : -1,
		.on_path = candidate->on_path,
	};
	struct candidate source = *candidate;

	if (!lane.process)
		lane.process = "unknown";
	if (is_thread && !lane.comm)
		lane.comm = lane.process;
	if (is_shared)
		source.thread = DTC_NONE;
	const DtcHistory *history = b->links && is_thread ? dtc_links_get_history(b->links, candidate->node) : NULL;
	if (history)
		lane.is_kernel = dtc_history_get_thread(history, candidate->thread)->is_kernel;
	g_array_append_val(b->lanes->lanes, lane);
	g_array_append_val(b->sources, source);
	return b->lanes->lanes->len - 1;
}

/* All lanes of the node of the candidate at index first; those without a lane of their own share the last one. */
static void place_node(struct build *b, guint first, const bool *is_chosen)
{
	guint node = get_candidate(b, first)->node, shared = G_MAXUINT;

	for (guint i = first; i < b->candidates->len; i++) {
		struct candidate *candidate = get_candidate(b, i);
		if (candidate->node == node && is_chosen[i])
			candidate->lane = add_lane(b, candidate, false);
	}
	for (guint i = first; i < b->candidates->len; i++) {
		struct candidate *candidate = get_candidate(b, i);
		if (candidate->node != node || is_chosen[i])
			continue;
		if (shared == G_MAXUINT)
			shared = add_lane(b, candidate, true);
		candidate->lane = shared;
		g_array_index(b->lanes->lanes, struct dtc_lane, shared).on_path |= candidate->on_path;
	}
}

static void place_lanes(struct build *b)
{
	g_autofree bool *is_chosen = choose_candidates(b);
	g_autoptr(GHashTable) placed = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < b->candidates->len; i++)
		if (g_hash_table_add(placed, GUINT_TO_POINTER(get_candidate(b, i)->node)))
			place_node(b, i, is_chosen);

	const DtcReport *report = b->report;
	b->lanes->step_lanes = g_new(guint, report->steps->len);
	for (guint i = 0; i < report->steps->len; i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(b->path, i);
		b->lanes->step_lanes[i] = get_candidate(b, find_candidate(b, segment->node, segment->thread))->lane;
	}
	b->lanes->blocking_lanes = g_new(guint, report->blockings->len);
	for (guint i = 0, at = 0; i < report->blockings->len; i++, at++) {
		at = next_kept_blocking(b->path, at);
		const struct dtc_blocking *blocking = dtc_path_get_blocking(b->path, at);
		b->lanes->blocking_lanes[i] =
			get_candidate(b, find_candidate(b, blocking->node, blocking->thread))->lane;
	}
}

/* The intervals of a lane within the window: ids [first, end). */
struct range {
	const DtcHistory *history;
	uint32_t first, end;
	int64_t begin_ns, end_ns; /* the window, node time */
	struct dtc_interval head; /* the first */
};

static struct range find_range(const struct build *b, const struct candidate *source)
{
	struct range range = { 0 };

	if (!b->links || source->thread == DTC_NONE)
		return range;
	range.history = dtc_links_get_history(b->links, source->node);
	if (!range.history)
		return range;
	const struct dtc_thread *thread = dtc_history_get_thread(range.history, source->thread);
	range.begin_ns = dtc_clocks_to_node_ns(b->clocks, source->node, b->lanes->begin_ns);
	range.end_ns = dtc_clocks_to_node_ns(b->clocks, source->node, b->lanes->end_ns);
	uint32_t last = thread->interval_first + thread->interval_count;
	range.first = dtc_history_find_interval_after(range.history, source->thread, range.begin_ns);
	/* what goes on at the window's end begins before it */
	uint32_t at_end = dtc_history_find_interval_after(range.history, source->thread, range.end_ns - 1);
	struct dtc_interval place;
	range.end = at_end;
	if (at_end < last &&
	    dtc_history_get_interval(range.history, source->thread, at_end, &place)->begin_ns < range.end_ns)
		range.end++;
	range.end = MAX(range.first, range.end);
	if (range.first < range.end)
		(void)dtc_history_get_interval(range.history, source->thread, range.first, &range.head);
	return range;
}

static bool is_shown(const struct dtc_interval *interval)
{
	return interval->state != DTC_STATE_IDLE && interval->state != DTC_STATE_EXITED &&
	       interval->end_ns > interval->begin_ns;
}

static int64_t get_interval_ns(const struct dtc_interval *interval)
{
	return interval->end_ns - interval->begin_ns;
}

/*
 * From the first interval of a bar to that of the next: further ones are in it as long as all together is shorter than
 * min_ns. False if none follows.
 */
static bool pass_bar(const struct range *range, struct dtc_interval *at, int64_t min_ns)
{
	int64_t begin_ns = at->begin_ns;
	bool is_long = get_interval_ns(at) >= min_ns;

	while (at->index + 1 < range->end && dtc_history_get_next_interval(range->history, at))
		if (is_long || !is_shown(at) || at->end_ns - begin_ns > min_ns)
			return true;
	return false;
}

static guint64 count_bars(const struct range *ranges, guint count, int64_t min_ns)
{
	guint64 bars = 0;

	for (guint i = 0; i < count; i++) {
		if (ranges[i].first == ranges[i].end)
			continue;
		struct dtc_interval at = ranges[i].head;
		do
			bars++;
		while (pass_bar(&ranges[i], &at, min_ns));
	}
	return bars;
}

/* Of the intervals from head to that before end. */
static void add_bar(struct build *b, const struct candidate *source, const struct range *range,
		    const struct dtc_interval *head, uint32_t end)
{
	struct dtc_lane_bar bar = { .interval_count = end - head->index };
	struct dtc_interval last = *head;

	if (bar.interval_count == 1) {
		g_autofree char *detail = dtc_words_for_interval(range->history, head);
		bar.cause = dtc_cause_of_interval(range->history, head);
		bar.detail = keep(b, detail, DTC_PRINTABLE_MAX);
	} else {
		int64_t by_cause[DTC_CAUSES] = { 0 };
		do
			by_cause[dtc_cause_of_interval(range->history, &last)] += get_interval_ns(&last);
		while (last.index + 1 < end && dtc_history_get_next_interval(range->history, &last));
		for (guint i = 1; i < DTC_CAUSES; i++)
			if (by_cause[i] > by_cause[bar.cause])
				bar.cause = i;
	}
	bar.begin_ns = dtc_clocks_to_cluster_ns(b->clocks, source->node, MAX(head->begin_ns, range->begin_ns));
	bar.end_ns = dtc_clocks_to_cluster_ns(b->clocks, source->node, MIN(last.end_ns, range->end_ns));
	if (bar.end_ns > bar.begin_ns)
		g_array_append_val(b->lanes->bars, bar);
}

static void add_bars_of(struct build *b, const struct candidate *source, const struct range *range, int64_t min_ns)
{
	struct dtc_interval head, at = range->head;
	bool goes_on;

	do {
		head = at;
		goes_on = pass_bar(range, &at, min_ns);
		if (is_shown(&head))
			add_bar(b, source, range, &head, goes_on ? at.index : range->end);
	} while (goes_on);
}

static void add_bars(struct build *b)
{
	guint count = b->sources->len;
	g_autofree struct range *ranges = g_new(struct range, count);
	int64_t min_ns = 0;

	for (guint i = 0; i < count; i++)
		ranges[i] = find_range(b, &g_array_index(b->sources, struct candidate, i));
	while (count_bars(ranges, count, min_ns) > b->options->max_bars) {
		int64_t window_ns = b->lanes->end_ns - b->lanes->begin_ns;
		min_ns = min_ns ? min_ns * 2 : window_ns / MAX(b->options->max_bars, 1) + 1;
		if (min_ns > window_ns)
			break; /* one bar per lane; it cannot be less */
	}
	b->lanes->merged_ns = min_ns;
	for (guint i = 0; i < count; i++) {
		struct dtc_lane *lane = &g_array_index(b->lanes->lanes, struct dtc_lane, i);
		const struct range *range = &ranges[i];
		lane->bar_first = b->lanes->bars->len;
		if (range->first < range->end)
			add_bars_of(b, &g_array_index(b->sources, struct candidate, i), range, min_ns);
		lane->bar_count = b->lanes->bars->len - lane->bar_first;
	}
}

/* A wire segment is the message: from the lane of the step before it to its own. */
static void add_path_messages(struct build *b)
{
	const DtcTable *steps = b->report->steps;

	for (guint i = 1; i < steps->len; i++) {
		const struct dtc_report_step *step = DTC_AT(steps, struct dtc_report_step, i);
		if (step->cause != DTC_CAUSE_NETWORK_WIRE)
			continue;
		struct dtc_lane_message message = {
			.from_lane = b->lanes->step_lanes[i - 1],
			.to_lane = b->lanes->step_lanes[i],
			.sent_ns = step->begin_ns,
			.received_ns = step->end_ns,
			.uncertainty_ns = step->uncertainty_ns,
			.link = step->link,
			.detail = step->detail ? g_string_chunk_insert_const(b->lanes->strings, step->detail) : NULL,
			.step = i,
		};
		g_array_append_val(b->lanes->messages, message);
	}
}

static guint find_lane(const struct build *b, guint node, uint32_t thread)
{
	guint index = thread == DTC_NONE ? G_MAXUINT : find_candidate(b, node, thread);
	return index == G_MAXUINT ? G_MAXUINT : get_candidate(b, index)->lane;
}

/* Who took what a packet brought and who wrote it: by the same bytes as on the path. */
static bool make_message(struct build *b, guint node, uint32_t packet, struct dtc_lane_message *message)
{
	const DtcHistory *history = dtc_links_get_history(b->links, node);
	const struct dtc_packet received = dtc_packets_get(dtc_history_get_packets(history), packet);
	const struct dtc_arrival arrival = { .node = node,
					     .time_ns = received.time_ns,
					     .packet = packet,
					     .flow = received.flow,
					     .file = DTC_NONE,
					     .exact = true };
	uint32_t read = dtc_links_find_read(b->links, node, packet);
	struct dtc_sender sender;

	if (read == DTC_NONE)
		return false;
	message->to_lane = find_lane(b, node, dtc_history_copy_call(history, read).thread);
	if (message->to_lane == G_MAXUINT || !dtc_arrival_find_sender(b->links, &arrival, &sender) || sender.relayed)
		return false;
	message->from_lane = find_lane(b, sender.node, sender.thread);
	if (message->from_lane == G_MAXUINT)
		return false;
	message->sent_ns = dtc_clocks_to_cluster_ns(b->clocks, sender.node, sender.left_ns);
	message->received_ns = dtc_clocks_to_cluster_ns(b->clocks, node, received.time_ns);
	message->uncertainty_ns =
		dtc_clocks_get_uncertainty_ns(b->clocks, sender.node, node, (DtcClusterTime){ message->received_ns });
	message->link = sender.exact ? DTC_LINK_EXACT : DTC_LINK_INFERRED;
	message->step = G_MAXUINT;
	g_autofree char *what = dtc_words_for_packet(&received);
	message->detail = keep(b, what, DTC_PRINTABLE_MAX);
	return message->received_ns >= message->sent_ns;
}

static uint32_t find_first_packet(const DtcPackets *packets, int64_t time_ns)
{
	return DTC_BISECT(i, 0, dtc_packets_get_count(packets), dtc_packets_get_time_ns(packets, i) < time_ns);
}

static int compare_messages(const void *a, const void *b)
{
	const struct dtc_lane_message *x = a, *y = b;

	if (x->received_ns != y->received_ns)
		return x->received_ns > y->received_ns ? 1 : -1;
	if (x->from_lane != y->from_lane)
		return x->from_lane > y->from_lane ? 1 : -1;
	return (x->to_lane > y->to_lane) - (x->to_lane < y->to_lane);
}

/* Every stride-th of the messages, so that what is kept is spread over the window as the messages are. */
struct thinned {
	GArray *messages;
	guint seen;
	guint stride;
};

static void add_thinned(struct thinned *thinned, const struct dtc_lane_message *message, guint max)
{
	if (thinned->seen++ % thinned->stride != 0 || !max)
		return;
	if (thinned->messages->len == max) {
		guint kept = 0;
		for (guint i = 0; i < max; i += 2, kept++)
			g_array_index(thinned->messages, struct dtc_lane_message, kept) =
				g_array_index(thinned->messages, struct dtc_lane_message, i);
		g_array_set_size(thinned->messages, kept);
		thinned->stride *= 2;
		if ((thinned->seen - 1) % thinned->stride != 0 || kept == max)
			return;
	}
	g_array_append_vals(thinned->messages, message, 1);
}

/* Payload that went from the thread of one lane to that of another; the path's own messages are already there. */
static void add_node_messages(struct build *b, guint node, GHashTable *known, struct thinned *thinned)
{
	const DtcHistory *history = dtc_links_get_history(b->links, node);
	const DtcPackets *packets = history ? dtc_history_get_packets(history) : NULL;

	if (!packets)
		return;
	int64_t end_ns = dtc_clocks_to_node_ns(b->clocks, node, b->lanes->end_ns);
	for (uint32_t i = find_first_packet(packets, dtc_clocks_to_node_ns(b->clocks, node, b->lanes->begin_ns));
	     i < dtc_packets_get_count(packets) && dtc_packets_get_time_ns(packets, i) < end_ns; i++) {
		const struct dtc_packet packet = dtc_packets_get(packets, i);
		struct dtc_lane_message message = { 0 };
		if (packet.direction != DTC_RECEIVED || packet.flow == DTC_NONE || !packet.payload_bytes ||
		    !make_message(b, node, i, &message) || message.from_lane == message.to_lane)
			continue;
		gint64 key = message.received_ns;
		if (!g_hash_table_contains(known, &key))
			add_thinned(thinned, &message, b->options->max_messages);
	}
}

static void add_other_messages(struct build *b)
{
	g_autoptr(GHashTable) known = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL);
	g_autoptr(GArray) messages = g_array_new(FALSE, FALSE, sizeof(struct dtc_lane_message));
	struct thinned thinned = { .messages = messages, .stride = 1 };

	for (guint i = 0; i < b->lanes->messages->len; i++) {
		gint64 received_ns = g_array_index(b->lanes->messages, struct dtc_lane_message, i).received_ns;
		g_hash_table_add(known, g_memdup2(&received_ns, sizeof(received_ns)));
	}
	for (guint node = 0; node < dtc_links_get_node_count(b->links); node++)
		add_node_messages(b, node, known, &thinned);
	b->lanes->messages_left_out = thinned.seen - messages->len;
	g_array_sort(messages, compare_messages);
	g_array_append_vals(b->lanes->messages, messages->data, messages->len);
}

static void set_window(DtcLanes *lanes, const DtcReport *report)
{
	int64_t margin_ns = report->duration_ns / 10;

	if (__builtin_sub_overflow(report->begin_ns, margin_ns, &lanes->begin_ns))
		lanes->begin_ns = report->begin_ns;
	if (__builtin_add_overflow(report->end_ns, margin_ns, &lanes->end_ns))
		lanes->end_ns = report->end_ns;
	int64_t window_ns;
	if (__builtin_sub_overflow(lanes->end_ns, lanes->begin_ns, &window_ns)) {
		lanes->begin_ns = report->begin_ns;
		lanes->end_ns = report->end_ns;
	}
}

DtcLanes *dtc_lanes_new(const DtcReport *report, const DtcPath *path, const DtcLinks *links,
			const struct dtc_lanes_options *options)
{
	DtcLanes *lanes = g_new0(DtcLanes, 1);
	struct build b = {
		.lanes = lanes,
		.report = report,
		.path = path,
		.links = links,
		.clocks = links ? dtc_links_get_clocks(links) : NULL,
		.options = options,
		.candidates = g_array_new(FALSE, FALSE, sizeof(struct candidate)),
		.indexes = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL),
		.sources = g_array_new(FALSE, FALSE, sizeof(struct candidate)),
	};

	lanes->strings = g_string_chunk_new(4096);
	lanes->lanes = g_array_new(FALSE, FALSE, sizeof(struct dtc_lane));
	lanes->bars = g_array_new(FALSE, FALSE, sizeof(struct dtc_lane_bar));
	lanes->messages = g_array_new(FALSE, FALSE, sizeof(struct dtc_lane_message));
	set_window(lanes, report);
	collect_candidates(&b);
	place_lanes(&b);
	add_bars(&b);
	add_path_messages(&b);
	if (links)
		add_other_messages(&b);
	g_array_unref(b.candidates);
	g_array_unref(b.sources);
	g_hash_table_unref(b.indexes);
	return lanes;
}

void dtc_lanes_free(DtcLanes *lanes)
{
	if (!lanes)
		return;
	g_array_unref(lanes->lanes);
	g_array_unref(lanes->bars);
	g_array_unref(lanes->messages);
	g_free(lanes->step_lanes);
	g_free(lanes->blocking_lanes);
	g_string_chunk_free(lanes->strings);
	g_free(lanes);
}
