/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/held.h"
#include "analyze/edge/occupants.h"
#include "analyze/report/words.h"

#include <stdlib.h>
#include <string.h>

static const DtcHistory *get_history(const struct dtc_names *names, guint node)
{
	return names->histories && node < names->node_count ? names->histories[node] : NULL;
}

/* "60 bytes from web 10.77.0.2:80 to 10.77.0.1:5000"; NULL if who sent it is not known. */
static char *name_message(const struct dtc_names *names, const struct dtc_evidence *evidence)
{
	const DtcHistory *h = get_history(names, evidence->sent_node);
	if (!h || evidence->sent_packet == DTC_NONE)
		return NULL;
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_packet packet = dtc_packets_get(packets, evidence->sent_packet);
	if (packet.flow == DTC_NONE) /* it bears no addresses, and its length is not known */
		return g_strdup_printf("a segment from %s", names->node_names[evidence->sent_node]);
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, packet.flow);
	g_autofree char *what = dtc_words_for_packet(&packet);
	g_autofree char *from = dtc_address_to_string(flow->source, flow->source_port);
	g_autofree char *to = dtc_address_to_string(flow->destination, flow->destination_port);
	return g_strconcat(what, " from ", names->node_names[evidence->sent_node], " ", from, " to ", to, NULL);
}

static char *name_sent_again(const struct dtc_names *names, const struct dtc_evidence *evidence, const char *why)
{
	g_autofree char *what = name_message(names, evidence);
	if (evidence->copies > 2)
		return g_strdup_printf("%s, sent %u times: %s", why, evidence->copies, what ? what : "a packet");
	return g_strdup_printf("%s: %s", why, what ? what : "a packet");
}

static char *name_stretch(int64_t on_cpu_ns, int64_t span_ns)
{
	if (span_ns == on_cpu_ns)
		return g_strdup("on the CPU");
	return g_strdup_printf("on the CPU for %.3f of %.3f ms", (double)on_cpu_ns / 1e6, (double)span_ns / 1e6);
}

static char *name_untraced(const struct dtc_names *names, const struct dtc_evidence *evidence)
{
	const DtcHistory *h = get_history(names, evidence->node);
	g_autofree char *what = NULL;
	if (evidence->reason == DTC_REASON_UNTRACED_PEER) {
		what = h ? dtc_file_to_string(h, evidence->file) : NULL;
		return g_strdup_printf("%s answers, and is not traced", what ? what : "the peer");
	}
	what = h ? dtc_words_for_interval(h, &evidence->interval) : NULL;
	return g_strdup_printf("%s: for a packet whose sender is not traced", what ? what : "waits");
}

/* Its own wait is not in a kernel trace; a thread's is, with which it ended. */
static char *name_inside(const DtcHistory *h, const struct dtc_evidence *evidence)
{
	g_autofree char *what = h && evidence->has_interval ? dtc_words_for_interval(h, &evidence->interval) : NULL;
	return g_strdup_printf("inside this process, not visible%s%s%s", what ? " (its threads: " : "",
			       what ? what : "", what ? ")" : "");
}

/* For how much of the time its CPU was idle, which is what tells that it was held. */
static char *name_idle_cpu(const DtcHistory *h, const struct dtc_evidence *evidence)
{
	const struct dtc_interval *interval = &evidence->interval;
	struct dtc_idle idle;
	if (!h || !dtc_occupants_find_idle(h, interval, &idle))
		return NULL;
	return g_strdup_printf("held as by its cgroup's cpu.max: its CPU was idle for %.3f of %.3f ms",
			       (double)idle.ns / 1e6, (double)(interval->end_ns - interval->begin_ns) / 1e6);
}

/* "its cgroup may use 20 ms of each 100 ms (cpu.max of /docker/3f2a), and had". */
static char *name_spent(const DtcHistory *h, const struct dtc_evidence *evidence)
{
	const struct dtc_cpu_limit *limit = h ? dtc_held_find_limit(h, evidence->interval.thread) : NULL;
	if (!limit)
		return NULL;
	return g_strdup_printf("its cgroup may use %g ms of CPU in %g ms, and had (cpu.max of %s)",
			       (double)limit->quota_us / 1e3, (double)limit->period_us / 1e3,
			       dtc_history_get_string(h, limit->cgroup));
}

