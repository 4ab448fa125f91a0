/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recordings of clusters/demo, for tests of what comes of a bundle. */
#pragma once

#include "dtrace-chain/bundle.h"

/* Caller owns. */
static inline DtcBundle *demo_open(void)
{
	const char *source = g_getenv("DTC_SOURCE_DIR");
	g_autofree char *path = g_build_filename(source ? source : ".", "clusters", "demo", NULL);
	g_autoptr(GError) error = NULL;
	DtcBundle *bundle = dtc_bundle_open(path, &error);

	g_assert_no_error(error);
	return bundle;
}
