/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/words.h"

#include "analyze/edge/cause.h"
#include "analyze/edge/occupants.h"

#include <inttypes.h>
#include <string.h>

char *dtc_words_for_packet(const struct dtc_packet *packet)
{
	if (packet->payload_bytes)
		return g_strdup_printf("%u bytes", packet->payload_bytes);
	return g_strdup(packet->tcp_flags & DTC_TCP_SYN	  ? packet->tcp_flags & DTC_TCP_ACK ? "SYN-ACK" : "SYN"
			: packet->tcp_flags & DTC_TCP_FIN ? "FIN"
			: packet->tcp_flags & DTC_TCP_RST ? "RST"
			: packet->tcp_flags & DTC_TCP_ACK ? "ACK"
							  : "packet");
}

char *dtc_words_for_label(const struct dtc_label *label, const char *text)
{
	g_autofree char *host = NULL;
	switch ((enum dtc_label_kind)label->kind) {
	case DTC_LABEL_FROM:
		host = dtc_address_to_host_string(label->address);
		return g_strdup_printf(":%u from %s", label->port, host);
	case DTC_LABEL_TO:
		host = dtc_address_to_host_string(label->address);
		return g_strdup_printf("to %s:%u", host, label->port);
	case DTC_LABEL_LISTENS:
		return g_strdup("listening socket");
	case DTC_LABEL_NAMED:
		return g_strdup(text);
	case DTC_LABEL_SOCKET:
		return g_strdup("socket");
	case DTC_LABEL_UNKNOWN:
		break;
	}
	return NULL;
}

/* Takes the name of the call's file, or NULL. */
static char *name_call(const DtcHistory *h, const struct dtc_call *call, char *file_name)
{
	g_autofree char *file = file_name;
	const char *name = dtc_history_get_string(h, call->name);
	if (call->path != DTC_NONE && *dtc_history_get_string(h, call->path))
		return g_strconcat(name, "(", dtc_history_get_string(h, call->path), ")", NULL);
	if (call->kind == DTC_CALL_FUTEX && call->argument)
		return g_strdup_printf("%s(0x%" PRIx64 ")", name, call->argument);
	if (call->file == DTC_NONE)
		return g_strdup(name);
	if (file)
		return g_strconcat(name, "(", file, ")", NULL);
	return g_strdup_printf("%s(fd %d)", name, call->fd);
}

char *dtc_words_for_call(const DtcHistory *h, uint32_t index)
{
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(h, index, &call_place);
	return name_call(h, call, call->file == DTC_NONE ? NULL : dtc_file_to_string(h, call->file));
}

char *dtc_words_for_labelled_call(const DtcHistory *h, uint32_t index)
{
	struct dtc_call call_place;
	const struct dtc_call *call = dtc_history_get_call(h, index, &call_place);
	if (call->file == DTC_NONE)
		return name_call(h, call, NULL);
	struct dtc_label label = dtc_label_get(h, call->file);
	return name_call(h, call, dtc_words_for_label(&label, dtc_label_get_text(h, &label)));
}

char *dtc_words_for_call_file(const DtcHistory *h, const struct dtc_call *call)
{
	if (call->path != DTC_NONE && *dtc_history_get_string(h, call->path))
		return g_strdup(dtc_history_get_string(h, call->path));
	return call->file == DTC_NONE ? NULL : dtc_file_to_string(h, call->file);
}

char *dtc_words_for_thread(const DtcHistory *h, uint32_t thread, int64_t at_ns)
{
	return g_strdup_printf("%s (tid %d)", dtc_history_get_comm(h, thread, at_ns),
			       dtc_history_get_thread(h, thread)->tid);
}

char *dtc_words_for_interrupt(const DtcHistory *h, uint8_t state, uint32_t ref)
{
	if (state == DTC_STATE_SOFTIRQ)
		return g_strdup_printf("softirq %s", dtc_softirq_to_string(ref));
	return g_strdup_printf("interrupt %s", ref == DTC_NONE ? "?" : dtc_history_get_string(h, ref));
}

