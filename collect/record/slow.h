/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Watches connections for a response that takes too long: from the first byte of a request to the first of what comes
 * back. A request begins with what the client sends anew after it was answered, not with what it sends again; the
 * client is who sent the SYN, and where that was not seen the end whose port is not the one that was asked for, or is
 * the higher. A server that closes the connection has answered. A request that is not answered at all is slow after a
 * time of its own. For one thread.
 */
#pragma once

#include "collect/packets/capture.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_slow_limit {
	int64_t limit_ns;    /* 0: nothing is watched */
	int64_t patience_ns; /* after which a request without an answer is slow */
	uint16_t port;	     /* of the server; 0: any */
};

typedef struct DtcSlow DtcSlow;

DtcSlow *dtc_slow_new(const struct dtc_slow_limit *limit);
void dtc_slow_free(DtcSlow *slow);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcSlow, dtc_slow_free)
/* A packet, with its time; what was too slow in words if it is an answer that comes too late, else NULL. Caller owns.
 */
char *dtc_slow_look(DtcSlow *slow, const struct dtc_captured *packet);
/* The same of a request that nobody has answered yet. Each is told once. */
char *dtc_slow_find_unanswered(DtcSlow *slow, int64_t now_ns);
