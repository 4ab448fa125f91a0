/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A walk of /proc, as the recorder writes it (docs/formats.md): what was there at a moment. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum dtc_walk_namespace {
	DTC_WALK_NET,
	DTC_WALK_PID,
	DTC_WALK_MNT,
	DTC_WALK_USER,
	DTC_WALK_UTS,
	DTC_WALK_IPC,
	DTC_WALK_CGROUP,
	DTC_WALK_NAMESPACES
};

struct dtc_walk_process {
	const char *program; /* all strings are the walk's */
	const char *cgroup;
	uint32_t namespaces[DTC_WALK_NAMESPACES]; /* inodes; 0: not known */
	int32_t pid;
	int32_t ppid;
};

struct dtc_walk_thread {
	const char *name;
	int32_t tid;
	int32_t pid;
	int32_t vtid; /* in its own namespace */
	uint32_t cpu;
	char state; /* as /proc writes it: R S D T t Z X I P */
	bool is_kernel;
};

struct dtc_walk_file {
	const char *target; /* what the link in /proc/PID/fd says */
	int32_t pid;
	int32_t fd;
};

struct dtc_walk_socket {
	const char *protocol;
	const char *local;
	const char *remote;
	uint64_t inode;
	uint32_t netns;
	uint16_t local_port;
	uint16_t remote_port;
	uint16_t state;
};

struct dtc_walk_interface {
	const char *name;
	char **addresses; /* with their prefix; NULL-terminated; the walk's */
	uint32_t netns;
	uint32_t index;
};

struct dtc_walk_irq {
	const char *actions;
	uint32_t irq;
};

/* A cgroup with a CPU limit. */
struct dtc_walk_limit {
	const char *cgroup;
	uint32_t quota_us;
	uint32_t period_us;
	int64_t throttled; /* how often, and for how long, since it was made; -1: not known */
	int64_t throttled_us;
	uint64_t timer; /* address of the function that ends its periods; 0: not known */
};

struct dtc_walk_held {
	const char *cgroup; /* that limits the process most */
	int32_t pid;
};

struct dtc_walk_disk {
	const char *name;
	uint32_t major;
	uint32_t minor;
};

typedef struct DtcWalk {
	int64_t begin_ns; /* CLOCK_MONOTONIC */
	int64_t end_ns;
	GArray *processes; /* struct dtc_walk_process, by pid */
	GArray *threads;   /* struct dtc_walk_thread; as they stand in the file, as the rest */
	GArray *files;
	GArray *sockets;
	GArray *interfaces;
	GArray *irqs;
	GArray *disks;
	GArray *limits;	     /* struct dtc_walk_limit */
	GArray *held;	     /* struct dtc_walk_held */
	guint skipped_lines; /* that could not be understood */
	GStringChunk *texts;
} DtcWalk;

/* A file that is not there gives an empty walk, and *ret_is_there false. Caller owns. */
DtcWalk *dtc_walk_read(const char *path, bool *ret_is_there);
void dtc_walk_free(DtcWalk *walk);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcWalk, dtc_walk_free)
/* NULL: it has none. */
const struct dtc_walk_limit *dtc_walk_find_limit(const DtcWalk *walk, const char *cgroup);
/* NULL: no such process. */
const struct dtc_walk_process *dtc_walk_find_process(const DtcWalk *walk, int32_t pid);
