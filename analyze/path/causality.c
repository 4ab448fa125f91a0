/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/causality.h"
#include "analyze/edge/arrival.h"
#include "analyze/edge/cause.h"
#include "analyze/path/explain.h"
#include "analyze/path/path_build.h"

#include <dtrace-chain/bisect.h>

#define DEPTH_LIMIT 32
#define BLOCKING_LIMIT 100000 /* of one report; beyond, deeper levels are left out */

/* A thread's span to look for blockings in, for the blocking that it belongs to. */
struct window {
	guint node;
	uint32_t thread;
	int64_t begin_ns, end_ns; /* node time */
	guint parent;
	guint depth;
	uint32_t file;	/* of a sender: the socket it wrote to */
	bool is_sender; /* the window ends with a send */
};

static void name_waker(struct dtc_blocking *blocking, char *name)
{
	g_free(blocking->woken_by);
	blocking->woken_by = name;
}

/* "SYN-ACK from the kernel of backend": nobody's code had a part in it. */
static char *explain_kernel(const DtcLinks *links, const struct dtc_sender *sender)
{
	const DtcPackets *packets = dtc_history_get_packets(dtc_links_get_history(links, sender->node));
	g_autofree char *what = dtc_explain_packet(dtc_packets_get(packets, sender->packet));
	return g_strdup_printf("%s from the kernel of %s", what, dtc_links_get_node_name(links, sender->node));
}

/* The thread that wrote what arrived, from a cluster time on; names it in the blocking. */
static bool find_writer(const DtcLinks *links, struct dtc_arrival arrival, int64_t begin_cluster_ns,
			struct dtc_blocking *blocking, struct window *ret_window)
{
	struct dtc_sender nearest;
	blocking->link = DTC_LINK_UNKNOWN;
	for (int hops = 0; hops < 64; hops++) {
		struct dtc_sender sender;
		if (!dtc_arrival_find_sender(links, &arrival, &sender))
			return false;
		blocking->link = sender.exact ? DTC_LINK_EXACT : DTC_LINK_INFERRED;
		if (hops == 0)
			nearest = sender;
		if (sender.relayed) {
			arrival = sender.cause;
			continue;
		}
		if (sender.thread == DTC_NONE)
			return false;
		/* the answer to a SYN or to data of its own: the thread did not wait for itself */
		if (hops && sender.node == blocking->node && sender.thread == blocking->thread) {
			name_waker(blocking, explain_kernel(links, &nearest));
			return false;
		}
		*ret_window = (struct window){ .node = sender.node,
					       .thread = sender.thread,
					       .begin_ns = dtc_clocks_to_node_ns(dtc_links_get_clocks(links),
										 sender.node, begin_cluster_ns),
					       .end_ns = sender.written_ns,
					       .file = sender.file,
					       .is_sender = true };
		const DtcHistory *h = dtc_links_get_history(links, sender.node);
		name_waker(blocking, g_strdup_printf("packet from %s (tid %d) on %s",
						     dtc_history_get_comm(h, sender.thread, sender.written_ns),
						     dtc_history_get_thread(h, sender.thread)->tid,
						     dtc_links_get_node_name(links, sender.node)));
		return true;
	}
	return false;
}

/* What the waker did meanwhile, if there is one that can be followed. */
static bool find_waker(const DtcLinks *links, const struct window *of, const struct dtc_interval *wait,
		       struct dtc_blocking *blocking, struct window *ret_window)
{
	const DtcHistory *h = dtc_links_get_history(links, of->node);
	int64_t begin_ns = MAX(wait->begin_ns, of->begin_ns);
	*ret_window =
		(struct window){ .node = of->node, .thread = DTC_NONE, .begin_ns = begin_ns, .end_ns = wait->end_ns };
	if (wait->ref == DTC_NONE)
		return false;
	const struct dtc_wake *wake = dtc_history_get_wake(h, wait->ref);
	if (wake->is_inferred)
		blocking->link = DTC_LINK_INFERRED;
	if (wake->waker == DTC_WAKER_THREAD || wake->waker == DTC_WAKER_NEW) {
		ret_window->thread = wake->thread;
		return wake->thread != DTC_NONE;
	}
	if (wake->waker == DTC_WAKER_BLOCK) {
		const struct dtc_block_request *request = dtc_history_get_block_request(h, wake->ref);
		ret_window->thread = request->thread;
		ret_window->end_ns = request->insert_ns;
		return request->thread != DTC_NONE && request->thread != wait->thread && request->insert_ns > begin_ns;
	}
	struct dtc_arrival arrival;
	return wake->waker == DTC_WAKER_PACKET && dtc_arrival_find_for_wait(links, of->node, wait, &arrival) &&
	       find_writer(links, arrival, dtc_clocks_to_cluster_ns(dtc_links_get_clocks(links), of->node, begin_ns),
			   blocking, ret_window);
}

