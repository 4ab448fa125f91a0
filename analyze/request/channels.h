/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The connections that one thread works on, and what they are to it. A channel is a file, or one of the streams of a
 * file, each of which is a connection of its own (streams of HTTP/2, peers of a datagram socket).
 */
#pragma once

#include "analyze/request/in_flight.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_channel {
	guint request;		/* whose bytes are on it */
	guint other;		/* as of a span */
	bool is_server;		/* the other end connected: answers are written to it */
	bool answered;		/* the next bytes are another request's */
	bool is_new;		/* connected for the request, and nothing written yet */
	bool by_order;		/* for whom bytes went out on it is told by order only */
	DtcInFlight *in_flight; /* of datagrams, to and from one peer; NULL: bytes have their order. Owned */
	GArray *asked;		/* guint: requests whose questions on it are not answered yet; NULL: nobody asked */
};

typedef struct DtcChannels DtcChannels;

DtcChannels *dtc_channels_new(void);
void dtc_channels_free(DtcChannels *channels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcChannels, dtc_channels_free)

/* The channel of a stream of a file; of stream 0 the file itself. */
uint32_t dtc_channels_get_number(DtcChannels *channels, uint32_t file, uint32_t stream);
/* What is on a channel, or NULL. Borrowed. */
struct dtc_channel *dtc_channels_find(const DtcChannels *channels, uint32_t channel);
/* On a channel that has none: all is 0. Borrowed. */
struct dtc_channel *dtc_channels_add(DtcChannels *channels, uint32_t channel);
/* Forgets a file and its streams; tells of the channel of each. */
void dtc_channels_drop(DtcChannels *channels, uint32_t file, void (*tell)(gpointer data, uint32_t channel),
		       gpointer data);

/* One may carry the questions of many: a front has one connection for all that it asks. Each request counts once. */
void dtc_channel_add_asked(struct dtc_channel *c, guint request);
void dtc_channel_end_asked(const struct dtc_channel *c, guint request);
bool dtc_channel_has_asked(const struct dtc_channel *c, guint request);
guint dtc_channel_count_asked(const struct dtc_channel *c);
guint dtc_channel_get_asked(const struct dtc_channel *c, guint index);
/* Of several datagrams any may be answered next. */
bool dtc_channel_is_mixed(const struct dtc_channel *c);
/* Several wait for their answers on it. */
bool dtc_channel_is_shared(const struct dtc_channel *c);
