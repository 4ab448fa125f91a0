/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Captured packets, replaced where they lie. Lengths, times, ports, sequence numbers and flags stay; what is asked for
 * goes: payload (with what nobody needs of headers: options, checksums that would tell of it), addresses. What is not
 * known (other protocols, other options) is overwritten, whatever was asked for.
 */
#pragma once

#include "collect/packets/frame.h"
#include "collect/redact/addresses.h"
#include "collect/redact/connections.h"

struct dtc_packet_redaction {
	DtcPseudonyms *words;
	DtcAddresses *addresses;     /* NULL: they stay */
	DtcConnections *connections; /* of this capture; NULL: payload stays */
};

/* The bytes must stay where they are until the connections are freed. */
void dtc_packet_redact(const struct dtc_packet_redaction *redaction, enum dtc_frame_kind kind, uint8_t *bytes,
		       uint32_t captured_bytes, uint32_t wire_bytes);
