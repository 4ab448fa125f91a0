/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes that lie in one folder, as recorders wrote and manifests describe them, become a bundle. */
#pragma once

#include "collect/bundle/write.h"
#include "dtrace-chain/cluster.h"

#include <glib.h>
#include <stdbool.h>

/*
 * A node's folder against its own manifest: what is not as it was recorded (char *), empty if all is. Without a
 * manifest of one node it is an error.
 */
GPtrArray *dtc_gather_check(const char *node_folder, DtcCreateProgress progress, void *data, GError **error);

struct dtc_gather_request {
	const char *folder;	    /* of the nodes' folders */
	const char *out;	    /* packed if it ends with .dtcb, else a folder; it is not there yet */
	const char *creator;	    /* for the manifest */
	const DtcCluster *cluster;  /* roles and addresses of nodes; or NULL */
	const char *const *guests;  /* "NODE=NAME": what its host calls a node; or NULL */
	DtcCreateProgress progress; /* or NULL */
	void *data;		    /* its own */
	bool has_no_addresses;	    /* they were redacted, and the cluster file's are not */
	GPtrArray *notes; /* char *: which node was found to be a guest, and what is doubtful of it; or NULL */
};

/* Writes the bundle of all that the manifests in the folder name and that is there. False leaves nothing behind. */
bool dtc_gather(const struct dtc_gather_request *request, guint64 *ret_bytes, GError **error);
