/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections between two sockets of this node that no packet shows (AF_UNIX): which file is the other end.
 *
 * The address is behind a pointer, and few tracers follow it. So calls tell. A connect or a write that wakes a thread
 * which then accepts, or reads, is its other end's. A listening socket gives connections away in the order in which
 * they were made (net/unix/af_unix.c: unix_stream_connect, unix_accept), so for the rest of what was accepted it is the
 * first that fits, which is inferred: it may have been another service's. Those go first of which each end read all
 * that the other one had written: a process that dovecot makes asks five services at once, and a service that reads 109
 * bytes fits a connection with 116 on it, which was for another one. Either way the bytes must fit: nothing is read
 * that was not written before. Of a file of which nothing is known wakeups alone tell: a descriptor from before
 * the trace may read a few bytes after somebody wrote more.
 *
 * Of connections from before the trace, such as a pool's to its database, nothing but wakeups and bytes tell: a write
 * on one socket of the state dump wakes a thread that then reads another one. What was on its way when the trace began
 * is read before the other end writes for the first time. Which of the two asks is not told by any call: who writes
 * first in the trace may answer what was asked before it. Who asks talks to others between an answer and its next
 * question more often than who answers between a question and its answer; else who writes first asks.
 */
#include "analyze/state/machine_state.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

/* Connections that nobody is seen to accept, older than one that is, and writes on one from before the trace: so many
 * are looked at. */
#define LOOK_BACK 256
/* So many calls of a thread are looked at between a read and the write that follows on it. */
#define TURN_CALLS 64

/* An end of such a connection. */
struct local_end {
	uint32_t file;
	int64_t begin_ns; /* the connect's begin; of the other end when the accept returned, or its first call's begin
			   */
	uint32_t opening; /* the connect or accept; DTC_NONE */
};

static struct dtc_file *get_file(const DtcHistory *h, uint32_t file)
{
	return DTC_AT(h->files, struct dtc_file, file);
}

static bool has_moved(const struct dtc_call *call, enum dtc_call_kind kind)
{
	return call->kind == kind && call->result > 0 && call->end_ns != DTC_TIME_NONE &&
	       !dtc_call_counts_messages(call);
}

/* The next call from *at on that moved bytes in this direction. False behind the last one. */
static bool next_moved(const DtcHistory *h, const uint32_t *calls, uint32_t count, uint32_t *at,
		       enum dtc_call_kind kind, struct dtc_call *ret_call)
{
	for (; *at < count; ++*at) {
		*ret_call = dtc_history_copy_call(h, calls[*at]);
		if (has_moved(ret_call, kind)) {
			++*at;
			return true;
		}
	}
	return false;
}

/*
 * Whether all that was read on one file had been written on the other before; counts what was read. What was read
 * before anything was written is counted apart, if that may be, and counts as written before the trace; else NULL.
 */
static bool may_have_given(const DtcHistory *h, uint32_t writer, uint32_t reader, uint64_t *ret_read,
			   uint64_t *ret_before)
{
	uint32_t write_count, read_count, at_write = 0, at_read = 0, first = 0;
	const uint32_t *writes = dtc_history_get_file_calls(h, writer, &write_count);
	const uint32_t *reads = dtc_history_get_file_calls(h, reader, &read_count);
	uint64_t written = 0, read = 0;
	struct dtc_call write, taken;
	int64_t first_ns = ret_before && next_moved(h, writes, write_count, &first, DTC_CALL_WRITE, &write)
				   ? write.begin_ns
				   : INT64_MAX;
	while (next_moved(h, reads, read_count, &at_read, DTC_CALL_READ, &taken)) {
		if (ret_before && taken.end_ns <= first_ns) {
			*ret_before += (uint64_t)taken.result;
			continue;
		}
		read += (uint64_t)taken.result;
		while (written < read) {
			if (!next_moved(h, writes, write_count, &at_write, DTC_CALL_WRITE, &write) ||
			    write.begin_ns >= taken.end_ns)
				return false;
			written += (uint64_t)write.result;
		}
	}
	*ret_read = read;
	return true;
}

