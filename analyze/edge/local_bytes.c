/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/local_bytes.h"

#include <errno.h>

bool dtc_local_bytes_is_local(const DtcHistory *history, uint32_t file_index)
{
	const struct dtc_file *file = dtc_history_get_file(history, file_index);

	if (file->kind == DTC_FILE_EVENT || file->kind == DTC_FILE_PIPE)
		return true;
	return file->kind == DTC_FILE_SOCKET && file->peer != DTC_NONE &&
	       (file->pairing == DTC_PAIRING_NONE || file->pid == dtc_history_get_file(history, file->peer)->pid);
}

bool dtc_local_bytes_is_named(const DtcHistory *history, uint32_t file_index)
{
	const struct dtc_file *file = dtc_history_get_file(history, file_index);

	return file->kind == DTC_FILE_PIPE && file->peer == DTC_NONE && file->name != DTC_NONE &&
	       g_str_has_prefix(dtc_history_get_string(history, file->name), "pipe:[");
}

const uint32_t *dtc_local_bytes_get_writes(const DtcHistory *history, uint32_t file_index, uint32_t *ret_count)
{
	const struct dtc_file *file = dtc_history_get_file(history, file_index);

	*ret_count = 0;
	if (file->kind == DTC_FILE_EVENT)
		return dtc_history_get_file_calls(history, file_index, ret_count);
	/* a connection over loopback goes by its packets */
	return file->peer == DTC_NONE ? NULL : dtc_history_get_file_calls(history, file->peer, ret_count);
}

bool dtc_local_bytes_begin(struct dtc_local_bytes_walk *walk, const DtcHistory *history, uint32_t file)
{
	*walk = (struct dtc_local_bytes_walk){ .history = history };
	walk->is_counter = dtc_history_get_file(history, file)->kind == DTC_FILE_EVENT;
	walk->is_inferred = dtc_history_get_file(history, file)->pairing == DTC_PAIRING_INFERRED;
	walk->writes = dtc_local_bytes_get_writes(history, file, &walk->write_count);
	walk->reads = dtc_history_get_file_calls(history, file, &walk->read_count);
	return walk->writes != NULL;
}

void dtc_local_bytes_begin_named(struct dtc_local_bytes_walk *walk, const DtcHistory *history, const uint32_t *calls,
				 uint32_t count)
{
	*walk = (struct dtc_local_bytes_walk){ .history = history,
					       .reads = calls,
					       .writes = calls,
					       .read_count = count,
					       .write_count = count,
					       .is_inferred = true };
}

static bool has_moved(const struct dtc_call *call, enum dtc_call_kind kind)
{
	return call->kind == kind && call->result != DTC_ABSENT && call->result > 0 && call->end_ns != DTC_TIME_NONE &&
	       !dtc_call_counts_messages(call);
}

static void leave_read(struct dtc_local_bytes_walk *walk, const struct dtc_call *read)
{
	if (has_moved(read, DTC_CALL_READ))
		walk->taken += (uint64_t)read->result;
	walk->read++;
	walk->has_given = false;
}

static void leave_write(struct dtc_local_bytes_walk *walk, const struct dtc_call *write)
{
	if (has_moved(write, DTC_CALL_WRITE))
		walk->given += (uint64_t)write->result;
	walk->write++;
}

/*
 * When a read found nothing, all that had been written by then was taken. If a call was lost, or what was there before
 * the trace was more than nothing, the count is right again from there on.
 */
static void empty(struct dtc_local_bytes_walk *walk, int64_t at_ns)
{
	for (; walk->write < walk->write_count; walk->write++) {
		struct dtc_call place;
		const struct dtc_call *write = dtc_history_get_call(walk->history, walk->writes[walk->write], &place);
		if (has_moved(write, DTC_CALL_WRITE) && write->end_ns > at_ns)
			break;
	}
	walk->given = walk->taken;
}