/* And who had its CPU meanwhile. */
static char *name_receiver(const DtcHistory *h, const struct dtc_evidence *evidence, const char *phrase)
{
	if (!h || evidence->by_thread == DTC_NONE)
		return g_strdup(phrase);
	g_autofree char *holder = dtc_words_for_thread(h, evidence->by_thread, INT64_MAX);
	return g_strdup_printf("%s; %s had the CPU", phrase, holder);
}

/* What needs no record, or how a sentence about a packet begins. */
static const char *const phrases[DTC_REASONS] = {
	[DTC_REASON_NOT_YET_QUEUED] = "work was not yet queued",
	[DTC_REASON_NOT_YET_GIVEN] = "its answer was not yet made",
	[DTC_REASON_UNKNOWN_BEFORE] = "nothing is known before",
	[DTC_REASON_CIRCLE] = "causes that lead back to each other",
	[DTC_REASON_RECEIVER_SOFTIRQ] = "arrived, until the receiver's softirq took it",
	[DTC_REASON_QDISC] = "waited in the sender's qdisc",
	[DTC_REASON_KERNEL_ANSWER] = "the kernel answers a packet",
	[DTC_REASON_DELAYED_ACK] = "delayed ACK",
	[DTC_REASON_SENT_AGAIN] = "sent again",
	[DTC_REASON_HANDSHAKE_TIMEOUT] = "handshake timeout",
	[DTC_REASON_RETRANSMISSION_TIMEOUT] = "retransmission timeout",
	[DTC_REASON_TAIL_LOSS_PROBE] = "tail-loss probe",
	[DTC_REASON_REORDERING_TIMER] = "RACK-TLP reordering timer",
	[DTC_REASON_FAST_RETRANSMIT] = "fast retransmit",
	[DTC_REASON_HELD] = "waited in the sender's socket",
	[DTC_REASON_HELD_BY_RECEIVER] = "in the sender's socket: the receiver's window was full (flow control)",
	[DTC_REASON_HELD_BY_CONGESTION] =
		"in the sender's socket until earlier bytes were acknowledged (congestion or receive window)",
	[DTC_REASON_HELD_BY_QUEUE] = "in the sender's socket until its qdisc and device had sent earlier bytes",
	[DTC_REASON_HELD_BY_TIMER] = "in the sender's socket until a timer of its kernel",
	[DTC_REASON_HELD_BY_NAGLE] =
		"in the sender's socket until all before was acknowledged (Nagle: see TCP_NODELAY)",
	[DTC_REASON_HELD_BACK] = "held back until a timer of the kernel (throttled: io.max)",
};

char *dtc_words_for_evidence(const struct dtc_names *names, const struct dtc_evidence *evidence, int64_t span_ns)
{
	const DtcHistory *h = get_history(names, evidence->node);
	switch (evidence->reason) {
	case DTC_REASON_OWN:
		return h && evidence->has_interval ? dtc_words_for_interval(h, &evidence->interval) : NULL;
	case DTC_REASON_INSIDE:
		return name_inside(h, evidence);
	case DTC_REASON_SPENT:
		return name_spent(h, evidence);
	case DTC_REASON_IDLE_CPU:
		return name_idle_cpu(h, evidence);
	case DTC_REASON_ON_CPU:
		return name_stretch(evidence->on_cpu_ns, span_ns);
	case DTC_REASON_ASKED:
		return h && evidence->file != DTC_NONE ? dtc_file_to_string(h, evidence->file) : NULL;
	case DTC_REASON_UNTRACED_SENDER:
	case DTC_REASON_UNTRACED_PEER:
		return name_untraced(names, evidence);
	case DTC_REASON_HOST_PREEMPTED:
	case DTC_REASON_HOST_EXIT:
	case DTC_REASON_HOST_BLOCKED:
		return h ? dtc_words_for_host(h, names->node_names[evidence->node], evidence) : NULL;
	case DTC_REASON_WIRE:
		return name_message(names, evidence);
	case DTC_REASON_RECEIVER_SOFTIRQ:
		return name_receiver(h, evidence, phrases[evidence->reason]);
	case DTC_REASON_SENT_AGAIN:
	case DTC_REASON_HANDSHAKE_TIMEOUT:
	case DTC_REASON_RETRANSMISSION_TIMEOUT:
	case DTC_REASON_TAIL_LOSS_PROBE:
	case DTC_REASON_REORDERING_TIMER:
	case DTC_REASON_FAST_RETRANSMIT:
		return name_sent_again(names, evidence, phrases[evidence->reason]);
	default:
		return g_strdup(phrases[evidence->reason]);
	}
}

