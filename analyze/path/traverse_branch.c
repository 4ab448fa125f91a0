/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A request whose parts are done side by side, and whose results come one after the other: while the first of them was
 * waited for, the next one was under way already. What came last is not explained by what its maker did since the one
 * before came, but by all that it did since the request called for it (tasks behind a broker, jobs of a pool).
 */
#include "analyze/path/traverse_build.h"

/* Steps that are looked ahead: a thread that computes is interrupted some hundred times a second. */
#define STEPS_MAX 1024
/* So far, too, whoever asks: what a request waited for does not depend on when another one began that waits for it. */
#define AHEAD_NS G_GINT64_CONSTANT(60000000000)

struct dtc_ahead {
	guint owner;		  /* the request, plus 1, whose thread is looked for */
	struct dtc_stand waiting; /* who waits, at the begin of that, and for whom */
	struct dtc_stand by;
	guint steps;
	guint frames; /* so many there were at the last step */
	guint node;   /* where it was at the last step */
	uint32_t thread;
	int64_t at_ns;
	bool is_found;
	int64_t since_ns; /* cluster time: at work for the request then, or called by one that was */
};

/* The stand is back at the begin of a wait, which was one for whatever comes: what was before that is no part of it. */
static bool was_idle(const struct dtc_traverse *t)
{
	const struct dtc_stand *stand = &t->stand;
	const DtcHistory *h = dtc_links_get_history(t->links, stand->node);
	struct dtc_call place;
	uint32_t call = stand->thread == DTC_NONE ? DTC_NONE : dtc_history_find_call(h, stand->thread, stand->at_ns);
	if (call == DTC_NONE)
		return true;
	enum dtc_call_kind kind = dtc_history_get_call(h, call, &place)->kind;
	return kind == DTC_CALL_POLL || kind == DTC_CALL_READ || kind == DTC_CALL_PEEK || kind == DTC_CALL_ACCEPT;
}

static int32_t get_pid(const struct dtc_traverse *t, const struct dtc_stand *stand)
{
	return dtc_history_get_thread(dtc_links_get_history(t->links, stand->node), stand->thread)->pid;
}

/* Whether who waits had let the request lie, since the one that it waits for was called. */
static bool let_lie(const struct dtc_traverse *t, const struct dtc_ahead *ahead)
{
	const struct dtc_stand *waiting = &ahead->waiting, *by = &ahead->by;
	bool is_here = by->node == waiting->node;
	int64_t since_ns = dtc_clocks_to_node(t->clocks, waiting->node, (DtcClusterTime){ ahead->since_ns }).ns;
	if (!dtc_traverse_let_lie(t, waiting, ahead->owner, is_here ? by->thread : DTC_NONE, since_ns, waiting->at_ns))
		return false;
	int32_t pid = get_pid(t, waiting);
	/* what the process asked others for in the meantime is nearer */
	return !is_here || get_pid(t, by) != pid ||
	       !dtc_serving_has_asked(t->of->serving, ahead->owner - 1, waiting->node, pid, since_ns, waiting->at_ns);
}

/* Whether who waits was asked after the one that it waits for had the request: by that one, then. */
static bool is_client(const struct dtc_traverse *t, const struct dtc_ahead *ahead)
{
	const struct dtc_stand *waiting = &ahead->waiting;
	return waiting->purpose != DTC_PURPOSE_OWN &&
	       dtc_clocks_to_cluster_ns(t->clocks, waiting->node, waiting->arrival.time_ns) > ahead->since_ns;
}

/* A process that was made for the request: it is at work for it since then, and its maker before. */
static bool is_made_for(const struct dtc_traverse *t, const struct dtc_served *span)
{
	const struct dtc_thread *of =
		dtc_history_get_thread(dtc_links_get_history(t->links, t->stand.node), t->stand.thread);
	return of->tid == of->pid && of->parent != DTC_NONE && span->begin_ns <= of->begin_ns;
}

bool dtc_traverse_ends_ahead(const struct dtc_traverse *t)
{
	struct dtc_ahead *ahead = t->ahead;
	const struct dtc_stand *stand = &t->stand;
	if (++ahead->steps > STEPS_MAX || stand->thread == DTC_NONE || (t->frames->len < ahead->frames && was_idle(t)))
		return true;
	ahead->frames = t->frames->len;
	bool is_first = ahead->steps == 1, is_same = ahead->node == stand->node && ahead->thread == stand->thread;
	int64_t until_ns = is_first || !is_same ? stand->at_ns : ahead->at_ns;
	ahead->node = stand->node;
	ahead->thread = stand->thread;
	ahead->at_ns = stand->at_ns;
	if (dtc_traverse_was_at_another(t, stand, ahead->owner, stand->at_ns - 1, until_ns))
		return true;
	const struct dtc_served *span =
		dtc_serving_find_span(t->of->serving, stand->node, stand->thread, stand->at_ns - 1);
	if (!span || span->leads || is_made_for(t, span))
		return false;
	/* is it there already, then since it was called itself */
	ahead->since_ns = is_first ? dtc_clocks_to_cluster_ns(t->clocks, stand->node, span->begin_ns) : t->tc;
	ahead->is_found = !(is_first && is_client(t, ahead)) && let_lie(t, ahead);
	/* who waits may have been asked on the way, as a broker is, and not have called */
	return ahead->is_found || stand->node != ahead->waiting.node || stand->thread != ahead->waiting.thread;
}

