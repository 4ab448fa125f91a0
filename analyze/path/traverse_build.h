/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside a traversal: where it stands, and the steps that lead to other threads. */
#pragma once

#include "analyze/edge/handoff.h"
#include "analyze/path/path_build.h"
#include "analyze/path/traverse.h"

/* What the thread of a stand is looked at for. */
enum dtc_purpose {
	DTC_PURPOSE_OWN,     /* its own time, down to whatever it waited for */
	DTC_PURPOSE_ARRIVAL, /* what it did since arrival, which is why it sent */
	DTC_PURPOSE_GIVEN,   /* the same; and the work was given to it at given_ns, after the arrival, by giver */
};

/* A request that lies still in an event loop: what the loop does meanwhile is not for it. */
struct dtc_pause {
	uint32_t poll;	  /* with which it ended; DTC_NONE: there was none */
	int64_t begin_ns; /* of the first poll that waited */
	bool is_due;	  /* a timer took it up again, whatever had woken the poll */
};
#define DTC_PAUSE_NONE ((struct dtc_pause){ DTC_NONE, DTC_TIME_NONE, false })

/* Where a traversal stands: a thread at a time, and what it is looked at for. */
struct dtc_stand {
	guint node;
	uint32_t thread;
	int64_t at_ns; /* node time */
	enum dtc_purpose purpose;
	struct dtc_arrival arrival;
	uint32_t giver;
	int64_t given_ns;
	guint owner; /* as of a segment: whose write the purpose led to */
	/* ARRIVAL, and the thread's loop had other requests in its hands since: see traverse_turn.c */
	struct dtc_pause pause;
	const struct dtc_work *work; /* that this thread, a kernel worker, executes; NULL: none to follow */
};

/* A message that is followed from its arrival to its sender, and how far that has come. */
struct dtc_way {
	struct dtc_arrival arrival;
	struct dtc_sender sender;
	guint relays;	     /* messages before it that kernels sent in answer to each other */
	bool has_begun;	     /* what the receiver's softirq took is explained */
	bool has_come_in;    /* and how it came into a guest, if it is one that received it */
	bool has_come_out;   /* and how it came out of a guest, if it is one that sent it */
	bool is_carried_out; /* by a thread that is known */
};

/* A wait that is explained by what others do: where the traversal comes back to when it reaches the begin. */
struct dtc_frame {
	struct dtc_stand stand; /* at_ns: the begin */
	int64_t bound_cluster_ns;
	/* a guest's request to its device, followed in the host: it also comes back at this guest's vCPUs */
	guint vcpu_node;
	uint32_t vcpu_thread; /* DTC_NONE: none */
	bool has_way;	      /* what it comes back to is the rest of a message's way */
	struct dtc_way way;
	guint waiter; /* as the visitor numbers it */
};

/*
 * A question that a process was asked and that the traversal has not reached yet: whatever its threads sent to others
 * after it was asked, they sent for its sake, unless they are seen to act on something later.
 */
struct dtc_scope {
	guint node;
	int32_t pid;
	struct dtc_asked asked;
	int64_t question_cluster_ns;
	bool is_inside; /* nothing in the trace leads from the question to the answer: see traverse_inside.c */
	guint frames;	/* so many there were */
};

/* Questions that are not yet reached, of a spot: few, since each is an answer that is still being explained. */
#define DTC_SPOT_SCOPES 2

struct dtc_spot {
	int64_t tc;
	struct dtc_stand stand;
	guint scope_count;
	struct dtc_scope scopes[DTC_SPOT_SCOPES];
};

/* Whether what comes before is explained alike. */
bool dtc_spot_is_same(const struct dtc_spot *a, const struct dtc_spot *b);

/* What is remembered of a thread that the traversal was at, while it goes to and fro between a few. */
struct dtc_last_look {
	guint node;
	uint32_t thread;	      /* DTC_NONE: none yet */
	bool is_worker;		      /* a kernel worker */
	struct dtc_interval interval; /* that it was in last, to look for the one before from there */
};
/* Threads with the same number, modulo, share a place. */
#define DTC_LAST_LOOKS 8

