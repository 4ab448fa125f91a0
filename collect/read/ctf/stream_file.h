/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stream file seen as a chain of packets, without decoding events: is the chain whole, and if not, which packets can
 * be told apart. babeltrace2 2.0.4 aborts the process over some packet headers, so files are looked at before it sees
 * them. Costs one page per packet.
 */
#pragma once

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

/* Packets from the first byte on, up to the end or to what is none. */
guint64 dtc_stream_file_count_packets(const char *path, const struct dtc_packet_layout *layout);
/* True if the file is a chain of plausible packets from its first byte to its last. */
bool dtc_stream_file_is_whole(const char *path, const struct dtc_packet_layout *layout);

/*
 * Copies the packets that can be told apart to a new file; with_cut: also the last one, cut where the file ends. Adds a
 * sentence per loss, which calls the file name. False if nothing could be copied; there may then be a rest of a copy.
 */
bool dtc_stream_file_rescue(const char *path, const char *name, const struct dtc_packet_layout *layout, bool with_cut,
			    const char *copy, GPtrArray *losses);