/* Of a text's first word, or of the most of it that every shortened text still has. */
static guint digest_word(const char *text)
{
	guint digest = 5381;
	for (guint i = 0; i < 16 && (g_ascii_isalnum(text[i]) || text[i] == '_'); i++)
		digest = digest * 33 + (guchar)text[i];
	return MAX(digest, DTC_DIGEST_NO_WORDS + 1);
}

/* The port of a name that is an address, and 0 of one that may be shortened. */
static guint digest_name(const char *name)
{
	gsize length = strlen(name), begin = length;
	while (begin > 0 && g_ascii_isdigit(name[begin - 1]))
		begin--;
	bool is_port = length < 60 && begin > 0 && name[begin - 1] == ':';
	return is_port ? (guint)strtoul(name + begin, NULL, 10) : 0;
}

/* Its name, and the port of its file, whether that is of a flow or in a name. */
static guint digest_call(const DtcHistory *h, uint32_t index)
{
	struct dtc_call place;
	const struct dtc_call *call = dtc_history_get_call(h, index, &place);
	guint digest = digest_word(dtc_history_get_string(h, call->name)), of = 0;
	if (call->path != DTC_NONE && *dtc_history_get_string(h, call->path)) {
		of = digest_name(dtc_history_get_string(h, call->path));
	} else if (call->file != DTC_NONE && !(call->kind == DTC_CALL_FUTEX && call->argument)) {
		const struct dtc_file *file = dtc_history_get_file(h, call->file);
		if (file->flow_out != DTC_NONE)
			of = dtc_packets_get_flow(dtc_history_get_packets(h), file->flow_out)->destination_port;
		else if (file->name != DTC_NONE)
			of = digest_name(dtc_history_get_string(h, file->name));
	}
	return MAX(digest ^ of * 0x9e3779b1u, DTC_DIGEST_NO_WORDS + 1);
}

/* As dtc_words_for_interval begins. */
static guint digest_interval(const DtcHistory *h, const struct dtc_interval *interval)
{
	switch ((enum dtc_state)interval->state) {
	case DTC_STATE_RUNQUEUE:
	case DTC_STATE_PREEMPTED:
	case DTC_STATE_UNKNOWN:
	case DTC_STATE_EXITED:
		return DTC_DIGEST_UNKNOWN;
	case DTC_STATE_IRQ:
		return digest_word(interval->ref == DTC_NONE ? "interrupt" : dtc_history_get_string(h, interval->ref));
	case DTC_STATE_SOFTIRQ:
		return digest_word(dtc_softirq_to_string(interval->ref));
	case DTC_STATE_KERNEL:
	case DTC_STATE_WAIT:
	case DTC_STATE_WAIT_DISK:
		if (interval->call == DTC_NONE)
			return DTC_DIGEST_UNKNOWN;
		break;
	default:
		if (interval->call == DTC_NONE)
			return DTC_DIGEST_NO_WORDS;
	}
	return digest_call(h, interval->call);
}

/* Its length, who sent it, and its ports; not its flow, since two have the same ends where ports are used again. */
static guint digest_message(const struct dtc_names *names, const struct dtc_evidence *evidence)
{
	const DtcHistory *h = get_history(names, evidence->sent_node);
	if (!h || evidence->sent_packet == DTC_NONE)
		return DTC_DIGEST_NO_WORDS;
	const DtcPackets *packets = dtc_history_get_packets(h);
	const struct dtc_packet packet = dtc_packets_get(packets, evidence->sent_packet);
	if (packet.flow == DTC_NONE)
		return DTC_DIGEST_UNKNOWN;
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, packet.flow);
	guint digest = packet.payload_bytes;
	digest = digest * 0x9e3779b1u + evidence->sent_node;
	digest = digest * 0x9e3779b1u + ((guint)flow->source_port << 16 | flow->destination_port);
	return MAX(digest, DTC_DIGEST_NO_WORDS + 1);
}