struct dtc_traverse {
	const DtcEdges *edges;
	const DtcLinks *links;
	const DtcClocks *clocks;
	const struct dtc_traversal *of;
	const struct dtc_visitor *visitor;
	gpointer data;
	struct dtc_stand stand;
	int64_t tc;	     /* cluster time: everything from here to the end is explained */
	GArray *frames;	     /* struct dtc_frame */
	guint device_frames; /* of them are followed in a host */
	guint scopes_max;    /* so many, and those that were reached are dropped */
	GArray *scopes;	     /* struct dtc_scope, the innermost last */
	GHashTable *entered; /* threads that were entered at entered_ns, by node and thread: none twice */
	int64_t entered_ns;
	enum dtc_link_quality link; /* of the step that led here: what is explained next bears it */
	int64_t uncertainty_ns;
	/* the message that is followed, for the segments of its way; NULL: none */
	const struct dtc_arrival *message;
	const struct dtc_sender *message_sender;
	bool by_kernel;		  /* what is explained next is made by it */
	int64_t doubt_cluster_ns; /* what is explained is inferred down to there; INT64_MAX: nothing */
	struct dtc_last_look looks[DTC_LAST_LOOKS];
	int64_t pass_ns;	 /* cluster time: from there on the visitor is told of the next spot */
	struct dtc_ahead *ahead; /* it only looks ahead, as traverse_branch.c does; NULL: it does not */
};

/* From where it is to the begin of the span, or to where it is to end. */
void dtc_traverse_walk(struct dtc_traverse *t);

/* Down to where the traversal may go: the begin of the span, or of the wait that it explains. */
int64_t dtc_traverse_get_bound(const struct dtc_traverse *t);
/*
 * Explains the time from cluster time begin up to tc. Names are those that (node, thread) had at name_ns. interval as
 * told to the visitor.
 */
void dtc_traverse_explain(struct dtc_traverse *t, guint node, uint32_t thread, int64_t name_ns,
			  int64_t begin_cluster_ns, enum dtc_cause cause, struct dtc_evidence why,
			  const struct dtc_interval *interval);
/* An interval of the stand's thread from begin to where it stands, and goes there. */
void dtc_traverse_explain_interval(struct dtc_traverse *t, const struct dtc_interval *interval, int64_t begin_ns,
				   enum dtc_cause cause);
/* All of a wait that is left, down to low, has one cause and reason, and nobody to go on to. */
void dtc_traverse_explain_rest(struct dtc_traverse *t, const struct dtc_interval *wait, int64_t low_ns,
			       enum dtc_link_quality link, enum dtc_cause cause, enum dtc_reason reason);
/* Tells of the stand's thread; begin is node time. What is not given in of is filled in. Nothing if it is empty. */
void dtc_traverse_tell(struct dtc_traverse *t, struct dtc_visit *of, int64_t begin_ns);
/* Remembers the stand, to come back to it at bound. False if the thread that is going to be entered was, just now. */
bool dtc_traverse_enter(struct dtc_traverse *t, guint node, uint32_t thread, int64_t bound_ns);

/* The same for what others do before a message comes, for which nobody here waits. */
bool dtc_traverse_go_aside(struct dtc_traverse *t, int64_t bound_ns);

/* spot.c */
/* Tells the visitor of where the traversal is, if that is a spot. False: it is to end. */
bool dtc_traverse_pass(struct dtc_traverse *t);
/* Nothing is explained yet, and the traversal goes there. */
void dtc_traverse_go_on(struct dtc_traverse *t, const struct dtc_spot *spot);

/* traverse_ring.c */
/* The stand is at a send of a loop over io_uring: what that answered. False if it is none, or answers nobody. */
bool dtc_traverse_pursue_ring(struct dtc_traverse *t, const struct dtc_sender *sender);
/* Whether a wait of the stand's thread is of such a loop, and what ended it is known. */
bool dtc_traverse_is_ring_wait(const struct dtc_traverse *t, const struct dtc_interval *interval);

/*
 * Timers of loops, as the timeouts of their polls tell. Loops count in whole milliseconds, from a time that they looked
 * up a little before: so late a poll's timeout may be for the timer that it is set to.
 */
#define DTC_TIMER_GRAIN_NS 1500000
/* When the next of a loop's timers is due (node time). False if the poll's timeout does not tell it. */
static inline bool dtc_traverse_find_due_ns(const struct dtc_call *poll, int64_t *ret_due_ns)
{
	int64_t timeout_ns;
	return (int64_t)poll->argument > 0 &&
	       !__builtin_mul_overflow((int64_t)poll->argument, G_GINT64_CONSTANT(1000000), &timeout_ns) &&
	       !__builtin_add_overflow(poll->begin_ns, timeout_ns, ret_due_ns);
}

/* traverse_turn.c */
/*
 * The stand is at a write whose purpose is as order in its thread has it. If it is known for which request that was,
 * what the thread had read for the same one becomes the purpose. question: what an answer answers; NULL: it is none.
 * False if it is not known.
 */
bool dtc_traverse_pursue_own(struct dtc_traverse *t, uint32_t call, const struct dtc_asked *question);
/*
 * The same if a timer ended what the write's request lay still for, and had been set when that was read: whoever called
 * the loop in that turn did so for another one.
 */
