/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this machine and these rights can record, and what will be missing: asked before anything is created. */
#pragma once

#include "collect/record/events.h"
#include "collect/record/tracer.h"

#include <glib.h>
#include <stdbool.h>

enum dtc_verdict {
	DTC_VERDICT_GOOD,
	DTC_VERDICT_LACKING, /* it records, and something will be missing */
	DTC_VERDICT_BAD,     /* it cannot record */
};

struct dtc_preflight_check {
	enum dtc_verdict verdict;
	const char *subject; /* a word or two; static */
	char *text;	     /* owned */
	char *hint;	     /* owned: what to do; or NULL */
};

struct dtc_preflight_request {
	const struct dtc_tracer_kind *tracer;
	enum dtc_event_set set;
	const char *event_list; /* as for dtc_events_choose */
	bool has_guests;	/* virtual machines are looked for */
	gsize buffer_bytes;	/* for each CPU */
	gsize capture_bytes;	/* buffer of the captures; 0: no packets */
	const char *node_folder;
	double seconds; /* 0: nobody knows */
	bool seals;	/* which takes the same space again */
};

/* Free with g_ptr_array_unref (struct dtc_preflight_check). */
GPtrArray *dtc_preflight(const struct dtc_preflight_request *request);
/* The first that is bad; NULL: it can record. Borrowed. */
const struct dtc_preflight_check *dtc_preflight_find_bad(const GPtrArray *checks);

/* The pieces that a file's text decides, for tests. */
/* As /sys/kernel/security/lockdown has it: the word in brackets is "confidentiality". */
bool dtc_preflight_is_locked_down(const char *text);
/* MemAvailable of /proc/meminfo in bytes; 0: not told. */
guint64 dtc_preflight_get_available_memory(const char *meminfo);
