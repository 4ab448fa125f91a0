/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What serving_scan.c, which looks at a thread's calls, and serving_ask.c, for whom it asks others, share. */
#pragma once

#include "analyze/request/channels.h"
#include "analyze/request/questions.h"
#include "analyze/request/serving_build.h"
#include "analyze/request/turn_order.h"

#define NOBODY G_MAXUINT /* a pause: the next call tells */

/* A call that moved bytes of a connection, or what it moved of one of the streams of that. */
struct moved {
	const struct dtc_call *call;
	uint32_t id;
	const struct mark *mark; /* NULL: none */
	uint32_t channel;	 /* the file, or what stands for the stream */
	uint32_t stream;	 /* 0: the connection has none */
	uint32_t skip;		 /* bytes of the call before its first one */
	uint32_t number;	 /* of several datagrams of the call; 0: there is one */
};

struct scan {
	DtcServing *serving;
	struct worker *worker;
	const DtcHistory *history;
	DtcChannels *channels;	 /* by channel */
	DtcQuestions *questions; /* open: those that this thread will answer */
	guint current;		 /* request, NOBODY or STRANGER */
	guint other;		 /* as of a span */
	int64_t since_ns;
	guint turn_request; /* whose bytes were read in this turn of the loop; NOBODY: nobody's yet */
	bool is_turn_mixed; /* of several requests */
	bool is_at_once;    /* with one call: nothing tells for which of these it acts first */
	bool is_put_off;    /* it has read all that there was before it acts: it looked for more since its last read */
	struct dtc_turn_order order;
	GHashTable
		*twins;	  /* request -> the one that was taken instead of it + 1, of two that could not be told apart */
	int64_t woken_ns; /* the last poll, over which the work went on, waited until then; DTC_TIME_NONE: none */
	GHashTable *asked_room;	     /* file -> struct asked_room */
	uint32_t read_file;	     /* the last one that was read in this turn; DTC_NONE: none */
	bool is_handed_on;	     /* what was read there was written to others since */
	GArray *in_hand;	     /* guint: requests of which the last read brought messages, if several */
	const struct dtc_call *call; /* that is looked at */
	GHashTable *reads; /* request -> its last read, as a struct dtc_owned without call; NULL: not the last look */
	bool is_last;
};

/* A question to others: when it is asked, and when the thread has read the answer. */
struct asked {
	const struct scan *scan;
	int64_t at_ns;
	int64_t answered_ns; /* INT64_MIN: it has not */
	uint32_t answer;     /* the read of it, where bytes tell which it is among others'; else DTC_NONE */
};

struct asked dtc_scan_get_asked(const struct scan *scan, const struct moved *write);
/*
 * Whether what a thread asks others (a struct asked) may be for a request: not if the answer comes after the request's
 * own. It is another one that got a pooled connection in the turn in which this request gave it back.
 */
bool dtc_scan_may_be_for(gconstpointer asked, guint request);
/*
 * Whose question the thread's next act answers when it has read what bytes tell to be the answer; STRANGER: they do not
 * tell, or that turn does not.
 */
guint dtc_scan_find_correlated(const struct scan *scan, const struct asked *asked);
/*
 * For whom a thread asks others, where what it read last does not tell: what the answer leads to, the order in which it
 * read, or, for a connection that another request gave back, who waits longest of those whose questions are open and
 * that wait for nobody yet. The other one is set where two of these disagree, or where a second request stands in the
 * same row: then nothing tells for which of the two it was. STRANGER: nothing tells at all.
 */
guint dtc_scan_find_asker(struct scan *scan, const struct dtc_channel *c, const struct asked *asked,
			  const struct moved *write, guint *ret_other);
/* The open question that an answer, to which a call at a time leads, is for: its request, or STRANGER. */
guint dtc_scan_find_led_to(const struct scan *scan, int64_t at_ns, uint32_t answer);
