/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Servers in which one thread reads a question, another one works on it, and either of them answers: the question on a
 * connection, and who gave its answer to the thread that sends it. What passes between the threads lies in memory and
 * is not traced; the wakeups, and writes to eventfds and pipes with which they call each other, are.
 */
#pragma once

#include "analyze/edge/arrival.h"

/* What a server was asked on a connection. */
struct dtc_asked {
	struct dtc_arrival arrival; /* of the question's last byte that was read */
	uint32_t thread;	    /* that read it */
	uint32_t call;		    /* the read */
	int64_t read_ns;	    /* node time: when the read returned */
};

/* Whether a call of a question's reader took what another connection brought: it is at that from then on. */
bool dtc_handoff_is_left(const DtcHistory *history, const struct dtc_asked *asked, const struct dtc_call *call);
/*
 * The last bytes that any thread had read on the file when time (node time) came; if streams tell, those of the one
 * that answer, a write or DTC_NONE, is for. False unless it is a server's end.
 */
bool dtc_handoff_find_question(const DtcLinks *links, guint node, uint32_t file, uint32_t answer, int64_t time_ns,
			       struct dtc_asked *ret_asked);
/* Who gave a thread what it went on with. */
struct dtc_given {
	uint32_t thread;
	int64_t time_ns;      /* node time: its write */
	bool is_for_question; /* the reader of the question had woken it for that one; else only the last that wrote */
	bool is_taken;	      /* and the thread took what it wrote in this turn */
};
/*
 * Who gave the answer to a thread that sends it at time (or what it handed on then, to another one), and when: the
 * writer to an eventfd or pipe that the thread read since it last polled; of several writers the one that the reader of
 * the question had woken for it, else the last one. False if nobody is seen to have.
 */
bool dtc_handoff_find_giver(const DtcLinks *links, guint node, uint32_t thread, int64_t time_ns,
			    const struct dtc_asked *asked, struct dtc_given *ret_given);
/* Whether a thread has not gone to wait for events from its call on up to time. */
bool dtc_handoff_is_same_turn(const DtcLinks *links, guint node, uint32_t call, int64_t time_ns);