#define OCCUPANTS_SHOWN 3

static void append_occupant(GString *out, const DtcHistory *h, const struct dtc_occupant *occupant, int64_t at_ns,
			    bool is_first)
{
	if (occupant->thread == DTC_NONE) {
		g_autofree char *name = dtc_words_for_interrupt(h, occupant->state, occupant->ref);
		g_string_append(out, name);
		return;
	}
	const char *comm = dtc_history_get_comm(h, occupant->thread, at_ns);
	const char *process = dtc_history_get_process(h, occupant->thread, at_ns);
	g_string_append(out, comm);
	g_string_append_printf(out, " (tid %d)", dtc_history_get_thread(h, occupant->thread)->tid);
	if (is_first && strcmp(comm, process) != 0) {
		g_string_append(out, " of ");
		g_string_append(out, process);
	}
}

/* Who had the CPU meanwhile, the one that had it longest first; that it was idle is said if it was that for longest. */
static char *explain_occupants(const DtcHistory *h, const struct dtc_interval *interval)
{
	g_autoptr(GArray) occupants = dtc_occupants_find(h, interval);
	GString *out = g_string_new("by ");
	guint shown = 0, others = 0;
	for (guint i = 0; i < occupants->len; i++) {
		const struct dtc_occupant *occupant = &g_array_index(occupants, struct dtc_occupant, i);
		if (occupant->state == DTC_STATE_IDLE && i == 0) {
			g_string_assign(out, "the CPU was still idle");
			break;
		}
		if (occupant->state == DTC_STATE_IDLE)
			continue;
		if (shown == OCCUPANTS_SHOWN) {
			others++;
			continue;
		}
		g_string_append(out, shown++ ? ", " : "");
		append_occupant(out, h, occupant, interval->end_ns, i == 0);
	}
	if (others)
		g_string_append_printf(out, " and %u more", others);
	return g_string_free(out, occupants->len == 0);
}

/*
 * Between sched_waking and sched_wakeup the thread is on its way to a runqueue: the waker's CPU finishes, an IPI has to
 * be taken. That is said if it is a good part of the time until it ran.
 */
static char *explain_runqueue(const DtcHistory *h, const struct dtc_interval *interval)
{
	char *occupants = explain_occupants(h, interval);
	struct dtc_interval place;
	const struct dtc_interval *wait =
		dtc_history_find_interval_before(h, interval->thread, interval->begin_ns, &place);
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = wait && dtc_state_is_wait(wait->state) && wait->ref != DTC_NONE
					      ? dtc_history_get_wake(h, wait->ref, &wake_place)
					      : NULL;
	if (!wake || wake->wakeup_ns == DTC_TIME_NONE || wake->waking_ns != interval->begin_ns)
		return occupants;
	int64_t latency_ns = wake->wakeup_ns - wake->waking_ns;
	if (latency_ns < (interval->end_ns - interval->begin_ns) / 4)
		return occupants;
	char *text = occupants ? g_strdup_printf("%s; queued after %.3f ms", occupants, (double)latency_ns / 1e6)
			       : g_strdup_printf("queued after %.3f ms", (double)latency_ns / 1e6);
	g_free(occupants);
	return text;
}

char *dtc_words_for_disk(const DtcHistory *h, uint32_t device)
{
	const char *name = dtc_history_get_device_name(h, device);
	return name ? g_strdup_printf("disk %s", name) : g_strdup_printf("disk %u:%u", device >> 20, device & 0xfffff);
}

/* "disk vda sector 96696", "disk 254:0 flush" */
static char *name_request(const DtcHistory *h, const struct dtc_block_request *r)
{
	g_autofree char *device = dtc_words_for_disk(h, r->device);
	if (r->sector == 0 && r->sectors == 0)
		return g_strdup_printf("%s flush", device);
	return g_strdup_printf("%s sector %" PRId64, device, r->sector);
}

