/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of addresses, and of files such that many of them can be added up under one. */
#pragma once

#include "dtrace-chain/history.h"

/* "10.77.0.3:9000", "[fe80::1]:80". Caller owns. */
char *dtc_address_to_string(const uint8_t address[16], uint16_t port);
/* The same without the port. Caller owns. */
char *dtc_address_to_host_string(const uint8_t address[16]);

/* "10.77.0.3:9000" for a connection, else its name; NULL if not known. Caller owns. */
char *dtc_file_to_string(const DtcHistory *history, uint32_t file);

enum dtc_label_kind {
	DTC_LABEL_UNKNOWN,
	DTC_LABEL_TO,	/* a client's end: the server's address and port */
	DTC_LABEL_FROM, /* a server's end: the client's address, and the server's port */
	DTC_LABEL_LISTENS,
	DTC_LABEL_NAMED,  /* a path, "pipe:[123]" */
	DTC_LABEL_SOCKET, /* nothing else is known of it */
};

/*
 * Of an open file: a server has a thousand connections, each with another port of the client, and they are one line of
 * a table. Without padding and 0 where it does not apply: equal labels of one history are equal bytes.
 */
struct dtc_label {
	uint8_t address[16];
	uint32_t string; /* NAMED: of the history; else DTC_NONE */
	uint16_t port;
	uint16_t kind; /* enum dtc_label_kind */
};
_Static_assert(sizeof(struct dtc_label) == 24, "no padding in what is compared as bytes");

struct dtc_label dtc_label_get(const DtcHistory *history, uint32_t file);
/* Of a NAMED one, else NULL. Borrowed of the history. */
const char *dtc_label_get_text(const DtcHistory *history, const struct dtc_label *label);
/* Of struct dtc_label, for hash tables. */
guint dtc_label_hash(gconstpointer label);
gboolean dtc_label_equal(gconstpointer a, gconstpointer b);
