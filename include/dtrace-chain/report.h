/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A report: the answer for one request (or one thread and span), built once by dtc_report_new (analyze/report/model.h)
 * and then only read. Views lay it out and compute nothing. All strings are printable UTF-8 of bounded length and
 * belong to the report; lists are in the order in which a reader wants them, which depends on nothing but the data.
 *
 * Invariants: steps are contiguous from begin_ns to end_ns; the rows sum to their tiers, and the tiers to duration_ns.
 */
#pragma once

#include "collect/packets/table.h"
#include "dtrace-chain/finding.h"
#include "dtrace-chain/path.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* One name of the request, and where it was found ("x-request-id"). */
struct dtc_report_source {
	const char *source;
	const char *id;
	const char *value; /* as it was sent: of a traceparent more than the id */
};

struct dtc_report_thread {
	const char *node;
	const char *comm;    /* NULL: no thread */
	const char *process; /* never NULL: "network" or "unknown" where no process is behind it */
	const char *tier;    /* process@node, unless a cluster file names it */
	int32_t pid, tid;    /* -1: not known */
};

/* In what a thread was woken: at that instant, on the CPU that did it. */
struct dtc_report_wake {
	const char *mode;      /* as dtc_wake_mode_to_string says; NULL: there was no wakeup */
	const char *comm;      /* of the thread that had that CPU; NULL: not known */
	int32_t tid;	       /* of that thread, -1 */
	uint32_t cpu;	       /* of the node */
	const char *call;      /* that thread's system call, or NULL */
	const char *file;      /* that the call works on, or NULL */
	const char *interrupt; /* on top of it: a name of an interrupt or softirq, or NULL */
};

/* The records behind a step or a blocking; ids are those of the node's recording and mean nothing elsewhere. */
struct dtc_report_evidence {
	bool is_known;		     /* false: nothing of the below */
	const char *reason;	     /* a name of enum dtc_reason; NULL: what call and edge tell */
	const char *edge;	     /* what ended the wait: a kind of analyze/edge/edges.h; or NULL */
	const char *call;	     /* name of the system call, or NULL */
	const char *file;	     /* that it works on, or NULL */
	uint64_t lock;		     /* address of a futex; 0: none */
	struct dtc_report_thread by; /* who ended the wait, sent the message or had the CPU; comm NULL: nobody known */
	const char *by_call;	     /* the system call in which that one ended it, or NULL */
	struct dtc_report_wake wake; /* in what the wait was ended */
	bool has_disk;
	uint32_t device;	 /* major << 20 | minor */
	const char *device_name; /* or NULL */
	int64_t sector;
	int64_t sectors;
	int64_t packet; /* that arrived, -1: none */
	int64_t sent_packet;
	int64_t sent_call;
	const char *sent_node; /* of these two, or NULL */
};

/* A segment of the critical path. */
struct dtc_report_step {
	struct dtc_report_thread who;
	int64_t begin_ns; /* cluster time */
	int64_t end_ns;
	enum dtc_cause cause;
	const char *detail;    /* or NULL */
	const char *busy_with; /* or NULL: the other request for which the thread worked */
	const char *candidate; /* or NULL: or for this one; it cannot be told */
	guint evidence;	       /* index in evidences; G_MAXUINT: none */
	enum dtc_link_quality link;
	int64_t uncertainty_ns;
	bool is_hop;			  /* the step before is on another node */
	bool is_kernel;			  /* of a thread of the kernel */
	struct dtc_report_thread service; /* whose time this is: who, unless a kernel thread worked for another */
};

/* What one tier spent for one cause. */
struct dtc_report_row {
	const char *tier;
	const char *node;
	const char *process;
	enum dtc_cause cause;
	const char *detail; /* the one with the largest share, or NULL */
	int64_t detail_ns;  /* its share of ns */
	int64_t unnamed_ns; /* the share of steps that have no detail */
	int64_t ns;
	guint step_count;
};

struct dtc_report_tier {
	const char *service; /* for whose tier most of it worked: its own, unless it is a kernel thread's */
	const char *tier;
	const char *node;
	const char *process;
	int64_t ns;
	guint row_first; /* its rows, largest first */
	guint row_count;
};

/* All that was done for a tier: its own time, and that of the kernel's threads and interrupts that worked for it. */
struct dtc_report_service {
	const char *tier;
	const char *node;
	const char *process;
	int64_t ns;
};

/* Causes that are alike to who looks for help: see docs/formats.md. */
enum dtc_family {
	DTC_FAMILY_CPU,
	DTC_FAMILY_CPU_WAIT,
	DTC_FAMILY_DISK,
	DTC_FAMILY_LOCK,
	DTC_FAMILY_IPC,
	DTC_FAMILY_STOPPED,
	DTC_FAMILY_NETWORK,
	DTC_FAMILY_TIMER,
	DTC_FAMILY_VM,
	DTC_FAMILY_UNKNOWN,
	DTC_FAMILY_DEVICE,
	DTC_FAMILIES
};
enum dtc_family dtc_family_of_cause(enum dtc_cause cause);
/* "cpu", "cpu-wait", ... */
const char *dtc_family_to_string(enum dtc_family family);

/* What one machine spent in one family. */
struct dtc_report_part {
	enum dtc_family family;
	int64_t ns;
	const char *what; /* who or what the largest share of it was about, or NULL */
	int64_t what_ns;  /* that share */
};

struct dtc_report_machine {
	const char *node;
	int64_t ns;
	guint part_first; /* its parts, largest first */
	guint part_count;
};

