/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packets of all stream files of a trace, judged (packet_list.h): what can be said of it before it is decoded. */
#pragma once

#include "collect/read/ctf/inventory.h"
#include "collect/read/ctf/packet_list.h"
#include "collect/read/ctf/stream_file.h"

typedef struct DtcPacketTable DtcPacketTable;

/* Of the trace at path; node is how findings call it. Empty if its packets are not of the known kind. Caller owns. */
DtcPacketTable *dtc_packet_table_new(const char *path, const DtcInventory *inventory, const char *node,
				     DtcFindings *findings);
void dtc_packet_table_free(DtcPacketTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcPacketTable, dtc_packet_table_free)

/* True if one of the files is not what it should be. */
bool dtc_packet_table_has_damage(const DtcPacketTable *table);

/* What is known of a stream file; NULL: nothing. Borrowed. */
struct dtc_packet_file {
	char *name;
	GArray *packets;  /* struct dtc_ctf_packet, as they should be */
	GMappedFile *map; /* the file, in which they were found; NULL: it cannot be mapped */
	struct dtc_stream_holes holes;
	bool is_whole;	 /* its packets fill it */
	bool is_sound;	 /* ... and there is nothing to be put right in them */
	bool has_no_end; /* what came after the last packet is lost */
	bool is_double;	 /* tells of the same packets as another file, in other words; nothing of it is used */
};
const struct dtc_packet_file *dtc_packet_table_find_file(const DtcPacketTable *table, const char *name);
/* What of the files is in no packet, and files without any. node is how findings call the trace. */
void dtc_packet_table_report(const DtcPacketTable *table, const char *node, DtcFindings *findings);
/*
 * The packet that begins at that time, in the file of that name or, if that has none, in any of the same stream (which
 * may have several files). NULL: there is none.
 */
const struct dtc_ctf_packet *dtc_packet_table_find(const DtcPacketTable *table, const char *name, uint64_t begin_ticks);
/* Copies a file as its packets should be. */
bool dtc_packet_table_write(const DtcPacketTable *table, const struct dtc_packet_file *file, bool with_cut,
			    const char *copy, GError **error);
