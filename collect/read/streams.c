/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/streams.h"

void dtc_stream_clear(struct dtc_stream *stream)
{
	g_clear_pointer(&stream->name, g_free);
	g_clear_pointer(&stream->error, g_free);
	g_clear_pointer(&stream->findings, dtc_findings_free);
}

void dtc_stream_init(struct dtc_stream *stream)
{
	stream->last_ns = INT64_MIN;
	stream->limit_ns = INT64_MAX;
	stream->begin_ns = DTC_ABSENT;
	stream->packet_at = -1;
}

static int64_t subtract(int64_t a, int64_t b)
{
	int64_t difference;
	if (!__builtin_sub_overflow(a, b, &difference))
		return difference;
	return a < b ? INT64_MIN + 1 : INT64_MAX;
}

static void note(struct dtc_stream *stream, enum dtc_stream_fault fault, int64_t amount)
{
	struct dtc_stream_fault_note *to = &stream->faults[fault];
	if (to->count++ == 0) {
		to->first_at = stream->packet_at;
		to->amount = amount;
	}
}

/* What is missing from here on because of damage. */
static struct dtc_gap get_damage(const struct dtc_stream *stream)
{
	return (struct dtc_gap){ stream->last_ns, stream->last_ns, DTC_ABSENT, 0, true };
}

void dtc_stream_begin_packet(struct dtc_stream *stream, const struct dtc_packet_claim *claim)
{
	stream->packet_at = claim->at;
	if (stream->packet_count++ == 0) {
		stream->cpu = claim->cpu;
		stream->begin_ns = claim->begin_ns;
	} else if (claim->cpu != stream->cpu) {
		note(stream, DTC_STREAM_FAULT_CPU, claim->cpu);
	}
	stream->limit_ns = claim->limit_ns;
	stream->is_astray = false;
	stream->shift_ns = 0;
}

/* ---- events ---- */

/* The time with the same low bits that lies next to the last one. */
static int64_t unwrap(const struct dtc_stream *stream, int64_t time_ns)
{
	int64_t distance = subtract(time_ns, stream->last_ns) % stream->wrap_ns;
	int64_t unwrapped;
	if (distance < 0)
		distance += stream->wrap_ns;
	return __builtin_add_overflow(stream->last_ns, distance, &unwrapped) ? INT64_MAX : unwrapped;
}

/* Of an event without one before it: the latest time with its low bits that the packet has room for. */
static int64_t place_first(const struct dtc_stream *stream, int64_t time_ns)
{
	int64_t over_ns = subtract(time_ns, stream->limit_ns);
	if (stream->wrap_ns <= 0)
		return stream->limit_ns;
	return subtract(time_ns, (over_ns + stream->wrap_ns - 1) / stream->wrap_ns * stream->wrap_ns);
}

/* Whether what follows says that the event itself is out of its time, which alone could be: the clock is before it. */
static bool is_contradicted(const struct dtc_stream *stream, int64_t time_ns, int64_t next_ns)
{
	if (next_ns == DTC_ABSENT || stream->event_count == 1)
		return false;
	next_ns = subtract(next_ns, stream->shift_ns);
	if (next_ns > stream->limit_ns && stream->wrap_ns > 0)
		next_ns = unwrap(stream, next_ns);
	return next_ns >= stream->last_ns && subtract(time_ns, next_ns) > DTC_STREAM_TOLERANCE_NS;
}

bool dtc_stream_doubts(const struct dtc_stream *stream, int64_t time_ns, int64_t next_ns)
{
	if (stream->wrap_ns == 0 || stream->limit_ns == INT64_MAX || stream->event_count == 0 || next_ns == DTC_ABSENT)
		return false;
	time_ns = subtract(time_ns, stream->shift_ns);
	next_ns = subtract(next_ns, stream->shift_ns);
	if (next_ns > stream->limit_ns || subtract(next_ns, stream->last_ns) < stream->wrap_ns)
		return false;
	int64_t turned_ns = unwrap(stream, next_ns);
	return turned_ns < time_ns && turned_ns - stream->last_ns < DTC_STREAM_JUMP_NS;
}

