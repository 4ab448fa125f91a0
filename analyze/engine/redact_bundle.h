/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes of a bundle one that can be passed on: redacted, with a manifest of what it is now. */
#pragma once

#include "analyze/engine/reading.h"
#include "collect/bundle/create.h"

struct dtc_redact_request {
	const char *parts;	       /* "payload,addresses,names" */
	const char *key_file;	       /* NULL: a key is drawn, and kept nowhere */
	const char *const *id_headers; /* as --id-header has them; or NULL */
	const char *const *texts;      /* what is asked for: what they become; or NULL */
	bool follows_links; /* takes along what links lead to outside of the bundle; else they are an error */
	const char *made_by;
	const char *out;
};

/* Caller frees with dtc_redacted_clear. */
struct dtc_redacted {
	DtcManifest *manifest;
	char **texts; /* what those of the request became */
};
void dtc_redacted_clear(struct dtc_redacted *redacted);

/*
 * Writes the new bundle, packed if out ends with .dtcb; nothing of it is left if that fails. What is half done lies in
 * a private folder below TMPDIR, redacted. Nothing is kept in a cache.
 */
bool dtc_bundle_redact(const DtcBundle *bundle, const struct dtc_redact_request *request, const struct dtc_watch *watch,
		       DtcFindings *findings, struct dtc_redacted *ret, GError **error);
