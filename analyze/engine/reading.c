/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/reading.h"

#include "collect/packets/node_captures.h"
#include "collect/read/reader.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define WAIT_US 200000 /* between two looks at the readers */

/* With what all of the list have in common. */
static void add_reading(GPtrArray *readings, gsize size, const struct dtc_bundle_node *node, guint index,
			bool is_capture)
{
	struct dtc_reading *reading = g_malloc0(size);
	const struct dtc_reading *first = readings->len ? readings->pdata[0] : NULL;

	reading->node = node;
	reading->node_index = index;
	reading->is_capture = is_capture;
	reading->findings = dtc_findings_new();
	reading->scratch = first ? dtc_space_ref(first->scratch) : dtc_space_new_scratch();
	if (node->is_elsewhere) { /* its files are not looked at here */
		g_ptr_array_add(readings, reading);
		return;
	}
	if (is_capture)
		reading->all_bytes = dtc_node_captures_measure((const char *const *)node->pcap_paths);
	else if (node->kernel_path)
		reading->all_bytes = dtc_reader_measure(node->kernel_path);
	g_ptr_array_add(readings, reading);
}

GPtrArray *dtc_readings_new(const DtcBundle *bundle, gsize size, GDestroyNotify free_record)
{
	GPtrArray *readings = g_ptr_array_new_with_free_func(free_record);

	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		if (node->kernel_path || node->kernel_image)
			add_reading(readings, size, node, i, false);
		if ((node->pcap_paths && node->pcap_paths[0]) || node->capture_image)
			add_reading(readings, size, node, i, true);
	}
	return readings;
}

void dtc_reading_clear(struct dtc_reading *reading)
{
	dtc_findings_free(reading->findings);
	g_clear_error(&reading->error);
	dtc_space_unref(reading->scratch);
}

void dtc_reading_report_error(const char *node, const GError *reason, DtcFindings *findings)
{
	bool is_refused = g_error_matches(reason, DTC_COLLECT_ERROR, DTC_ERROR_IO);

	dtc_findings_add_coded(findings, is_refused ? DTC_FINDING_IO_ERROR : DTC_FINDING_TRACE_UNREADABLE,
			       DTC_SEVERITY_ERROR, true, node, "the kernel trace cannot be read: %.*s",
			       (int)strcspn(reason->message, "\n"), reason->message);
}

/* What the threads of one run share. */
struct run {
	const GPtrArray *order; /* struct dtc_reading, as they are begun */
	void (*read_record)(struct dtc_reading *);
	GAsyncQueue *ended; /* struct dtc_reading */
	gint next;	    /* atomic: index of the first that nobody has begun */
	gint stop;	    /* atomic */
	gint spare;	    /* atomic: threads that could be at work and are not */
	gint thread_count;  /* atomic: that have begun */
	gint64 begin_us;
	guint64 all_bytes;
	GMutex lock;			    /* of what follows */
	const struct dtc_reading **current; /* by thread; NULL: none */
	guint64 events, bytes;		    /* of those that have ended */
};

static guint64 get_events(const struct dtc_reading *reading)
{
	return (guint64)g_atomic_int_get(&reading->steps) * DTC_READING_STEP;
}

static guint64 get_bytes(const struct dtc_reading *reading)
{
	return (guint64)g_atomic_int_get(&reading->kib) << 10;
}

static void set_current(struct run *run, gint thread, const struct dtc_reading *reading)
{
	g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&run->lock);

	run->current[thread] = reading;
}

/* It is counted once, and those who ask need not look at all that have ended. */
static void end_current(struct run *run, gint thread)
{
	g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&run->lock);

	run->events += get_events(run->current[thread]);
	run->bytes += get_bytes(run->current[thread]);
	run->current[thread] = NULL;
}

static void *read_some(void *data)
{
	struct run *run = data;
	gint thread = g_atomic_int_add(&run->thread_count, 1), i;

	while (!g_atomic_int_get(&run->stop) && (i = g_atomic_int_add(&run->next, 1)) < (gint)run->order->len) {
		struct dtc_reading *reading = run->order->pdata[i];
		reading->stop = &run->stop;
		reading->spare = &run->spare;
		set_current(run, thread, reading);
		run->read_record(reading);
		reading->stop = NULL;
		reading->spare = NULL;
		/* also of what cannot be read no more is to come */
		g_atomic_int_set(&reading->kib, (gint)MIN(reading->all_bytes >> 10, G_MAXINT));
		end_current(run, thread);
		g_async_queue_push(run->ended, reading);
	}
	g_atomic_int_inc(&run->spare);
	return NULL;
}