/* At least one end read something, and nothing that the other one had not written. */
static bool fits(const DtcHistory *h, const struct local_end *asking, const struct local_end *asked)
{
	uint64_t questions = 0, answers = 0;
	return asking->begin_ns <= asked->begin_ns && get_file(h, asking->file)->peer == DTC_NONE &&
	       get_file(h, asked->file)->peer == DTC_NONE &&
	       may_have_given(h, asking->file, asked->file, &questions, NULL) &&
	       may_have_given(h, asked->file, asking->file, &answers, NULL) && questions + answers > 0;
}

static void pair(DtcHistory *h, const struct local_end *asking, const struct local_end *asked, bool is_inferred)
{
	struct dtc_file *a = get_file(h, asking->file), *b = get_file(h, asked->file);
	a->peer = asked->file;
	b->peer = asking->file;
	b->kind = DTC_FILE_SOCKET;
	a->pairing = b->pairing = is_inferred ? DTC_PAIRING_INFERRED : DTC_PAIRING_EXACT;
}

static int compare_ends(gconstpointer a, gconstpointer b)
{
	const struct local_end *x = a, *y = b;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static bool is_unix(const DtcHistory *h, const struct dtc_file *file)
{
	return strcmp(dtc_history_get_string(h, file->name), "unix socket") == 0;
}

/* A connect that succeeded, on a socket that no packet shows. */
static bool find_asking(const DtcHistory *h, uint32_t index, struct local_end *ret_end)
{
	const struct dtc_file *file = get_file(h, index);
	if (file->kind != DTC_FILE_SOCKET || file->peer != DTC_NONE || file->flow_out != DTC_NONE ||
	    file->accept != DTC_NONE || !is_unix(h, file))
		return false;
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, index, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_call call = dtc_history_copy_call(h, calls[i]);
		if (call.kind != DTC_CALL_CONNECT || call.result != 0)
			continue;
		*ret_end = (struct local_end){ index, call.begin_ns, calls[i] };
		return true;
	}
	return false;
}

/* What was accepted, or by a call of which the trace has no more than the exit, and what no packet shows. */
static bool find_asked(const DtcHistory *h, uint32_t index, struct local_end *ret_end)
{
	const struct dtc_file *file = get_file(h, index);
	bool is_accepted = file->kind == DTC_FILE_SOCKET && file->accept != DTC_NONE;
	bool is_unknown = file->kind == DTC_FILE_UNKNOWN && file->name == DTC_NONE && file->read_bytes > 0;
	if (file->peer != DTC_NONE || file->flow_out != DTC_NONE || (!is_accepted && !is_unknown))
		return false;
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, index, &count);
	if (!count)
		return false;
	int64_t begin_ns = is_accepted ? dtc_history_copy_call(h, file->accept).end_ns
				       : dtc_history_get_call_begin_ns(h, calls[0]);
	*ret_end = (struct local_end){ index, begin_ns, file->accept };
	return true;
}

/* The first call of a kind of a thread that ends after a time, of one turn: what the thread was woken for. */
static uint32_t find_next_call(const DtcHistory *h, uint32_t thread_index, int64_t time_ns, enum dtc_call_kind kind)
{
	const struct dtc_thread *thread = dtc_history_get_thread(h, thread_index);
	uint32_t at = dtc_history_find_call(h, thread_index, time_ns);
	if (at == DTC_NONE) /* it slept when the trace began */
		at = thread->call_first;
	for (uint32_t i = at; i < thread->call_first + thread->call_count; i++) {
		const struct dtc_call call = dtc_history_copy_call(h, i);
		if (call.kind == kind)
			return i;
		if (i > at && call.kind == DTC_CALL_POLL)
			break;
		if (i == at && call.kind != DTC_CALL_POLL)
			break;
	}
	return DTC_NONE;
}

