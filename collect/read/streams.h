/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a back end of the reader keeps per stream, whatever it decodes with: where the stream is in time, gaps that the
 * tracer tells of, and what was odd. The back end sets it while it advances; reader.c merges by it and reports it.
 */
#pragma once

#include "collect/read/event.h"
#include "dtrace-chain/finding.h"

#include <glib.h>

/* A gap that the tracer tells of. */
struct dtc_gap {
	int64_t begin_ns;
	int64_t end_ns;
	int64_t count;	 /* events, DTC_ABSENT if not known */
	int64_t packets; /* whole packets that their numbers show to be missing; 0: none, or not known */
	bool is_damage;	 /* not the tracer's: what damage took, which is reported as such */
};

/* An event that is found and not decoded. */
struct dtc_item {
	int64_t time_ns;
	uint64_t at;	/* where it is, for the back end */
	uint32_t class; /* which of the stream's, for the back end */
	uint16_t last;	/* for the back end, as the next */
	uint8_t form;
};

/* What packets and events can be caught at while they are read. None of it stops a stream. */
enum dtc_stream_fault {
	DTC_STREAM_FAULT_TIME, /* events outside of the time of their packet, or before an earlier one */
	DTC_STREAM_FAULT_CPU,  /* a packet of another CPU than its stream's */
	DTC_STREAM_FAULTS
};

struct dtc_stream_fault_note {
	guint64 count;	  /* of events; DTC_STREAM_FAULT_CPU: of packets */
	int64_t first_at; /* the byte at which the first of the packets begins in its file; -1: not known */
	int64_t amount;	  /* of the first: ns it is off by, or the CPU it claims */
};

struct dtc_stream {
	/* what is looked at for every event or batch of them comes first, in a line of the cache */
	uint32_t cpu;	 /* below DTC_CPU_LIMIT */
	bool has_item;	 /* there is a current item: an event or a gap */
	bool is_gap;	 /* the current item is gap, not an event */
	bool is_astray;	 /* the last event was out of its time */
	int64_t last_ns; /* time of the current item; never decreases */
	/*
	 * Several events at once, which are then the current items one after the other, last_ns is the last one's time,
	 * and is_gap is false. Lent by the back end until the stream is advanced. 0: the one item is the current one.
	 */
	const struct dtc_item *items;
	guint item_count;
	guint class_count;	     /* set by a back end that gives several: their classes are below */
	const struct dtc_item *item; /* the reader's: which of them get_event is asked for */
	guint64 event_count;
	/*
	 * What is believed of the current packet. Tracers write the low bits of a time alone (LTTng 27 or 32): all
	 * times after a wrong one are then wrong by a multiple of their range, up to the packet's end.
	 */
	int64_t limit_ns; /* no event of the packet is later; INT64_MAX: not known */
	int64_t shift_ns; /* whole turns by which the times of the rest of the packet are too late */
	int64_t wrap_ns;  /* set by the back end: the range of those bits; 0: not known, or whole times */
	bool is_turning;  /* the event to come is the one that is wrong */
	char *name;	  /* owned: base name of its file */
	char *error;	  /* owned: why it ended early, or NULL */
	struct dtc_gap gap;
	/*
	 * Tracers count lost events per packet, so the count is known when a packet begins but says "up to its end":
	 * the gap waits here and comes after the packet's events.
	 */
	bool has_pending_gap;
	struct dtc_gap pending_gap;
	bool is_cut; /* the rest of the stream was told to be missing */
	guint64 reversal_count;
	int64_t reversal_max_ns;
	int64_t packet_at;    /* the byte at which it begins in its file; -1: not known */
	guint64 packet_count; /* begun */
	int64_t begin_ns;     /* of the first packet; DTC_ABSENT: not known */
	bool has_no_end;      /* set by the back end: what came after the last packet is lost */
	struct dtc_stream_fault_note faults[DTC_STREAM_FAULTS];
	DtcFindings *findings; /* owned: what else was found in it; NULL: nothing */
};

/* Times that are off by less are the tracer's habit, not damage: packets overlap by microseconds in good traces. */
#define DTC_STREAM_TOLERANCE_NS 1000000
/* An event that comes so long after the one before it is worth a look at the one after it. */
#define DTC_STREAM_JUMP_NS 10000000

void dtc_stream_init(struct dtc_stream *stream);
void dtc_stream_clear(struct dtc_stream *stream);
/* What is known of a packet when it begins. */
struct dtc_packet_claim {
	uint32_t cpu;
	int64_t begin_ns; /* DTC_ABSENT: not known */
	int64_t limit_ns; /* no event is later; INT64_MAX: not known */
	int64_t at;	  /* the byte in its file; -1: not known */
};
void dtc_stream_begin_packet(struct dtc_stream *stream, const struct dtc_packet_claim *claim);
/* Whether dtc_stream_take_event wants to know the time of the event after the one at time_ns. */
static inline bool dtc_stream_wants_next(const struct dtc_stream *stream, int64_t time_ns)
{
	return time_ns - stream->shift_ns - DTC_STREAM_JUMP_NS > stream->last_ns;
}
/*
 * The next event comes a turn of the low bits after the last one, or would come right after it but for the event at
 * time_ns: either the CPU slept through most of a turn, or that event is wrong and all times after it a turn too late.
 * Only the rest of the packet tells, in which times then fall or pass its end; it is worth a look, since sleeps that
 * look like this are very rare.
 */
bool dtc_stream_doubts(const struct dtc_stream *stream, int64_t time_ns, int64_t next_ns);
/* To be called before dtc_stream_take_event if a doubt was right: the rest of the packet is a turn earlier. */
void dtc_stream_turn_back(struct dtc_stream *stream);
/*
 * The stream's next item is an event at that time; next_ns is that of the one after it in the packet, DTC_ABSENT: there
 * is none, or nobody asked. An event cannot be out of its packet's time, nor later than all that follow: then it is
 * held at the time of the one before, so that the order stays and what the reader gives out never goes back.
 */
void dtc_stream_take_event(struct dtc_stream *stream, int64_t time_ns, int64_t next_ns);
/* The stream's next item is a gap. */
void dtc_stream_take_gap(struct dtc_stream *stream, struct dtc_gap gap);
/* Makes the pending gap the current item; false if there is none. */
bool dtc_stream_flush_gap(struct dtc_stream *stream);
/*
 * The back end has no more: the pending gap, or, once, the rest of a stream with an error becomes the current item, so
 * that nobody takes its last state for one that lasts. False if there is neither.
 */
bool dtc_stream_end(struct dtc_stream *stream);
/* Keeps the first error; takes ownership of the text. */
void dtc_stream_take_error(struct dtc_stream *stream, char *error);
