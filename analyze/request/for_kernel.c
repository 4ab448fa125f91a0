/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/for_kernel.h"

#include <dtrace-chain/bisect.h>

/* Calls of a daemon's other threads between the question that one of them read and the answer. */
#define CALLS_MAX 4096

static bool is_named(const DtcHistory *h, const struct dtc_file *file, const char *const *names)
{
	const char *name = file->name == DTC_NONE ? NULL : dtc_history_get_string(h, file->name);
	return name && g_strv_contains(names, name);
}

/* By position in the stream of questions, and not in a file: read, readv, splice and their like. */
static bool is_plain(const DtcHistory *h, const struct dtc_call *call)
{
	static const char *const names[] = { "read", "readv", "write", "writev", "splice", NULL };
	return g_strv_contains(names, dtc_history_get_string(h, call->name));
}

/* /dev/fuse, permissions that fanotify asks for, or a file of which no name is known. */
static bool may_be_asked(const DtcHistory *h, uint32_t id)
{
	static const char *const names[] = { "/dev/fuse", "fanotify_init", "anon_inode:[fanotify]", NULL };
	const struct dtc_file *file = dtc_history_get_file(h, id);
	if (file->kind == DTC_FILE_EVENT || (file->kind == DTC_FILE_PATH && file->name != DTC_NONE))
		return is_named(h, file, names);
	return (file->kind == DTC_FILE_PATH || file->kind == DTC_FILE_UNKNOWN) && file->flow_out == DTC_NONE &&
	       file->peer == DTC_NONE;
}

/* The last that the thread did with the file before it wrote there was to read something. */
static bool answers(const DtcHistory *h, uint32_t index)
{
	const struct dtc_call write = dtc_history_copy_call(h, index);
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, write.file, &count);
	uint32_t i = DTC_BISECT(k, 0, count, dtc_history_get_call_begin_ns(h, calls[k]) < write.begin_ns);
	for (uint32_t seen = 0; i-- > 0 && seen < CALLS_MAX; seen++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, calls[i], &place);
		if (call->thread == write.thread)
			return call->kind == DTC_CALL_READ && call->result > 0 && is_plain(h, call);
	}
	return false;
}

/* An answer of fanotify's wakes all that wait for one: whose it was goes on, the others sleep again in their calls. */
static bool sleeps_again(const DtcHistory *h, const struct dtc_interval *slept)
{
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_get_interval_after(h, slept->thread, slept->end_ns, &place);
	while (v && !dtc_state_is_wait(v->state))
		v = dtc_history_get_next_interval(h, &place);
	return v && v->call == slept->call;
}

/* A call that may wait for a file system. */
static bool is_of_files(const DtcHistory *h, const struct dtc_call *call)
{
	switch (call->kind) {
	case DTC_CALL_READ:
	case DTC_CALL_WRITE:
	case DTC_CALL_SYNC:
	case DTC_CALL_OPEN:
	case DTC_CALL_CLOSE:
	case DTC_CALL_EXEC:
	case DTC_CALL_OTHER:
		break;
	default:
		return false;
	}
	const struct dtc_file *file = call->file == DTC_NONE ? NULL : dtc_history_get_file(h, call->file);
	return !file || file->kind == DTC_FILE_PATH || file->kind == DTC_FILE_UNKNOWN;
}

bool dtc_for_kernel_is_answer(const DtcHistory *h, const struct dtc_wake *wake, int64_t *ret_slept_ns)
{
	static const char *const pager[] = { "userfaultfd", "anon_inode:[userfaultfd]", NULL };
	struct dtc_call place, slept_place;
	struct dtc_interval wait_place;
	if (wake->waker != DTC_WAKER_THREAD || wake->is_inferred || wake->signal)
		return false;
	uint32_t index = dtc_history_find_call(h, wake->thread, wake->waking_ns);
	const struct dtc_call *call = index == DTC_NONE ? NULL : dtc_history_get_call(h, index, &place);
	if (!call || call->file == DTC_NONE || (call->kind != DTC_CALL_WRITE && call->kind != DTC_CALL_OTHER))
		return false;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, wake->target, wake->waking_ns, &wait_place);
	if (!v || v->end_ns != wake->waking_ns || !dtc_state_is_wait(v->state) || v->state == DTC_STATE_STOPPED)
		return false;
	*ret_slept_ns = v->begin_ns;
	if (v->call == DTC_NONE)
		return call->kind == DTC_CALL_OTHER && is_named(h, dtc_history_get_file(h, call->file), pager);
	if (call->kind != DTC_CALL_WRITE || !is_plain(h, call) || !may_be_asked(h, call->file))
		return false;
	if (dtc_history_get_file(h, call->file)->kind == DTC_FILE_EVENT && sleeps_again(h, v))
		return false;
	return is_of_files(h, dtc_history_get_call(h, v->call, &slept_place)) && answers(h, index);
}
