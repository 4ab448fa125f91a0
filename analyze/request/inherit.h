/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside the table of work: threads that serve nobody by their own calls, and work for whoever woke them. A loop that
 * works for a request gives a piece of it to a thread of its process, which sleeps on a futex until then: from the
 * wakeup on that one works for the same request, until it calls the loop (a write to an eventfd or pipe) or goes back
 * to the sleep that it was woken from. A lock that threads hand each other (lock_words.h) neither begins nor ends that:
 * with Python's, threads of an executor beside a busy loop had been at whatever the loop did last. What it may take up
 * by itself in between is not seen. So does a thread that is made for a piece of work, until it first sleeps, and a
 * worker process that is told what to do (told.h), also by a thread that inherits: a queue's writes to the pipe. One
 * whose calls tell for whom it works was told besides, for where they do not. A piece ends, too, when the thread wakes
 * who waits for it, and that one's request tells what a piece was for which nobody had woken the thread (give_back.h).
 * A process that is made for a request works for it (made_for.h). What woke another thread of the process last before
 * it was done is a piece that somebody waited for (spawn_blocking of tokio); who writes a log wakes nobody.
 */
#pragma once

#include "analyze/request/serving.h"

/* What a thread was woken, or made, for by another one of its process, and when it is done; node time. */
struct dtc_handed {
	uint32_t giver;
	uint32_t thread;
	int64_t begin_ns;
	int64_t end_ns;
	bool is_told; /* by another process (told.h), or it is by the end that it is known (give_back.h) */
};

/*
 * All hand-overs of the nodes, by threads whose own calls tell for whom they work: gives them to serving, in time
 * order. locks_of: empty at first, then what was found of each node's locks (DtcLockWords), the same in all rounds.
 */
void dtc_inherit(DtcServing *serving, const DtcLinks *links, GPtrArray *locks_of);

/* In serving_inherited.c: false if the thread's own calls tell, and it was not told, or if it is at work already. */
bool dtc_serving_add_inherited(DtcServing *serving, guint node, const struct dtc_handed *handed, guint request);
/* The piece is one that somebody waited for: then the thread last woke one of its process. */
void dtc_serving_add_done(DtcServing *serving, guint node, const struct dtc_handed *handed, guint request,
			  int64_t told_ns);
/* What it was given last is done at a time (node time), and no more is known of what the thread does next. */
void dtc_serving_end_inherited(DtcServing *serving, guint node, const struct dtc_handed *handed, int64_t at_ns);
/* What a thread whose own calls tell writes for whom, by call. Borrowed; NULL with 0 for another one. */
const struct dtc_owned *dtc_serving_get_owned(const DtcServing *serving, guint node, uint32_t thread, guint *ret_count);
/* Whether the next that a thread writes to anybody after a time (node time) is for a request. */
bool dtc_serving_goes_on(const DtcServing *serving, guint node, uint32_t thread, guint request, int64_t at_ns);
