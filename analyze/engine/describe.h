/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the manifest of a new bundle says of its nodes: what a census found, and what the cluster file tells. */
#pragma once

#include "analyze/engine/census.h"
#include "dtrace-chain/manifest.h"

/* census is of the bundle, and so are findings. made_by is kept in the manifest. Caller owns. */
DtcManifest *dtc_describe_bundle(const DtcBundle *bundle, const GPtrArray *census, const DtcFindings *findings,
				 const char *made_by);
