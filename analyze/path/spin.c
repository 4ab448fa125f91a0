/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/spin.h"

#include "collect/read/event.h"

#include <errno.h>
#include <string.h>

#define CALLS_MIN 16
#define SHORT_SLEEP_NS 1000000

enum yield { IN_VAIN, NEUTRAL, FRUITFUL };

/* What a look-up of clocks and ids says of a loop is nothing. */
static bool is_neutral(const char *name)
{
	static const char *const names[] = { "clock_gettime", "gettimeofday", "time", "getpid", "gettid", "getcpu" };
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static enum yield classify(const DtcHistory *history, const struct dtc_call *call)
{
	const char *name = dtc_history_get_string(history, call->name);
	bool is_short = call->end_ns != DTC_TIME_NONE && call->end_ns - call->begin_ns <= SHORT_SLEEP_NS;
	switch ((enum dtc_call_kind)call->kind) {
	case DTC_CALL_SLEEP:
		return is_short ? IN_VAIN : FRUITFUL;
	case DTC_CALL_POLL:
		return is_short && call->result == 0 ? IN_VAIN : FRUITFUL;
	case DTC_CALL_READ:
	case DTC_CALL_WRITE:
	case DTC_CALL_PEEK:
	case DTC_CALL_ACCEPT:
	case DTC_CALL_FUTEX:
		return call->result == -EAGAIN ? IN_VAIN : FRUITFUL;
	default:
		return strcmp(name, "sched_yield") == 0 ? IN_VAIN : is_neutral(name) ? NEUTRAL : FRUITFUL;
	}
}

bool dtc_spin_find_polling(const DtcHistory *history, uint32_t thread, DtcNodeTime begin, DtcNodeTime end,
			   struct dtc_polling *ret_polling)
{
	const struct dtc_thread *t = dtc_history_get_thread(history, thread);
	uint32_t last = t->call_first + t->call_count, first = dtc_history_find_call(history, thread, begin.ns);
	struct dtc_polling now = { 0 }, longest = { 0 };
	for (uint32_t i = first == DTC_NONE ? t->call_first : first; i < last; i++) {
		const struct dtc_call *call = dtc_history_get_call(history, i);
		if (call->begin_ns >= end.ns)
			break;
		if (call->begin_ns < begin.ns || call->end_ns == DTC_TIME_NONE)
			continue;
		enum yield yield = classify(history, call);
		if (yield == FRUITFUL)
			now.count = 0;
		if (yield != IN_VAIN)
			continue;
		if (now.count++ == 0) {
			now.begin_ns = call->begin_ns;
			now.call = i;
		}
		now.end_ns = MIN(call->end_ns, end.ns);
		if (now.count >= CALLS_MIN && now.end_ns - now.begin_ns > longest.end_ns - longest.begin_ns)
			longest = now;
	}
	if (!longest.count)
		return false;
	*ret_polling = longest;
	return true;
}
