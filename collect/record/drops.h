/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a ring buffer says of itself: per_cpu/cpuN/stats of tracefs. */
#pragma once

#include <glib.h>
#include <stdbool.h>

struct dtc_drops {
	guint64 entries; /* in the buffer now */
	guint64 overrun; /* overwritten before they were read */
	guint64 commit_overrun;
	guint64 bytes;
	guint64 dropped;
	guint64 read;
	gint64 span_ns; /* from the oldest event in it until now; 0: there is none */
};

/* What a line does not say is 0; false if no line says anything. */
bool dtc_drops_parse(const char *text, struct dtc_drops *ret_drops);
/* Events that never came out; of a buffer that is meant to overwrite itself those are not lost that it overwrote. */
guint64 dtc_drops_count_lost(const struct dtc_drops *drops, bool is_flight);
