/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/room.h"

#include <sys/epoll.h>

/* Calls that are looked at: far more than such a turn has. */
#define LOOK_BACK 256

static bool has_waited(const DtcHistory *h, const struct dtc_call *call)
{
	int64_t at_ns = call->end_ns;
	while (at_ns > call->begin_ns) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(h, call->thread, at_ns, &place);
		if (!v || v->end_ns <= call->begin_ns)
			break;
		if (dtc_state_is_wait(v->state))
			return true;
		at_ns = v->begin_ns;
	}
	return false;
}

/* It asks to be told of room, of that file as far as the trace tells. */
static bool is_change(const struct dtc_call *call, uint32_t file)
{
	return call->kind == DTC_CALL_REGISTER && call->operation == EPOLL_CTL_MOD &&
	       (call->argument == DTC_NONE || call->argument == file);
}

/* Whether the last poll that could be told of room is near enough, and nothing was read behind it. */
static bool may_have_polled(const DtcLinks *links, guint node, uint32_t first, uint32_t write)
{
	DtcTurnMarks *marks = dtc_links_get_turn_marks(links, node);
	uint32_t poll = dtc_turn_marks_find_poll(marks, write - MIN(write - first, LOOK_BACK), write);
	return poll != DTC_NONE && dtc_turn_marks_find_read(marks, poll, write) == DTC_NONE;
}

uint32_t dtc_room_find_poll(const DtcLinks *links, guint node, uint32_t write)
{
	const DtcHistory *h = dtc_links_get_history(links, node);
	struct dtc_call place;
	const struct dtc_call *call = dtc_history_get_call(h, write, &place);
	uint32_t first = dtc_history_get_thread(h, call->thread)->call_first, found = write, file = call->file;
	bool has_asked = false;
	if (!may_have_polled(links, node, first, write))
		return write;
	for (uint32_t i = write, seen = 0; i-- > first && seen < LOOK_BACK; seen++) {
		call = dtc_history_get_call(h, i, &place);
		if (call->kind == DTC_CALL_ACCEPT || (call->kind == DTC_CALL_READ && call->result > 0))
			return has_asked ? found : write;
		if (call->kind == DTC_CALL_CONNECT) /* the poll told that it is done */
			return write;
		has_asked |= found != write && is_change(call, file);
		if (call->kind != DTC_CALL_POLL || dtc_call_is_glance(call))
			continue;
		if (call->end_ns == DTC_TIME_NONE || call->result <= 0 || has_waited(h, call))
			return has_asked ? found
					 : write; /* something else ended it, or a timer: the turn begins here */
		found = i;
	}
	return has_asked ? found : write;
}
