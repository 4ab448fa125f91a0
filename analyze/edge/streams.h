/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections on which many questions are open at a time, each in a stream of its own (HTTP/2): of which streams the
 * bytes are that a call moved. A capture of any node tells. The peers of one socket of UDP are such streams, too: the
 * packets of the trace tell, and the number is this end's own, another one than at the other end.
 */
#pragma once

#include "analyze/edge/links.h"

/* Frames of one call that are looked at: a call moves some megabytes at most. */
#define DTC_STREAMS_MAX 64

struct dtc_streams {
	bool is_known;			   /* false: no such connection, or the capture lacks what was moved */
	guint count;			   /* 0: the connection is controlled, nobody asked or answered */
	uint32_t streams[DTC_STREAMS_MAX]; /* of questions and answers, each once, in the order of their bytes */
	uint32_t skips[DTC_STREAMS_MAX];   /* bytes of the call before the first one of the stream */
};

/* Of a read or write that moved something. */
void dtc_streams_look(const DtcLinks *links, guint node, uint32_t call, struct dtc_streams *ret_streams);
/* Of one datagram: the flow by which its peer's come, and 1; 0: the socket has one peer, or it cannot be told. */
uint32_t dtc_streams_get_of_datagram(const DtcLinks *links, guint node, struct dtc_datagram datagram);
/*
 * The next write that began, or read that ended, after a time, of data of a stream, or with 0 of a connection that has
 * none; DTC_NONE: none that is near.
 */
uint32_t dtc_streams_find_next(const DtcLinks *links, guint node, uint32_t file, uint32_t stream, bool written,
			       int64_t time_ns);
/*
 * Whether the other end of a stream of datagrams, or of a connection, asks. Who does is the same for all threads of a
 * process; of a socket of which nothing is known, who read first (has_read) was asked.
 */
bool dtc_streams_is_server(const DtcHistory *history, uint32_t file, uint32_t stream, bool has_read);
/* Whether it moved any of a stream. */
bool dtc_streams_has(const DtcLinks *links, guint node, uint32_t call, uint32_t stream);
/* Nothing that the call moved is of a question or an answer. */
bool dtc_streams_is_control(const DtcLinks *links, guint node, uint32_t call);
/* Both may be parts of one question and its answer: they share a stream, or streams tell nothing about them. */
bool dtc_streams_may_answer(const DtcLinks *links, guint node, uint32_t call, uint32_t other);
