/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets in the order of their times. Captures are nearly so: what costs memory is only what came late, and one pass
 * moves it to its place.
 */
#pragma once

#include "collect/packets/table.h"

/*
 * Sorts records (struct dtc_packet) by time_ns; those of equal times stay as they were. As many marks (uint32_t) go
 * with them.
 */
void dtc_packets_order_by_time(DtcTable *records, DtcTable *marks);
