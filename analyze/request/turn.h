/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The exchange on a connection at a time, whatever its protocol: a turn is bytes one way and then the other, until the
 * side that began writes again. Found from the calls on the connection's file, without any capture.
 */
#pragma once

#include "analyze/request/locate.h"

struct dtc_turn_ends {
	uint8_t source[16]; /* IPv4 addresses are mapped, as in packets */
	uint8_t destination[16];
	uint16_t source_port;
	uint16_t destination_port;
};

struct dtc_turn {
	guint node;
	uint32_t thread;   /* that moved the last byte */
	uint32_t call;	   /* with it */
	DtcNodeTime begin; /* client: entry of the first write, or of connect for the first turn; server: exit of the
			      first read */
	DtcNodeTime end;
	bool is_client; /* false: only the end that was connected to is traced */
	bool has_end;	/* false: no answer */
};

/*
 * The turn that was going on at a time, else the last one before it, else the first. Either end may be named first. The
 * side that connected is explained, if it is traced. NOT_FOUND if no traced node has the connection.
 */
bool dtc_turn_find(guint node_count, const DtcHistory *const *histories, const DtcClocks *clocks,
		   const struct dtc_turn_ends *ends, DtcClusterTime at, struct dtc_turn *ret_turn, GError **error);
