/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/handoff.h"

#include "analyze/edge/local_bytes.h"
#include "analyze/edge/streams.h"
#include "analyze/exchange/endpoint.h"

#include <dtrace-chain/bisect.h>

/* Calls and intervals that are looked back at: far more than one turn of a loop, or one piece of work, has. */
#define LOOK_BACK 4096
/* Pieces of work, one after the other, that are followed back. */
#define PIECES_MAX 32

/* The number of calls in the list that begin before time. */
static uint32_t count_before(const DtcHistory *h, const uint32_t *calls, uint32_t count, int64_t time_ns)
{
	return DTC_BISECT(i, 0, count, dtc_history_get_call_begin_ns(h, calls[i]) < time_ns);
}

/* True when a look back ends at its limit, which is counted. */
static bool is_too_far(const DtcLinks *links, uint32_t seen)
{
	if (seen < LOOK_BACK)
		return false;
	dtc_links_note_limit(links, DTC_LIMIT_HANDOVER);
	return true;
}

static bool took_data(const struct dtc_call *call)
{
	return call->kind == DTC_CALL_READ && call->result != DTC_ABSENT && call->result > 0 &&
	       call->end_ns != DTC_TIME_NONE;
}

bool dtc_handoff_is_left(const DtcHistory *history, const struct dtc_asked *asked, const struct dtc_call *call)
{
	return took_data(call) && call->file != DTC_NONE && call->file != asked->arrival.file &&
	       dtc_history_get_file(history, call->file)->kind == DTC_FILE_SOCKET;
}

/* What only controls a connection is no question; what another stream brought is another one. */
static bool may_be_asked(const DtcLinks *links, guint node, uint32_t read, uint32_t answer)
{
	return !dtc_streams_is_control(links, node, read) &&
	       (answer == DTC_NONE || dtc_streams_may_answer(links, node, answer, read));
}

bool dtc_handoff_find_question(const DtcLinks *links, guint node, uint32_t file, uint32_t answer, int64_t time_ns,
			       struct dtc_asked *ret_asked)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	if (file == DTC_NONE || !dtc_endpoint_is_stream_server(h, file))
		return false;
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	for (uint32_t i = count_before(h, calls, count, time_ns); i-- > 0;) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, calls[i], &call_place);
		if (!took_data(call) || call->end_ns > time_ns || !may_be_asked(links, node, calls[i], answer))
			continue;
		struct dtc_asked asked = { .thread = call->thread, .call = calls[i], .read_ns = call->end_ns };
		if (!dtc_arrival_find_for_read(links, node, calls[i], &asked.arrival))
			return false;
		*ret_asked = asked;
		return true;
	}
	return false;
}

/* What a thread had taken last before it called another one. */
struct taken {
	uint32_t question; /* the last read of one; DTC_NONE: there is none */
	uint32_t writer;   /* who gave a piece of work back by what was read since then; DTC_NONE: nobody, or several */
	int64_t write_ns;
};

/* When the read before this one returned: what was written earlier, that one took. */
static int64_t find_taken_ns(const DtcHistory *h, const struct dtc_call *read)
{
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, read->file, &count);
	for (uint32_t i = count_before(h, calls, count, read->begin_ns); i-- > 0;) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, calls[i], &call_place);
		if (took_data(call))
			return call->begin_ns;
	}
	return INT64_MIN;
}

/* The only one of the other threads whose writes a read took. */
static void find_only_writer(const DtcLinks *links, guint node, const struct dtc_call *read, struct taken *taken)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	int64_t taken_ns = find_taken_ns(h, read);
	uint32_t count, seen = 0;
	const uint32_t *calls = dtc_local_bytes_get_writes(h, read->file, &count);
	for (uint32_t i = count_before(h, calls, count, read->end_ns); i-- > 0 && !is_too_far(links, seen); seen++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, calls[i], &place);
		if (call->begin_ns < taken_ns)
			break;
		if (call->kind != DTC_CALL_WRITE || call->thread == read->thread || call->thread == taken->writer)
			continue;
		if (taken->writer != DTC_NONE) {
			taken->writer = DTC_NONE;
			break;
		}
		taken->writer = call->thread;
		taken->write_ns = call->begin_ns;
	}
}

static struct taken find_last_taken(const DtcLinks *links, guint node, uint32_t thread_index, int64_t time_ns)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_thread *thread = dtc_history_get_thread(h, thread_index);
	struct taken taken = { .question = DTC_NONE, .writer = DTC_NONE };
	uint32_t at = dtc_history_find_call(h, thread_index, time_ns);
	bool is_nearest = true;
	for (uint32_t seen = 0; at != DTC_NONE && !is_too_far(links, seen); seen++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, at, &call_place);
		if (took_data(call) && call->end_ns <= time_ns && call->file != DTC_NONE) {
			uint8_t kind = dtc_history_get_file(h, call->file)->kind;
			if (dtc_endpoint_is_stream_server(h, call->file)) {
				taken.question = at;
				break;
			}
			if (is_nearest && (kind == DTC_FILE_EVENT || kind == DTC_FILE_PIPE))
				find_only_writer(links, node, call, &taken);
			is_nearest = is_nearest && kind == DTC_FILE_PATH;
		}
		if (at == thread->call_first)
			break;
		at--;
	}
	return taken;
}