/* The file of what a thread was woken for by a call of the asking end: what it accepted, or read; DTC_NONE. */
static uint32_t find_woken_for(const DtcHistory *h, const struct dtc_call *call, const struct dtc_wake *wake)
{
	bool connects = call->kind == DTC_CALL_CONNECT;
	uint32_t next = find_next_call(h, wake->target, wake->waking_ns, connects ? DTC_CALL_ACCEPT : DTC_CALL_READ);
	if (next == DTC_NONE)
		return DTC_NONE;
	const struct dtc_call woken = dtc_history_copy_call(h, next);
	if (!connects)
		return woken.file;
	return woken.result >= 0 && woken.result != DTC_ABSENT ? (uint32_t)woken.argument : DTC_NONE;
}

/* Pairs an end with the one whose thread its connect, or one of its writes, woke. */
static void pair_by_wakes(DtcHistory *h, const struct local_end *asking, const GHashTable *asked)
{
	uint32_t count, wake_count = dtc_history_get_wake_count(h);
	const uint32_t *calls = dtc_history_get_file_calls(h, asking->file, &count);
	for (uint32_t i = 0; i < count && get_file(h, asking->file)->peer == DTC_NONE; i++) {
		const struct dtc_call call = dtc_history_copy_call(h, calls[i]);
		if (call.end_ns == DTC_TIME_NONE || (calls[i] != asking->opening && !has_moved(&call, DTC_CALL_WRITE)))
			continue;
		uint32_t at = DTC_BISECT(k, 0, wake_count, dtc_history_get_waking_ns(h, k) < call.begin_ns);
		for (; at < wake_count && dtc_history_get_waking_ns(h, at) < call.end_ns; at++) {
			const struct dtc_wake wake = dtc_history_copy_wake(h, at);
			if (wake.waker != DTC_WAKER_THREAD || wake.thread != call.thread)
				continue;
			uint32_t file = find_woken_for(h, &call, &wake);
			const struct local_end *end =
				file == DTC_NONE ? NULL
						 : g_hash_table_lookup((GHashTable *)asked, GUINT_TO_POINTER(file));
			if (!end || !fits(h, asking, end))
				continue;
			pair(h, asking, end, wake.is_inferred);
			break;
		}
	}
}

/* It was accepted, and not from another machine: a trace that has no packets does not tell TCP from AF_UNIX. */
static bool is_given_in_order(const DtcHistory *h, const struct local_end *asked)
{
	const struct dtc_file *file = get_file(h, asked->file);
	return asked->opening != DTC_NONE && (is_unix(h, file) || dtc_packets_get_count(h->packets) > 0);
}

/* Each end read all that the other one had written. */
static bool is_whole(const DtcHistory *h, const struct local_end *asking, const struct local_end *asked)
{
	const struct dtc_file *a = get_file(h, asking->file), *b = get_file(h, asked->file);
	return a->read_bytes == b->written_bytes && b->read_bytes == a->written_bytes;
}

/*
 * In the order in which they were accepted: the first of those from begin on that was connected by then, and fits; or
 * whose bytes are just those.
 */
static void pair_in_order(DtcHistory *h, const GArray *asking, guint begin, const struct local_end *asked, bool wholly)
{
	for (guint i = begin, seen = 0; i < asking->len && seen < LOOK_BACK; i++) {
		const struct local_end *end = &g_array_index(asking, struct local_end, i);
		if (end->begin_ns > asked->begin_ns)
			break;
		if (get_file(h, end->file)->peer != DTC_NONE)
			continue;
		seen++;
		if ((!wholly || is_whole(h, end, asked)) && fits(h, end, asked)) {
			pair(h, end, asked, true);
			break;
		}
	}
}

static void pair_all_in_order(DtcHistory *h, const GArray *asking, const GArray *asked, bool wholly)
{
	guint begin = 0;
	for (guint i = 0; i < asked->len; i++) {
		const struct local_end *of = &g_array_index(asked, struct local_end, i);
		while (begin < asking->len &&
		       get_file(h, g_array_index(asking, struct local_end, begin).file)->peer != DTC_NONE)
			begin++;
		if (get_file(h, of->file)->peer == DTC_NONE && is_given_in_order(h, of))
			pair_in_order(h, asking, begin, of, wholly);
	}
}

/* --- from before the trace --- */

