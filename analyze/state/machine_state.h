/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the machine knows at one moment, shared by the files of this stage (one per kernel subject). Per CPU a stack of
 * contexts on top of the current thread; per thread its open interval.
 */
#pragma once

#include "analyze/history/records.h"
#include "analyze/state/machine.h"

#define DTC_CONTEXT_DEPTH 16

enum dtc_context_kind {
	DTC_CONTEXT_IRQ,     /* value: string of the name */
	DTC_CONTEXT_SOFTIRQ, /* value: vector */
	DTC_CONTEXT_VECTOR,  /* value: enum dtc_vector */
	DTC_CONTEXT_TIMER,   /* value: timer's function as string */
	DTC_CONTEXT_HRTIMER,
};

struct dtc_context {
	uint8_t kind;
	uint32_t value;
	uint32_t name;	 /* string: of an interrupt or vector, or DTC_NONE */
	uint32_t packet; /* the last packet received inside, or DTC_NONE */
	uint32_t block;	 /* the last block request that completed inside, or DTC_NONE */
	int64_t begin_ns;
	uint64_t function; /* HRTIMER: address, or 0 */
	int64_t raised_ns; /* SOFTIRQ net rx: when it was asked for, or DTC_TIME_NONE */
};

/* Something that was done in the kernel, and may have woken a thread: an interrupt, or a thread's call. */
struct dtc_act {
	struct dtc_wake wake; /* as which it wakes; its times and target are not set */
	uint32_t call;	      /* of a thread, or DTC_NONE */
	uint64_t function;    /* of an hrtimer, or 0 */
	int64_t end_ns;
};

struct dtc_cpu {
	uint32_t current;      /* thread, or DTC_NONE before the first switch, and after lost events or switches */
	bool has_left;	       /* its thread was seen to run elsewhere, and nothing here told that it had left */
	uint32_t idle;	       /* the CPU's idle thread, or DTC_NONE until seen */
	int64_t seen_ns;       /* its last event */
	int64_t net_raised_ns; /* net rx was asked for, and has not begun; else DTC_TIME_NONE */
	guint depth;
	struct dtc_context stack[DTC_CONTEXT_DEPTH];
	uint32_t raised;	 /* vector of the softirq that was raised here last, or DTC_NONE */
	uint32_t completed;	 /* block request that the current thread completed, not an interrupt; or DTC_NONE */
	uint32_t last_wake;	 /* made here, and nothing began or ended since; else DTC_NONE */
	int64_t left_call_ns;	 /* when a call returned here last */
	int64_t fault_ns;	 /* the last page fault */
	struct dtc_wake sent;	 /* who raised the IPI that this CPU has not yet taken */
	guint sent_count;	 /* by how many */
	struct dtc_act acts[16]; /* what ended here last, a ring; without sched_waking only */
	guint act_count;
};

/* Where a packet was: an interface of a network namespace. To put their name together takes longer than the packet. */
struct dtc_named_place {
	uint32_t netns;
	uint16_t interface; /* of the packets */
	char name[16];	    /* IFNAMSIZ (include/uapi/linux/if.h); a longer one is not kept */
};

/* What system calls do beside their kind, found by name once for each. */
enum dtc_call_trait {
	DTC_TRAIT_RECEIVES = 1 << 0,	/* recv and its kin: may peek */
	DTC_TRAIT_TIMEOUT_MS = 1 << 1,	/* its timeout is in the trace */
	DTC_TRAIT_CONTROLS = 1 << 2,	/* fcntl */
	DTC_TRAIT_HAS_TYPE = 1 << 3,	/* makes sockets, whose type has the flag of close-on-exec */
	DTC_TRAIT_SOCKET = 1 << 4,	/* makes one socket */
	DTC_TRAIT_DUPLICATES = 1 << 5,	/* dup, dup2, dup3 */
	DTC_TRAIT_PIPE = 1 << 6,	/* makes two ends */
	DTC_TRAIT_SOCKET_PAIR = 1 << 7, /* likewise */
	DTC_TRAIT_EVENT = 1 << 8,	/* makes another descriptor: eventfd, epoll_create, ... */
	DTC_TRAIT_NETNS = 1 << 9,	/* may take its thread to another namespace */
	DTC_TRAIT_MESSAGES = 1 << 10,	/* recvmmsg, sendmmsg: moves several, and returns how many */
	DTC_TRAIT_SPLICES = 1 << 11,	/* between a pipe and another file */
	DTC_TRAIT_LETS_GO = 1 << 12,	/* of a socket: what its writes had left in it may leave */
};

