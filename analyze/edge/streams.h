/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections on which many questions are open at a time, each in a stream of its own (HTTP/2): of which streams the
 * bytes are that a call moved. A capture of any node tells.
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
/* Nothing that the call moved is of a question or an answer. */
bool dtc_streams_is_control(const DtcLinks *links, guint node, uint32_t call);
/* Both may be parts of one question and its answer: they share a stream, or streams tell nothing about them. */
bool dtc_streams_may_answer(const DtcLinks *links, guint node, uint32_t call, uint32_t other);