/* With how much of what it did, how long it waited to be issued, and by whom it was made. */
static char *explain_disk(const DtcHistory *h, const struct dtc_wake *wake)
{
	const struct dtc_block_request *r = dtc_history_get_block_request(h, wake->ref);
	GString *out = g_string_new(NULL);
	g_autofree char *name = name_request(h, r);
	g_string_append(out, name);
	/* RWBS_FLAG_* of lttng-modules (instrumentation/events/block.h): 1 write, 2 discard, 4 read */
	const char *verb = r->flags & 1 ? "write" : r->flags & 2 ? "discard" : r->flags & 4 ? "read" : NULL;
	if (r->sectors && verb)
		g_string_append_printf(out, ", %s %u sectors", verb, r->sectors);
	if (r->issue_ns != DTC_TIME_NONE && r->complete_ns != DTC_TIME_NONE) {
		if (r->issue_ns > r->insert_ns)
			g_string_append_printf(out, ", queued %.3f ms", (double)(r->issue_ns - r->insert_ns) / 1e6);
		g_string_append_printf(out, ", served %.3f ms", (double)(r->complete_ns - r->issue_ns) / 1e6);
	}
	if (r->thread != DTC_NONE && dtc_history_get_thread(h, r->thread)->idle_cpu < 0)
		g_string_append_printf(out, ", by %s (tid %d)", dtc_history_get_comm(h, r->thread, r->insert_ns),
				       dtc_history_get_thread(h, r->thread)->tid);
	return g_string_free(out, FALSE);
}

/* What a kernel worker works on, by who asked for it; NULL if it is no worker or that is not known. */
static char *explain_work(const DtcHistory *h, const struct dtc_interval *interval)
{
	const struct dtc_work *work = dtc_history_find_work(h, interval->thread, interval->end_ns);
	if (!work || work->queued.waker != DTC_WAKER_THREAD || work->queued.thread == DTC_NONE)
		return NULL;
	return g_strdup_printf("work queued by %s (tid %d)",
			       dtc_history_get_comm(h, work->queued.thread, work->queued.waking_ns),
			       dtc_history_get_thread(h, work->queued.thread)->tid);
}

static char *name_call_of(const DtcHistory *h, const struct dtc_interval *interval)
{
	return interval->call == DTC_NONE ? NULL : dtc_words_for_call(h, interval->call);
}

/* By its kernel, which has several reasons and tells none of them. call: its name, or NULL. */
static char *explain_held_back(const DtcHistory *h, const struct dtc_interval *interval, const char *call)
{
	if (!call)
		return g_strdup("held back as by vm.dirty_ratio or memory.high");
	return g_strdup_printf("%s, %s", call,
			       dtc_history_copy_call(h, interval->call).kind == DTC_CALL_WRITE
				       ? "held back as by vm.dirty_ratio"
				       : "held back by its kernel, until a timer");
}

/* The call with what ended its wait, where that is no thread. */
static char *explain_wait(const DtcHistory *h, const struct dtc_interval *interval)
{
	g_autofree char *call = name_call_of(h, interval);
	struct dtc_wake wake_place;
	const struct dtc_wake *wake =
		interval->ref == DTC_NONE ? NULL : dtc_history_get_wake(h, interval->ref, &wake_place);
	if (wake && wake->waker == DTC_WAKER_BLOCK) {
		g_autofree char *disk = explain_disk(h, wake);
		return call ? g_strdup_printf("%s, %s", call, disk) : g_steal_pointer(&disk);
	}
	if (wake && (wake->waker == DTC_WAKER_IRQ || wake->waker == DTC_WAKER_SOFTIRQ)) {
		const char *irq = wake->waker == DTC_WAKER_SOFTIRQ ? dtc_softirq_to_string(wake->ref)
								   : dtc_history_get_string(h, wake->ref);
		return call ? g_strconcat(call, ", ", irq, NULL) : g_strdup(irq);
	}
	if (wake && wake->waker == DTC_WAKER_TIMER && dtc_cause_of_interval(h, interval) != DTC_CAUSE_TIMER)
		return explain_held_back(h, interval, call);
	return g_steal_pointer(&call);
}

