/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which node of a bundle is a guest of which. A host's recorder has written down what its virtual machines are known by
 * (dtc_environment_guest), a guest's what it is itself: the UUID that its firmware gives it, or the address of a
 * network card, must be the same, of one machine and one node. Somebody may say it instead.
 */
#pragma once

#include "collect/bundle/environment.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/cluster.h"
#include "dtrace-chain/manifest.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_role_source {
	const char *node;
	const DtcEnvironment *environment; /* or NULL */
	const char *told; /* what its host calls it, or the number of the process there, as somebody says; or NULL */
};

struct dtc_role {
	guint guest, host;			/* of the sources */
	const struct dtc_environment_guest *as; /* the host's; borrowed */
	const char *known_by;			/* "UUID", "network card", "name" */
};

/*
 * Of each node that is a guest (struct dtc_role, by guest). What is doubtful is none of them and is said in notes
 * (char *, NULL: it is not). Free with g_array_unref.
 */
GArray *dtc_roles_find(const struct dtc_role_source *sources, guint count, GPtrArray *notes);
/* Into the manifest: role, host and threads of nodes that it has. */
void dtc_roles_write(DtcManifest *manifest, const struct dtc_role_source *sources, const GArray *roles);

/*
 * What a bundle says of its nodes by itself: its manifest, or else what their recorders wrote. NULL: there are no
 * guests in it. Caller owns.
 */
DtcCluster *dtc_roles_read(const DtcBundle *bundle);
