/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every process used (after flightbox): CPU, disk and network over time; the files and connections it read, wrote
 * and waited for; the CPU time that its servers used on its behalf, across nodes; and who talks to whom.
 *
 * Processes with the same name on a node are one row ("nginx@web"). Durations are on each node's own clock; the edges
 * of the time intervals are placed by cluster time. Nodes that are not aligned have an axis of their own.
 *
 * Conservation (dtc_usage_check): a row's intervals sum to its total; on each node and in each interval the CPU time of
 * all processes, of interrupts, away, idle and unknown is CPUs times the time. CPU time of a process is what its
 * threads ran without the interrupts on top of them; away is what a guest's CPU had something to run and its vCPU was
 * not in the guest; unknown is before a CPU's first switch and where events were lost. In the tree of servers a total
 * is the own CPU time and the totals beneath; what a server has in all places of the tree is what the edges to it have.
 */
#pragma once

#include "analyze/edge/links.h"
#include "analyze/exchange/label.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_USAGE_INTERVALS 50	     /* by default */
#define DTC_USAGE_INTERVALS_MAX 2000 /* each takes some bytes per process */

/* Part of a node's trace, on its clock; empty if it does not begin before it ends. */
struct dtc_usage_span {
	DtcNodeTime begin;
	DtcNodeTime end;
};

struct dtc_usage_options {
	int64_t interval_ns; /* 0: a 50th of the longest group's span */
	/*
	 * By node and thread, whether it is asked for; a node's NULL: none of it. NULL: all is. What is asked for has
	 * rows apart from the rest of that name, and only their files and edges are kept.
	 */
	const uint8_t *const *asked;
	/*
	 * By node, what counts, NULL: all. Times are cut to it. What has bytes counts if it ended in it: a call when it
	 * returned (or began, if it never did), a block request when it was issued, a message when it was read. Who
	 * works for whom is still told from the whole trace, so that the figures of two spans that meet sum to those of
	 * both together, but for waits and openings that lie in both.
	 */
	const struct dtc_usage_span *spans;
};

/* A row: the processes of one name on one node. Arrays have interval_count of their node. */
struct dtc_usage_process {
	guint node;
	char *name;
	int32_t pid; /* -1: several, or not known */
	guint count; /* how many processes */
	bool is_kernel;
	bool is_asked; /* else it is there for the sums, and as the other end of edges */
	int64_t cpu_ns;
	int64_t guest_ns; /* part of cpu_ns that its vCPUs were in their guest */
	int64_t *cpu;	  /* ns by interval */
	uint64_t disk_read_bytes, disk_written_bytes;
	uint64_t disk_requests;
	uint64_t *disk;					     /* bytes by interval, of the request's issue */
	uint64_t network_received_bytes, network_sent_bytes; /* of its calls on connections to other machines */
	uint64_t *network;				     /* bytes by interval, of the call's end */
	int64_t served_ns;				     /* part of cpu_ns that is charged to clients */
	int64_t sub_ns; /* CPU time that others used on its behalf; total = cpu_ns + sub_ns */
};

struct dtc_usage_node {
	bool has_history; /* else nothing below is valid */
	guint cpu_count;
	int64_t span_ns;	       /* of its trace that counts, on its clock */
	struct dtc_usage_span counted; /* that part; it ends before its end */
	DtcClusterTime begin;	       /* of its axis: the first interval */
	guint interval_count;
	int64_t process_ns, interrupt_ns, away_ns, idle_ns, unknown_ns;
	int64_t *interrupt, *away, *idle, *unknown; /* by interval */
	int64_t *span;				    /* of what counts, by interval: unequal at the ends */
};

/* What the processes of a row did with the files of one label. */
struct dtc_usage_file {
	guint process;
	struct dtc_label label;
	const char *text; /* the label's; borrowed of the history */
	guint file_count; /* connections, or openings */
	uint64_t calls;
	uint64_t read_bytes, written_bytes;
	uint64_t waits; /* in calls on it, or in poll until a packet for it arrived */
	int64_t blocked_ns;
};

enum dtc_usage_channel { DTC_USAGE_TCP, DTC_USAGE_UDP, DTC_USAGE_PIPE, DTC_USAGE_SOCKETPAIR, DTC_USAGE_UNIX };
const char *dtc_usage_channel_to_string(enum dtc_usage_channel channel);

/* Connections: from the client to the server. Pipes and socket pairs: from writer to reader. */
struct dtc_usage_edge {
	guint from; /* process; G_MAXUINT: not traced, then host says where */
	char *host; /* owned, or NULL */
	guint to;   /* process */
	enum dtc_usage_channel channel;
	uint64_t messages;     /* requests; of pipes: reads */
	uint64_t bytes;	       /* to the server, or the reader */
	uint64_t answer_bytes; /* to the client; 0 for pipes */
	int64_t cpu_ns;	       /* of the server for these requests, without its own servers' */
	uint64_t exact_count;  /* messages whose sender is known by bytes, not by order */
};

/*
 * A place in the tree of servers: a process that served the one it stands beneath, for what that one was asked itself.
 * Roots are clients, of whom nobody is known to have asked.
 */
struct dtc_usage_server {
	guint parent;	      /* before it in the list; G_MAXUINT: a root */
	guint depth;	      /* of a root 0 */
	guint process;	      /* G_MAXUINT: a root that is not traced, then host says where */
	char *host;	      /* owned, or NULL */
	uint64_t messages;    /* requests that it was asked here; of a root 0, as the next two */
	uint64_t exact_count; /* of these: whose sender is known by bytes, not by order */
	int64_t cpu_ns;	      /* of the server for these, without its own servers' */
	int64_t time_ns;      /* from the read of a message to the last write of its answer; a root: all its servers' */
	int64_t total_ns;     /* CPU time of it and of all beneath it */
};

typedef struct DtcUsage {
	int64_t interval_ns;
	guint node_count;
	struct dtc_usage_node *nodes;
	GArray *processes; /* struct dtc_usage_process: by node, most CPU time first */
	GArray *files;	   /* struct dtc_usage_file: longest blocked first */
	GArray *edges;	   /* struct dtc_usage_edge: by from, to, channel */
	/*
	 * struct dtc_usage_server: each root with all beneath it, most total first. With processes that were asked for
	 * the roots in whose tree one of them is.
	 */
	GArray *servers;
} DtcUsage;

/* Links are borrowed for the call. Caller owns; NULL with a USAGE error if the interval is too short for the span. */
DtcUsage *dtc_usage_new(const DtcLinks *links, const struct dtc_usage_options *options, GError **error);
void dtc_usage_free(DtcUsage *usage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcUsage, dtc_usage_free)
/* Verifies the conservation above. False with a message that names the first sum that is off. */
bool dtc_usage_check(const DtcUsage *usage, GError **error);
