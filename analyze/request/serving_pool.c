/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/serving_build.h"

#include "analyze/edge/streams.h"

/* Calls that are looked at for the answer in a stream. */
#define STREAM_CALLS 64

/* A thread read a question. */
struct asked {
	const DtcServing *serving;
	guint node;
	struct dtc_call read;
};

static bool may_wait(gconstpointer data, guint other)
{
	const struct asked *asked = data;
	int64_t begin_ns = asked->read.begin_ns, end_ns = begin_ns + 1;

	dtc_serving_cut(asked->serving, other, asked->node, asked->read.thread, &begin_ns, &end_ns);
	return begin_ns < end_ns;
}

/* The first write in the question's stream after it; without streams, on the connection if nothing was read before. */
static uint32_t find_answer(const DtcServing *serving, guint node, const struct dtc_call *read, uint32_t stream)
{
	const DtcHistory *h = dtc_links_get_history(serving->links, node);
	const DtcFileCalls *calls = dtc_links_get_file_calls(serving->links, node, read->file);
	uint32_t answer = dtc_file_calls_find_moved(calls, true, read->begin_ns);
	uint32_t next = stream ? DTC_NONE : dtc_file_calls_find_moved(calls, false, read->end_ns);

	for (guint seen = 0; stream && answer != DTC_NONE && !dtc_streams_has(serving->links, node, answer, stream);
	     seen++)
		answer = seen == STREAM_CALLS
				 ? DTC_NONE
				 : dtc_file_calls_find_moved(calls, true, dtc_history_get_call_begin_ns(h, answer));
	bool is_late = answer != DTC_NONE && next != DTC_NONE &&
		       dtc_history_copy_call(h, next).end_ns < dtc_history_get_call_begin_ns(h, answer);
	return is_late ? DTC_NONE : answer;
}

void dtc_serving_mark_answer(DtcServing *serving, guint node, const struct mark *question)
{
	const DtcHistory *h = dtc_links_get_history(serving->links, node);
	const struct asked asked = { serving, node, dtc_history_copy_call(h, question->call) };

	if (dtc_datagrams_is_socket(h, asked.read.file) || asked.read.end_ns == DTC_TIME_NONE ||
	    (!question->stream &&
	     !dtc_unanswered_is_only(serving->unanswered, node, asked.read.file, question->request, may_wait, &asked)))
		return;
	uint32_t answer = find_answer(serving, node, &asked.read, question->stream);
	if (answer == DTC_NONE || dtc_history_copy_call(h, answer).thread == asked.read.thread)
		return;
	struct mark mark = *question;
	mark.call = answer;
	mark.upto = 0;
	mark.role = ROLE_NONE;
	mark.by_bytes = false;
	mark.ends = true;
	dtc_serving_add_mark(serving, node, &mark);
}
