/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/next_act.h"

#include "analyze/edge/room.h"
#include "analyze/edge/streams.h"
#include "analyze/exchange/endpoint.h"

/* Questions that one request asks one after the other; calls of one turn. */
#define ACTS_MAX 64
#define TURN_CALLS 4096
#define ROOM_CALLS 16 /* from such a poll to the write */

/* A loop waits there for what comes next. It may look for more without waiting when it has work at hand. */
static bool ends_turn(const struct dtc_call *call)
{
	return call->kind == DTC_CALL_POLL && call->argument != 0;
}

static bool moves(const DtcHistory *h, const struct dtc_call *call, enum dtc_call_kind kind)
{
	return call->kind == kind && call->result > 0 && call->file != DTC_NONE &&
	       dtc_history_get_file(h, call->file)->kind == DTC_FILE_SOCKET;
}

/* It only asks whether there is room for what the thread writes next. */
static bool asks_for_room(const DtcLinks *links, guint node, const struct dtc_thread *thread, uint32_t poll)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	uint32_t end = MIN(thread->call_first + thread->call_count, poll + ROOM_CALLS);

	for (uint32_t i = poll + 1; i < end; i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (moves(h, call, DTC_CALL_READ))
			return false;
		if (moves(h, call, DTC_CALL_WRITE))
			return dtc_room_find_poll(links, node, i) <= poll;
	}
	return false;
}

/* True when a look ends at its limit, which is counted. */
static bool is_too_far(const DtcLinks *links, uint32_t seen)
{
	if (seen < TURN_CALLS)
		return false;
	dtc_links_note_limit(links, DTC_LIMIT_TURN);
	return true;
}

/* Bytes that the turn of a read had read before from another connection, and on which it had not acted. */
static bool has_others(const DtcLinks *links, const DtcHistory *h, const struct dtc_thread *thread, uint32_t read)
{
	uint32_t file = dtc_history_copy_call(h, read).file;

	for (uint32_t i = read; i > thread->call_first && !is_too_far(links, read - i); i--) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, i - 1, &call_place);
		if (ends_turn(call) || moves(h, call, DTC_CALL_WRITE))
			return false;
		if (moves(h, call, DTC_CALL_READ) && call->file != file)
			return true;
	}
	return false;
}

/* The one write that follows from a read in its turn, before anything else is read; DTC_NONE: none, or several. */
static uint32_t find_act(const DtcLinks *links, guint node, uint32_t read)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_thread *thread = dtc_history_get_thread(h, dtc_history_copy_call(h, read).thread);
	uint32_t end = thread->call_first + thread->call_count, act = DTC_NONE;

	if (has_others(links, h, thread, read))
		return DTC_NONE;
	for (uint32_t i = read + 1; i < end && !is_too_far(links, i - read); i++) {
		struct dtc_call call_place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &call_place);
		if ((ends_turn(call) && !asks_for_room(links, node, thread, i)) || moves(h, call, DTC_CALL_READ))
			break;
		if (!moves(h, call, DTC_CALL_WRITE))
			continue;
		/* what is written to one file in pieces is one act */
		if (act != DTC_NONE && dtc_history_copy_call(h, act).file != call->file)
			return DTC_NONE;
		if (act == DTC_NONE)
			act = i;
	}
	return act;
}

/* The read of the answer to a question; DTC_NONE: another thread read it, or it cannot be told which it was. */
static uint32_t find_answer(const DtcLinks *links, guint node, uint32_t question)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_call call = dtc_history_copy_call(h, question);
	uint32_t read =
		dtc_datagrams_is_socket(h, call.file)
			? dtc_links_find_datagram_answer(links, node, question)
			: dtc_file_calls_find_answer(dtc_links_get_file_calls(links, node, call.file), question);

	return read == DTC_NONE || dtc_history_copy_call(h, read).thread != call.thread ? DTC_NONE : read;
}

uint32_t dtc_next_act_find_led_to(const DtcLinks *links, guint node, uint32_t read)
{
	const DtcHistory *h = dtc_links_get_history(links, node);

	for (guint seen = 0; read != DTC_NONE && seen < ACTS_MAX; seen++) {
		uint32_t act = find_act(links, node, read);
		if (act == DTC_NONE || dtc_endpoint_is_server(h, dtc_history_copy_call(h, act).file))
			return act;
		read = find_answer(links, node, act);
	}
	if (read != DTC_NONE)
		dtc_links_note_limit(links, DTC_LIMIT_TURN);
	return DTC_NONE;
}

uint32_t dtc_next_act_find_answer(const DtcLinks *links, guint node, uint32_t question)
{
	return dtc_next_act_find_led_to(links, node, find_answer(links, node, question));
}

/* The next write to the file of a call; DTC_NONE: the thread waits, reads, or writes elsewhere before. */
static uint32_t find_next_write(const DtcLinks *links, guint node, uint32_t id)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	const struct dtc_call from = dtc_history_copy_call(h, id);
	const struct dtc_thread *thread = dtc_history_get_thread(h, from.thread);

	for (uint32_t i = id + 1; i < thread->call_first + thread->call_count && !is_too_far(links, i - id); i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, i, &place);
		if (moves(h, call, DTC_CALL_WRITE))
			return call->file == from.file ? i : DTC_NONE;
		if (ends_turn(call) || moves(h, call, DTC_CALL_READ) || call->kind == DTC_CALL_ACCEPT)
			return DTC_NONE;
	}
	return DTC_NONE;
}

uint32_t dtc_next_act_find_peer(const DtcLinks *links, guint node, uint32_t id)
{
	uint32_t write = find_next_write(links, node, id);
	if (write == DTC_NONE)
		return 0;
	const struct dtc_call call = dtc_history_copy_call(dtc_links_get_history(links, node), write);
	if (dtc_datagrams_count(&call) > 1)
		return 0;
	return dtc_streams_get_of_datagram(links, node, (struct dtc_datagram){ write, 0 });
}