static void pass_over(gpointer data G_GNUC_UNUSED, DtcClusterTime begin G_GNUC_UNUSED, DtcClusterTime end G_GNUC_UNUSED)
{
}

/* The outermost of the waits that end here, going back. */
static guint find_outermost(const struct dtc_traverse *t)
{
	guint depth = t->frames->len;
	while (depth && g_array_index(t->frames, struct dtc_frame, depth - 1).bound_cluster_ns >= t->tc)
		depth--;
	return depth;
}

/* The request, plus 1, whose thread waits in the wait at depth; 0: not known. */
static guint find_waiting(const struct dtc_traverse *t, guint depth)
{
	guint owner = 0;
	for (guint i = depth + 1; i-- > 0 && !owner;)
		owner = g_array_index(t->frames, struct dtc_frame, i).stand.owner;
	return owner;
}

/* Looks ahead from where the traversal is, in no wait. False: nobody was at work for it. */
static bool look_ahead(const struct dtc_traverse *t, struct dtc_ahead *ahead)
{
	static const struct dtc_visitor visitor = { .check = pass_over, .no_doubts = true };
	struct dtc_traversal of = *t->of;
	of.begin.ns = t->tc - AHEAD_NS;
	struct dtc_traverse to = *t;
	to.of = &of;
	to.visitor = &visitor;
	to.data = NULL;
	to.frames = g_array_new(FALSE, FALSE, sizeof(struct dtc_frame));
	to.scopes = g_array_copy(t->scopes);
	to.entered = g_hash_table_new(NULL, NULL);
	to.pass_ns = INT64_MIN;
	to.ahead = ahead;
	dtc_traverse_walk(&to);
	g_array_unref(to.frames);
	g_array_unref(to.scopes);
	g_hash_table_unref(to.entered);
	return ahead->is_found;
}

/*
 * The stand is in the middle of a wait, to which the traversal has just come back, as one that began there ends here:
 * what ended it comes later, and its thread was at nobody's work.
 */
static bool is_back_in_wait(const struct dtc_traverse *t)
{
	const DtcHistory *h = dtc_links_get_history(t->links, t->stand.node);
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, t->stand.thread, t->stand.at_ns, &place);
	return v && dtc_state_is_wait(v->state) && v->end_ns > t->stand.at_ns;
}

bool dtc_traverse_follow_branch(struct dtc_traverse *t)
{
	guint depth = find_outermost(t);
	/* what a kernel thread does is nobody's part: it had been asked to in passing (writeback), or by others, too */
	if (!t->of->serving || t->ahead || depth == t->frames->len || t->stand.thread == DTC_NONE ||
	    dtc_history_get_thread(dtc_links_get_history(t->links, t->stand.node), t->stand.thread)->is_kernel)
		return false;
	for (guint i = depth; i < t->frames->len; i++) {
		const struct dtc_frame *frame = &g_array_index(t->frames, struct dtc_frame, i);
		if (frame->has_way || frame->vcpu_thread != DTC_NONE)
			return false;
	}
	const struct dtc_stand *by = &t->stand;
	struct dtc_ahead ahead = { .owner = find_waiting(t, depth),
				   .waiting = g_array_index(t->frames, struct dtc_frame, depth).stand,
				   .by = *by };
	/* what arrived then for who waits is nearer */
	if (ahead.waiting.purpose != DTC_PURPOSE_OWN && ahead.waiting.arrival.time_ns >= ahead.waiting.at_ns)
		return false;
	/* back at who waits, whose disk request it is, say: what that one does next is its own */
	bool is_self = by->node == ahead.waiting.node && by->thread == ahead.waiting.thread;
	if (is_self || !ahead.owner || is_back_in_wait(t) || !look_ahead(t, &ahead))
		return false;
	g_array_set_size(t->frames, depth);
	/* it may have gone back to the begin of what is explained down to here only */
	t->stand.at_ns = MAX(t->stand.at_ns, dtc_clocks_to_node(t->clocks, by->node, (DtcClusterTime){ t->tc }).ns);
	t->doubt_cluster_ns = MIN(t->doubt_cluster_ns, ahead.since_ns);
	if (!t->stand.owner)
		t->stand.owner = ahead.owner;
	return true;
}
