/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What serving.c, which follows bytes from thread to thread, and serving_scan.c, which looks at one of them, share. */
#pragma once

#include "analyze/request/serving.h"
#include "analyze/request/unanswered.h"

#define STRANGER (G_MAXUINT - 1) /* works, for a request that is not known */

/* What a call reads, as far as who wrote it tells. */
enum role {
	ROLE_NONE,     /* it does not */
	ROLE_QUESTION, /* the reader is to answer it, whoever connected: a broker asks its workers */
	ROLE_ANSWER,
};

/* A call that is known to move a request on. */
struct mark {
	uint32_t call;
	uint32_t stream; /* of several that a call moves; 0: it is all the same */
	uint32_t upto;	 /* bytes of the read up to the message's end; of datagrams its number; 0: that is not known */
	guint request;
	guint other;	   /* as of a span */
	bool ends;	   /* with it the thread's work for the request is done */
	bool is_passed_on; /* a write, of what the process had received for the request: as its bytes tell */
	bool by_bytes;	   /* it follows from such a write */
	enum role role;
	guint from_node; /* of the write that it follows from */
	uint32_t from;	 /* that write; DTC_NONE: a capture tells, or it is not said again */
	guint corrected; /* so often */
};

struct worker {
	guint node;
	uint32_t thread;
	GArray *marks;	/* struct mark; by call when scanned; none: it only inherits */
	GArray *spans;	/* struct dtc_served */
	GArray *told;	/* the same, of one whose calls tell: what it was told by another process, also where they do */
	GArray *owned;	/* struct dtc_owned, by call */
	bool is_dirty;	/* has marks that it was not scanned with */
	bool has_doubt; /* of a write that it passes on, which it did not believe when it was scanned */
	bool is_scanned; /* its calls tell; else it only inherits */
	/* on which it had read a question when the trace began, and whose that is; DTC_NONE: none that is known */
	uint32_t begun_file;
	guint begun_request;
};

/*
 * What was written for a request where the other end may read it, or opened for one where another thread may write; or
 * an answer that was read for one, and whose writer may not know that.
 */
struct message {
	guint node;
	uint32_t call;
	guint request;
	guint other;	 /* as of a span */
	uint32_t stream; /* 0: the connection has none */
	uint32_t skip;	 /* bytes of the call before its first one */
	uint32_t number; /* of several datagrams that the call moved; 0: it moved one */
	bool is_answer;
	bool by_bytes; /* a write of what the process had received for the request */
	/* of a read of bytes: the write that its mark follows from, which was for another request then */
	guint writer_node;
	uint32_t writer;
};

/* Of a call that moves on what a message says. */
static inline struct mark dtc_mark_of_message(const struct message *message, uint32_t call)
{
	return (struct mark){ .call = call,
			      .request = message->request,
			      .other = message->other,
			      .from_node = message->node,
			      .from = message->call };
}

/* One end of a hop: a file, for one request. */
struct end {
	guint node;
	uint32_t file;
	guint request;
};
/* A request asked others. */
struct asking {
	guint request;
	guint node;
	uint32_t thread;
	int64_t at_ns;
};

/* A thread took what others had answered a request, or has done a piece of work for it. */
struct taking {
	guint request;
	guint node;
	struct dtc_taken taken;
	int64_t begin_ns; /* of a piece; the same time of a read */
};

#define CAPTURED GUINT_TO_POINTER(G_MAXUINT) /* of a hop that a capture shows */

struct DtcServing {
	const DtcLinks *links;
	const DtcClocks *clocks; /* of the links */
	GHashTable *workers;	 /* (node, thread) -> struct worker */
	GPtrArray *order;	 /* the workers; sorted by (node, thread) before they are scanned */
	GHashTable *marked;	 /* struct marked -> what it says: pack() of the mark */
	DtcUnanswered *unanswered;
	GHashTable *lives;	/* request -> struct dtc_life; none: not known */
	GHashTable *ends;	/* struct end -> index of its hop + 1, or CAPTURED */
	GArray *messages;	/* struct message: of this round */
	GArray *hops;		/* struct dtc_followed_hop */
	GArray *askings;	/* struct asking: of the last look; sealed: by request, node and time */
	GArray *takings;	/* struct taking: likewise */
	guint correction_count; /* of marks */
	bool has_begun;		/* this round told of a question that a thread had begun to read before the trace */
	bool is_sealed;
};

/* Cuts [*begin_ns, *end_ns] to when there can be work for a request, on a node and in a thread of it: dtc_life_cut. */
void dtc_serving_cut(const DtcServing *serving, guint request, guint node, uint32_t thread, int64_t *begin_ns,
		     int64_t *end_ns);

/* NULL: there is none. Borrowed. */
struct worker *dtc_serving_find_worker(const DtcServing *serving, guint node, uint32_t thread);
/* A thread whose own calls tell works for whom it was told to work for where they do not. */
void dtc_serving_merge_told(struct worker *worker);
/* Of a thread that has none yet. Borrowed. */
struct worker *dtc_serving_add_worker(DtcServing *serving, guint node, uint32_t thread);

/*
 * Looks at a worker's calls from its first mark on, for the messages that it sent; in the last look instead of these
 * for what it wrote for whom, and for its spans.
 */
void dtc_serving_scan_worker(DtcServing *serving, struct worker *worker, bool is_last);

/*
 * Whether a worker's mark is another one from now on, since the writer of the message that it follows from says so. He
 * said before that it was for another request, or asked where it answers: he knew less then. That it asks or answers is
 * believed anew only if bytes tell it.
 */
bool dtc_serving_correct(DtcServing *serving, guint node, struct worker *worker, const struct mark *mark);

/*
 * True if the call had none: the first one counts, so that what is followed never overrules what a capture tells. But
 * who said it may correct it.
 */
bool dtc_serving_add_mark(DtcServing *serving, guint node, const struct mark *mark);
/*
 * Marks the answer to a question that one thread has read, if another one gives it: a pool's. On a connection without
 * streams only if nobody else may wait for an answer there: a broker's next write may be for anyone.
 */
void dtc_serving_mark_answer(DtcServing *serving, guint node, const struct mark *question);
