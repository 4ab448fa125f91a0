/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/calling.h"

#include <dtrace-chain/bisect.h>

/* Calls of a thread before its read that are looked at for a poll. */
#define TURN_CALLS 16
/* Calls of the descriptor, before and after a write, that are looked at for its readers. */
#define CALLS_NEAR 64

bool dtc_calling_is_call(const DtcHistory *h, const struct dtc_call *call)
{
	if (call->kind != DTC_CALL_WRITE || call->result <= 0 || call->file == DTC_NONE)
		return false;
	uint8_t kind = dtc_history_get_file(h, call->file)->kind;
	return kind == DTC_FILE_EVENT || kind == DTC_FILE_PIPE;
}

void dtc_calling_note(DtcServing *serving, guint node, uint32_t call, guint request, guint other)
{
	const struct message message = { .node = node, .call = call, .request = request, .other = other };
	g_array_append_val(serving->messages, message);
}

/* What is read of it. */
static uint32_t get_read_file(const DtcHistory *h, uint32_t file)
{
	const struct dtc_file *of = dtc_history_get_file(h, file);
	return of->kind == DTC_FILE_PIPE ? of->peer : file;
}

/* The one read of a file's calls that took what a write gave, by the only thread that reads there; or DTC_NONE. */
static uint32_t find_read(const DtcHistory *h, uint32_t file, const struct dtc_call *write, int64_t *ret_before_ns)
{
	uint32_t count, found = DTC_NONE, reader = DTC_NONE;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	uint32_t at = DTC_BISECT(k, 0, count, dtc_history_get_call_begin_ns(h, calls[k]) < write->begin_ns);
	*ret_before_ns = INT64_MIN;
	for (uint32_t i = at - MIN(at, CALLS_NEAR); i < count && i < at + CALLS_NEAR; i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, calls[i], &place);
		if (call->kind != DTC_CALL_READ || call->result <= 0 || call->end_ns == DTC_TIME_NONE)
			continue;
		if (reader != DTC_NONE && reader != call->thread)
			return DTC_NONE;
		reader = call->thread;
		if (call->end_ns <= write->begin_ns)
			*ret_before_ns = call->end_ns;
		else if (found == DTC_NONE)
			found = calls[i];
	}
	return found;
}

/* Whether nothing else was written in a span, but by the same thread. */
static bool is_only_write(const DtcHistory *h, const struct dtc_call *write, int64_t begin_ns, int64_t end_ns)
{
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, write->file, &count);
	uint32_t i = DTC_BISECT(k, 0, count, dtc_history_get_call_begin_ns(h, calls[k]) < begin_ns);
	for (; i < count; i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, calls[i], &place);
		if (call->begin_ns > end_ns)
			break;
		if (call->kind == DTC_CALL_WRITE && call->begin_ns != write->begin_ns)
			return false;
	}
	return true;
}

/* Whether a thread reads because a poll has told it to. */
static bool has_polled(const DtcHistory *h, uint32_t read, uint32_t thread)
{
	uint32_t first = dtc_history_get_thread(h, thread)->call_first;
	for (uint32_t i = read; i-- > first && read - i <= TURN_CALLS;)
		if (dtc_history_copy_call(h, i).kind == DTC_CALL_POLL)
			return true;
	return false;
}

void dtc_calling_deliver(DtcServing *serving, const struct message *message)
{
	const DtcHistory *h = dtc_links_get_history(serving->links, message->node);
	const struct dtc_call write = dtc_history_copy_call(h, message->call);
	uint32_t file = get_read_file(h, write.file);
	int64_t before_ns;
	uint32_t read = file == DTC_NONE ? DTC_NONE : find_read(h, file, &write, &before_ns);
	if (read == DTC_NONE)
		return;
	const struct dtc_call taken = dtc_history_copy_call(h, read);
	if (taken.thread == write.thread || !has_polled(h, read, taken.thread) ||
	    dtc_history_get_thread(h, taken.thread)->pid != dtc_history_get_thread(h, write.thread)->pid ||
	    !is_only_write(h, &write, before_ns, taken.end_ns))
		return;
	const struct mark mark = dtc_mark_of_message(message, read);
	dtc_serving_add_mark(serving, message->node, &mark);
}
