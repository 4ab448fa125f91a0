/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of a thread, of processes or of nodes by state, and the longest single states. */
#pragma once

#include "analyze/engine/selection.h"
#include "analyze/profile/profile_states.h"

/* Whose time a tree is: one thread's, a process's, or all threads' of a node. */
struct dtc_states_scope {
	guint node;
	int32_t pid; /* -1: a node */
	int32_t tid; /* -1: a node or process */
	const char *comm;
	const char *process;
	guint thread_count;
	bool is_parent; /* of the thread that is asked about, before the birth of the one in the scope before */
	DtcClusterTime begin;
	DtcClusterTime end;
	DtcStateTree *tree; /* owned; finished */
};

struct dtc_states_options {
	enum dtc_state_class only;  /* of this class are the instances; DTC_CLASSES: of all */
	guint limit;		    /* instances; 0: all */
	struct dtc_state_line line; /* only instances of this one */
};

typedef struct DtcStates {
	GArray *scopes;	     /* struct dtc_states_scope */
	GArray *instances;   /* struct dtc_state_instance, the longest first */
	int64_t *origins_ns; /* by node: cluster time that relative times count from */
} DtcStates;

/* NULL with an error as of dtc_selection_find, or USAGE if nothing is of that line. It borrows from engine. Caller
 * owns. */
DtcStates *dtc_states_new(const DtcEngine *engine, const struct dtc_subject *subject,
			  const struct dtc_states_options *options, DtcFindings *findings, GError **error);
void dtc_states_free(DtcStates *states);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcStates, dtc_states_free)