/* The open interval of a thread, and what is pending. One per thread, beside history->threads. */
struct dtc_task {
	int64_t since_ns;
	int64_t name_seen_ns;  /* when the current name was last observed */
	uint32_t name;	       /* string, or DTC_NONE */
	uint32_t call;	       /* open system call, or DTC_NONE */
	uint32_t ref;	       /* of the open interval */
	uint32_t work;	       /* that a kernel worker executes, or DTC_NONE */
	uint32_t guest_span;   /* the open stay in a guest, until its exit; else DTC_NONE */
	uint32_t netns;	       /* inode of its network namespace; 0: not known */
	uint32_t pending_wake; /* waking seen while it still ran, or wakeup not yet seen; else DTC_NONE */
	uint16_t traits;       /* of the open system call: bits of enum dtc_call_trait */
	uint16_t cpu;
	uint8_t state;
	bool in_kernel; /* runs kernel code outside a call: kernel thread, new child, exiting */
	bool freed;
	bool knows_call;     /* whether it is in a call, and in which, was seen and is not forgotten */
	bool is_placed;	     /* a call of it began or ended in sight: without one it is in user mode */
	bool is_broken_off;  /* its last call ended early: for a signal, or a freezer */
	bool is_turned_back; /* it waits, and had come from user mode a moment before */
};

/* Descriptors of one process, or of several that share them (CLONE_FILES). */
struct dtc_fd_table {
	GArray *fds; /* struct dtc_fd by fd */
	guint users;
};

struct dtc_fd {
	uint32_t file; /* or DTC_NONE */
	bool closes_on_exec;
};

/* That epoll returns these data for a descriptor. */
struct dtc_registration {
	int64_t data;
	uint32_t set; /* file of epoll */
	uint32_t file;
};

/* A packet that was given to a qdisc. */
struct dtc_queued {
	int64_t skb;	 /* address */
	uint32_t packet; /* and one; 0: none */
};

