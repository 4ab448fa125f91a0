/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who owns which node: the largest first, each to the least loaded of those that can read its files; where nobody can,
 * of those that see it, so that it is told why it cannot be read. The same whatever the order in which ranks answer.
 */
#pragma once

#include <glib.h>

#define DTC_ASSIGN_NOBODY G_MAXUINT

struct dtc_assign_node {
	const char *name; /* borrowed */
	guint64 bytes;	  /* the most that anybody sees */
	GArray *readers;  /* guint: ranks that can read it; owned by the caller */
	GArray *seers;	  /* guint: that see it */
	guint owner; /* set before: it stays, and its bytes count. DTC_ASSIGN_NOBODY: to be set, or nobody sees it */
};

/* nodes: struct dtc_assign_node, by name. */
void dtc_assign(GArray *nodes, guint rank_count);
