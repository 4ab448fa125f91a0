/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All captures of one node, merged by time, as the packets that the node saw: with the direction that a packet had for
 * the node, the interface it was seen on, as far as the link layer tells, and the network namespace, as far as the
 * recorder's environment file does. Captures of several namespaces run side by side: read one after the other, ports
 * that are used again would make one connection of two. Packets of one file stay in its order. A file that cannot be
 * opened is a finding, and the others are read nevertheless.
 */
#pragma once

#include "collect/bundle/environment.h"
#include "collect/packets/capture.h"
#include "collect/packets/packets.h"

typedef struct DtcNodeCaptures DtcNodeCaptures;

/*
 * Every packet that is read is added to packets; NULL: to nothing, for who only counts. paths ends with NULL;
 * environment may be NULL. All of these are borrowed until dtc_node_captures_free. Addresses that several namespaces
 * have are shared here.
 */
DtcNodeCaptures *dtc_node_captures_new(const char *node, const char *const *paths, const DtcEnvironment *environment,
				       DtcPackets *packets, DtcFindings *findings);
void dtc_node_captures_free(DtcNodeCaptures *captures);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcNodeCaptures, dtc_node_captures_free)

/*
 * The next packet, or NULL after the last file. *ret_packet is its id in packets (DTC_NONE if there are none), which
 * holds until they are sealed.
 */
const struct dtc_captured *dtc_node_captures_next(DtcNodeCaptures *captures, uint32_t *ret_packet);
/* Bytes of the files, for who waits; what is not there counts nothing. */
guint64 dtc_node_captures_measure(const char *const *paths);
/* Bytes of all files so far. */
guint64 dtc_node_captures_get_consumed_bytes(const DtcNodeCaptures *captures);

/*
 * After NULL, or for who wants no more: what was odd until there is told then. False with the first error if a file
 * could not be opened.
 */
bool dtc_node_captures_finish(DtcNodeCaptures *captures, GError **error);
/* Files that could be opened. */
guint dtc_node_captures_get_file_count(const DtcNodeCaptures *captures);
/*
 * True if most of the packets neither start nor end at this node, as far as can be seen: a bridge or a mirror port.
 * Their directions and times say nothing of the node.
 */
bool dtc_node_captures_are_foreign(const DtcNodeCaptures *captures);