struct DtcMachine {
	char *node;
	const DtcReader *reader;
	DtcHistory *history;
	GArray *tasks;		  /* struct dtc_task */
	GArray *cpus;		  /* struct dtc_cpu */
	GArray *call_kinds;	  /* by syscall name of the reader: uint8_t kind, 0xff: not yet looked up */
	GArray *call_names;	  /* by syscall name of the reader: uint32_t string, DTC_NONE before its first call */
	GArray *call_traits;	  /* by syscall name of the reader: uint16_t, bits of enum dtc_call_trait */
	GHashTable *fd_tables;	  /* pid -> struct dtc_fd_table */
	GHashTable *table_owners; /* file_table_address of the statedump -> pid */
	GHashTable *named_files;  /* string id of "socket:[inode]" -> file + 1 */
	GHashTable *flow_owners;  /* flow_out + 1 -> file + 1, the first that had it */
	GHashTable *blocks;	  /* (device, sector) hash -> request + 1 */
	GHashTable *irq_names;	  /* number -> string + 1 */
	uint32_t last_irq_names[16];	  /* by low bits of its number: the string and one that an entry told, or 0 */
	GArray *vector_names;		  /* by event name of the reader: uint32_t string, DTC_NONE: not yet asked */
	GHashTable *queued_works;	  /* address -> struct dtc_wake: queued, and not yet executed */
	GHashTable *queued;		  /* skb address -> packet + 1: given to a qdisc, not yet to the device */
	struct dtc_queued last_queued;	  /* likewise, and not in that table */
	struct dtc_named_place places[8]; /* by both, of the latest packets; netns 0: free */
	GHashTable *registered; /* struct dtc_registration (owned): what epoll_ctl told, but a descriptor's number */
	GHashTable *numbered;	/* files of epoll whose data were seen to be descriptors' numbers */
	GHashTable *syns;	/* (address, port, namespace) hash of the peer -> flow + 1 of its last SYN received */
	int64_t now_ns;
	GPtrArray *gaps;	    /* per CPU: GArray of int64_t, when gaps of lost events began */
	GArray *gap_bounds;	    /* int64_t: when gaps of any CPU began and ended; sorted at the end */
	GArray *gap_ends;	    /* int64_t: of these when they ended */
	uint64_t sleepers_function; /* of the hrtimers that end sleeps, 0: none was seen yet */
	int64_t period_function;    /* of the hrtimers that end periods of cgroups, 0: not known */
	uint32_t old_state_max;	    /* kernels before 4.14: the bit of a preempted thread in prev_state; else 0 */
	bool saw_arguments;	    /* of calls: not all are told by their number alone */
	bool is_perf;
	uint64_t event_count, packet_count, headerless_count;
	uint64_t missing_count;	   /* switches that are not in the trace */
	int64_t missing_ns;	   /* after the first of them */
	uint32_t exits;		   /* of calls of which kinds were seen: a bit for each enum dtc_call_kind */
	bool saw_irq;		   /* an interrupt, softirq, vector or timer of any kind */
	bool saw[DTC_EVENT_KINDS]; /* kinds of events that the trace has had so far */
};

#define DTC_TASK(machine, index) (&g_array_index((machine)->tasks, struct dtc_task, (index)))
#define DTC_THREAD(machine, index) (&g_array_index((machine)->history->threads, struct dtc_thread, (index)))

/* machine.c */
void dtc_machine_add_cpus(DtcMachine *machine, uint32_t last);
static inline struct dtc_cpu *dtc_machine_get_cpu(DtcMachine *machine, uint32_t cpu)
{
	if (G_UNLIKELY(cpu >= machine->cpus->len))
		dtc_machine_add_cpus(machine, cpu);
	return &g_array_index(machine->cpus, struct dtc_cpu, cpu);
}
/* The living thread with this tid, made (state unknown since the trace's begin) if it is new. DTC_NONE: absurd tid. */
uint32_t dtc_machine_get_thread(DtcMachine *machine, int64_t tid, uint32_t cpu);
/* A new thread that begins now, whatever had the tid before. */
uint32_t dtc_machine_add_thread(DtcMachine *machine, int64_t tid, int64_t begin_ns, int32_t idle_cpu);
/* Closes the open interval at time and opens the next. */
void dtc_machine_set_state(DtcMachine *machine, uint32_t thread, enum dtc_state state, int64_t time_ns, uint16_t cpu,
			   uint32_t ref);
/* The state of a thread that runs, from its call, the contexts above it and what it is. Sets it. */
void dtc_machine_set_running(DtcMachine *machine, uint32_t thread, int64_t time_ns, uint32_t cpu);
/*
 * A thread that waited or was runnable on a CPU whose events were lost meanwhile may have run there unseen: from the
 * gap on its state is unknown, and this returns true. To be called before it gets a new one.
 */
bool dtc_machine_settle_gap(DtcMachine *machine, uint32_t thread);
/* The first gap since then of a CPU's events, of any CPU's if cpu is 0xffff; DTC_TIME_NONE if there is none. */
int64_t dtc_machine_find_gap(DtcMachine *machine, uint16_t cpu, int64_t since_ns);
/* The name a thread bears now, from a field of an event; NULL is ignored. */
void dtc_machine_observe_name(DtcMachine *machine, uint32_t thread, const char *name, int64_t time_ns);
void dtc_machine_set_process(DtcMachine *machine, uint32_t thread, int64_t pid);
/* NULL: the thread itself runs */
static inline struct dtc_context *dtc_machine_get_top(struct dtc_cpu *cpu)
{
	return cpu->depth ? &cpu->stack[cpu->depth - 1] : NULL;
}

