/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The simulated cluster. All times are true nanoseconds since the begin; a node's clock is applied when something is
 * recorded. What happens is a queue of events (queue.h), handled one after the other, so that two runs are the same.
 * Nodes are in tiers, clients first: a call goes to the next tier (tree), or to any node of a later place (mesh), never
 * back, so that pools of workers cannot wait for each other in a circle.
 */
#pragma once

#include "clusters/sim/queue.h"
#include "clusters/sim/trace.h"

#include <stdio.h>

#define SIM_NONE UINT32_MAX
#define SIM_US G_GINT64_CONSTANT(1000)
#define SIM_MS G_GINT64_CONSTANT(1000000)
#define SIM_SLICE_NS (4 * SIM_MS) /* of a CPU, while others wait for it */

enum sim_cause {
	SIM_CAUSE_NONE,
	SIM_CAUSE_CPU,	    /* the worker computes */
	SIM_CAUSE_SLEEP,    /* the worker sleeps */
	SIM_CAUSE_DISK,	    /* the worker waits for the disk */
	SIM_CAUSE_LOCK,	    /* ... for a lock, whose holder computes */
	SIM_CAUSE_RUNQUEUE, /* ... for a CPU, beside threads that burn it */
	SIM_CAUSE_POOL,	    /* the call waits until one of the workers is free: all of them sleep for others */
	SIM_CAUSES
};

struct sim_options {
	guint node_count, cpu_count, worker_count, fanout, tier_count, peer_count;
	guint client_threads; /* of each client */
	guint request_count;
	guint64 event_count; /* about so many: what is missing are wakes of a thread that does nothing; 0: none of them
			      */
	guint64 seed;
	bool is_mesh, has_captures;
	double cause_share; /* of requests that are made slow */
	const char *folder;
};

struct sim_call;

struct sim_request {
	guint index;
	enum sim_cause cause;
	struct sim_call *root;
	guint32 client; /* node */
	guint32 tid;
	int64_t begin_ns, end_ns; /* first byte sent, last byte read: true time */
};

struct sim_conn {
	guint32 client, server; /* nodes */
	guint32 client_thread, server_thread;
	uint16_t port; /* of the client */
	uint32_t client_seq, server_seq;
	bool is_open, is_queued, has_question, has_answer;
	guint end_count; /* of both directions */
	int64_t queued_ns;
	int64_t arrival_ns[2]; /* of the last packet from the client, from the server: none overtakes another */
	guint question_bytes, answer_bytes;
	struct sim_call *call;
};

struct sim_call {
	struct sim_request *request;
	struct sim_call *parent;
	guint32 node;
	guint32 tid;
	int64_t service_ns;
	enum sim_cause cause; /* what is done to it here */
	int64_t cause_ns;
	int64_t cause_begin_ns, cause_end_ns; /* as it came */
	int64_t begin_ns, end_ns;	      /* question read, answer sent */
	guint child_count, next_child;
	struct sim_call **children;
	struct sim_conn *down; /* to the child that is asked */
};

enum sim_thread_kind { SIM_WORKER, SIM_CLIENT, SIM_FILLER, SIM_HOLDER, SIM_HOG, SIM_TICKER };
enum sim_thread_state { SIM_BLOCKED, SIM_READY, SIM_RUNNING };

/* One is waited for after the other; by whom, the kind of thread tells. */
struct sim_lock_job {
	guint32 thread;
	int64_t ns;
};

struct sim_thread {
	guint32 node, next; /* in a CPU's queue */
	int32_t tid, pid;
	char comm[16];
	uint8_t kind, state, cpu;
	uint8_t step; /* of its program */
	int64_t left_ns;
	struct sim_call *call;
	struct sim_conn *conn;
	int64_t job_ns;	   /* of a hog */
	bool is_woken;	   /* what it waited for has come */
	uint32_t fd_count; /* opened so far */
};

