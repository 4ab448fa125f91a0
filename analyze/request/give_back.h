/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For whom a thread of a pool worked, told by the end. Who has work for a pool that is busy puts it in a queue and
 * sleeps until it is done: nobody wakes the thread that takes it up, and nothing in a trace shows that it does. But
 * that one wakes who waits for it when it is done, in the middle of his request, and he goes on with that.
 */
#pragma once

#include "analyze/request/lock_words.h"
#include "analyze/request/serving.h"

/* A piece of work that was given back. */
struct dtc_given_back {
	uint32_t thread;  /* that did it */
	uint32_t target;  /* whom it told */
	guint request;	  /* for which it was */
	int64_t since_ns; /* node time: it was not begun earlier */
	int64_t at_ns;	  /* when it told */
};

/*
 * The pieces of a node, by time: at the end of each the target slept on a futex that is no lock while its own calls
 * tell that it was at a request, and what it writes next is for that, too. Free with g_array_unref.
 */
GArray *dtc_give_back_list(const DtcServing *serving, guint node, const DtcHistory *history, const DtcLockWords *locks);
