/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/shares.h"

#include <dtrace-chain/bisect.h>

const struct dtc_vcpu *dtc_shares_find_vcpu(const DtcHistory *history, uint32_t thread)
{
	for (uint32_t i = 0; i < dtc_history_get_vcpu_count(history); i++) {
		const struct dtc_vcpu *vcpu = dtc_history_get_vcpu(history, i);
		if (vcpu->thread == thread)
			return vcpu;
	}
	return NULL;
}

void dtc_shares_begin(struct dtc_shares *shares, const DtcLinks *links, guint node, const DtcHistory *history,
		      uint32_t thread)
{
	struct dtc_guest_cpu cpu;

	*shares = (struct dtc_shares){ .links = links, .history = history, .node = node };
	if (!links)
		return;
	shares->vcpu = dtc_shares_find_vcpu(history, thread);
	for (guint i = 0; i < dtc_history_get_cpu_count(history) && !shares->is_guest; i++)
		shares->is_guest = dtc_guests_get_cpu(dtc_links_get_guests(links), node, i, &cpu);
}

static void add_part(GArray *parts, const struct dtc_interval *of, int64_t begin_ns, int64_t end_ns,
		     enum dtc_state state)
{
	struct dtc_interval part = *of;

	if (begin_ns >= end_ns)
		return;
	part.begin_ns = begin_ns;
	part.end_ns = end_ns;
	part.state = (uint8_t)state;
	g_array_append_val(parts, part);
}

bool dtc_shares_find_stay(const DtcHistory *history, const struct dtc_vcpu *vcpu, const struct dtc_interval *interval,
			  int64_t end_ns, int64_t *ret_begin_ns)
{
	bool is_own = interval->state == DTC_STATE_USER || interval->state == DTC_STATE_SYSCALL ||
		      interval->state == DTC_STATE_KERNEL;
	uint32_t first = vcpu->span_first;
	uint32_t after = DTC_BISECT(i, first, first + vcpu->span_count,
				    dtc_history_get_guest_span(history, i)->entry_ns < end_ns);

	*ret_begin_ns = interval->begin_ns;
	if (!is_own || after == first)
		return false;
	const struct dtc_guest_span *span = dtc_history_get_guest_span(history, after - 1);
	bool is_inside = end_ns <= span->left_ns;
	*ret_begin_ns = MAX(interval->begin_ns, is_inside ? span->entry_ns : span->left_ns);
	return is_inside;
}

/* From the end to the begin, as all cuts are made. */
static void cut_stays(const struct dtc_shares *shares, const struct dtc_interval *interval, int64_t end_ns,
		      GArray *parts)
{
	while (end_ns > interval->begin_ns) {
		int64_t begin_ns = interval->begin_ns;
		bool is_inside = shares->vcpu &&
				 dtc_shares_find_stay(shares->history, shares->vcpu, interval, end_ns, &begin_ns);
		add_part(parts, interval, begin_ns, end_ns, is_inside ? DTC_STATE_GUEST : interval->state);
		end_ns = begin_ns;
	}
}

static enum dtc_state get_state(const struct dtc_interval *interval, enum dtc_host_doing doing)
{
	switch (doing) {
	case DTC_HOST_PREEMPTED:
		return DTC_STATE_VM_PREEMPTED;
	case DTC_HOST_EXIT:
	case DTC_HOST_BLOCKED:
		return DTC_STATE_VM_EXIT;
	case DTC_HOST_IN_GUEST:
	case DTC_HOST_HALTED:
	case DTC_HOST_UNKNOWN:
		break;
	}
	return interval->state;
}

/* What the host did with the vCPU; gives the begin of what it tells nothing of. */
static int64_t cut_away(const struct dtc_shares *shares, const struct dtc_interval *interval, GArray *parts)
{
	const DtcClocks *clocks = dtc_links_get_clocks(shares->links);
	int64_t low = dtc_clocks_to_cluster_ns(clocks, shares->node, interval->begin_ns);
	int64_t at = dtc_clocks_to_cluster_ns(clocks, shares->node, interval->end_ns), end_ns = interval->end_ns;
	struct dtc_host_cut cut;

	while (end_ns > interval->begin_ns && dtc_host_find_cut(shares->links, shares->node, interval, at, &cut)) {
		at = MAX(cut.begin_cluster_ns, low);
		int64_t begin_ns = interval->begin_ns;
		if (at > low)
			begin_ns = CLAMP(dtc_clocks_to_node_ns(clocks, shares->node, at), begin_ns, end_ns);
		add_part(parts, interval, begin_ns, end_ns, get_state(interval, cut.piece.doing));
		end_ns = begin_ns;
	}
	return end_ns;
}

static void turn_round(GArray *parts)
{
	for (guint i = 0, last = parts->len; i + 1 < last; i++) {
		struct dtc_interval keep = g_array_index(parts, struct dtc_interval, i);
		last--;
		g_array_index(parts, struct dtc_interval, i) = g_array_index(parts, struct dtc_interval, last);
		g_array_index(parts, struct dtc_interval, last) = keep;
	}
}

void dtc_shares_cut(const struct dtc_shares *shares, const struct dtc_interval *interval, GArray *parts)
{
	int64_t end_ns = interval->end_ns;

	g_array_set_size(parts, 0);
	if (shares->is_guest)
		end_ns = cut_away(shares, interval, parts);
	cut_stays(shares, interval, end_ns, parts);
	turn_round(parts);
}
