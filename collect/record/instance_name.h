/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of tracing instances: "dtrace-collect-NAMESPACE-PID-START", where START is when the process began, so that
 * whoever comes later can tell what a crashed recorder left from what another one uses. A pid alone may belong to
 * somebody else by then, and means something only in its PID namespace, whose inode is told: containers have one kernel
 * and one tracefs, and none of them sees the processes of another.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Of this process; one that is never called stale if /proc does not show it. proc is "/proc". Caller owns. */
char *dtc_instance_name_new(const char *proc);
/*
 * The name is one of ours, and its process is no more. Of another PID namespace only the first one of the machine can
 * know that: no process is in it any more.
 */
bool dtc_instance_name_is_stale(const char *name, const char *proc);
/* When a process began, in ticks since boot, as /proc/PID/stat says; 0: there is no such process. */
guint64 dtc_instance_name_get_start(const char *proc, guint pid);