static struct dtc_blocking new_blocking(const DtcLinks *links, const struct window *of, int64_t begin_ns,
					int64_t end_ns)
{
	const DtcHistory *h = dtc_links_get_history(links, of->node);
	const struct dtc_thread *thread = dtc_history_get_thread(h, of->thread);
	return (struct dtc_blocking){
		.begin = { dtc_clocks_to_cluster_ns(dtc_links_get_clocks(links), of->node, begin_ns) },
		.end = { dtc_clocks_to_cluster_ns(dtc_links_get_clocks(links), of->node, end_ns) },
		.node = of->node,
		.thread = of->thread,
		.tid = thread->tid,
		.pid = thread->pid,
		.comm = g_strdup(dtc_history_get_comm(h, of->thread, end_ns)),
		.process = g_strdup(dtc_history_get_process(h, of->thread, end_ns)),
		.link = DTC_LINK_EXACT,
		.parent = of->parent,
		.depth = of->depth
	};
}

static void add_blocking(const struct window *of, struct dtc_blocking *blocking, bool has_beneath,
			 struct window beneath, guint max_depth, DtcPath *path, GArray *queue)
{
	beneath.parent = dtc_path_add_blocking(path, blocking);
	beneath.depth = of->depth + 1;
	if (has_beneath && beneath.depth < max_depth && beneath.end_ns > beneath.begin_ns)
		g_array_append_val(queue, beneath);
}

/* A span between two waits of a waker: it was not blocked, and what it did with its time is why others waited. */
struct stretch {
	int64_t begin_ns, end_ns; /* empty if equal */
	int64_t ns[DTC_CAUSES];
};

static void add_stretch(const DtcLinks *links, const struct window *of, const struct stretch *stretch, DtcPath *path)
{
	struct dtc_blocking work = new_blocking(links, of, stretch->begin_ns, stretch->end_ns);
	int64_t on_cpu_ns = stretch->ns[DTC_CAUSE_RUNNING_USER] + stretch->ns[DTC_CAUSE_RUNNING_KERNEL];
	int64_t length_ns = stretch->end_ns - stretch->begin_ns;
	for (guint i = 0; i < DTC_CAUSES; i++)
		if (stretch->ns[i] > stretch->ns[work.cause])
			work.cause = (enum dtc_cause)i;
	work.detail = length_ns == on_cpu_ns ? g_strdup("on the CPU")
					     : g_strdup_printf("on the CPU for %.3f of %.3f ms",
							       (double)on_cpu_ns / 1e6, (double)length_ns / 1e6);
	dtc_path_add_blocking(path, &work);
}

/*
 * When a thread asked for what arrived: the begin of the last write or connect on that connection before the arrival.
 * low_ns if it did not, as for a request that came by itself.
 */
static int64_t find_asked_ns(const DtcHistory *h, const struct dtc_arrival *arrival, int64_t low_ns)
{
	int64_t asked_ns = low_ns;
	if (arrival->file == DTC_NONE)
		return asked_ns;
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, arrival->file, &count);
	uint32_t i = DTC_BISECT(k, 0, count, dtc_history_get_call(h, calls[k])->begin_ns < arrival->time_ns);
	while (i-- > 0) {
		const struct dtc_call *call = dtc_history_get_call(h, calls[i]);
		if (call->begin_ns <= low_ns)
			break;
		if (call->kind == DTC_CALL_WRITE || call->kind == DTC_CALL_CONNECT) {
			asked_ns = call->begin_ns;
			break;
		}
	}
	return asked_ns;
}

