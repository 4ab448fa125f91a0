/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In whose context an event happened, where the event says so itself: LTTng's context "tid", of all events or of those
 * of one class, and the "perf_tid" that perf puts among the fields.
 */
#pragma once

#include "collect/read/event.h"

#include <babeltrace2/babeltrace.h>

enum dtc_ctf_scope { DTC_CTF_NOWHERE, DTC_CTF_COMMON, DTC_CTF_SPECIFIC, DTC_CTF_PAYLOAD };

struct dtc_ctf_event_thread {
	enum dtc_ctf_scope scope;
	bool is_signed;
	int member;
};

struct dtc_ctf_event_thread dtc_ctf_event_thread_find(const bt_event_class *class);
/* Sets has_tid and tid. */
void dtc_ctf_event_thread_read(const struct dtc_ctf_event_thread *thread, const bt_event *bt_event,
			       struct dtc_event *event);
