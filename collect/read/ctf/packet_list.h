/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packets of a stream file as their headers tell of them, judged by each other: a header alone says nothing of its
 * being right, but its neighbours do. What one header gets wrong is put right from them (the events are not touched);
 * packets that have no place are left out. Only traces whose headers lie as LTTng's and perf's do are known.
 */
#pragma once

#include "dtrace-chain/finding.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_ctf_packet {
	gsize offset; /* in the file */
	gsize bytes;  /* in the file, which may end inside the packet */
	uint64_t begin_ticks;
	uint64_t end_ticks;
	uint64_t content_bits;
	uint64_t sequence; /* of those that the trace has not the value is 0 in all packets */
	uint64_t discarded;
	uint64_t instance;
	uint32_t stream_id;
	uint32_t cpu;
	bool is_cut; /* by the end of the file */
	bool is_changed;
	bool is_left_out;
	bool is_open; /* by a tracer that died: its end is the next one's begin, 0 if there is none */
};

/* What there is in a header, and how time runs in it. */
struct dtc_packet_rules {
	bool has_sequence;
	bool has_discarded;
	bool has_cpu;
	uint64_t second_ticks;
	uint64_t tolerance_ticks; /* by which packets overlap in good traces */
	uint64_t wrap_ticks;	  /* the range of the times in events; 0: they are whole */
};

/* How findings call the packets. Borrowed. */
struct dtc_packet_names {
	const char *node;
	const char *stream;
};

/*
 * Judges the packets (struct dtc_ctf_packet, in the order of the file) and puts them right, also their order, but for a
 * packet that is alone and ends before it begins. True if there was nothing to do; else there are findings.
 */
bool dtc_packets_judge(GArray *packets, const struct dtc_packet_rules *rules, const struct dtc_packet_names *names,
		       DtcFindings *findings);

/*
 * Then the first and the last one, which nothing comes before or behind: one that is hours longer than the time in
 * which all other streams lie, of which one side lies there, has its other side from these; so has one that is alone
 * and ends before it begins. low_ticks 0 and high_ticks UINT64_MAX - 1: there are no others. The dump of the state is
 * one packet; with one bit of its end a trace of 8 s lasted 223 years, and sums overflowed.
 */
bool dtc_packets_judge_ends(GArray *packets, uint64_t low_ticks, uint64_t high_ticks,
			    const struct dtc_packet_rules *rules, const struct dtc_packet_names *names,
			    DtcFindings *findings);