static void add_blockings(const DtcLinks *links, const struct window *of, const struct dtc_path_options *options,
			  DtcPath *path, GArray *queue)
{
	const DtcHistory *h = dtc_links_get_history(links, of->node);
	guint max_depth = options && options->max_depth ? MIN(options->max_depth, DEPTH_LIMIT) : DEPTH_LIMIT;
	int64_t min_ns = options ? MAX(options->min_blocking_ns, 1) : 1;
	/*
	 * A sender acted on a message of its own: from when it had asked for that until it arrived, an event loop
	 * waited for whatever its other clients did, which is none of this report's business. That wait is for the
	 * message, however often it was woken. It asked because of an earlier message: the same again.
	 */
	int64_t low_ns = of->begin_ns;
	struct dtc_arrival arrival;
	if (of->is_sender && dtc_arrival_find_for_send(links, of->node, of->thread, of->end_ns, of->file, &arrival) &&
	    arrival.time_ns - low_ns >= min_ns && arrival.time_ns <= of->end_ns) {
		struct dtc_blocking blocking;
		struct window beneath = { .thread = DTC_NONE };
		struct window earlier = *of;
		earlier.file = arrival.file;
		earlier.end_ns = find_asked_ns(h, &arrival, low_ns);
		if (earlier.end_ns > low_ns) {
			g_array_append_val(queue, earlier);
			low_ns = earlier.end_ns;
		}
		/* up to the wakeup, if the thread slept when it arrived */
		const struct dtc_interval *v = dtc_history_find_interval_before(h, of->thread, arrival.time_ns + 1);
		bool slept = v && dtc_state_is_wait(v->state) && v->end_ns <= of->end_ns;
		int64_t end_ns = slept ? v->end_ns : arrival.time_ns;
		blocking = new_blocking(links, of, low_ns, end_ns);
		blocking.cause = DTC_CAUSE_NETWORK_RECEIVE;
		blocking.detail = arrival.file == DTC_NONE ? NULL : dtc_explain_file(h, arrival.file);
		bool has_beneath = find_writer(links, arrival, blocking.begin.ns, &blocking, &beneath);
		if (!blocking.woken_by)
			blocking.woken_by = g_strdup("packet");
		add_blocking(of, &blocking, has_beneath, beneath, max_depth, path, queue);
		low_ns = end_ns;
	}
	const struct dtc_work *work = dtc_history_find_work(h, of->thread, of->end_ns);
	if (work && work->queued.waker == DTC_WAKER_THREAD && work->queued.thread != of->thread &&
	    work->queued.waking_ns - low_ns >= min_ns) {
		/* what a worker waited for before it was asked to do this work explains nothing of it */
		struct dtc_blocking blocking = new_blocking(links, of, low_ns, work->queued.waking_ns);
		struct window beneath = { .node = of->node,
					  .thread = work->queued.thread,
					  .begin_ns = low_ns,
					  .end_ns = work->queued.waking_ns };
		blocking.cause = DTC_CAUSE_IPC;
		blocking.detail = g_strdup("work was not yet queued");
		blocking.woken_by = g_strdup_printf(
			"%s (tid %d)", dtc_history_get_comm(h, work->queued.thread, work->queued.waking_ns),
			dtc_history_get_thread(h, work->queued.thread)->tid);
		add_blocking(of, &blocking, true, beneath, max_depth, path, queue);
		low_ns = work->queued.waking_ns;
	}
	int64_t at_ns = of->end_ns;
	int64_t min_stretch_ns = MAX(min_ns, (of->end_ns - of->begin_ns) / 100); /* a percent of what it explains */
	struct stretch stretch = { .begin_ns = at_ns, .end_ns = at_ns };
	while (at_ns > low_ns && dtc_path_get_blocking_count(path) < BLOCKING_LIMIT) {
		const struct dtc_interval *v = dtc_history_find_interval_before(h, of->thread, at_ns);
		if (!v)
			break;
		int64_t begin_ns = MAX(v->begin_ns, low_ns), end_ns = MIN(v->end_ns, at_ns);
		at_ns = v->begin_ns;
		if (!dtc_state_is_wait(v->state)) {
			stretch.ns[dtc_cause_of_interval(h, v)] += end_ns - begin_ns;
			stretch.begin_ns = begin_ns;
			continue;
		}
		if (of->depth && stretch.end_ns - stretch.begin_ns >= min_stretch_ns)
			add_stretch(links, of, &stretch, path);
		stretch = (struct stretch){ .begin_ns = begin_ns, .end_ns = begin_ns };
		/* a wait that goes on behind the window did not delay what the window explains */
		if (v->end_ns > of->end_ns || v->end_ns - begin_ns < min_ns)
			continue;
		struct dtc_blocking blocking = new_blocking(links, of, begin_ns, v->end_ns);
		blocking.cause = dtc_cause_of_interval(h, v);
		blocking.detail = dtc_explain_detail(h, v);
		blocking.woken_by = dtc_explain_waker(h, v);
		struct window beneath;
		bool has_beneath = find_waker(links, of, v, &blocking, &beneath);
		add_blocking(of, &blocking, has_beneath, beneath, max_depth, path, queue);
	}
	if (of->depth && stretch.end_ns - stretch.begin_ns >= min_stretch_ns)
		add_stretch(links, of, &stretch, path);
	/* it was not yet born: what its parent did */
	const struct dtc_thread *thread = dtc_history_get_thread(h, of->thread);
	if (of->depth && at_ns > low_ns && at_ns <= thread->begin_ns && thread->parent != DTC_NONE &&
	    dtc_history_get_thread(h, thread->parent)->begin_ns < at_ns) {
		struct window parent = *of;
		parent.thread = thread->parent;
		parent.end_ns = at_ns;
		parent.is_sender = false;
		g_array_append_val(queue, parent);
	}
}

void dtc_causality_add(const DtcLinks *links, const struct dtc_path_target *target,
		       const struct dtc_path_options *options, DtcPath *path)
{
	g_autoptr(GArray) queue = g_array_new(FALSE, FALSE, sizeof(struct window));
	struct window root = {
		.node = target->node,
		.thread = target->thread,
		.begin_ns = dtc_clocks_to_node_ns(dtc_links_get_clocks(links), target->node, target->begin.ns),
		.end_ns = dtc_clocks_to_node_ns(dtc_links_get_clocks(links), target->node, target->end.ns),
		.parent = G_MAXUINT,
		.depth = 0
	};
	if (target->call != DTC_NONE) {
		const struct dtc_call *call =
			dtc_history_get_call(dtc_links_get_history(links, target->node), target->call);
		root.is_sender = call->kind == DTC_CALL_WRITE;
		root.file = call->file;
	}
	g_array_append_val(queue, root);
	for (guint i = 0; i < queue->len; i++) { /* breadth first: the limits cut the deepest levels */
		struct window window = g_array_index(queue, struct window, i);
		add_blockings(links, &window, options, path, queue);
	}
}