/* A socket of the state dump that no packet shows, and on which bytes moved. */
static bool is_older(const DtcHistory *h, uint32_t index)
{
	const struct dtc_file *file = get_file(h, index);
	return file->kind == DTC_FILE_SOCKET && file->peer == DTC_NONE && file->flow_out == DTC_NONE &&
	       file->accept == DTC_NONE && !file->listens && file->name != DTC_NONE &&
	       strchr(dtc_history_get_string(h, file->name), '[') && file->read_bytes + file->written_bytes > 0;
}

/* The first call that moved bytes on a file; false if there is none. */
static bool find_first_moved(const DtcHistory *h, uint32_t file, struct dtc_call *ret_call)
{
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	for (uint32_t i = 0; i < count; i++) {
		*ret_call = dtc_history_copy_call(h, calls[i]);
		if (has_moved(ret_call, DTC_CALL_READ) || has_moved(ret_call, DTC_CALL_WRITE))
			return true;
	}
	return false;
}

/* Whether a thread moved bytes on another socket in the calls before one of its own that began behind a time. */
static bool was_elsewhere(const DtcHistory *h, uint32_t index, int64_t since_ns)
{
	const struct dtc_call of = dtc_history_copy_call(h, index);
	uint32_t first = dtc_history_get_thread(h, of.thread)->call_first;
	for (uint32_t i = index, tried = 0; i > first && tried < TURN_CALLS; i--, tried++) {
		const struct dtc_call call = dtc_history_copy_call(h, i - 1);
		if (call.begin_ns < since_ns)
			break;
		if ((has_moved(&call, DTC_CALL_READ) || has_moved(&call, DTC_CALL_WRITE)) && call.file != DTC_NONE &&
		    call.file != of.file && get_file(h, call.file)->kind == DTC_FILE_SOCKET)
			return true;
	}
	return false;
}

/*
 * Of the writes to a file after which something had been read there: in how many of a thousand their thread talked to
 * others in between. -1: there are none.
 */
static int rate_elsewhere(const DtcHistory *h, uint32_t file)
{
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	int turns = 0, elsewhere = 0;
	int64_t read_ns = DTC_TIME_NONE;
	for (uint32_t i = 0; i < count && turns < LOOK_BACK; i++) {
		const struct dtc_call call = dtc_history_copy_call(h, calls[i]);
		if (has_moved(&call, DTC_CALL_READ)) {
			read_ns = call.end_ns;
		} else if (has_moved(&call, DTC_CALL_WRITE) && read_ns != DTC_TIME_NONE) {
			turns++;
			elsewhere += was_elsewhere(h, calls[i], read_ns);
			read_ns = DTC_TIME_NONE;
		}
	}
	return turns ? elsewhere * 1000 / turns : -1;
}

/* Whether the first of two ends asks the other one. */
static bool is_asking(const DtcHistory *h, uint32_t a, uint32_t b)
{
	int of_a = rate_elsewhere(h, a), of_b = rate_elsewhere(h, b);
	struct dtc_call x, y;
	if (of_a != of_b && of_a >= 0 && of_b >= 0)
		return of_a > of_b;
	if (!find_first_moved(h, a, &x))
		return false;
	return !find_first_moved(h, b, &y) || x.begin_ns < y.begin_ns ? x.kind == DTC_CALL_WRITE
								      : y.kind != DTC_CALL_WRITE;
}

/* Whether whoever moved bytes on a file is of one process. */
static bool is_of_process(const DtcHistory *h, uint32_t file, int32_t pid)
{
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_call call = dtc_history_copy_call(h, calls[i]);
		bool moves = call.kind == DTC_CALL_READ || call.kind == DTC_CALL_WRITE;
		if (moves && dtc_history_get_thread(h, call.thread)->pid != pid)
			return false;
	}
	return true;
}

