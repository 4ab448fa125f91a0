/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/inherit.h"

#include "analyze/edge/local_bytes.h"
#include "analyze/request/give_back.h"
#include "analyze/request/lock_words.h"
#include "analyze/request/told.h"
#include "analyze/request/unseen.h"

/* A write with which a thread calls another one of its process. */
static bool is_call(const DtcHistory *h, const struct dtc_call *call)
{
	return call->kind == DTC_CALL_WRITE && call->file != DTC_NONE && dtc_local_bytes_is_local(h, call->file);
}

/* Whether a thread that was woken from a sleep, or from none (NULL) if it was made, is idle in another one. */
static bool is_idle(const DtcLockWords *locks, const struct dtc_call *sleep, const struct dtc_call *woken_from)
{
	/* a mutex on the way is waited for by another operation than a condition */
	return dtc_call_is_futex_wait(sleep) &&
	       dtc_call_get_futex_operation(sleep) ==
		       (woken_from ? dtc_call_get_futex_operation(woken_from) : DTC_FUTEX_WAIT_BITSET) &&
	       ((woken_from && dtc_lock_words_is_same(sleep, woken_from)) || !dtc_lock_words_is_lock(locks, sleep));
}

/* Where the work of a thread ends that begins it with a call. */
static int64_t find_end_ns(const DtcHistory *h, const DtcLockWords *locks, uint32_t thread_id, uint32_t first,
			   const struct dtc_call *woken_from)
{
	const struct dtc_thread *thread = dtc_history_get_thread(h, thread_id);
	for (uint32_t i = first; i < thread->call_first + thread->call_count; i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &call_place);
		if (is_call(h, call))
			return call->end_ns == DTC_TIME_NONE ? thread->end_ns : call->end_ns;
		if (is_idle(locks, call, woken_from))
			return call->begin_ns;
	}
	return thread->end_ns;
}

static bool is_same_process(const DtcHistory *h, uint32_t thread, uint32_t other)
{
	return thread != other && dtc_history_get_thread(h, thread)->pid == dtc_history_get_thread(h, other)->pid;
}

/* A wake that hands work over, and not a lock. */
static bool look(const DtcHistory *h, const DtcLockWords *locks, const struct dtc_wake *wake, uint32_t sleep,
		 struct dtc_handed *ret_handed)
{
	if (sleep == DTC_NONE || wake->is_inferred)
		return false;
	const struct dtc_call call = dtc_history_copy_call(h, sleep);
	if (dtc_lock_words_is_handed(locks, wake->thread, &call))
		return false;
	*ret_handed = (struct dtc_handed){ wake->thread, wake->target, wake->waking_ns,
					   find_end_ns(h, locks, wake->target, sleep + 1, &call), false };
	return ret_handed->end_ns > ret_handed->begin_ns;
}

/* A wake that tells a worker process what to do. */
static bool look_across(const DtcHistory *h, const struct dtc_wake *wake, struct dtc_handed *ret_handed)
{
	*ret_handed = (struct dtc_handed){ wake->thread, wake->target, wake->waking_ns, wake->waking_ns, true };
	return dtc_told_find(h, wake, &ret_handed->end_ns) && ret_handed->end_ns > ret_handed->begin_ns;
}

/* The span in which a thread that has calls of requests works at a time, or NULL. */
static const struct dtc_served *find_span(const DtcServing *serving, guint node, uint32_t thread, int64_t time_ns)
{
	const struct dtc_served *span = dtc_serving_find_span(serving, node, thread, time_ns);
	return span && !span->leads && !dtc_serving_only_inherits(serving, node, thread) ? span : NULL;
}

/* What a thread was handed last. */
struct piece {
	struct dtc_handed handed;
	guint request;
	int64_t told_ns; /* DTC_TIME_NONE: it woke nobody of its process in between */
};

/* The pieces of one node, of which each thread has one at a time. */
struct pieces {
	DtcServing *serving;
	guint node;
	const DtcHistory *history;
	const DtcLockWords *locks;
	GHashTable *open; /* thread -> struct piece */
	GArray *backs;	  /* struct dtc_given_back */
	guint next_back;
	GHashTable *since; /* thread -> int64_t: it gave a piece back, or was woken by one of its process; node time */
	bool has_unseen;
};

/*
 * Whether a thread slept twice or more in a piece until it told of it: whoever stops working calls Go's sysmon, which
 * looks every so often whether others have left work about, and calls somebody for that.
 */
static bool ticks(const DtcHistory *h, const struct piece *piece)
{
	uint32_t first = dtc_history_get_thread(h, piece->handed.thread)->call_first, sleeps = 0;
	uint32_t at = dtc_history_find_call(h, piece->handed.thread, piece->told_ns);
	for (; at != DTC_NONE && at >= first && sleeps < 2; at--) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, at, &place);
		if (call->begin_ns < piece->handed.begin_ns)
			break;
		sleeps += call->kind == DTC_CALL_SLEEP;
		if (at == 0)
			break;
	}
	return sleeps > 1;
}