/* When a read began to sleep until something came; DTC_TIME_NONE: it did not. For a lock nobody can interrupt it. */
static int64_t find_sleep_ns(const DtcHistory *h, const struct dtc_call *read)
{
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_get_plain_after(h, read->thread, read->begin_ns, &place);

	while (v && v->begin_ns < read->end_ns && v->state != DTC_STATE_WAIT)
		v = dtc_history_get_next_plain(h, &place);
	return v && v->begin_ns < read->end_ns ? v->begin_ns : DTC_TIME_NONE;
}

/*
 * Whether a read slept before the next write to be given to it: then it is not for that, since it would have been there
 * already. A pool of processes told of its work by a pipe whose reads always sleep: when one read was lost, each of all
 * that followed was given what the one before it had taken.
 */
static bool leaves_taken(struct dtc_local_bytes_walk *walk, const struct dtc_call *write, const struct dtc_call *read)
{
	if (walk->has_given || walk->given > walk->taken || write->end_ns > read->begin_ns)
		return false;
	int64_t sleep_ns = find_sleep_ns(walk->history, read);
	if (sleep_ns == DTC_TIME_NONE)
		return false;
	empty(walk, sleep_ns);
	return true;
}

/* Whether the positions are those that the calls had when they returned; else their order is not that of their begins.
 */
static bool is_in_order(const struct dtc_local_bytes_walk *walk, const struct dtc_call *write,
			const struct dtc_call *read)
{
	/* of what was in an eventfd before the read began, and of the write that ended its wait, there is no doubt */
	if (walk->is_inferred)
		return false;
	if (walk->is_counter)
		return !walk->has_given || write->end_ns <= read->begin_ns;
	return write->offset == walk->given && read->offset == walk->taken;
}

/* The next write gives bytes to the next read: both are told, and what is used up is left. */
static void give(struct dtc_local_bytes_walk *walk, const struct dtc_call *write, const struct dtc_call *read,
		 struct dtc_local_bytes *ret_bytes)
{
	uint64_t end = walk->taken + (uint64_t)read->result;

	*ret_bytes = (struct dtc_local_bytes){
		.write = walk->writes[walk->write],
		.read = walk->reads[walk->read],
		.link = is_in_order(walk, write, read) ? DTC_LINK_EXACT : DTC_LINK_INFERRED,
	};
	if (walk->is_counter) {
		ret_bytes->bytes = (uint64_t)write->result;
		leave_write(walk, write);
		walk->has_given = true;
		return;
	}
	uint64_t write_end = walk->given + (uint64_t)write->result;
	ret_bytes->bytes = MIN(write_end, end) - MIN(MAX(walk->given, walk->taken), MIN(write_end, end));
	if (write_end <= end)
		leave_write(walk, write);
	if (write_end >= end)
		leave_read(walk, read);
}

bool dtc_local_bytes_next(struct dtc_local_bytes_walk *walk, struct dtc_local_bytes *ret_bytes)
{
	while (walk->read < walk->read_count && walk->write < walk->write_count) {
		struct dtc_call read_place;
		const struct dtc_call *read = dtc_history_get_call(walk->history, walk->reads[walk->read], &read_place);
		struct dtc_call write_place;
		const struct dtc_call *write =
			dtc_history_get_call(walk->history, walk->writes[walk->write], &write_place);
		if (!has_moved(read, DTC_CALL_READ)) {
			if (read->kind == DTC_CALL_READ && read->result == -EAGAIN)
				empty(walk, read->begin_ns);
			leave_read(walk, read);
		} else if (!has_moved(write, DTC_CALL_WRITE)) {
			leave_write(walk, write);
		} else if (write->begin_ns >= read->end_ns) {
			leave_read(walk, read);
			walk->given = MAX(walk->given, walk->taken);
		} else if (!leaves_taken(walk, write, read)) {
			give(walk, write, read, ret_bytes);
			/* who talks to himself (a pipe into the own poll) hands nothing over */
			if (write->thread != read->thread)
				return true;
		}
	}
	return false;
}