char *dtc_words_for_interval(const DtcHistory *h, const struct dtc_interval *interval)
{
	char *call;
	switch ((enum dtc_state)interval->state) {
	case DTC_STATE_IRQ:
		return interval->ref == DTC_NONE ? g_strdup("interrupt")
						 : g_strdup(dtc_history_get_string(h, interval->ref));
	case DTC_STATE_SOFTIRQ:
		return g_strdup(dtc_softirq_to_string(interval->ref));
	case DTC_STATE_RUNQUEUE:
		return explain_runqueue(h, interval);
	case DTC_STATE_PREEMPTED:
		return explain_occupants(h, interval);
	case DTC_STATE_KERNEL:
		call = name_call_of(h, interval);
		return call ? call : explain_work(h, interval);
	case DTC_STATE_WAIT:
	case DTC_STATE_WAIT_DISK:
		return explain_wait(h, interval);
	case DTC_STATE_UNKNOWN:
		return g_strdup("no events of this thread");
	case DTC_STATE_EXITED:
		return g_strdup("exited");
	default:
		return name_call_of(h, interval);
	}
}

char *dtc_words_for_waker(const DtcHistory *h, const struct dtc_interval *wait)
{
	if (wait->ref == DTC_NONE)
		return g_strdup("not woken");
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_history_get_wake(h, wait->ref, &wake_place);
	switch ((enum dtc_waker)wake->waker) {
	case DTC_WAKER_THREAD:
	case DTC_WAKER_NEW:
		if (wake->signal) {
			g_autofree char *who = dtc_words_for_thread(h, wake->thread, wake->waking_ns);
			return g_strdup_printf("%s, signal %u", who, wake->signal);
		}
		return dtc_words_for_thread(h, wake->thread, wake->waking_ns);
	case DTC_WAKER_TIMER:
		return g_strdup("timer");
	case DTC_WAKER_BLOCK:
		return name_request(h, dtc_history_get_block_request(h, wake->ref));
	case DTC_WAKER_PACKET:
		return g_strdup("packet");
	case DTC_WAKER_IRQ:
		return g_strdup_printf("interrupt %s", dtc_history_get_string(h, wake->ref));
	case DTC_WAKER_SOFTIRQ:
		return g_strdup_printf("softirq %s", dtc_softirq_to_string(wake->ref));
	case DTC_WAKER_IPI:
		return g_strdup("another CPU");
	case DTC_WAKER_UNKNOWN:
		break;
	}
	return g_strdup("unknown");
}

char *dtc_words_for_wake_context(const DtcHistory *h, const struct dtc_wake_context *context)
{
	g_autofree char *what = NULL;

	switch (context->mode) {
	case DTC_WAKE_IN_CALL:
		what = dtc_words_for_labelled_call(h, context->call);
		break;
	case DTC_WAKE_IN_RETURN:
		what = dtc_words_for_labelled_call(h, context->call);
		return g_strdup_printf("on the way back from %s", what);
	case DTC_WAKE_IN_PAGE_FAULT:
		what = g_strdup("a page fault");
		break;
	case DTC_WAKE_IN_USER:
		return g_strdup("outside of a call");
	case DTC_WAKE_IN_IRQ:
		what = dtc_words_for_interrupt(h, DTC_STATE_IRQ, context->ref);
		break;
	case DTC_WAKE_IN_SOFTIRQ:
		what = dtc_words_for_interrupt(h, DTC_STATE_SOFTIRQ, context->ref);
		break;
	case DTC_WAKE_IN_KERNEL: /* all that a kernel thread does */
	case DTC_WAKE_IN_UNKNOWN:
	case DTC_WAKE_MODES:
		break;
	}
	return what ? g_strdup_printf("in %s", what) : NULL;
}