void dtc_stream_turn_back(struct dtc_stream *stream)
{
	stream->shift_ns += stream->wrap_ns;
	stream->is_turning = true;
}

/* An event out of its time: the second in a row can be told by its low bits; those of the first may be wrong, too. */
static void place_astray(struct dtc_stream *stream, int64_t time_ns, int64_t off_ns)
{
	note(stream, DTC_STREAM_FAULT_TIME, off_ns);
	if (stream->event_count == 1) {
		stream->last_ns = place_first(stream, time_ns);
	} else if (stream->is_astray && stream->wrap_ns > 0) {
		int64_t unwrapped = unwrap(stream, time_ns);
		if (unwrapped <= stream->limit_ns)
			stream->last_ns = unwrapped;
	}
	stream->is_astray = true;
}

/* All but the usual case. */
static void place_event(struct dtc_stream *stream, int64_t time_ns, int64_t next_ns)
{
	bool is_early = stream->event_count > 1 && time_ns < stream->last_ns;
	int64_t early_ns = is_early ? subtract(stream->last_ns, time_ns) : 0;
	int64_t whole_ns = time_ns + stream->shift_ns;

	/* an event with its whole time ends what the low bits got wrong */
	if (stream->shift_ns > 0 && is_early && !stream->is_turning && whole_ns <= stream->limit_ns) {
		stream->shift_ns = 0;
		stream->last_ns = whole_ns;
		stream->is_astray = false;
		return;
	}
	stream->is_turning = false;
	if (is_early && early_ns <= DTC_STREAM_TOLERANCE_NS) {
		stream->reversal_count++;
		stream->reversal_max_ns = MAX(stream->reversal_max_ns, early_ns);
	} else if (is_early) {
		place_astray(stream, time_ns, early_ns);
	} else if (time_ns > stream->limit_ns) {
		place_astray(stream, time_ns, subtract(time_ns, stream->limit_ns));
	} else if (is_contradicted(stream, time_ns, next_ns)) {
		place_astray(stream, time_ns, subtract(time_ns, stream->last_ns));
	} else {
		stream->last_ns = time_ns;
		stream->is_astray = false;
	}
}

void dtc_stream_take_event(struct dtc_stream *stream, int64_t time_ns, int64_t next_ns)
{
	stream->is_gap = false;
	stream->event_count++;
	time_ns -= stream->shift_ns;
	if (G_LIKELY(time_ns >= stream->last_ns && time_ns <= stream->limit_ns && next_ns == DTC_ABSENT &&
		     !stream->is_astray))
		stream->last_ns = time_ns;
	else
		place_event(stream, time_ns, next_ns);
}

void dtc_stream_take_gap(struct dtc_stream *stream, struct dtc_gap gap)
{
	stream->gap = gap;
	stream->is_gap = true;
	stream->last_ns = MAX(stream->last_ns, gap.end_ns);
}

bool dtc_stream_flush_gap(struct dtc_stream *stream)
{
	if (!stream->has_pending_gap)
		return false;
	stream->has_pending_gap = false;
	dtc_stream_take_gap(stream, stream->pending_gap);
	return true;
}

bool dtc_stream_end(struct dtc_stream *stream)
{
	if (dtc_stream_flush_gap(stream))
		return true;
	if ((!stream->error && !stream->has_no_end) || stream->is_cut || stream->event_count == 0)
		return false;
	stream->is_cut = true;
	dtc_stream_take_gap(stream, get_damage(stream));
	return true;
}

void dtc_stream_take_error(struct dtc_stream *stream, char *error)
{
	if (stream->error)
		g_free(error);
	else
		stream->error = error;
}
