/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that is an event: the span up to it, of the thread that ran when it happened, and perhaps from another event
 * on. Histories keep no events, so that the traces are read once more.
 */
#pragma once

#include "analyze/engine/question.h"

struct dtc_event_target {
	const char *until;		      /* NAME or NAME,FIELD=VALUE, as `events` prints them; NAME with * and ? */
	const char *since;		      /* the same, of where the span begins; or NULL */
	const struct dtc_thread_spec *thread; /* only until events at which it ran; NULL: whichever thread ran */
	const char *from;		      /* as of dtc_thread_spec_find: no event before; or NULL */
	const char *to;			      /* and none after; or NULL */
};

/* False with USAGE if that is not of the form, or has a field without a value. */
bool dtc_event_target_check(const char *option, const char *text, GError **error);
/*
 * The first event after from, and after the first since event, is where the span ends. until may be NULL: then thread
 * must not be, and the span begins with the since event. NOT_FOUND if there is none; else errors as of
 * dtc_question_set_thread. Reads the bundle of the engine once more.
 */
bool dtc_question_set_event(struct dtc_question *question, const DtcEngine *engine, const DtcBundle *bundle,
			    const struct dtc_event_target *target, DtcFindings *findings, GError **error);
