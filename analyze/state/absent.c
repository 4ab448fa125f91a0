/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a recording was not told to record. A trace without some kinds of events still has an answer, but a poorer one,
 * and the reader must know which part of it: each finding names the events and what without them cannot be said. That
 * nothing of a kind happened is no lack: every trace has switches, but one without disk traffic has no block events.
 */
#include "analyze/state/machine_state.h"

static bool is_recorded(const DtcMachine *m, enum dtc_event_kind kind)
{
	return m->saw[kind] || (m->reader && dtc_reader_declares(m->reader, kind));
}

/* Uninterruptible waits that an interrupt or softirq ended: with block events most of them were a disk's. */
static guint64 count_device_waits(const DtcHistory *h)
{
	guint64 count = 0;

	for (uint32_t i = 0; i < h->threads->len; i++) {
		struct dtc_interval place;
		const struct dtc_interval *interval = dtc_history_get_interval_after(h, i, INT64_MIN, &place);
		for (; interval; interval = dtc_history_get_next_interval(h, &place)) {
			if (interval->state != DTC_STATE_WAIT_DISK || interval->ref == DTC_NONE)
				continue;
			uint8_t waker = dtc_history_copy_wake(h, interval->ref).waker;
			count += waker == DTC_WAKER_IRQ || waker == DTC_WAKER_SOFTIRQ;
		}
	}
	return count;
}

static void report_interrupts(const DtcMachine *m, DtcFindings *findings)
{
	if (!m->saw_irq)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, m->node,
				 "the trace has no interrupt events (irq_handler_entry, irq_softirq_entry): the time "
				 "of interrupts counts as the threads' that they interrupted, and so do their "
				 "wakeups");
	else if (!m->saw[DTC_EVENT_SOFTIRQ_ENTRY])
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, m->node,
				 "the trace has no softirqs (irq_softirq_entry): which packet or timer ended a wait is "
				 "a guess or unknown");
}

static void report_wakeups(const DtcMachine *m, DtcFindings *findings)
{
	bool has_wakeups = m->saw[DTC_EVENT_SCHED_WAKEUP] || m->saw[DTC_EVENT_SCHED_WAKEUP_NEW];

	if (m->saw[DTC_EVENT_SCHED_WAKING])
		return;
	if (!has_wakeups)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, m->node,
				 "the trace has no wakeups (sched_waking, sched_wakeup): who ended a wait is unknown, "
				 "and the time in the runqueue counts as waiting");
	else if (m->cpus->len > 1)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, m->node,
				 "the trace has no sched_waking: where a thread was woken from another CPU, by whom is "
				 "inferred or unknown");
}

void dtc_machine_report_absent(const DtcMachine *m, DtcFindings *findings)
{
	if (!m->event_count) {
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, true, m->node, "the kernel trace has no events");
		return;
	}
	if (!m->saw[DTC_EVENT_SCHED_SWITCH]) {
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, m->node,
				 "the trace has no sched_switch: what threads did is unknown");
		return;
	}
	dtc_machine_report_missing(m, findings);
	report_wakeups(m, findings);
	report_interrupts(m, findings);
	if (m->saw[DTC_EVENT_INET_OUT] && m->saw[DTC_EVENT_INET_IN] && !m->packet_count)
		dtc_findings_add(
			findings, DTC_SEVERITY_INFO, false, m->node,
			"the trace's packets (inet_sock_local_*) bear no addresses: which send brought which is "
			"told by TCP's numbers alone");
	else if (!m->saw[DTC_EVENT_NET_SEND] && !m->saw[DTC_EVENT_NET_RECEIVE])
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, m->node,
				 "the trace has no net events (net_dev_queue, netif_receive_skb): waits for packets "
				 "cannot be followed");
	else if (m->is_perf && m->headerless_count == m->packet_count)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, m->node,
				 "perf records no headers of packets: waits for packets cannot be followed to another "
				 "node");
	else if (m->headerless_count * 2 > m->packet_count)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, m->node,
				 "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
				 " packets carry no headers (receive offload off): those links come from the "
				 "capture or are missing",
				 m->headerless_count, m->packet_count);
	if (!m->saw[DTC_EVENT_SYSCALL_ENTRY] && !m->saw[DTC_EVENT_SYSCALL_EXIT])
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, m->node,
				 "the trace has no system calls: waits are named by their waker alone, all that a "
				 "user thread runs counts as user mode, and the threads that serve a request cannot "
				 "be found");
	if (m->saw[DTC_EVENT_SYSCALL_ENTRY] && !m->saw_arguments)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, m->node,
				 "system calls come by number (raw_syscalls), without what they work on: which file or "
				 "connection a call is on, and what was read for what, is not known");
	if (!is_recorded(m, DTC_EVENT_BLOCK_ISSUE) && !is_recorded(m, DTC_EVENT_BLOCK_COMPLETE)) {
		guint64 count = count_device_waits(m->history);
		if (count)
			dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, m->node,
					 "the trace has no block events (block_rq_issue, block_rq_complete): "
					 "%" G_GUINT64_FORMAT
					 " waits that a device ended show as 'device', not as disk",
					 count);
	}
}
