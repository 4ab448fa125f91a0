/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For which descriptors a poll returned. poll tells their numbers; epoll_wait the data that epoll_ctl was given for
 * them, which is the number (asyncio, HAProxy, libuv, redis) or a pointer (nginx, PostgreSQL, Go). Python sets the
 * lower half only. Of a set whose data are numbers, one that was registered before the trace is known, too.
 */
#include "analyze/state/machine_state.h"

#include <dtrace-chain/hash.h>

#include <string.h>

/* include/uapi/linux/eventpoll.h */
#define EPOLL_CTL_DEL 2

guint dtc_registration_hash(gconstpointer registration)
{
	const struct dtc_registration *r = registration;
	return dtc_hash_int64(&r->data) ^ (r->set * 0x9e3779b1u);
}

gboolean dtc_registration_equal(gconstpointer a, gconstpointer b)
{
	const struct dtc_registration *x = a, *y = b;
	return x->data == y->data && x->set == y->set;
}

uint32_t dtc_machine_register(DtcMachine *m, uint32_t thread, const struct dtc_event *event)
{
	int64_t set = event->v[DTC_CALL_FD], fd = event->v[DTC_CALL_FD2], data = event->v[DTC_CALL_VALUE];
	if (set < 0 || set > INT32_MAX || fd < 0 || fd > INT32_MAX || event->v[DTC_CALL_OP] == EPOLL_CTL_DEL)
		return DTC_NONE;
	uint32_t file = dtc_machine_get_file(m, thread, set), of = dtc_machine_get_file(m, thread, fd);
	if (data == DTC_ABSENT)
		return of;
	if ((uint32_t)data == (uint32_t)fd) {
		g_hash_table_add(m->numbered, GUINT_TO_POINTER(file));
		return of;
	}
	struct dtc_registration *registration = g_new(struct dtc_registration, 1);
	*registration = (struct dtc_registration){ data, file, of };
	g_hash_table_add(m->registered, registration);
	return of;
}

static uint32_t find_ready(DtcMachine *m, const struct dtc_call *call, bool is_data, int64_t value)
{
	if (is_data) {
		const struct dtc_registration key = { value, call->file, DTC_NONE };
		const struct dtc_registration *registration = g_hash_table_lookup(m->registered, &key);
		if (registration)
			return registration->file;
		if (!g_hash_table_contains(m->numbered, GUINT_TO_POINTER(call->file)))
			return DTC_NONE;
		value = (uint32_t)value;
	}
	return value < 0 || value > INT32_MAX ? DTC_NONE : dtc_machine_get_file(m, call->thread, value);
}

void dtc_machine_keep_ready(DtcMachine *m, uint32_t index, const struct dtc_event *event)
{
	DtcHistory *h = m->history;
	const struct dtc_call call = *DTC_AT(h->filling->calls, struct dtc_call, index);
	uint32_t none = DTC_NONE, first = h->ready->len;
	if (call.kind != DTC_CALL_POLL || !event->ready_count || call.result == DTC_ABSENT || call.result <= 0)
		return;
	for (guint i = 0; i < event->ready_count; i++) {
		uint32_t file = find_ready(m, &call, event->is_ready_data, event->ready[i]);
		if (file != DTC_NONE)
			dtc_table_append(h->ready, &file);
	}
	uint32_t known = h->ready->len - first;
	if (known && known < call.result)
		dtc_table_append(h->ready, &none);
	if (known)
		DTC_AT(h->filling->calls, struct dtc_call, index)->offset = DTC_READY_AT(first, h->ready->len - first);
}
