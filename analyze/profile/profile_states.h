/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The WIB State Summary (Fournier, 2009): the time of one or many threads as a tree of class (working, interrupted,
 * blocked), state, system call, and file; or name of the interrupt. Every level's sums equal those above it, and the
 * roots' sum is the threads' life in the span. State Instances are the single spells, the longest first.
 *
 * Mind the misprint in the thesis' table 2.2: a preempted thread is interrupted, a blocked one is blocked.
 */
#pragma once

#include "analyze/edge/shares.h"
#include "dtrace-chain/history.h"

#include <glib.h>

enum dtc_state_class {
	DTC_CLASS_WORKING,     /* user, system call, kernel; a vCPU's thread: in its guest */
	DTC_CLASS_INTERRUPTED, /* irq, softirq, preempted, runqueue: it could run, and something else did; in a guest
				* also while the vCPU was away */
	DTC_CLASS_BLOCKED,     /* waits, by cause */
	DTC_CLASS_IDLE,
	DTC_CLASS_EXITED,
	DTC_CLASS_UNKNOWN,
	DTC_CLASSES
};

/* "working", "interrupted", ...; NULL beyond the last. */
const char *dtc_state_class_to_string(enum dtc_state_class state_class);
bool dtc_state_class_parse(const char *name, enum dtc_state_class *ret_class);
enum dtc_state_class dtc_state_class_get(const struct dtc_interval *interval);
/* "user", "preempted", or of a wait its cause: "disk"; "wait" if the trace does not tell. Borrowed, static. */
const char *dtc_state_name_get(const DtcHistory *history, const struct dtc_interval *interval);

/*
 * A thread's intervals in a span, clipped to it, in time order. Neighbours of the same state and call are one spell (a
 * migration cuts the wait for a CPU in two intervals), but every interrupt and every wait is a spell of its own. Where
 * virtual machines are, an interval is cut into what it really was (edge/shares.h).
 */
struct dtc_spells {
	const DtcHistory *history; /* private */
	struct dtc_shares shares;
	bool has_next;
	struct dtc_interval next;
	int64_t begin_ns;
	int64_t end_ns;
	GArray *parts; /* of the interval before next */
	guint part;    /* the next one */
};
/* links as of dtc_shares_begin. */
void dtc_spells_begin(struct dtc_spells *spells, const DtcLinks *links, guint node, const DtcHistory *history,
		      uint32_t thread, DtcNodeTime begin, DtcNodeTime end);
/* The next spell as one interval; false at the end. */
bool dtc_spells_next(struct dtc_spells *spells, struct dtc_interval *ret_spell);
/* Frees what the others need; spells is not. */
void dtc_spells_end(struct dtc_spells *spells);

enum dtc_state_level { DTC_LEVEL_CLASS, DTC_LEVEL_STATE, DTC_LEVEL_CALL, DTC_LEVEL_FILE, DTC_STATE_LEVELS };

struct dtc_state_entry {
	const char *name; /* borrowed from the tree; "" if is_none */
	enum dtc_state_level level;
	guint parent; /* index; G_MAXUINT: none */
	guint end;    /* finished: index behind its last descendant */
	bool is_none; /* the spells of its parent without a call or file, beside others that have one */
	uint64_t count;
	int64_t total_ns;
	int64_t min_ns;
	int64_t max_ns;
};

typedef struct DtcStateTree DtcStateTree;

DtcStateTree *dtc_state_tree_new(void);
void dtc_state_tree_free(DtcStateTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcStateTree, dtc_state_tree_free)
/* All spells of one tree must come from one history. */
void dtc_state_tree_add(DtcStateTree *tree, const DtcHistory *history, const struct dtc_interval *spell);
/* Orders entries depth first, children by time, largest first (classes in their own order). Nothing may be added. */
void dtc_state_tree_finish(DtcStateTree *tree);
guint dtc_state_tree_get_count(const DtcStateTree *tree);
const struct dtc_state_entry *dtc_state_tree_get(const DtcStateTree *tree, guint index);
int64_t dtc_state_tree_get_total_ns(const DtcStateTree *tree);

/* A spell of some node, for the list of the longest. */
struct dtc_state_instance {
	guint node;
	struct dtc_interval spell;
};

/* The longest instances: keeps at most limit of what is added, in a heap. */
typedef struct DtcStateInstances DtcStateInstances;

DtcStateInstances *dtc_state_instances_new(guint limit);
/* A line of the tree: its names, as get gives them; NULL: any. Borrowed. */
struct dtc_state_line {
	const char *state;
	const char *call;
	const char *file;
};
/* Whether a spell is counted in that line. */
bool dtc_state_line_has(const struct dtc_state_line *line, const DtcHistory *history, const struct dtc_interval *spell);

void dtc_state_instances_free(DtcStateInstances *instances);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcStateInstances, dtc_state_instances_free)
void dtc_state_instances_add(DtcStateInstances *instances, guint node, const struct dtc_interval *spell);
/* struct dtc_state_instance, longest first, equal ones by node, thread and begin. Borrowed. */
const GArray *dtc_state_instances_finish(DtcStateInstances *instances);