struct sim_cpu {
	guint32 thread; /* SIM_NONE: idle */
	guint32 head, tail;
	guint length;
	bool is_dispatching;
};

struct sim_node {
	SimTrace *trace;
	char name[16];
	guint32 first_thread, thread_count;
	guint32 address;
	struct sim_cpu *cpus;
	int64_t last_ns; /* of what was recorded */
	int64_t clock_offset_ns;
	double clock_rate; /* minus 1 */
	guint tier;
	guint32 *peers; /* that it calls */
	guint peer_count;
	uint16_t next_port, next_ip_id;
	int64_t last_capture_ns;
	GQueue accept;	/* struct sim_conn */
	GQueue waiting; /* threads in accept4() */
	GQueue locks;	/* struct sim_lock_job */
	guint64 next_sector;
};

struct sim_cluster {
	struct sim_options options;
	GRand *rand;
	struct sim_node *nodes;
	struct sim_thread *threads;
	guint thread_count;
	guint client_count;
	guint requests_begun, requests_done;
	SimQueue *queue;
	FILE *truth;
	bool has_truth_begun;
	int64_t ticker_ns; /* between two wakes; 0: none */
	int64_t now_ns;
};

/* ---- plan.c: who calls whom ---- */

void sim_plan_nodes(struct sim_cluster *cluster);
/* The calls of the next request of a client; NULL: there are enough. */
struct sim_request *sim_plan_request(struct sim_cluster *cluster, guint32 client);
/* One call that holds a worker. */
struct sim_request *sim_plan_filler(struct sim_cluster *cluster, guint32 client, guint32 node, int64_t ns);
void sim_request_free(struct sim_request *request);

/* ---- machine.c: CPUs, threads, interrupts ---- */

/* Records an event at or after a time, behind all others of its node: when it was. */
int64_t sim_record(struct sim_cluster *cluster, guint32 node, guint cpu, int64_t at_ns, enum sim_event event,
		   const int64_t *values, const char *const *texts);
/* The same of a packet, which the capture has, too. */
int64_t sim_record_frame(struct sim_cluster *cluster, guint32 node, guint cpu, int64_t at_ns, enum sim_event event,
			 const struct sim_frame *frame);
int64_t sim_to_node_clock(const struct sim_node *node, int64_t true_ns); /* ticks */
/* From an interrupt or a thread on that CPU. */
int64_t sim_wake(struct sim_cluster *cluster, guint32 thread, guint cpu, int64_t at_ns);
void sim_run(struct sim_cluster *cluster);

/* ---- program.c: what threads do ---- */

enum sim_step_result { SIM_STEP_RUN, SIM_STEP_BLOCK, SIM_STEP_BLOCK_DISK };
/* Goes on with a thread that has a CPU; left_ns says how long it computes until it is asked again. */
enum sim_step_result sim_program_step(struct sim_cluster *cluster, guint32 thread, int64_t *at_ns);

/* ---- net.c: connections and packets ---- */

struct sim_packet;
struct sim_conn *sim_conn_new(struct sim_cluster *cluster, guint32 thread, struct sim_call *call);
enum sim_packet_kind { SIM_SYN, SIM_SYNACK, SIM_ACK, SIM_QUESTION, SIM_ANSWER, SIM_FIN };
/* Leaves the node of the sender now, from that CPU; when it was. */
int64_t sim_send(struct sim_cluster *cluster, struct sim_conn *conn, bool from_client, enum sim_packet_kind kind,
		 guint cpu, int64_t at_ns);
/* Frees the packet, and the connection after its last one. */
void sim_packet_arrive(struct sim_cluster *cluster, struct sim_packet *packet, int64_t at_ns);

/* ---- truth.c ---- */

void sim_truth_begin(struct sim_cluster *cluster);
void sim_truth_add(struct sim_cluster *cluster, const struct sim_request *request);
void sim_truth_end(struct sim_cluster *cluster);
const char *sim_cause_get_name(enum sim_cause cause);
