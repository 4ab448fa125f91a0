/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which headers carry the identity of a request, and how a value becomes one. Values are data from strangers: they come
 * out bounded and printable, bytes that are not are written \xNN. A longer value is cut and ends in '#' and a hash of
 * all of it, so that two ids do not become one by being cut.
 */
#pragma once

#include "dtrace-chain/request.h"

#include <glib.h>
#include <stdbool.h>

typedef struct DtcIdentityHeaders DtcIdentityHeaders;

/* The well-known headers and the caller's (NULL-terminated, any case; NULL: none). Caller owns. */
DtcIdentityHeaders *dtc_identity_headers_new(const char *const *more);
void dtc_identity_headers_free(DtcIdentityHeaders *headers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcIdentityHeaders, dtc_identity_headers_free)

/*
 * If the header (name of name_bytes, any case) carries an identity, and the value is one: its source name (borrowed),
 * and the id and the whole value in buffers of DTC_REQUEST_TEXT_BYTES + 1. A placeholder ("", "-", an all-zero trace
 * id, a sampling decision alone) is none.
 */
bool dtc_identity_headers_match(const DtcIdentityHeaders *headers, const char *name, gsize name_bytes,
				const char *value, gsize value_bytes, const char **ret_source, char *ret_id,
				char *ret_value);

/* Makes text of bytes from the wire, into a buffer of DTC_REQUEST_TEXT_BYTES + 1. */
void dtc_identity_clean(const char *bytes, gsize count, char *ret_text);

/*
 * How well a source tells one request from another: 0 for X-Request-Id, higher for ids that several requests may share
 * (a trace, a user's action).
 */
guint dtc_identity_get_width(const char *source);
