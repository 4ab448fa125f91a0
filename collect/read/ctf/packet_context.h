/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where in a packet's context the numbers lie that tell packets apart, as the metadata's text says. */
#pragma once

#include <glib.h>

/* Offsets from the first byte of the context, -1 where the trace has no such number or it is not as wide. */
struct dtc_ctf_context {
	int sequence;  /* packet_seq_num, 64 bits */
	int discarded; /* events_discarded, 64 bits */
	int cpu;       /* cpu_id, 32 bits */
};

/* Of the first stream that the text declares; all -1 if it is not understood. */
struct dtc_ctf_context dtc_packet_context_find(const char *text);
