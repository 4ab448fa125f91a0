/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One end of a connection between who records a cluster and the agent on a node: messages over two descriptors. A
 * message is a line of words with a space between them, each escaped as in a URI, so that a word may hold anything but
 * a zero. Bytes of files stand between lines: a message tells how many. Nothing here waits: the caller polls.
 */
#pragma once

#include <glib.h>
#include <poll.h>
#include <stdbool.h>

typedef struct DtcChannel DtcChannel;

/* Takes both descriptors over, which may be the same one. Caller owns. */
DtcChannel *dtc_channel_new(int in_fd, int out_fd);
void dtc_channel_free(DtcChannel *channel);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcChannel, dtc_channel_free)

/* What to wait for: two entries, of which the second waits for nothing while there is nothing to write. */
void dtc_channel_fill_poll(const DtcChannel *channel, struct pollfd ret_fds[2]);
/* Reads what has come and writes what can be written. False once nothing more comes: what has come is still there. */
bool dtc_channel_move(DtcChannel *channel);

/* The words of the next line; NULL: none is whole yet. Free with g_strfreev. */
char **dtc_channel_next(DtcChannel *channel);
/* Bytes that have come and are not taken; they stand until the next call with this channel. */
const char *dtc_channel_peek(const DtcChannel *channel, gsize *ret_bytes);
void dtc_channel_skip(DtcChannel *channel, gsize bytes);

/* Words end with NULL. */
void dtc_channel_send(DtcChannel *channel, const char *word, ...) G_GNUC_NULL_TERMINATED;
void dtc_channel_send_words(DtcChannel *channel, char *const *words);
void dtc_channel_send_bytes(DtcChannel *channel, const void *bytes, gsize count);
/* Bytes that were sent and not yet written. */
gsize dtc_channel_get_waiting(const DtcChannel *channel);
/* The other side reads an end; this one can still read. */
void dtc_channel_close_output(DtcChannel *channel);
