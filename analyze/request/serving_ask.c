/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/serving_scan_build.h"

#include "analyze/edge/streams.h"
#include "analyze/request/correlated.h"
#include "analyze/request/next_act.h"

static uint32_t find_next(const struct scan *scan, uint32_t file, uint32_t stream, bool written, int64_t time_ns)
{
	return dtc_streams_find_next(scan->serving->links, scan->worker->node, file, stream, written, time_ns);
}

guint dtc_scan_find_led_to(const struct scan *scan, int64_t at_ns, uint32_t answer)
{
	if (answer == DTC_NONE)
		return STRANGER;
	uint32_t file = dtc_history_copy_call(scan->history, answer).file, channel = file, stream = 0;
	struct dtc_streams streams;
	dtc_streams_look(scan->serving->links, scan->worker->node, answer, &streams);
	if (streams.is_known) {
		if (streams.count != 1)
			return STRANGER;
		stream = streams.streams[0];
		channel = dtc_channels_get_number(scan->channels, file, stream);
	}
	if (!dtc_questions_is_open(scan->questions, channel))
		return STRANGER;
	const struct dtc_channel *c = dtc_channels_find(scan->channels, channel);

	if (dtc_channel_is_mixed(c)) /* that it answers one of them is all that is known */
		return STRANGER;
	/* a stream has one answer, and on any other connection it is the next one */
	bool is_its = stream || find_next(scan, file, 0, true, at_ns) == answer;
	return is_its ? c->request : STRANGER;
}

struct asked dtc_scan_get_asked(const struct scan *scan, const struct moved *write)
{
	bool is_plain = !write->stream && !dtc_datagrams_is_socket(scan->history, write->call->file);
	uint32_t told =
		is_plain ? dtc_correlated_find_answer(scan->serving->links, scan->worker->node, write->id) : DTC_NONE;
	uint32_t answer = told != DTC_NONE
				  ? told
				  : find_next(scan, write->call->file, write->stream, false, write->call->begin_ns);

	return (struct asked){ scan, write->call->begin_ns,
			       answer == DTC_NONE ? INT64_MIN : dtc_history_copy_call(scan->history, answer).end_ns,
			       told };
}

bool dtc_scan_may_be_for(gconstpointer data, guint request)
{
	const struct asked *asked = data;
	const struct worker *worker = asked->scan->worker;
	int64_t last_ns = MAX(asked->at_ns, asked->answered_ns), begin_ns = asked->at_ns, end_ns = last_ns;

	dtc_serving_cut(asked->scan->serving, request, worker->node, worker->thread, &begin_ns, &end_ns);
	return begin_ns == asked->at_ns && end_ns == last_ns;
}

guint dtc_scan_find_correlated(const struct scan *scan, const struct asked *asked)
{
	if (asked->answer == DTC_NONE ||
	    dtc_history_copy_call(scan->history, asked->answer).thread != scan->worker->thread)
		return STRANGER;
	uint32_t answer = dtc_next_act_find_led_to(scan->serving->links, scan->worker->node, asked->answer);
	guint request = dtc_scan_find_led_to(scan, asked->at_ns, answer);
	return request < STRANGER && dtc_scan_may_be_for(asked, request) ? request : STRANGER;
}

guint dtc_scan_find_asker(struct scan *scan, const struct dtc_channel *c, const struct asked *asked,
			  const struct moved *write, guint *ret_other)
{
	uint32_t answer = asked->answer != DTC_NONE
				  ? DTC_NONE /* what it leads to was looked at */
				  : dtc_next_act_find_answer(scan->serving->links, scan->worker->node, write->id);
	guint led_to = dtc_scan_find_led_to(scan, write->call->begin_ns, answer), first = STRANGER, other;

	if (scan->is_put_off)
		first = dtc_turn_order_find(&scan->order, STRANGER, dtc_scan_may_be_for, asked, STRANGER);
	if (led_to < STRANGER && dtc_scan_may_be_for(asked, led_to)) {
		if (!c->in_flight && first < STRANGER && first != led_to && dtc_questions_waits(scan->questions, first))
			*ret_other = first;
		return led_to;
	}
	if (first < STRANGER)
		other = dtc_turn_order_find(&scan->order, first, dtc_scan_may_be_for, asked, STRANGER);
	else if (c->answered)
		first = dtc_questions_find_longest(scan->questions, dtc_scan_may_be_for, asked, &other);
	else
		return STRANGER;
	guint twin = GPOINTER_TO_UINT(g_hash_table_lookup(scan->twins, GUINT_TO_POINTER(first)));
	if (other < STRANGER && dtc_questions_waits(scan->questions, other) && dtc_scan_may_be_for(asked, other))
		*ret_other = other;
	else if (twin && dtc_scan_may_be_for(asked, twin - 1)) /* then this one may be that one's */
		*ret_other = twin - 1;
	return first;
}
