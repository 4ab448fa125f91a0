/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is asked for, and with what it is done: made once for all of a bundle, so that equal things become equal. */
#pragma once

#include "collect/redact/addresses.h"
#include "collect/redact/pseudonyms.h"

enum dtc_redaction_part {
	DTC_REDACT_PAYLOAD = 1, /* what applications sent */
	DTC_REDACT_ADDRESSES = 2,
	DTC_REDACT_NAMES = 4,
};

struct dtc_redaction {
	guint parts; /* enum dtc_redaction_part */
	DtcPseudonyms *words;
	DtcAddresses *addresses;
	const char *const *id_headers; /* that carry ids besides the known ones, lower case, NULL-terminated; or NULL */
};

/*
 * "payload,addresses,names", or some of these. Addresses and names are in the payload, too, so that either takes it
 * along. USAGE if one is none of them, or none is named.
 */
bool dtc_redaction_parse_parts(const char *text, guint *ret_parts, GError **error);
/* key_file: NULL, a key is drawn, and kept nowhere. False with an error. Clear with dtc_redaction_clear. */
bool dtc_redaction_init(struct dtc_redaction *redaction, guint parts, const char *key_file, GError **error);
void dtc_redaction_clear(struct dtc_redaction *redaction);
/* What becomes of a name of a machine, a node, a file; caller frees. */
char *dtc_redaction_name(struct dtc_redaction *redaction, const char *name);
/* What becomes of a text that may be anything. */
char *dtc_redaction_text(struct dtc_redaction *redaction, const char *text);
/* What becomes of addresses, or of names of machines where those are told; free with g_strfreev. */
char **dtc_redaction_addresses(struct dtc_redaction *redaction, char **addresses);
/* What becomes of the identity of a boot, in hexadecimal. */
char *dtc_redaction_uuid(struct dtc_redaction *redaction, const char *uuid);