static void close_piece(struct pieces *pieces, const struct piece *piece)
{
	if (piece && piece->told_ns != DTC_TIME_NONE && !ticks(pieces->history, piece))
		dtc_serving_add_done(pieces->serving, pieces->node, &piece->handed, piece->request, piece->told_ns);
}

static void put(struct pieces *pieces, const struct dtc_handed *handed, guint request)
{
	const struct piece piece = { *handed, request, DTC_TIME_NONE };
	if (!dtc_serving_add_inherited(pieces->serving, pieces->node, handed, request))
		return;
	close_piece(pieces, g_hash_table_lookup(pieces->open, GUINT_TO_POINTER(handed->thread)));
	g_hash_table_replace(pieces->open, GUINT_TO_POINTER(handed->thread), g_memdup2(&piece, sizeof(piece)));
}

/* A piece whose begin is known: as long as its thread was seen. */
static void hand_over(struct pieces *pieces, const struct dtc_handed *handed, guint request)
{
	struct dtc_handed seen = *handed;
	int64_t first_ns, last_ns;
	if (pieces->has_unseen &&
	    dtc_unseen_find(pieces->history, handed->thread, handed->begin_ns, handed->end_ns, &first_ns, &last_ns))
		seen.end_ns = first_ns;
	put(pieces, &seen, request);
}

/* A piece whose end is known: from when on its thread was seen, or goes on with what it was at when it was seen last.
 */
static void hand_back(struct pieces *pieces, const struct dtc_handed *handed, guint request)
{
	const struct piece *before = g_hash_table_lookup(pieces->open, GUINT_TO_POINTER(handed->thread));
	struct dtc_handed seen = *handed;
	int64_t first_ns, last_ns;
	if (pieces->has_unseen &&
	    dtc_unseen_find(pieces->history, handed->thread, handed->begin_ns, handed->end_ns, &first_ns, &last_ns))
		seen.begin_ns =
			before && before->request == request && before->handed.end_ns == first_ns ? first_ns : last_ns;
	if (seen.end_ns > seen.begin_ns)
		put(pieces, &seen, request);
}

/* A thread that one at work made for a piece of it. */
static void look_at_birth(struct pieces *pieces, uint32_t thread)
{
	const DtcHistory *h = pieces->history;
	const struct dtc_thread *born = dtc_history_get_thread(h, thread);
	if (born->parent == DTC_NONE || !is_same_process(h, born->parent, thread) ||
	    born->begin_ns <= dtc_history_get_begin_ns(h))
		return;
	const struct dtc_served *span = find_span(pieces->serving, pieces->node, born->parent, born->begin_ns);
	const struct dtc_handed handed = { born->parent, thread, born->begin_ns,
					   find_end_ns(h, pieces->locks, thread, born->call_first, NULL), false };
	if (span && handed.end_ns > handed.begin_ns)
		hand_over(pieces, &handed, span->request);
}

/*
 * A process that one at work made is told by its maker first what it was made for, whatever else that has taken up in
 * between: dovecot's auth makes one for each login, accepts the next one, and writes the first one's password to it as
 * the pipe has room. The span of the maker when it made it; NULL: it is not so.
 */
static const struct dtc_served *find_span_at_birth(const struct pieces *pieces, const struct dtc_wake *wake)
{
	const struct dtc_thread *born = dtc_history_get_thread(pieces->history, wake->target);
	if (born->parent != wake->thread || born->begin_ns <= dtc_history_get_begin_ns(pieces->history) ||
	    g_hash_table_contains(pieces->open, GUINT_TO_POINTER(wake->target)))
		return NULL;
	return find_span(pieces->serving, pieces->node, wake->thread, born->begin_ns);
}

static void note_since(struct pieces *pieces, uint32_t thread, int64_t at_ns)
{
	g_hash_table_replace(pieces->since, GUINT_TO_POINTER(thread), g_memdup2(&at_ns, sizeof(at_ns)));
}

/*
 * What a thread was made for, or handed, ended when the kernel asked it for somebody else: when it was woken last, or
 * had given back a piece. NULL: there is nothing left of it.
 */
static struct piece *cut_piece(struct pieces *pieces, struct piece *piece, const struct dtc_given_back *back)
{
	const int64_t *since = g_hash_table_lookup(pieces->since, GUINT_TO_POINTER(back->thread));
	int64_t at_ns = since ? *since : back->since_ns;
	if (at_ns <= piece->handed.begin_ns)
		return piece;
	dtc_serving_end_inherited(pieces->serving, pieces->node, &piece->handed, at_ns);
	piece->handed.end_ns = MIN(piece->handed.end_ns, at_ns);
	return NULL;
}

/*
 * A piece of work ends: what the thread did since it gave back the one before, or was woken, was for whose request this
 * one is.
 */
