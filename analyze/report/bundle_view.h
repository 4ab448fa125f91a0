/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a bundle's manifest says, and whether its files are still those that it names: text and JSON. */
#pragma once

#include "collect/bundle/create.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/manifest.h"

#include <stdbool.h>

struct dtc_bundle_view {
	const char *name; /* as it was given; all borrowed */
	const DtcManifest *manifest;
	const DtcFindings *findings; /* of its making, or NULL */
	bool lists_files;
	/* of a redaction: what was asked for, and what it became in the new bundle; NULL-terminated, or NULL */
	const char *const *asked;
	const char *const *became;
	/* of a check */
	bool is_check;
	const char *seal_problem; /* of the packed file itself; NULL: none, or not packed */
	const GPtrArray *defects; /* struct dtc_defect */
};

/* False if a byte has changed or a file is missing; a file that the manifest does not name does no harm. */
bool dtc_bundle_view_is_intact(const struct dtc_bundle_view *view);
/* Callers own the texts. */
char *dtc_bundle_view_to_text(const struct dtc_bundle_view *view, guint width, bool has_color, bool has_utf8);
/* dtrace-chain/bundle/1 */
char *dtc_bundle_view_to_json(const struct dtc_bundle_view *view);
