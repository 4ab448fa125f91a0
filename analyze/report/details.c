/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/details.h"

#include "analyze/report/pool.h"

#include <string.h>

/* All that the words are made of, but for what never changes: names of threads, files and nodes. No padding. */
struct key {
	uint32_t reason;
	uint32_t node;
	uint32_t state; /* of the interval; of a message: TCP flags */
	uint32_t name;	/* of the call; of a message: flow */
	uint32_t path;	/* of a message: bytes */
	uint32_t file;
	uint32_t fd;
	uint32_t irq; /* as what waker, and */
	uint32_t ref; /* which; of an interval that is one: its ref */
	uint32_t spare;
	uint64_t argument;
};

struct detail {
	struct key key; /* first */
	const char *text;
};

struct DtcDetails {
	struct dtc_names names;
	DtcKeepText keep;
	gpointer data;
	GHashTable *known; /* struct detail, of the pool */
	DtcPool *pool;
};

static guint hash(gconstpointer data)
{
	const uint32_t *words = data;
	guint64 hash = 0;

	for (guint i = 0; i < sizeof(struct key) / sizeof(*words); i++)
		hash = (hash ^ words[i]) * G_GUINT64_CONSTANT(0x9fb21c651e98df25);
	return (guint)(hash >> 32);
}

static gboolean equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct key)) == 0;
}

DtcDetails *dtc_details_new(const struct dtc_names *names, DtcKeepText keep, gpointer data)
{
	DtcDetails *details = g_new0(DtcDetails, 1);

	details->names = *names;
	details->keep = keep;
	details->data = data;
	details->known = g_hash_table_new(hash, equal);
	details->pool = dtc_pool_new(sizeof(struct detail));
	return details;
}

void dtc_details_free(DtcDetails *details)
{
	if (!details)
		return;
	g_hash_table_unref(details->known);
	dtc_pool_free(details->pool);
	g_free(details);
}

static const DtcHistory *get_history(const DtcDetails *details, guint node)
{
	return details->names.histories && node < details->names.node_count ? details->names.histories[node] : NULL;
}

/* Name, file and argument, as words.c has them in a call's words. */
static void set_call(struct key *key, const DtcHistory *h, uint32_t index)
{
	struct dtc_call place;
	const struct dtc_call *call = dtc_history_get_call(h, index, &place);

	key->name = call->name;
	key->path = call->path;
	key->file = call->file;
	key->fd = (uint32_t)call->fd;
	key->argument = call->kind == DTC_CALL_FUTEX ? call->argument : 0;
	key->irq = call->kind == DTC_CALL_FUTEX ? 1 : 0;
}

/* An interrupt's name, or a call's with what woke it; false: the words have more than that. */
static bool set_interval(struct key *key, const DtcHistory *h, const struct dtc_interval *interval)
{
	key->state = interval->state;
	switch ((enum dtc_state)interval->state) {
	case DTC_STATE_IRQ:
	case DTC_STATE_SOFTIRQ:
		key->ref = interval->ref;
		return true;
	case DTC_STATE_KERNEL:
	case DTC_STATE_USER:
	case DTC_STATE_SYSCALL:
		if (interval->call == DTC_NONE)
			return interval->state != DTC_STATE_KERNEL; /* that may be a worker's work */
		set_call(key, h, interval->call);
		return true;
	case DTC_STATE_WAIT:
	case DTC_STATE_WAIT_DISK: {
		struct dtc_wake wake_place;
		const struct dtc_wake *wake =
			interval->ref == DTC_NONE ? NULL : dtc_history_get_wake(h, interval->ref, &wake_place);
		if (wake && wake->waker == DTC_WAKER_BLOCK)
			return false;
		if (interval->call != DTC_NONE)
			set_call(key, h, interval->call);
		if (wake && (wake->waker == DTC_WAKER_IRQ || wake->waker == DTC_WAKER_SOFTIRQ)) {
			key->irq |= (uint32_t)wake->waker << 1;
			key->ref = wake->ref;
		}
		return true;
	}
	default:
		return false;
	}
}

/* Who sent how much of what, or that it bears no addresses. */
static bool set_message(struct key *key, const DtcHistory *h, const struct dtc_evidence *evidence)
{
	if (!h || evidence->sent_packet == DTC_NONE)
		return false;
	const struct dtc_packet packet = dtc_packets_get(dtc_history_get_packets(h), evidence->sent_packet);
	key->node = evidence->sent_node;
	key->name = packet.flow;
	if (packet.flow == DTC_NONE)
		return true;
	key->state = packet.tcp_flags;
	key->path = packet.payload_bytes;
	return true;
}

/* False: the words are not of many. */
static bool make_key(const DtcDetails *details, const struct dtc_evidence *evidence, struct key *ret_key)
{
	*ret_key = (struct key){
		.reason = evidence->reason, .node = evidence->node, .name = DTC_NONE, .path = DTC_NONE, .file = DTC_NONE
	};
	if (evidence->reason == DTC_REASON_WIRE)
		return set_message(ret_key, get_history(details, evidence->sent_node), evidence);
	if (evidence->reason != DTC_REASON_OWN || !evidence->has_interval)
		return false;
	const DtcHistory *h = get_history(details, evidence->node);
	return h && set_interval(ret_key, h, &evidence->interval);
}

static const char *make(DtcDetails *details, const struct dtc_evidence *evidence, int64_t span_ns)
{
	g_autofree char *words = dtc_words_for_evidence(&details->names, evidence, span_ns);

	return details->keep(details->data, words);
}

const char *dtc_details_get(DtcDetails *details, const struct dtc_evidence *evidence, int64_t span_ns)
{
	struct key key;

	if (!make_key(details, evidence, &key))
		return make(details, evidence, span_ns);
	const struct detail *detail = g_hash_table_lookup(details->known, &key);
	if (!detail) {
		const struct detail fresh = { key, make(details, evidence, span_ns) };
		detail = dtc_pool_add(details->pool, &fresh);
		g_hash_table_add(details->known, (gpointer)detail);
	}
	return detail->text;
}