/* The longest first, so that the last of them ends when others do: of a capture most bytes are payload, which costs
 * nothing. */
static gint compare_lengths(gconstpointer left, gconstpointer right)
{
	const struct dtc_reading *p = *(struct dtc_reading *const *)left, *q = *(struct dtc_reading *const *)right;

	if (p->is_capture != q->is_capture)
		return p->is_capture ? 1 : -1;
	if (p->all_bytes != q->all_bytes)
		return p->all_bytes < q->all_bytes ? 1 : -1;
	return p->node_index < q->node_index ? -1 : 1;
}

static bool tell(struct run *run, guint thread_count, const struct dtc_watch *watch, GError **error)
{
	struct dtc_progress progress = { .phase = DTC_PHASE_READ, .all = run->all_bytes };

	g_mutex_lock(&run->lock);
	progress.events = run->events;
	progress.done = run->bytes;
	for (guint i = 0; i < thread_count; i++) {
		progress.events += run->current[i] ? get_events(run->current[i]) : 0;
		progress.done += run->current[i] ? get_bytes(run->current[i]) : 0;
	}
	g_mutex_unlock(&run->lock);
	progress.seconds = (double)(g_get_monotonic_time() - run->begin_us) / 1e6;
	return dtc_watch_tell(watch, &progress, error);
}

/* What the machine does not allow says nothing of the recording: no answer is better than half of one. */
static bool was_allowed(const GPtrArray *readings, GError **error)
{
	for (guint i = 0; i < readings->len; i++) {
		const struct dtc_reading *reading = readings->pdata[i];
		if (!g_error_matches(reading->error, DTC_COLLECT_ERROR, DTC_ERROR_LIMIT))
			continue;
		g_propagate_error(error, g_error_copy(reading->error));
		return false;
	}
	return true;
}

bool dtc_readings_run(GPtrArray *readings, void (*read_record)(struct dtc_reading *), const struct dtc_watch *watch,
		      GError **error)
{
	guint wanted_count = MIN(g_get_num_processors(), readings->len), thread_count = 0;
	struct run run = { .read_record = read_record, .begin_us = g_get_monotonic_time() };

	for (guint i = 0; i < readings->len; i++)
		run.all_bytes += ((const struct dtc_reading *)readings->pdata[i])->all_bytes;
	g_mutex_init(&run.lock);
	if (!tell(&run, 0, watch, error)) {
		g_mutex_clear(&run.lock);
		return false;
	}
	/* not a GThreadPool: its threads outlive it by 15 s, to be used again by others */
	g_autofree GThread **threads = g_new0(GThread *, wanted_count + 1);
	g_autofree const struct dtc_reading **current = g_new0(const struct dtc_reading *, wanted_count + 1);
	g_autoptr(GPtrArray) order = g_ptr_array_copy(readings, NULL, NULL);
	g_ptr_array_set_free_func(order, NULL);
	g_ptr_array_sort(order, compare_lengths);
	run.order = order;
	run.ended = g_async_queue_new();
	run.current = current;
	run.spare = (gint)(g_get_num_processors() - wanted_count);
	g_autoptr(GError) refused = NULL;
	while (thread_count < wanted_count && !refused) {
		threads[thread_count] = g_thread_try_new("read", read_some, &run, &refused);
		thread_count += threads[thread_count] != NULL;
	}
	bool goes_on = thread_count > 0 || wanted_count == 0;
	if (!goes_on)
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "no thread can be started to read with: %s\nraise the limits (ulimit -u, ulimit -v)",
			    refused->message);
	for (guint count = 0; goes_on && count < readings->len;) {
		count += g_async_queue_timeout_pop(run.ended, WAIT_US) != NULL;
		goes_on = tell(&run, thread_count, watch, error);
	}
	g_atomic_int_set(&run.stop, !goes_on);
	for (guint i = 0; i < thread_count; i++)
		g_thread_join(threads[i]);
	g_async_queue_unref(run.ended);
	g_mutex_clear(&run.lock);
	return goes_on && was_allowed(readings, error);
}

bool dtc_reading_note(struct dtc_reading *reading, guint64 done_bytes)
{
	g_atomic_int_inc(&reading->steps);
	g_atomic_int_set(&reading->kib, (gint)MIN(done_bytes >> 10, G_MAXINT));
	return !reading->stop || !g_atomic_int_get(reading->stop);
}
