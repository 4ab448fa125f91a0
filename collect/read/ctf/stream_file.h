/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stream file seen as a chain of packets, without decoding events: is the chain whole, and if not, which packets can
 * be told apart. babeltrace2 2.0.4 aborts the process over some packet headers, so files are looked at before it sees
 * them. Costs one page per packet.
 */
#pragma once

#include "collect/read/ctf/packet_context.h"
#include "collect/read/ctf/packet_list.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Magic and uuid: what every packet of a trace begins with. */
#define DTC_PACKET_PREFIX_BYTES 20

/* How the packet headers of a trace lie. */
struct dtc_packet_layout {
	uint8_t prefix[DTC_PACKET_PREFIX_BYTES];
	bool is_big_endian;
	gsize context; /* offset of the packet context */
};

/*
 * Finds the layout from the stream files (names in directory, NULL-terminated) that have the metadata's uuid. False if
 * none of them has packets as this file knows them: then nothing can be said of any.
 */
bool dtc_packet_layout_find(const char *directory, const char *const *names, struct dtc_packet_layout *ret);

/*
 * True if there are packets of a trace in the files, and none of them has the uuid that the metadata tells: then
 * dtc_packet_layout_find finds nothing.
 */
bool dtc_packets_are_foreign(const char *directory, const char *const *names);

/* Whether a packet of the trace, not necessarily a whole one, is anywhere in the file; and its mark, by the way. */
bool dtc_stream_file_has_packet(const char *path, const struct dtc_packet_layout *layout, guint64 *ret_mark);
/* Whether the file begins as a packet of another trace does. */
bool dtc_stream_file_is_foreign(const char *path, const struct dtc_packet_layout *layout);
bool dtc_stream_file_is_equal(const char *path, const char *other);
/* A number that is the same of equal files, and as a rule of no others: of their sizes and first bytes. */
guint64 dtc_stream_file_get_mark(const char *path);
/* The packets that LTTng's index of a stream file (index/NAME.idx) tells of; -1 if there is no index. */
int64_t dtc_stream_index_count_packets(const char *path);
/* False if there is an index that does not tell of the packets that are in the file. */
bool dtc_stream_index_fits(const char *path, const char *stream_path, const struct dtc_packet_layout *layout);

/* Packets from the first byte on, up to the end or to what is none. */
guint64 dtc_stream_file_count_packets(const char *path, const struct dtc_packet_layout *layout);

/* What of a stream file is in no packet. */
struct dtc_stream_holes {
	gsize file_bytes;
	gsize skipped_bytes; /* in all, also of packets that are larger than there is place for them */
	gsize first_skipped;
};

/*
 * The packets (struct dtc_ctf_packet) that can be told apart, also the one that the end of the file cuts, and the file
 * as it was looked at (NULL: it cannot be mapped), so that who reads them need not open it again. Caller owns both.
 */
GArray *dtc_stream_file_list_packets(const char *path, const struct dtc_packet_layout *layout,
				     const struct dtc_ctf_context *context, struct dtc_stream_holes *ret_holes,
				     GMappedFile **ret_map);

/*
 * Makes a new file of the packets of another, in their order and with the headers that they should have; with_cut: also
 * what is there of a packet that the end of the file cuts. False with an error if the file cannot be written.
 */
bool dtc_stream_file_write(const char *path, const struct dtc_packet_layout *layout,
			   const struct dtc_ctf_context *context, const GArray *packets, bool with_cut,
			   const char *copy, GError **error);