/* When a thread was last woken by the reader of a question, since that was read; DTC_TIME_NONE: it was not. */
static int64_t find_woken_ns(const DtcLinks *links, guint node, uint32_t worker, int64_t time_ns,
			     const struct dtc_asked *asked)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	int64_t at_ns = time_ns;
	for (uint32_t seen = 0; at_ns > asked->read_ns && !is_too_far(links, seen); seen++) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(h, worker, at_ns, &place);
		if (!v)
			break;
		at_ns = v->begin_ns;
		if (!dtc_state_is_wait(v->state) || v->ref == DTC_NONE)
			continue;
		struct dtc_wake wake_place;
		const struct dtc_wake *wake = dtc_history_get_wake(h, v->ref, &wake_place);
		if (wake->waker == DTC_WAKER_THREAD && wake->thread == asked->thread &&
		    wake->waking_ns >= asked->read_ns && wake->waking_ns <= time_ns)
			return wake->waking_ns;
	}
	return DTC_TIME_NONE;
}

/*
 * Which question the reader of questions was at when it woke somebody: the last that it had read. If what it took since
 * then is a piece of work that was done, that of the piece, as far as it was woken for that; pieces of one request
 * follow each other in turns in which others' questions are read, too.
 */
static uint32_t find_cause(const DtcLinks *links, guint node, int64_t woken_ns, const struct dtc_asked *asked)
{
	uint32_t question = DTC_NONE;
	for (int pieces = 0; woken_ns != DTC_TIME_NONE && pieces < PIECES_MAX; pieces++) {
		struct taken taken = find_last_taken(links, node, asked->thread, woken_ns);
		question = taken.question;
		if (taken.writer == DTC_NONE)
			break;
		woken_ns = find_woken_ns(links, node, taken.writer, taken.write_ns, asked);
	}
	return question;
}

/*
 * Which question a thread was last woken for by the reader of questions: DTC_NONE if it was not woken by it since the
 * question that is asked about was read (it took the work without having slept).
 */
static uint32_t find_work(const DtcLinks *links, guint node, uint32_t worker, int64_t time_ns,
			  const struct dtc_asked *asked)
{
	int64_t woken_ns = find_woken_ns(links, node, worker, time_ns, asked);
	return woken_ns == DTC_TIME_NONE ? DTC_NONE : find_cause(links, node, woken_ns, asked);
}

enum fit { FIT_NONE, FIT_OTHER, FIT_UNKNOWN, FIT_WOKEN_FOR_IT, FIT_WOKEN_AND_TAKEN };

static enum fit get_fit(uint32_t work, bool was_taken, const struct dtc_asked *asked)
{
	if (work == asked->call)
		return was_taken ? FIT_WOKEN_AND_TAKEN : FIT_WOKEN_FOR_IT;
	return !was_taken ? FIT_NONE : work == DTC_NONE ? FIT_UNKNOWN : FIT_OTHER;
}

/*
 * The best of the writers to what was read, and when it wrote. Best is one that was woken for this question, and whose
 * write the read took: of several pieces of work for one question this is the last. A thread that was woken for it may
 * also have put its answer where the sender found it before the sender took notice of the write: it counts up to time.
 * Its first write since then is this question's, later ones may be of work that it took without having slept. Of the
 * others the last one whose write the read took.
 */
static enum fit find_writer(const DtcLinks *links, guint node, const struct dtc_call *read, int64_t time_ns,
			    const struct dtc_asked *asked, uint32_t *ret_thread, int64_t *ret_time_ns)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	int64_t taken_ns = find_taken_ns(h, read);
	uint32_t count;
	const uint32_t *calls = dtc_local_bytes_get_writes(h, read->file, &count);
	enum fit best = FIT_NONE;
	uint32_t seen = 0;
	for (uint32_t i = count_before(h, calls, count, time_ns); i-- > 0 && !is_too_far(links, seen); seen++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, calls[i], &call_place);
		if (call->begin_ns < asked->read_ns)
			break;
		if (call->kind != DTC_CALL_WRITE || call->thread == read->thread)
			continue;
		uint32_t work = find_work(links, node, call->thread, call->begin_ns, asked);
		bool was_taken = call->begin_ns >= taken_ns && call->begin_ns < read->end_ns;
		enum fit fit = get_fit(work, was_taken, asked);
		bool is_first = fit == best && (fit == FIT_WOKEN_FOR_IT ||
						(fit == FIT_WOKEN_AND_TAKEN && *ret_thread == call->thread));
		if (fit <= best && !is_first)
			continue;
		best = fit;
		*ret_thread = call->thread;
		*ret_time_ns = call->begin_ns;
	}
	return best;
}