bool dtc_traverse_pursue_timer(struct dtc_traverse *t, uint32_t call);
/*
 * The same if that turn took leave of a child that had been made for the request, whoever else had called the loop.
 * question: as above, or the one that the process works on.
 */
bool dtc_traverse_pursue_child(struct dtc_traverse *t, uint32_t call, const struct dtc_asked *question);
/*
 * When the timer was set that ended a wait of a loop that is explained for another thread: the begin of the first of
 * the polls that were for it, one after the other, whatever else ended them; not looked for before bound. DTC_TIME_NONE
 * if it was no poll. Without has_expired: the poll brought new connections and nothing else, and the timer was due in
 * the turn that it began; DTC_TIME_NONE if it is not so.
 */
int64_t dtc_traverse_find_set_ns(const struct dtc_traverse *t, const struct dtc_interval *wait, int64_t bound_ns,
				 bool has_expired);
/* What arrived was read for another request than the one for which the stand wrote; false if that is not known. */
bool dtc_traverse_is_others(const struct dtc_traverse *t, const struct dtc_arrival *arrival);
/* The wait, at its end, is the one with which the pause of the stand's request ended. */
bool dtc_traverse_ends_pause(const struct dtc_traverse *t, const struct dtc_interval *wait);
/*
 * A timer ended such a wait that was set in a turn which came later than the pause had begun: it explains the time
 * since then, and before that the pause ends with the poll of that turn. False if it is not so.
 */
bool dtc_traverse_follow_set_later(struct dtc_traverse *t, const struct dtc_interval *wait,
				   const struct dtc_edge *edge);

/* traverse_child.c */
/*
 * Whether the turn of a write took leave of a child that the process had made for the request, after the read and
 * before the request lay still (node time): which one, and when it had ended.
 */
bool dtc_traverse_find_reaped(const struct dtc_traverse *t, uint32_t read, uint32_t write, int64_t still_ns,
			      uint32_t *ret_child, int64_t *ret_exit_ns);
/* The same of one that another thread had made, which had read the question, before it waited or read another one. */
bool dtc_traverse_find_reaped_beside(const struct dtc_traverse *t, const struct dtc_asked *question, uint32_t write,
				     uint32_t *ret_child, int64_t *ret_exit_ns);

/* traverse_set.c */
/*
 * The stand is at a write of a process that works on a question, which another thread had read: if the turn of that one
 * set a timer, and the write's thread came to the request by that, this becomes the purpose, with that timer as its
 * pause. False if it is not so.
 */
bool dtc_traverse_pursue_set(struct dtc_traverse *t, uint32_t call, const struct dtc_asked *question);
/* The last wait of a thread that ended before a time, and not before another one (node time); NULL: there is none. */
const struct dtc_interval *dtc_traverse_find_wait(const DtcHistory *h, uint32_t thread, int64_t at_ns, int64_t since_ns,
						  struct dtc_interval *place);
/* The stand is at its giver, when the timer of its pause was due: explains the time since that was set, and goes there.
 */
void dtc_traverse_wait_for_set(struct dtc_traverse *t);

/* traverse_taken.c */
/*
 * The stand is at a write for a request, and another thread of the process last took what that had asked others for, or
 * was done with a piece of it, while the stand's one waited, or worked for others: that took up the request again, and
 * is what the write follows from. asked: the question that the process works on; the arrival is that of what was taken,
 * or else the question's. False if it is not so.
 */
bool dtc_traverse_find_taken(const struct dtc_traverse *t, uint32_t call, const struct dtc_asked *asked,
			     struct dtc_taken *ret_taken, struct dtc_arrival *ret_arrival);

/* traverse_handover.c */
/* Whether the thread of a stand worked for another request than owner (plus 1) between two times; node time. */
bool dtc_traverse_was_at_another(const struct dtc_traverse *t, const struct dtc_stand *stand, guint owner,
				 int64_t begin_ns, int64_t end_ns);
/*
 * Whether the thread of a stand had let the request owner (plus 1) lie between two times: for half of them or more it
 * waited, or worked for others, and was called by others than a thread. A lock that it waits for again and again is
 * given by that one.
 */
bool dtc_traverse_let_lie(const struct dtc_traverse *t, const struct dtc_stand *stand, guint owner, uint32_t by,
			  int64_t begin_ns, int64_t end_ns);