/* Pairs two ends if all their bytes fit. With both ends in one process it is a pair that one call made. */
static bool pair_older(DtcHistory *h, uint32_t a, uint32_t b, int32_t own_pid)
{
	uint64_t there = 0, back = 0, before_there = 0, before_back = 0;
	if (a == b || get_file(h, b)->peer != DTC_NONE || !may_have_given(h, a, b, &there, &before_there) ||
	    !may_have_given(h, b, a, &back, &before_back) || there + back == 0 || before_there > G_MAXINT32 ||
	    before_back > G_MAXINT32)
		return false;
	const struct local_end x = { .file = a }, y = { .file = b };
	if (own_pid) {
		if (!is_of_process(h, a, own_pid) || !is_of_process(h, b, own_pid))
			return false;
		get_file(h, a)->peer = b;
		get_file(h, b)->peer = a;
		return true;
	}
	pair(h, &x, &y, true);
	get_file(h, b)->base_in = (uint32_t)before_there;
	get_file(h, a)->base_in = (uint32_t)before_back;
	get_file(h, is_asking(h, a, b) ? a : b)->asks = true;
	return true;
}

/* By a write that woke the reader of the other end. */
static void pair_by_older_wakes(DtcHistory *h, const GHashTable *older, uint32_t file)
{
	uint32_t count, wake_count = dtc_history_get_wake_count(h);
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	for (uint32_t i = 0, tried = 0; i < count && tried < LOOK_BACK; i++) {
		const struct dtc_call call = dtc_history_copy_call(h, calls[i]);
		if (!has_moved(&call, DTC_CALL_WRITE))
			continue;
		tried++;
		int32_t pid = dtc_history_get_thread(h, call.thread)->pid;
		uint32_t at = DTC_BISECT(k, 0, wake_count, dtc_history_get_waking_ns(h, k) < call.begin_ns);
		for (; at < wake_count && dtc_history_get_waking_ns(h, at) < call.end_ns; at++) {
			const struct dtc_wake wake = dtc_history_copy_wake(h, at);
			if (wake.waker != DTC_WAKER_THREAD || wake.thread != call.thread)
				continue;
			/* a loop's own, to be called by */
			bool is_own = dtc_history_get_thread(h, wake.target)->pid == pid;
			uint32_t other = find_woken_for(h, &call, &wake);
			if (other != DTC_NONE && g_hash_table_contains((GHashTable *)older, GUINT_TO_POINTER(other)) &&
			    pair_older(h, file, other, is_own ? pid : 0))
				return;
		}
	}
}

static void pair_all_older(DtcHistory *h)
{
	g_autoptr(GHashTable) older = g_hash_table_new(NULL, NULL);
	for (uint32_t i = 0; i < h->files->len; i++)
		if (is_older(h, i))
			g_hash_table_add(older, GUINT_TO_POINTER(i));
	if (g_hash_table_size(older) < 2)
		return;
	for (uint32_t i = 0; i < h->files->len; i++)
		if (get_file(h, i)->peer == DTC_NONE && g_hash_table_contains(older, GUINT_TO_POINTER(i)))
			pair_by_older_wakes(h, older, i);
}

void dtc_machine_pair_local_sockets(DtcMachine *m)
{
	DtcHistory *h = m->history;
	g_autoptr(GArray) asking = g_array_new(FALSE, FALSE, sizeof(struct local_end));
	g_autoptr(GArray) asked = g_array_new(FALSE, FALSE, sizeof(struct local_end));
	g_autoptr(GHashTable) by_file = g_hash_table_new(NULL, NULL);
	struct local_end end;
	for (uint32_t i = 0; i < h->files->len; i++)
		if (find_asking(h, i, &end))
			g_array_append_val(asking, end);
	for (uint32_t i = 0; i < h->files->len && asking->len; i++)
		if (find_asked(h, i, &end))
			g_array_append_val(asked, end);
	g_array_sort(asking, compare_ends);
	g_array_sort(asked, compare_ends);
	for (guint i = 0; i < asked->len; i++) {
		struct local_end *of = &g_array_index(asked, struct local_end, i);
		g_hash_table_insert(by_file, GUINT_TO_POINTER(of->file), of);
	}
	for (guint i = 0; i < asking->len; i++)
		pair_by_wakes(h, &g_array_index(asking, struct local_end, i), by_file);
	pair_all_in_order(h, asking, asked, true);
	pair_all_in_order(h, asking, asked, false);
	pair_all_older(h);
}
