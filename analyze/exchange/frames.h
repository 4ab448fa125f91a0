/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The frames of HTTP/2 connections in a capture (RFC 9113, 4.1): a stream's id pairs a question with its answer, and
 * tells what is neither.
 */
#pragma once

#include "collect/image/image.h"
#include "collect/packets/packets.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum dtc_http2_frame_type {
	DTC_FRAME_DATA,
	DTC_FRAME_HEADERS,
	DTC_FRAME_PRIORITY,
	DTC_FRAME_RST_STREAM,
	DTC_FRAME_SETTINGS,
	DTC_FRAME_PUSH_PROMISE,
	DTC_FRAME_PING,
	DTC_FRAME_GOAWAY,
	DTC_FRAME_WINDOW_UPDATE,
	DTC_FRAME_CONTINUATION,
	DTC_FRAME_PREFACE = 0xff, /* not of the protocol: what a client sends first */
};

struct dtc_http2_frame {
	uint32_t seq;	 /* of its first byte, the head's */
	uint32_t bytes;	 /* with its head */
	uint32_t stream; /* 0: of the connection */
	uint8_t type;	 /* enum dtc_http2_frame_type, or one that is not known */
	uint8_t padding[3];
};
_Static_assert(sizeof(struct dtc_http2_frame) == 16, "there are as many as messages");

/* True of what questions and answers consist of; all the rest controls a connection or a stream. */
bool dtc_http2_frame_is_message(const struct dtc_http2_frame *frame);

typedef struct DtcFrames DtcFrames;

/* max_bytes: what the frames may take; 0: the default of 64 MiB. Caller owns. */
DtcFrames *dtc_frames_new(gsize max_bytes);
void dtc_frames_free(DtcFrames *frames);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcFrames, dtc_frames_free)

/*
 * One more frame of a flow of the capture's packets, behind those before it. Of more than 2 GiB of a flow, and of what
 * is more than may be kept, the rest is left out.
 */
void dtc_frames_add(DtcFrames *frames, uint32_t flow, const struct dtc_http2_frame *frame);
/* No flow has any. */
bool dtc_frames_are_none(const DtcFrames *frames);
/* The flow has some. */
bool dtc_frames_has_flow(const DtcFrames *frames, uint32_t flow);
/*
 * The frames, in order, that have bytes in a range of a flow. NULL if not all of the range is in frames that are known.
 * Borrowed until one is added.
 */
const struct dtc_http2_frame *dtc_frames_find(const DtcFrames *frames, uint32_t flow, uint32_t seq, uint32_t bytes,
					      guint *ret_count);

/* The frames as sections of an image; copied. */
void dtc_frames_save(const DtcFrames *frames, DtcImageWriter *writer);
/* Those of an image, of flows of its packets. Caller owns; NULL with DAMAGED if they are of none, or out of order. */
DtcFrames *dtc_frames_load(const DtcImage *image, const DtcPackets *packets, GError **error);