/* When a thread that was woken from a sleep on a futex began to sleep in the same way again; DTC_TIME_NONE: not by
 * time. */
static int64_t find_pause_ns(const DtcHistory *h, uint32_t worker, int64_t woken_ns, int64_t time_ns)
{
	const struct dtc_thread *thread = dtc_history_get_thread(h, worker);
	uint32_t at = dtc_history_find_call(h, worker, woken_ns);
	if (at == DTC_NONE || dtc_history_copy_call(h, at).kind != DTC_CALL_FUTEX)
		return DTC_TIME_NONE;
	struct dtc_call woken_from = dtc_history_copy_call(h, at);
	/* a mutex on the way is waited for by another one */
	uint8_t operation = dtc_call_get_futex_operation(&woken_from);
	for (uint32_t i = at + 1; i < thread->call_first + thread->call_count; i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &call_place);
		if (call->begin_ns >= time_ns)
			break;
		if (call->kind == DTC_CALL_FUTEX && dtc_call_get_futex_operation(call) == operation)
			return call->begin_ns;
	}
	return DTC_TIME_NONE;
}

/*
 * Who calls a loop that is called already need not write again (libuv). So a worker that was woken for the question and
 * went to sleep again since has given its answer, too: the one that was woken last.
 */
static void find_silent(const DtcLinks *links, guint node, int64_t time_ns, const struct dtc_asked *asked,
			struct dtc_given *given)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	uint32_t count = dtc_history_get_wake_count(h), seen = 0;
	int32_t pid = dtc_history_get_thread(h, asked->thread)->pid;
	uint32_t first = DTC_BISECT(i, 0, count, dtc_history_get_waking_ns(h, i) < asked->read_ns);
	for (uint32_t i = first; i < count && !is_too_far(links, seen); i++) {
		struct dtc_wake wake_place;
		const struct dtc_wake *wake = dtc_history_get_wake(h, i, &wake_place);
		if (wake->waking_ns >= time_ns)
			break;
		if (wake->waker != DTC_WAKER_THREAD || wake->thread != asked->thread ||
		    dtc_history_get_thread(h, wake->target)->pid != pid)
			continue;
		seen++;
		int64_t pause_ns = find_pause_ns(h, wake->target, wake->waking_ns, time_ns);
		if (pause_ns == DTC_TIME_NONE || find_cause(links, node, wake->waking_ns, asked) != asked->call)
			continue;
		*given = (struct dtc_given){ wake->target, pause_ns, true, false };
	}
}

bool dtc_handoff_find_giver(const DtcLinks *links, guint node, uint32_t thread_index, int64_t time_ns,
			    const struct dtc_asked *asked, struct dtc_given *ret_given)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_thread *thread = dtc_history_get_thread(h, thread_index);
	uint32_t at = dtc_history_find_call(h, thread_index, time_ns);
	enum fit best = FIT_NONE;
	for (uint32_t seen = 0; at != DTC_NONE && best < FIT_WOKEN_AND_TAKEN && !is_too_far(links, seen); seen++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, at, &call_place);
		if (call->end_ns != DTC_TIME_NONE && call->end_ns <= time_ns) {
			bool ends_turn = call->kind == DTC_CALL_POLL && !dtc_call_is_glance(call);
			if (ends_turn || call->end_ns <= asked->read_ns)
				break;
			uint8_t kind =
				call->file == DTC_NONE ? DTC_FILE_UNKNOWN : dtc_history_get_file(h, call->file)->kind;
			if (took_data(call) && (kind == DTC_FILE_EVENT || kind == DTC_FILE_PIPE)) {
				struct dtc_given given;
				enum fit fit =
					find_writer(links, node, call, time_ns, asked, &given.thread, &given.time_ns);
				if (fit > best) {
					best = fit;
					given.is_for_question = fit >= FIT_WOKEN_FOR_IT;
					given.is_taken = fit == FIT_WOKEN_AND_TAKEN;
					*ret_given = given;
				}
			}
		}
		if (at == thread->call_first)
			break;
		at--;
	}
	if (best == FIT_OTHER || best == FIT_UNKNOWN)
		find_silent(links, node, time_ns, asked, ret_given);
	return best != FIT_NONE;
}

bool dtc_handoff_is_same_turn(const DtcLinks *links, guint node, uint32_t index, int64_t time_ns)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_thread *thread = dtc_history_get_thread(h, dtc_history_copy_call(h, index).thread);

	for (uint32_t i = index + 1, seen = 0; i < thread->call_first + thread->call_count; i++, seen++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &call_place);
		if (call->begin_ns >= time_ns)
			break;
		if ((call->kind == DTC_CALL_POLL && !dtc_call_is_glance(call)) || is_too_far(links, seen))
			return false;
	}
	return true;
}
