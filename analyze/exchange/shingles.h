/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shingles of the messages in a capture that are no HTTP: hashes of eight bytes in a row (Broder, "On the resemblance
 * and containment of documents", 1997), of which every other value counts, wherever it stands (Manber, "Finding similar
 * files in a large file system", 1994). Two messages on two connections that have one in common, which hardly any other
 * message has, carry the same thing: what a broker was given, and what it passed on later.
 *
 * What many messages have, as every protocol's words, tells nothing: it is dropped while the capture is read, as soon
 * as it was seen too often, and at last what was not seen on a second connection.
 */
#pragma once

#include "collect/image/image.h"
#include "collect/packets/packets.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A message is passed on some times, and answered; what is seen more often than this is no one message's. */
#define DTC_SHINGLE_TIMES 8

struct dtc_shingle {
	uint32_t hash;
	uint32_t flow; /* of the capture's packets */
	uint32_t seq;  /* of its first byte */
};

typedef struct DtcShingles DtcShingles;

/*
 * max_count: so many are kept at most, as every other hash counts no more each time there are more; 0: the default of
 * 262,144 (3 MB). Caller owns.
 */
DtcShingles *dtc_shingles_new(gsize max_count);
void dtc_shingles_free(DtcShingles *shingles);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcShingles, dtc_shingles_free)

/*
 * The captured payload of a segment of a flow; of what was seen before, and of a segment that comes behind later ones,
 * nothing is taken. Of a long one the begin is looked at.
 */
void dtc_shingles_add(DtcShingles *shingles, uint32_t flow, uint32_t seq, const uint8_t *data, uint32_t bytes);
/* Drops what tells nothing. Nothing may be added afterwards, and the following is for finished ones only. */
void dtc_shingles_finish(DtcShingles *shingles);
bool dtc_shingles_are_none(const DtcShingles *shingles);
/* Those that begin in a range of a flow, in order. Borrowed; NULL with 0 if there are none. */
const struct dtc_shingle *dtc_shingles_find(const DtcShingles *shingles, uint32_t flow, uint32_t seq, uint32_t bytes,
					    guint *ret_count);
/* How many have a hash, and the i-th of these, by flow and place. */
guint dtc_shingles_count_alike(const DtcShingles *shingles, uint32_t hash);
const struct dtc_shingle *dtc_shingles_get_alike(const DtcShingles *shingles, uint32_t hash, guint index);

/* As sections of an image; copied. */
void dtc_shingles_save(const DtcShingles *shingles, DtcImageWriter *writer);
/* Those of an image, of flows of its packets. Caller owns; NULL with DAMAGED if they are of none, or out of order. */
DtcShingles *dtc_shingles_load(const DtcImage *image, const DtcPackets *packets, GError **error);
