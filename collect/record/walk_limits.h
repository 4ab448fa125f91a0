/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The CPU limits of cgroups: cpu.max and cpu.stat of version 2, cpu.cfs_quota_us, cpu.cfs_period_us and cpu.stat of
 * version 1 (Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst). A process is held by the
 * tightest limit of its cgroup and those above it.
 */
#pragma once

#include <glib.h>

typedef struct DtcWalkLimits DtcWalkLimits;

/* Below root, "" of a machine; records are appended to out (docs/formats.md). */
DtcWalkLimits *dtc_walk_limits_new(const char *root, GString *out);
void dtc_walk_limits_free(DtcWalkLimits *limits);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcWalkLimits, dtc_walk_limits_free)
/* text: of PID/cgroup. Nothing for a process without a limit. */
void dtc_walk_limits_add(DtcWalkLimits *limits, guint pid, const char *text);