/* The request, plus 1, for whose sake the traversal looks at the stand's thread; 0: not known. */
guint dtc_traverse_find_for_whom(const struct dtc_traverse *t);
/*
 * A thread that works on the stand's question was woken by one that had that question, or what another thread had given
 * for it, in its hands: there the work was handed over, and what the thread had done before is no part of it. The stand
 * goes to who woke it. False if it is not so.
 */
bool dtc_traverse_follow_handover(struct dtc_traverse *t, const struct dtc_edge *edge);
/*
 * A poll of the stand's thread was ended by a thread that the turn of the question had called, before its timer was
 * due: what that one did is why, whatever was due when the answer was written.
 */
bool dtc_traverse_is_called_back(const struct dtc_traverse *t, const struct dtc_interval *wait,
				 const struct dtc_edge *edge);
/*
 * What ended a wait of the stand's thread, or of one that this waits for, is a thread that the turn of the question had
 * called, before that wait: it has been at the question since then, whatever else the others were woken for. The stand
 * goes there. False if it is not so.
 */
bool dtc_traverse_follow_called(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge);

/* traverse_begin.c */
/*
 * The traversal came to the client of another request, which sent its question, while it looks at others: the innermost
 * of the waits that are explained is not known before that, and the traversal comes back at its begin. False if it is
 * not so.
 */
bool dtc_traverse_end_at_begin(struct dtc_traverse *t, const struct dtc_sender *sender);

/* traverse_branch.c */
/*
 * The traversal came to the begin of a wait that it explains. If whoever it is at had been called by the request by
 * then (going back from there one comes to a thread that was at work for it), and who waited had mostly waited since
 * that call, then the wait is left behind: the traversal goes on where it is, and all down to the call is inferred.
 * False if it is not so.
 */
bool dtc_traverse_follow_branch(struct dtc_traverse *t);
/* A traversal that looks ahead for that is done. */
bool dtc_traverse_ends_ahead(const struct dtc_traverse *t);

/* traverse_birth.c */
/* The thread is not yet born: its parent made it (Fournier's parental chain). False if that is not known. */
bool dtc_traverse_go_to_parent(struct dtc_traverse *t, const DtcHistory *h);

/* traverse_idle.c */
/*
 * Since when what the stand's thread works on lay still before a wait that begins at low: since low, or before what it
 * did for others until then.
 */
int64_t dtc_traverse_find_still_ns(const struct dtc_traverse *t, const struct dtc_interval *wait, int64_t low_ns);

/* traverse_inside.c */
/*
 * Whether an answer that the stand's thread gave, of a request, can only have been made inside of its process: another
 * thread had read the question, and the process asked nobody for it.
 */
bool dtc_traverse_is_inside(const struct dtc_traverse *t, const struct dtc_asked *asked, guint request);
/*
 * A wait, at its end, of a thread of a process in which the request lay in a way that is not visible. If a timer ended
 * it, that is all the trace has about the request down to its question, where the stand goes. False if something else
 * did: what is followed then is inferred, down to the question.
 */
bool dtc_traverse_follow_inside(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge);

/* traverse_work.c */
/*
 * The work item that the stand's thread, a kernel worker, executes: if another thread queued it, or a disk request; or
 * another interrupt did, and a thread of this node waits for it. NULL: there is none.
 */
const struct dtc_work *dtc_traverse_find_work(const struct dtc_traverse *t);
/* The stand's work was queued there: on to who did, to the disk request, or the rest of the wait is explained. */
void dtc_traverse_leave_work(struct dtc_traverse *t);
void dtc_traverse_go_to_queuer(struct dtc_traverse *t);
/*
 * An interrupt queued the work, since a disk request had completed: what the worker does could not begin before, and
 * that request is why, from when it was made. wait is the worker's at that time, or NULL if it was busy with something
 * else.
 */
void dtc_traverse_go_to_request(struct dtc_traverse *t, const struct dtc_interval *wait);
/*
 * A worker of the kernel made the request when a timer was due (blk_throtl_dispatch_work_fn): it had been handed in
 * before, and was held back by a limit of the cgroup. The worker was idle meanwhile.
 */
bool dtc_traverse_was_held_back(const DtcHistory *h, const struct dtc_edge *edge, int64_t low_ns);

/* traverse_thaw.c */
/* A wait, at its end, that was frozen in its place: explains it down to low. False if it was not. */
bool dtc_traverse_follow_thaw(struct dtc_traverse *t, const struct dtc_interval *wait, int64_t low_ns);

/* traverse_way.c */
/*
 * From an arrival to the thread that sent it: the receiver's softirq, who carried it into or out of a guest, wire,
 * retransmission, time in the sender's stack. Several steps when kernels answered by themselves (SYN-ACK, ACK). first
 * is who sent it, if that is known already, else NULL. False if nobody traced sent it: then the stand is as before.
 */
