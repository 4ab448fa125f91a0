/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In which namespaces a connection is seen whose addresses several namespaces of the node have. One of them is its
 * home, whose flow all its packets are of: a connection through a veth pair is one, sent in one namespace and received
 * in another. Namespaces are indexes; 0: it is not known which one.
 */
#pragma once

#include <glib.h>
#include <stdint.h>

#define DTC_NO_HOME UINT16_MAX

/* The same for both directions. */
struct dtc_ends {
	uint8_t address[2][16];
	uint16_t port[2];
	uint16_t protocol;
};

typedef struct DtcHomes DtcHomes;

struct dtc_ends dtc_ends_make(const uint8_t source[16], uint16_t source_port, const uint8_t destination[16],
			      uint16_t destination_port, uint8_t protocol);

DtcHomes *dtc_homes_new(void);
void dtc_homes_free(DtcHomes *homes);

/* Of what is seen between these ends in that namespace; DTC_NO_HOME: nothing was yet. */
uint16_t dtc_homes_find(const DtcHomes *homes, const struct dtc_ends *ends, uint16_t netns);
/* The i-th home of connections between these ends, perhaps several times; DTC_NO_HOME: there are no more. */
uint16_t dtc_homes_get(const DtcHomes *homes, const struct dtc_ends *ends, guint i);
/* Of a namespace in which connections between these ends are seen; one of all that there are. */
struct dtc_home {
	struct dtc_ends ends;
	uint16_t netns;
	uint16_t home;
};
_Static_assert(sizeof(struct dtc_home) == 42, "without padding, as images have it");

/* All, in an order in which dtc_homes_set makes the same of them; the same for the same homes. Caller unrefs. */
GArray *dtc_homes_list(const DtcHomes *homes);
void dtc_homes_set(DtcHomes *homes, const struct dtc_ends *ends, uint16_t netns, uint16_t home);