/* What the head says. */
struct dtc_report_verdict {
	bool is_single;		 /* one part has half of the time or more: these are its machine and family */
	guint single;		 /* its index in parts */
	const char *machine;	 /* else the machine with the largest sum, NULL if there is no time, */
	enum dtc_family family;	 /* and the family with the largest sum over all machines */
	const char *waited_for;	 /* the other request that kept this one waiting longest, or NULL */
	const char *waited_tier; /* which was busy with that one longest */
	int64_t waited_ns;	 /* of all tiers */
	int64_t waited_tier_ns;	 /* of that tier */
	/* the request that it may have been instead, at most of these steps; NULL: there is no doubt */
	const char *waited_candidate;
	int64_t waited_candidate_ns; /* of the steps at which it may have been that one */
};

/* How long a request took among the others of the recording, from packet to packet. */
struct dtc_report_usual {
	guint count; /* answered requests in the captures; 0: not known */
	guint rank;  /* 1: nothing took longer */
	const char *method;
	const char *pattern; /* of URLs, with "*" for ids; NULL: not known */
	guint like_count;    /* with this method and pattern, this one too */
	int64_t like_p50_ns;
};

/* A blocking and, as its children, what the waker was blocked on meanwhile. A parent comes before its children. */
struct dtc_report_blocking {
	struct dtc_report_thread who;
	int64_t begin_ns;
	int64_t end_ns;
	enum dtc_cause cause;
	const char *detail;   /* or NULL */
	const char *woken_by; /* or NULL */
	guint evidence;	      /* index in evidences; G_MAXUINT: none */
	enum dtc_link_quality link;
	guint depth;
	guint parent; /* G_MAXUINT: none */
};

/* One end of a hop: the thread that called, or that was called, and its span of the hop. */
struct dtc_report_end {
	struct dtc_report_thread who; /* node NULL: not known; tid -1: known, but its kernel was not traced */
	int64_t begin_ns;	      /* cluster time; 0 without a thread, as end_ns */
	int64_t end_ns;
	enum dtc_link_quality
		link; /* exact: its calls carried the bytes; inferred: by order and time; unknown: no thread */
};

/* A request and its response on one connection, as one step of the way through the tiers. */
struct dtc_report_hop {
	const char *method, *url; /* or NULL */
	int status;		  /* 0: not known */
	struct dtc_report_end client, server;
	guint parent;		    /* index of the hop whose server sent this one; G_MAXUINT: none */
	guint attempt;		    /* 1, 2, ...: the same call again */
	enum dtc_link_quality link; /* of the less sure of its ends: that they are of one exchange */
	const char *candidate;	    /* or NULL: the request of which it may be instead */
};

/* How far the order of events on two nodes that follow each other on the path can be wrong. */
struct dtc_report_clock {
	const char *a; /* before b in sorted order */
	const char *b;
	int64_t uncertainty_ns; /* the largest on the path; INT64_MAX: not aligned */
};

/* Who the time before the target's birth is of: the thread that made it, the one that made that, and so on. */
struct dtc_report_parent {
	struct dtc_report_thread who;
	int64_t begin_ns; /* cluster time: its part of the span */
	int64_t end_ns;	  /* it made the one before it then */
};

struct dtc_report_finding {
	enum dtc_severity severity;
	const char *code; /* static; NULL: none */
	const char *node; /* NULL: all */
	const char *text;
};

typedef struct DtcReport {
	const char *request; /* the request's id; NULL if the target was named by its thread */
	GArray *sources;     /* struct dtc_report_source */
	const char *method;  /* NULL if not known, as target and status 0 */
	const char *url;
	int status;
	bool begins_before;  /* the request began before the recording of its node, or runs beyond its end: the span */
	bool ends_after;     /* is the part inside */
	const char *outside; /* that, or that the client's part is not visible, in words for the head; else NULL */
	GArray *hops;	     /* struct dtc_report_hop, by begin; empty without a request */
	struct dtc_report_thread target;
	GArray *parents;       /* struct dtc_report_parent, back from the target; most have none */
	const char *reference; /* the node whose clock is cluster time */
	int64_t begin_ns;
	int64_t end_ns;
	int64_t duration_ns;
	GArray *tiers;	  /* struct dtc_report_tier, largest first */
	GArray *rows;	  /* struct dtc_report_row, by tier */
	GArray *services; /* struct dtc_report_service, largest first; they sum to duration_ns, too */
	guint dominant;	  /* index of the largest row; G_MAXUINT if there is none */
	GArray *machines; /* struct dtc_report_machine, largest first */
	GArray *parts;	  /* struct dtc_report_part, by machine */
	struct dtc_report_verdict verdict;
	struct dtc_report_usual usual;
	int64_t origin_ns;   /* where the recording begins, cluster time; INT64_MIN: not known */
	DtcTable *steps;     /* struct dtc_report_step: of a thread's whole span there are hundreds of thousands */
	DtcTable *blockings; /* struct dtc_report_blocking, likewise */
	guint untold;	     /* further ones, of which only the number is known */
	GArray *evidences;   /* struct dtc_report_evidence, of some of the two above */
	GArray *clocks;	     /* struct dtc_report_clock, by names */
	GArray *findings;    /* struct dtc_report_finding */
	bool complete;
	GStringChunk *strings;		/* owns every string above but for */
	struct DtcNameBook *names;	/* names of nodes and threads, and details: one of several reports */
	struct dtc_report_known *known; /* while it is made */
} DtcReport;

void dtc_report_free(DtcReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcReport, dtc_report_free)