/* sched.c, waker.c, irq.c, work.c, call.c, file.c, net.c, block.c, dump.c, guest.c */
void dtc_machine_apply_sched(DtcMachine *machine, const struct dtc_event *event);
void dtc_machine_apply_ipi(DtcMachine *machine, const struct dtc_event *event);
void dtc_machine_apply_signal(DtcMachine *machine, const struct dtc_event *event);
void dtc_machine_apply_work(DtcMachine *machine, const struct dtc_event *event);
void dtc_machine_apply_irq(DtcMachine *machine, const struct dtc_event *event);
void dtc_machine_apply_call(DtcMachine *machine, const struct dtc_event *event);
/* namespace.c */
uint64_t dtc_machine_hash_peer(const uint8_t address[16], int64_t port);
void dtc_machine_apply_netns(DtcMachine *machine, const struct dtc_event *event);
/* Within the call that made the child. */
void dtc_machine_inherit_netns(DtcMachine *machine, uint32_t parent, uint32_t child);
/* The SYN of a flow was received. */
void dtc_machine_add_syn(DtcMachine *machine, const struct dtc_headers *headers, uint32_t flow);
/* The flow of the last SYN from there, in the thread's namespace where that counts; DTC_NONE. */
uint32_t dtc_machine_find_syn(DtcMachine *machine, uint32_t thread, const uint8_t address[16], int64_t port);
void dtc_machine_apply_net(DtcMachine *machine, const struct dtc_event *event);
void dtc_machine_apply_block(DtcMachine *machine, const struct dtc_event *event);
void dtc_machine_apply_dump(DtcMachine *machine, const struct dtc_event *event);
void dtc_machine_apply_guest(DtcMachine *machine, const struct dtc_event *event);
/* The CPU of a thread with an open stay in a guest is seen back in the host. */
void dtc_machine_leave_guest(DtcMachine *machine, uint32_t thread, int64_t time_ns);
/*
 * What a CPU did until now: the context it leaves, or else the thread's call (DTC_NONE: a kernel thread's work, an
 * exit).
 */
void dtc_machine_end_act(DtcMachine *machine, struct dtc_cpu *cpu, uint32_t number, const struct dtc_context *context,
			 uint32_t call);
/* Who acts on that CPU now, as a wake without a target. */
struct dtc_wake dtc_machine_get_origin(DtcMachine *machine, uint32_t cpu);
/* Makes the wake record for a waking (or wakeup) that this CPU logged: who did it. */
uint32_t dtc_machine_add_wake(DtcMachine *machine, uint32_t target, const struct dtc_event *event);
/* The call that an event in this CPU's context is part of: none inside interrupts. */
uint32_t dtc_machine_get_own_call(DtcMachine *machine, struct dtc_cpu *cpu);
/* The string of a name that is not negative. */
uint32_t dtc_machine_get_call_name(DtcMachine *machine, int64_t name);
enum dtc_call_kind dtc_machine_get_call_kind(DtcMachine *machine, int64_t name);
void dtc_machine_close_call(DtcMachine *machine, uint32_t thread, int64_t end_ns, int64_t result);
/*
 * From then on the thread is in that state, and in no call: the exit of the one that it may be in was not seen, and an
 * exit that comes later is another one's.
 */
void dtc_machine_abandon_call(DtcMachine *machine, uint32_t thread, enum dtc_state state, int64_t time_ns);

