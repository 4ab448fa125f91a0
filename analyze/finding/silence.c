/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/finding/silence.h"

#include "analyze/finding/findings.h"

/* Interrupts of busy CPUs are traced if there is one in so many ns of running, on average. */
#define TICK_NS DTC_SILENCE_NS

bool dtc_silence_has_ticks(const DtcHistory *h)
{
	int64_t running_ns = 0, ticks = 0;

	for (uint32_t t = 0; t < dtc_history_get_thread_count(h); t++) {
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_get_interval_after(h, t, INT64_MIN, &place);
		for (; v; v = dtc_history_get_next_interval(h, &place)) {
			if (!dtc_state_is_running(v->state))
				continue;
			running_ns += v->end_ns - v->begin_ns;
			ticks += v->state == DTC_STATE_IRQ;
		}
	}
	return ticks > 0 && running_ns / ticks < TICK_NS;
}

/* The thread that had the CPU at time, or DTC_NONE. */
static uint32_t find_running(const DtcHistory *h, guint cpu, int64_t time_ns)
{
	uint32_t after = dtc_history_find_run_after(h, cpu, time_ns - 1);
	return after ? dtc_history_get_run(h, cpu, after - 1).thread : DTC_NONE;
}

/* An event on another CPU in the span, but for its very end, when all of them wake up: the machine ran. */
static bool is_disturbed(const DtcHistory *h, const struct dtc_silence *silence)
{
	int64_t end_ns = silence->end_ns - (silence->end_ns - silence->begin_ns) / 10;

	for (guint cpu = 0; cpu < dtc_history_get_cpu_count(h); cpu++) {
		uint32_t thread = cpu == silence->cpu ? DTC_NONE : find_running(h, cpu, end_ns);
		struct dtc_interval place;
		const struct dtc_interval *v =
			thread == DTC_NONE ? NULL : dtc_history_find_interval_before(h, thread, end_ns, &place);
		if (v && v->begin_ns > silence->begin_ns)
			return true;
	}
	return false;
}

bool dtc_silence_find(const DtcHistory *h, int64_t begin_ns, int64_t end_ns, struct dtc_silence *ret_silence)
{
	struct dtc_silence longest = { 0 };

	for (guint cpu = 0; cpu < dtc_history_get_cpu_count(h); cpu++) {
		uint32_t thread = find_running(h, cpu, end_ns);
		if (thread == DTC_NONE || dtc_history_get_thread(h, thread)->idle_cpu >= 0)
			continue;
		/* back over what the thread did up to the end, to the silence if there is one */
		struct dtc_interval place;
		const struct dtc_interval *v = dtc_history_find_interval_before(h, thread, end_ns, &place);
		while (v && v->cpu == cpu && v->end_ns > begin_ns && dtc_state_is_running(v->state)) {
			bool is_silent = v->state != DTC_STATE_IRQ && v->state != DTC_STATE_SOFTIRQ &&
					 v->end_ns - v->begin_ns >= DTC_SILENCE_NS;
			int64_t overlap_ns = MIN(v->end_ns, end_ns) - MAX(v->begin_ns, begin_ns);
			if (is_silent && overlap_ns > (end_ns - begin_ns) / 2 &&
			    v->end_ns - v->begin_ns > longest.end_ns - longest.begin_ns) {
				struct dtc_silence found = { v->begin_ns, v->end_ns, cpu, thread };
				longest = is_disturbed(h, &found) ? longest : found;
			}
			v = dtc_history_find_interval_before(h, thread, v->begin_ns, &place);
		}
	}
	if (longest.end_ns == longest.begin_ns)
		return false;
	*ret_silence = longest;
	return true;
}

enum ticks { NOT_ASKED, TRACED, NOT_TRACED };

/* A look at all that the node did: once, however many packets were on their way to it. */
static bool has_ticks(const DtcHistory *h, uint8_t *known)
{
	if (*known == NOT_ASKED)
		*known = dtc_silence_has_ticks(h) ? TRACED : NOT_TRACED;
	return *known == TRACED;
}

/*
 * A receiver that was silent while a packet was on its way to it. An idle CPU may be silent; one that runs a thread is
 * interrupted by its timer many times a second, if the trace has those interrupts at all. One that is not had no CPU:
 * it runs in a virtual machine whose host is not in this bundle, or the host does not tell.
 */
void dtc_finding_add_silence(const struct dtc_finding_input *input, DtcFindings *findings)
{
	const DtcClocks *clocks = dtc_links_get_clocks(input->links);
	struct dtc_silence longest = { 0 };
	const struct dtc_segment *where = NULL;
	g_autofree uint8_t *ticks = g_new0(uint8_t, (gsize)dtc_links_get_node_count(input->links) + 1); /* enum ticks */

	for (guint i = 0; i < dtc_path_get_segment_count(input->path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(input->path, i);
		const DtcHistory *history = dtc_links_get_history(input->links, s->node);
		struct dtc_guest_cpu cpu;
		struct dtc_silence silence;
		if (s->cause != DTC_CAUSE_NETWORK_WIRE || s->end.ns - s->begin.ns < DTC_SILENCE_NS || !history ||
		    dtc_guests_get_cpu(dtc_links_get_guests(input->links), s->node, 0, &cpu))
			continue;
		if (!dtc_silence_find(history, dtc_clocks_to_node(clocks, s->node, s->begin).ns,
				      dtc_clocks_to_node(clocks, s->node, s->end).ns, &silence))
			continue;
		if (silence.end_ns - silence.begin_ns > longest.end_ns - longest.begin_ns &&
		    has_ticks(history, &ticks[s->node])) {
			longest = silence;
			where = s;
		}
	}
	if (where)
		dtc_findings_add_coded(
			findings, DTC_FINDING_SILENCE, DTC_SEVERITY_WARNING, false,
			dtc_links_get_node_name(input->links, where->node),
			"silent for %.3f ms while a packet was on the wire to it: CPU %u ran %s without a "
			"single timer interrupt; its host may not have let it run, and then the wire's time "
			"is the host's",
			(double)(longest.end_ns - longest.begin_ns) / 1e6, longest.cpu,
			dtc_history_get_comm(dtc_links_get_history(input->links, where->node), longest.thread,
					     longest.end_ns));
}
