/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole captures, pcap and pcapng of either byte order. What of a file is in no packet is overwritten: comments, names
 * of machines and interfaces, secrets, blocks that are not known, and all that is behind damage.
 */
#pragma once

#include "collect/redact/addresses.h"

struct dtc_capture_redaction {
	DtcPseudonyms *words;
	DtcAddresses *addresses; /* NULL: they stay */
	bool has_payload;	 /* it is replaced */
	const char *const *id_headers;
};

/* Writes a new file, 0600, that must not exist. False with an error; what was written is then removed. */
bool dtc_capture_file_redact(const struct dtc_capture_redaction *redaction, const char *from, const char *to,
			     GError **error);
/* The same of bytes, in their place. name is how errors call them. */
bool dtc_capture_bytes_redact(const struct dtc_capture_redaction *redaction, const char *name, uint8_t *bytes,
			      gsize count, GError **error);