static void end_piece(struct pieces *pieces, const struct dtc_given_back *back)
{
	struct piece *piece = g_hash_table_lookup(pieces->open, GUINT_TO_POINTER(back->thread));
	if (piece && back->for_kernel && piece->request != back->request)
		piece = cut_piece(pieces, piece, back);
	if (piece && back->at_ns >= piece->handed.begin_ns && back->at_ns < piece->handed.end_ns) {
		if (back->request != DTC_NO_REQUEST && piece->request != back->request)
			return;
		dtc_serving_end_inherited(pieces->serving, pieces->node, &piece->handed, back->at_ns);
		piece->handed.end_ns = back->at_ns;
		piece->told_ns = back->at_ns;
	} else if (back->request != DTC_NO_REQUEST) {
		const int64_t *since = g_hash_table_lookup(pieces->since, GUINT_TO_POINTER(back->thread));
		const struct dtc_handed handed = { back->target, back->thread,
						   since ? MAX(*since, back->since_ns) : back->since_ns, back->at_ns,
						   true };
		hand_back(pieces, &handed, back->request);
	}
	note_since(pieces, back->thread, back->at_ns);
}

/* Those that ended by a time, from the next one on. */
static void end_pieces(struct pieces *pieces, int64_t until_ns)
{
	for (; pieces->next_back < pieces->backs->len; pieces->next_back++) {
		const struct dtc_given_back *back =
			&g_array_index(pieces->backs, struct dtc_given_back, pieces->next_back);
		if (back->at_ns > until_ns)
			break;
		end_piece(pieces, back);
	}
}

/*
 * Whether with a wake its target may take up something else: it slept on a futex, and is not handed a lock; or until
 * somebody had something for it whom it had not made for its own piece.
 */
static bool may_begin(const DtcHistory *h, const DtcLockWords *locks, const struct dtc_wake *wake, uint32_t sleep)
{
	struct dtc_call call;
	struct dtc_interval place;
	if (wake->is_inferred)
		return false;
	if (sleep != DTC_NONE) {
		call = dtc_history_copy_call(h, sleep);
		return !dtc_lock_words_is_handed(locks, wake->thread, &call);
	}
	const struct dtc_interval *v = dtc_history_find_interval_before(h, wake->target, wake->waking_ns, &place);
	if (!v || v->end_ns != wake->waking_ns || !dtc_state_is_wait(v->state) || v->call == DTC_NONE)
		return false;
	call = dtc_history_copy_call(h, v->call);
	return (call.kind == DTC_CALL_READ || call.kind == DTC_CALL_POLL) &&
	       dtc_history_get_thread(h, wake->thread)->parent != wake->target;
}

static void look_at_wake(struct pieces *pieces, uint32_t index)
{
	const DtcHistory *h = pieces->history;
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_history_get_wake(h, index, &wake_place);
	if (wake->waker != DTC_WAKER_THREAD)
		return;
	struct piece *piece = g_hash_table_lookup(pieces->open, GUINT_TO_POINTER(wake->thread));
	if (piece && wake->waking_ns >= piece->handed.begin_ns && wake->waking_ns <= piece->handed.end_ns &&
	    is_same_process(h, wake->thread, wake->target))
		piece->told_ns = wake->waking_ns;
	end_pieces(pieces, wake->waking_ns);
	const struct dtc_served *span = find_span(pieces->serving, pieces->node, wake->thread, wake->waking_ns);
	uint32_t sleep = dtc_lock_words_get_wait(pieces->locks, index);
	struct dtc_handed handed;
	if (span && look(h, pieces->locks, wake, sleep, &handed))
		hand_over(pieces, &handed, span->request);
	if (may_begin(h, pieces->locks, wake, sleep))
		note_since(pieces, wake->target, wake->waking_ns);
	/* who is told may have been told by one that was handed it: a queue's thread writes to the pipe */
	span = find_span_at_birth(pieces, wake);
	if (!span)
		span = dtc_serving_find_span(pieces->serving, pieces->node, wake->thread, wake->waking_ns);
	if (span && !span->leads && look_across(h, wake, &handed))
		hand_over(pieces, &handed, span->request);
}

void dtc_inherit(DtcServing *serving, const DtcLinks *links, GPtrArray *locks_of)
{
	g_ptr_array_set_size(locks_of, (int)dtc_links_get_node_count(links));
	for (guint node = 0; node < dtc_links_get_node_count(links); node++) {
		const DtcHistory *h = dtc_links_get_history(links, node);
		if (!h)
			continue;
		g_autoptr(GHashTable) open = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
		if (!g_ptr_array_index(locks_of, node))
			g_ptr_array_index(locks_of, node) = dtc_lock_words_new(h);
		const DtcLockWords *locks = g_ptr_array_index(locks_of, node);
		g_autoptr(GHashTable) since = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
		g_autoptr(GArray) backs = dtc_give_back_list(serving, node, h, locks);
		struct pieces pieces = { serving, node, h, locks, open, backs, 0, since, dtc_unseen_is_any(h) };
		for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++)
			look_at_birth(&pieces, i);
		for (uint32_t i = 0; i < dtc_history_get_wake_count(h); i++)
			look_at_wake(&pieces, i);
		end_pieces(&pieces, INT64_MAX);
		GHashTableIter iter;
		gpointer piece;
		g_hash_table_iter_init(&iter, open);
		while (g_hash_table_iter_next(&iter, NULL, &piece))
			close_piece(&pieces, piece);
	}
}