/* missing.c: switches that the trace does not have */
/* What the event says of whose context it is in; if that is not the current thread, its CPU is that one's from now. */
void dtc_machine_check_context(DtcMachine *machine, const struct dtc_event *event);
/* A call begins or ends in the current thread, which cannot be. */
bool dtc_machine_is_others_entry(const DtcMachine *machine, uint32_t thread);
bool dtc_machine_is_others_exit(DtcMachine *machine, uint32_t thread, const struct dtc_event *event);
/* The CPU's current thread was not it any more: from its last sign of life on it is not known who is. */
void dtc_machine_forget_current(DtcMachine *machine, uint32_t cpu);
/* One more is missing, before what comes on that CPU now, of which it is not known who has it. */
void dtc_machine_note_missing(DtcMachine *machine, uint32_t cpu);
void dtc_machine_report_missing(const DtcMachine *machine, DtcFindings *findings);
/* sched.c: a thread is on a CPU now, by whatever told. */
void dtc_machine_take_cpu(DtcMachine *machine, uint32_t thread, uint32_t cpu);
/* poll.c */
/* epoll_ctl begins in a thread: the file that it adds or changes, or DTC_NONE. */
uint32_t dtc_machine_register(DtcMachine *machine, uint32_t thread, const struct dtc_event *event);
/* A poll has returned. */
void dtc_machine_keep_ready(DtcMachine *machine, uint32_t call, const struct dtc_event *event);
guint dtc_registration_hash(gconstpointer registration);
gboolean dtc_registration_equal(gconstpointer a, gconstpointer b);
/* file.c: open file descriptions by (process, fd) */
uint32_t dtc_machine_add_file(DtcMachine *machine, enum dtc_file_kind kind, uint32_t name, int32_t pid);
uint32_t dtc_machine_get_file(DtcMachine *machine, uint32_t thread, int64_t fd); /* made if not known */
uint32_t dtc_machine_find_file(DtcMachine *machine, int32_t pid, int64_t fd);	 /* DTC_NONE if not known */
void dtc_machine_set_file(DtcMachine *machine, int32_t pid, int64_t fd, uint32_t file);
void dtc_machine_set_close_on_exec(DtcMachine *machine, int32_t pid, int64_t fd, bool closes);
/* For a new process: a copy, or the same table. */
void dtc_machine_copy_files(DtcMachine *machine, int32_t from_pid, int32_t to_pid, bool shares);
/* exec: a table of its own, without what closes on exec. */
void dtc_machine_exec_files(DtcMachine *machine, int32_t pid);
void dtc_machine_drop_files(DtcMachine *machine, int32_t pid);
/* absent.c: what the events that the trace does not have leave unknown. The history is sealed. */
void dtc_machine_report_absent(const DtcMachine *machine, DtcFindings *findings);
/* passed.c: what leaves by a flow leaves on a file. */
void dtc_machine_set_flow(DtcMachine *machine, uint32_t file, uint32_t flow_out);
/*
 * The file on which a flow leaves in a call: the call's, or a new one, if that one cannot be what the descriptor is.
 * The call and its descriptor are on that then.
 */
uint32_t dtc_machine_find_own_file(DtcMachine *machine, uint32_t call, uint32_t flow_out);
/* At the end, a socket that another process was given is one file. */
void dtc_machine_join_passed_files(DtcMachine *machine);
/* At the end: where each socket's byte 0 lies in the sequence space of its flows. */
void dtc_machine_place_sockets(DtcMachine *machine);
/* Of what was written until now on connections from before the trace; it stays, whatever is forgotten. */
void dtc_machine_place_writes(DtcMachine *machine);
/* local_sockets.c: of sockets of which both ends are here and no packet tells. The history is sealed. */
void dtc_machine_pair_local_sockets(DtcMachine *machine);
/* lost_bytes.c: then, where events were lost, how many bytes of them calls moved that are not in the trace. */
void dtc_machine_place_lost_bytes(DtcMachine *machine);

/* socket.c: a sequence number that something is at most. */
struct dtc_seq_bound {
	bool is_known;
	uint32_t seq;
};

/*
 * What each of a file's reads says of where its bytes begin in the flow: at most there. reads: ids in the order in
 * which they ended; ret_bounds: one for each.
 */
void dtc_machine_bound_reads(const DtcMachine *machine, uint32_t flow_in, const uint32_t *reads, guint count,
			     struct dtc_seq_bound *ret_bounds);
