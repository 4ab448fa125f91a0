/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words for what a thread did or waited for, and for who ended that, made of the codes and ids that the stages before
 * give. Nobody else makes any.
 */
#pragma once

#include "analyze/edge/wake_context.h"
#include "analyze/exchange/label.h"
#include "analyze/profile/blocked.h"
#include "dtrace-chain/history.h"
#include "dtrace-chain/path.h"

/* What names the nodes and their records; all borrowed. */
struct dtc_names {
	const DtcHistory *const *histories; /* by node; NULL, or NULL for a node: nothing is known of it */
	const char *const *node_names;
	guint node_count;
};

/* "read(10.77.0.3:9000)", "disk vda sector 8, read 8 sectors, ...", "tail-loss probe: 60 bytes from web ...": one line,
 * or NULL if there is nothing to say. Of a span of so many ns. Caller owns. */
char *dtc_words_for_evidence(const struct dtc_names *names, const struct dtc_evidence *evidence, int64_t span_ns);
/*
 * Of dtc_words_for_evidence, without making them: equal words have equal digests, where both are known. Takes a tenth
 * of the words' time.
 */
#define DTC_DIGEST_UNKNOWN 0u
#define DTC_DIGEST_NO_WORDS 1u
guint dtc_words_digest_evidence(const struct dtc_names *names, const struct dtc_evidence *evidence);
/* "busy with request ID", "busy with request ID or ID", "for this request or ID"; NULL: its own. Caller owns. */
char *dtc_words_for_whose(const struct dtc_segment *segment);
/* "lab-holder (tid 140)", "packet from redis-server (tid 137) on web", "timer"; NULL: nobody. Caller owns. */
char *dtc_words_for_end(const struct dtc_names *names, const struct dtc_blocking *blocking);

/* System call, file, lock, device, preemptor, interrupt of an interval: one line, or NULL. Caller owns. */
char *dtc_words_for_interval(const DtcHistory *history, const struct dtc_interval *interval);
/* Who ended a wait: "lab-holder (tid 140)", "timer", "disk vda sector 8". Caller owns. */
char *dtc_words_for_waker(const DtcHistory *history, const struct dtc_interval *wait);
/* "in write(pipe:[8])", "in softirq net-rx", "in a page fault", "on the way back from close(pipe)": in what somebody
 * was when it woke, with the file's label where the call has one; NULL: nothing to say that who it was does not. Caller
 * owns. */
char *dtc_words_for_wake_context(const DtcHistory *history, const struct dtc_wake_context *context);
/* "lab-holder (tid 140)", by its name at that time of its node. Caller owns. */
char *dtc_words_for_thread(const DtcHistory *history, uint32_t thread, int64_t at_ns);
/* "softirq net-rx", "interrupt local_timer": of a state and ref as in struct dtc_interval. Caller owns. */
char *dtc_words_for_interrupt(const DtcHistory *history, uint8_t state, uint32_t ref);
/* "disk vda", "disk 254:0". Caller owns. */
char *dtc_words_for_disk(const DtcHistory *history, uint32_t device);
/* "to 10.77.0.3:9000", ":8080 from 10.77.0.2", a path, "socket"; NULL if nothing is known of it. text: its string.
 * Caller owns. */
char *dtc_words_for_label(const struct dtc_label *label, const char *text);
/* "fsync(/lab/data/f.1)", "read(10.77.0.3:9000)", "futex(0x4d7348)". Caller owns. */
char *dtc_words_for_call(const DtcHistory *history, uint32_t call);
/* The same with the label instead of the file's own name. Caller owns. */
char *dtc_words_for_labelled_call(const DtcHistory *history, uint32_t call);
/* What a call works on: a path, the peer of a connection; NULL if that is not known. Caller owns. */
char *dtc_words_for_call_file(const DtcHistory *history, const struct dtc_call *call);
/* "53 bytes", "SYN", "FIN", "ACK" of a packet. Caller owns. */
char *dtc_words_for_packet(const struct dtc_packet *packet);
/* What ended waits: "redis-server (tid 137)", "packet from app@backend", "disk vda"; NULL: nothing did. Caller owns. */
char *dtc_words_for_blocked_end(const struct dtc_names *names, const struct dtc_blocked_row *row);
/* "nested page fault", "msr": why a vCPU left its guest, as in struct dtc_guest_span. Caller owns. */
char *dtc_words_for_exit(uint8_t isa, uint16_t reason);
/* What a host did with a vCPU: by whom it was preempted, why it left the guest, who handled that. Owned, never NULL. */
char *dtc_words_for_host(const DtcHistory *history, const char *host, const struct dtc_evidence *evidence);
