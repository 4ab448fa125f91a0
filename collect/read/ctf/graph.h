/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * babeltrace2's source.ctf.fs and a private sink in one graph, with one message iterator per stream and no muxer (which
 * gives up on real traces whose packets overlap by a microsecond). bt_graph_run_once calls our consume method, which
 * pulls the next batch of the one stream that ran empty.
 */
#pragma once

#include <babeltrace2/babeltrace.h>
#include <glib.h>
#include <stdbool.h>

typedef struct DtcCtfGraph DtcCtfGraph;

/*
 * Where the messages of one stream come out. A batch stays alive until all of it was taken, because events borrow their
 * strings from it: who takes messages[at] owns it.
 */
struct dtc_ctf_port {
	bt_message_array_const messages; /* owned references from at on */
	uint64_t count;
	uint64_t at;
	bool ended;		       /* there is no more, or it failed */
	char *error;		       /* owned: the first reason why it failed, or NULL */
	bt_message_iterator *iterator; /* owned; private */
};

/* Opens the trace in a directory. On failure NULL, and *ret_reason says why in babeltrace2's words (caller frees). */
DtcCtfGraph *dtc_ctf_graph_open(const char *path, char **ret_reason);
void dtc_ctf_graph_free(DtcCtfGraph *graph);

guint dtc_ctf_graph_get_port_count(const DtcCtfGraph *graph);
/* Borrowed. */
struct dtc_ctf_port *dtc_ctf_graph_get_port(DtcCtfGraph *graph, guint index);

/* Pulls batches until the port is on a message; false if it ended. */
bool dtc_ctf_graph_refill(DtcCtfGraph *graph, struct dtc_ctf_port *port);
/* Drops what is left of the port's batch and ends it. */
void dtc_ctf_port_end(struct dtc_ctf_port *port);