guint dtc_words_digest_evidence(const struct dtc_names *names, const struct dtc_evidence *evidence)
{
	const DtcHistory *h = get_history(names, evidence->node);
	switch (evidence->reason) {
	case DTC_REASON_NONE:
		return DTC_DIGEST_NO_WORDS;
	case DTC_REASON_OWN:
		return h && evidence->has_interval ? digest_interval(h, &evidence->interval) : DTC_DIGEST_NO_WORDS;
	case DTC_REASON_WIRE:
		return digest_message(names, evidence);
	case DTC_REASON_RECEIVER_SOFTIRQ:
	case DTC_REASON_KERNEL_ANSWER:
		return digest_word(phrases[evidence->reason]);
	default:
		return DTC_DIGEST_UNKNOWN;
	}
}

char *dtc_words_for_whose(const struct dtc_segment *segment)
{
	if (!segment->busy_with)
		return segment->candidate ? g_strdup_printf("for this request or %s", segment->candidate) : NULL;
	return segment->candidate
		       ? g_strdup_printf("busy with request %s or %s", segment->busy_with, segment->candidate)
		       : g_strdup_printf("busy with request %s", segment->busy_with);
}

char *dtc_words_for_end(const struct dtc_names *names, const struct dtc_blocking *blocking)
{
	const struct dtc_end *end = &blocking->ended;
	const DtcHistory *h = get_history(names, end->by == DTC_ENDED_BY_WAKE ? blocking->node : end->node);
	g_autofree char *who = NULL;
	if (end->by == DTC_ENDED_BY_NOBODY)
		return NULL;
	if (!h || (end->by == DTC_ENDED_BY_MESSAGE && end->thread == DTC_NONE))
		return g_strdup(end->by == DTC_ENDED_BY_MESSAGE ? "packet" : "unknown");
	const char *node = names->node_names[end->node];
	struct dtc_packet packet;
	switch (end->by) {
	case DTC_ENDED_BY_WAKE:
		return dtc_words_for_waker(h, &blocking->evidence.interval);
	case DTC_ENDED_BY_THREAD:
		return dtc_words_for_thread(h, end->thread, end->at_ns);
	case DTC_ENDED_BY_MESSAGE:
		who = dtc_words_for_thread(h, end->thread, end->at_ns);
		return g_strdup_printf("packet from %s on %s", who, node);
	case DTC_ENDED_BY_KERNEL:
		packet = dtc_packets_get(dtc_history_get_packets(h), end->packet);
		who = dtc_words_for_packet(&packet);
		return g_strdup_printf("%s from the kernel of %s", who, node);
	case DTC_ENDED_BY_HOST:
		return g_strdup_printf("host %s", node);
	case DTC_ENDED_BY_NOBODY:
		break;
	}
	return NULL;
}

char *dtc_words_for_blocked_end(const struct dtc_names *names, const struct dtc_blocked_row *row)
{
	const DtcHistory *h = get_history(names, row->node);
	const struct dtc_blocked_end *end = &row->ended;
	g_autofree char *host = NULL;
	switch ((enum dtc_blocked_by)end->by) {
	case DTC_BLOCKED_BY_WAKE:
		return h ? dtc_words_for_waker(h, &row->first) : g_strdup("unknown");
	case DTC_BLOCKED_BY_DISK:
		return h ? dtc_words_for_disk(h, (uint32_t)end->device) : g_strdup("disk");
	case DTC_BLOCKED_BY_PROCESS:
		return g_strdup_printf("packet from %s@%s", end->process, names->node_names[end->node]);
	case DTC_BLOCKED_BY_KERNEL:
		return g_strdup_printf("packet from the kernel of %s", names->node_names[end->node]);
	case DTC_BLOCKED_BY_HOST:
		host = dtc_address_to_host_string(end->address);
		return g_strdup_printf("packet from %s", host);
	case DTC_BLOCKED_BY_SOMEBODY:
		return g_strdup("packet");
	case DTC_BLOCKED_OPEN:
		break;
	}
	return NULL;
}
