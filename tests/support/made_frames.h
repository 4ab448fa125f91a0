/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of HTTP/2, byte by byte. */
#pragma once

#include "analyze/exchange/frames.h"

#include <string.h>

#define MADE_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

struct made_frames {
	char bytes[1024];
	uint32_t count;
};

static inline void made_frames_add_bytes(struct made_frames *frames, const void *bytes, uint32_t count)
{
	g_assert_cmpuint(frames->count + count, <=, sizeof(frames->bytes));
	memcpy(frames->bytes + frames->count, bytes, count);
	frames->count += count;
}

/* With a payload of so many zeros. */
static inline void made_frames_add(struct made_frames *frames, enum dtc_http2_frame_type type, uint8_t flags,
				   uint32_t stream, uint32_t length)
{
	const uint8_t head[] = {
		(uint8_t)(length >> 16), (uint8_t)(length >> 8),  (uint8_t)length,	  (uint8_t)type,  flags,
		(uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream
	};
	static const uint8_t zeros[512];

	made_frames_add_bytes(frames, head, sizeof(head));
	made_frames_add_bytes(frames, zeros, length);
}
