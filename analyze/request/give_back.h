/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For whom a thread of a pool worked, told by the end. Who has work for a pool that is busy puts it in a queue and
 * waits until it is done: nobody wakes the thread that takes it up, and nothing in a trace shows that it does. But that
 * one tells who waits for it when it is done, and he goes on with his request: it wakes him in the middle of that, or
 * writes to him, an event loop or a thread that gives on what comes from worker processes.
 */
#pragma once

#include "analyze/request/lock_words.h"
#include "analyze/request/serving.h"

/* A piece of work that was given back. */
struct dtc_given_back {
	uint32_t thread;  /* that did it */
	uint32_t target;  /* whom it told */
	guint request;	  /* for which it was; DTC_NO_REQUEST: that is not known */
	int64_t since_ns; /* node time: it was not begun earlier */
	int64_t at_ns;	  /* when it told */
	bool for_kernel;  /* it was asked by the kernel, for whom it wakes: see for_kernel.h */
};

/*
 * The pieces of a node, by time. At the end of each the thread woke one that slept on a futex that is no lock, or in a
 * call or at a page that the thread serves for the kernel, while its
 * own calls tell that it was at a request, and that writes next for that, too; or it wrote to an eventfd, a pipe or a
 * pair of sockets, which a loop read that in this turn went on with as many requests as it was told of; or what it
 * wrote there was the last that a thread had read which then gave a piece back, and so on. Free with g_array_unref.
 */
GArray *dtc_give_back_list(const DtcServing *serving, guint node, const DtcHistory *history, const DtcLockWords *locks);
