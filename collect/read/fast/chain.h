/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packets of a trace's stream files, by stream: what their headers say, read with the trace's own layout. What is
 * known better from packets' neighbours (packet_table.h) replaces what a header says.
 */
#pragma once

#include "collect/read/ctf/inventory.h"
#include "collect/read/ctf/packet_table.h"
#include "collect/read/fast/decode.h"

struct dtc_chain_packet {
	const uint8_t *data;
	uint64_t offset;       /* in its file */
	uint64_t content_bits; /* of data; what is there */
	uint64_t room_bits;    /* of data; what is there of it and behind it in its file */
	uint64_t begin_ticks, end_ticks;
	uint64_t sequence;
	uint64_t discarded;
	uint64_t stream_id;
	uint64_t instance;
	uint64_t cpu;
	bool has_begin, has_end, has_sequence, has_discarded, has_instance;
	bool is_cut;  /* by the end of its file */
	bool is_open; /* the tracer died in it: its end is the next one's begin, if it has any */
};

/* The packets of one stream, in the order of their times. */
struct dtc_chain {
	const struct dtc_stream_layout *layout; /* NULL: the trace declares no such stream */
	char *name;				/* of its earliest file */
	GArray *packets;			/* struct dtc_chain_packet */
	bool has_no_end;
};

typedef struct DtcChains DtcChains;

/*
 * The table goes by where LTTng puts the numbers of a packet, and tries that out: what it finds is worth nothing where
 * the trace itself says that they lie elsewhere.
 */
bool dtc_chains_can_use_table(const struct dtc_trace_layout *layout);

/*
 * table (or NULL) has the packets where it knows them, else they are looked for here; what is wrong then is told in
 * findings. All is borrowed until dtc_chains_free.
 */
DtcChains *dtc_chains_new(const char *directory, const struct dtc_trace_layout *layout, const DtcInventory *inventory,
			  const DtcPacketTable *table, const char *node, DtcFindings *findings);
void dtc_chains_free(DtcChains *chains);
guint dtc_chains_get_count(const DtcChains *chains);
const struct dtc_chain *dtc_chains_get(const DtcChains *chains, guint index);

/* The files in which packets were looked for, each of them once; bytes are borrowed, and packets point into them. */
guint dtc_chains_get_file_count(const DtcChains *chains);
const char *dtc_chains_get_file_name(const DtcChains *chains, guint file);
const uint8_t *dtc_chains_get_file_bytes(const DtcChains *chains, guint file, gsize *ret_bytes);

/*
 * Puts a decoder behind the packet's header and context, whose values are then in its slots, and its clock at the
 * packet's begin. False if they are not in it.
 */
bool dtc_chain_enter(const struct dtc_trace_layout *trace, const struct dtc_chain *chain,
		     const struct dtc_chain_packet *packet, struct dtc_decoder *decoder);