bool dtc_traverse_take_way(struct dtc_traverse *t, const struct dtc_arrival *arrival, const struct dtc_sender *first);
/*
 * Down to begin what a node's CPU was to do with a packet (or DTC_NONE) that it sent or received: cause's, or, in a
 * guest, what its host did with that CPU instead. Names as of dtc_traverse_explain.
 */
void dtc_traverse_explain_on_cpu(struct dtc_traverse *t, guint node, uint32_t packet, uint32_t thread, int64_t name_ns,
				 int64_t begin_cluster_ns, enum dtc_cause cause, const struct dtc_evidence *why);
/* Goes on with it, from where it had come to. */
void dtc_traverse_continue_way(struct dtc_traverse *t, const struct dtc_way *way);

/* traverse_message.c */
/* Of a wait that the span's end cuts, the message may be sent after that: up to there the sender's time counts. */
void dtc_traverse_stay_behind(struct dtc_traverse *t);
/* The stand is at a send on file, of a call or DTC_NONE: what its thread acted on becomes its purpose. */
void dtc_traverse_pursue(struct dtc_traverse *t, uint32_t file, uint32_t call);
/*
 * The last write or connect before a message came to the stand's node, with which it was asked for: of a socket of
 * datagrams the last write to the peer that sent it. DTC_NONE: there is none; or that peer asks.
 */
uint32_t dtc_traverse_find_asking(const struct dtc_traverse *t, const struct dtc_arrival *arrival);
/* The question that the stand's process works on, if the traversal came from its answer; else NULL. */
const struct dtc_scope *dtc_traverse_find_scope(const struct dtc_traverse *t, int32_t pid);
/* Who received what arrived: the reader of the question, if the traversal came by another thread of the process. */
void dtc_traverse_go_to_reader(struct dtc_traverse *t, const struct dtc_arrival *arrival);
/*
 * From an arrival to the thread that sent it: wire, retransmission, time in the sender's stack; or, if nobody traced
 * sent it, to this node's last send on that connection. first is who sent it, if that is known already, else NULL.
 * False, and the stand is as before, if there is neither.
 */
bool dtc_traverse_follow_arrival(struct dtc_traverse *t, const struct dtc_arrival *arrival,
				 const struct dtc_sender *first);

/* traverse_host.c */
/*
 * An interrupt for a guest waited for its vCPU: what the host did from when it was pending to the entry, down to low.
 * Before, down to the entry, the guest served it: that is cause's, as why tells.
 */
void dtc_traverse_explain_delivery(struct dtc_traverse *t, const struct dtc_host_interrupt *interrupt, int64_t name_ns,
				   int64_t low_cluster_ns, enum dtc_cause cause, const struct dtc_evidence *why);
/*
 * Down to begin what a guest's CPU was to do: what its host did instead while it was away, else cause's. Names are
 * those that (node, thread) of the guest had at name_ns. Stops where the host does not tell.
 */
void dtc_traverse_explain_vcpu(struct dtc_traverse *t, const struct dtc_guest_cpu *cpu, guint node, uint32_t thread,
			       int64_t name_ns, int64_t begin_cluster_ns, enum dtc_cause cause,
			       const struct dtc_evidence *why);
/* What is explained next depends on which vCPU a guest's CPU is, and on the two clocks. */
void dtc_traverse_set_host_doubt(struct dtc_traverse *t, guint node, const struct dtc_guest_cpu *cpu);
/* A guest's wait that an interrupt ended. False if the host does not tell. */
bool dtc_traverse_follow_interrupt(struct dtc_traverse *t, const struct dtc_interval *wait, const struct dtc_edge *edge,
				   int64_t low_ns);
/* A guest's thread that seems to run or to wait for its CPU: one piece of what its host did. False if it is no guest's.
 */
bool dtc_traverse_follow_host(struct dtc_traverse *t, const struct dtc_interval *interval, int64_t low_ns);
/* A thread that does not wait, from where it stands down to low, or to where its vCPU entered or left its guest. */
void dtc_traverse_explain_own(struct dtc_traverse *t, const struct dtc_interval *interval, int64_t low_ns);
/* Back to the guest, if the stand is the vCPU's thread that a device of the host got its request from. */
bool dtc_traverse_return_to_guest(struct dtc_traverse *t);
/* Comes back from the innermost waits, of which there are more, until so many are left: to the begin of the last one.
 */
void dtc_traverse_drop_frames(struct dtc_traverse *t, guint depth);
/* The same, and goes on with the rest of a message's way, if that is what the last one is for. */
void dtc_traverse_leave(struct dtc_traverse *t, guint depth);
