/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which recordings are meant: a bundle, what lies elsewhere, what a cluster file tells, and which nodes of it all. */
#pragma once

#include "dtrace-chain/bundle.h"

struct dtc_open_options {
	const char *path;	    /* of the bundle; NULL: the current directory, unless nodes come from elsewhere */
	guint64 max_unpacked_bytes; /* a packed bundle may become this large; 0: the default */
	const char *cluster;	    /* a file with names of nodes and tiers, and where recordings lie; or NULL */
	const char *const *node_paths; /* more nodes, each "NAME=PATH", NULL-terminated; or NULL */
	struct dtc_reader_options reader;
	const char *const *nodes;	 /* only these, NULL-terminated; NULL: all */
	const struct dtc_owners *owners; /* who reads instead of this process (owners.h); NULL: nobody */
};

/* Errors as of dtc_bundle_open_limited, dtc_bundle_add_node and dtc_bundle_select. Caller owns. */
DtcBundle *dtc_open_bundle(const struct dtc_open_options *options, GError **error);
/* Another one, with the tiers of the cluster file but none of its paths, no more nodes, and all of its own. */
DtcBundle *dtc_open_other(const struct dtc_open_options *options, const char *path, GError **error);

/*
 * Whether these are the words with which struct dtc_reader_options' program is started: then it must do nothing but
 * dtc_open_serve, and end with its code.
 */
bool dtc_open_is_child(int argc, char **argv);
int dtc_open_serve(char **argv);
