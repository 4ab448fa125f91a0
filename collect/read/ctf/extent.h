/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much there is to read, before it is read: for who waits. */
#pragma once

#include <glib.h>

struct dtc_extent {
	guint64 bytes;	 /* of all stream files */
	guint64 packets; /* 0: the packets are not of a kind that can be counted without decoding */
};

/* Of the trace in a directory; zeros if there is none. Costs one page per packet. */
struct dtc_extent dtc_extent_of_trace(const char *directory);
/* The bytes alone, without a look into the files. */
guint64 dtc_extent_measure(const char *directory);
