/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a connection is to the thread that works on it, while that one's calls are looked at (serving_scan.c). */
#pragma once

#include "analyze/request/serving_build.h"

struct connection {
	guint request;	/* whose bytes are on it, or STRANGER */
	guint other;	/* as of a span */
	bool is_server; /* the other end connected: answers are written to it */
	bool answered;	/* the next bytes are another request's */
	bool is_new;	/* connected for the request, and nothing written yet */
	bool by_order;	/* for whom bytes went out on it is told by order only */
	GArray *asked;	/* guint: whose questions on it are not answered yet; NULL: nobody asked */
};

/* A stranger's. Caller owns. */
struct connection *dtc_connection_new(bool is_server);
void dtc_connection_free(gpointer connection);

/* One may carry the questions of many: a front has one for all that it asks. Each request counts once. */
void dtc_connection_add_asked(struct connection *c, guint request);
void dtc_connection_end_asked(const struct connection *c, guint request);
bool dtc_connection_has_asked(const struct connection *c, guint request);
guint dtc_connection_count_asked(const struct connection *c);
guint dtc_connection_get_asked(const struct connection *c, guint index);
/* Several wait for their answers on it. */
bool dtc_connection_is_shared(const struct connection *c);
