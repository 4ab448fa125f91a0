/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many packets come from each of some nodes. A tap with a filter in the kernel, which hands over the first few of
 * each node and second and then leaves the node out: what somebody works with is not counted any further.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* So many packets of a second are enough. */
#define DTC_TRAFFIC_ENOUGH 8u

typedef struct DtcTraffic DtcTraffic;

/*
 * Of this network namespace. UDP to that port does not count. NULL without the rights to it, or where this kernel is
 * too old. Caller owns.
 */
DtcTraffic *dtc_traffic_open(uint16_t own_port);
void dtc_traffic_free(DtcTraffic *traffic);
/* Addresses of a node (16 bytes each, IPv4 ones as ::ffff:0:0/96); its number is its place among those added. */
void dtc_traffic_add(DtcTraffic *traffic, const uint8_t (*addresses)[16], guint count);
/* For poll. */
int dtc_traffic_get_fd(const DtcTraffic *traffic);
/* Takes what has come. */
void dtc_traffic_go_on(DtcTraffic *traffic);
/* Whether enough came of the node since dtc_traffic_begin. */
bool dtc_traffic_is_enough(const DtcTraffic *traffic, guint number);
/* Begins to count anew. */
void dtc_traffic_begin(DtcTraffic *traffic);
