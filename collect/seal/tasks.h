/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What tracefs does not say of an event, and the rest of the recording does: whose thread it is (the kernel logs the
 * clone flags, and the walks of /proc tell who was there), and the name of a file (if its descriptor is still open at
 * the last walk, and nothing can have closed it since). What is not certain is not told.
 */
#pragma once

#include "collect/seal/scan.h"
#include "collect/seal/walk.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_fork_fact {
	int32_t parent_pid; /* 0: not known */
	int32_t child_pid;
};

typedef struct DtcTasks DtcTasks;

/* The notes of all scans, by CPU as in the array; scans and walks are read only here. Caller owns. */
DtcTasks *dtc_tasks_new(const struct dtc_scan *scans, guint scan_count, const DtcWalk *begin, const DtcWalk *end);
void dtc_tasks_free(DtcTasks *tasks);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcTasks, dtc_tasks_free)
/* The so-manieth fork of that scan. */
struct dtc_fork_fact dtc_tasks_get_fork(const DtcTasks *tasks, guint scan, uint32_t index);
/* The file that its so-manieth open opened; NULL: not known. Borrowed. */
const char *dtc_tasks_get_file_name(const DtcTasks *tasks, guint scan, uint32_t index);
/* Whether a thread ever became another by executing a program: its events are the other's from then on. */
bool dtc_tasks_is_same(const DtcTasks *tasks, int32_t old_tid, int32_t tid);
guint dtc_tasks_get_named_count(const DtcTasks *tasks);
