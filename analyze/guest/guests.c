/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/guest/guests.h"
#include "analyze/guest/stays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_LIMIT 20000 /* events of one CPU that are looked at to tell whose it is */
#define CHANCE_SAMPLES 2000
/* So many events would lie outside of a stranger's stays before a mapping counts as verified by lying inside. */
#define TELLING_MISSES 20
/* Of those at most this part may lie outside: the guest's own clock may have been set, an event may be misread. */
#define TOLERATED_MISSES 0.02

struct DtcGuests {
	guint node_count;
	char **names;
	const DtcHistory *const *histories; /* borrowed */
	GArray **cpus;			    /* per node: struct dtc_guest_cpu by CPU; NULL: no guest */
};

struct comparison {
	uint64_t event_count;
	uint64_t misses;
	double expected; /* misses, if the events had nothing to do with the vCPU */
};

/* The vCPUs of one process of one host, in the order of the guest's CPUs. */
struct carrier {
	guint host;
	int32_t pid;
	GArray *vcpus; /* uint32_t by number; DTC_NONE: none has the number */
	bool is_told;  /* the cluster file, or a recorder, says so */
	/* judged by the events of one guest; then vcpus is by that guest's CPUs, DTC_NONE: they fit none */
	struct comparison sum; /* of the CPUs that fit */
	guint fit_count;
	guint misfit_count;
	uint64_t misfit_events;
};

static void carrier_clear(void *data)
{
	g_array_unref(((struct carrier *)data)->vcpus);
}

/* --- who carries whom ------------------------------------------------------------------------------------------- */

/* QEMU names its threads "CPU 0/KVM"; -1 for another name. */
static int32_t parse_number(const char *comm)
{
	int number, length = 0;
	if (sscanf(comm, "CPU %d/KVM%n", &number, &length) != 1 || comm[length] || number < 0 ||
	    number >= DTC_VCPU_LIMIT)
		return -1;
	return number;
}

static int32_t get_number(const DtcHistory *h, const struct dtc_vcpu *vcpu, bool by_name)
{
	if (!by_name)
		return vcpu->number;
	const struct dtc_guest_span *first = dtc_history_get_guest_span(h, vcpu->span_first);
	return parse_number(dtc_history_get_comm(h, vcpu->thread, first->entry_ns));
}

/* False if two have the same number, or one has none. */
static bool order_by_number(const DtcHistory *h, const GArray *members, bool by_name, GArray *vcpus)
{
	g_array_set_size(vcpus, 0);
	for (guint i = 0; i < members->len; i++) {
		uint32_t member = g_array_index(members, uint32_t, i), none = DTC_NONE;
		int32_t number = get_number(h, dtc_history_get_vcpu(h, member), by_name);
		if (number < 0)
			return false;
		while (vcpus->len <= (guint)number)
			g_array_append_val(vcpus, none);
		uint32_t *place = &g_array_index(vcpus, uint32_t, number);
		if (*place != DTC_NONE)
			return false;
		*place = member;
	}
	return true;
}

static int compare_tid(const void *left, const void *right, void *data)
{
	const DtcHistory *h = data;
	int32_t a = dtc_history_get_thread(h, dtc_history_get_vcpu(h, *(const uint32_t *)left)->thread)->tid;
	int32_t b = dtc_history_get_thread(h, dtc_history_get_vcpu(h, *(const uint32_t *)right)->thread)->tid;
	return (a > b) - (a < b);
}

static int32_t get_pid(const DtcHistory *h, uint32_t vcpu)
{
	return dtc_history_get_thread(h, dtc_history_get_vcpu(h, vcpu)->thread)->pid;
}

/* One carrier for each process with vCPUs. */
static void list_carriers(const DtcHistory *h, guint host, GArray *carriers)
{
	uint32_t count = dtc_history_get_vcpu_count(h);
	g_autofree bool *done = g_new0(bool, count + 1);
	for (uint32_t i = 0; i < count; i++) {
		if (done[i])
			continue;
		struct carrier carrier = { .host = host,
					   .pid = get_pid(h, i),
					   .vcpus = g_array_new(FALSE, FALSE, sizeof(uint32_t)) };
		g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		for (uint32_t k = i; k < count; k++) {
			if (get_pid(h, k) != carrier.pid)
				continue;
			done[k] = true;
			g_array_append_val(members, k);
		}
		if (!order_by_number(h, members, false, carrier.vcpus) &&
		    !order_by_number(h, members, true, carrier.vcpus)) {
			/* hypervisors start them in their order */
			g_array_sort_with_data(members, compare_tid, (void *)h);
			g_array_set_size(carrier.vcpus, 0);
			g_array_append_vals(carrier.vcpus, members->data, members->len);
		}
		g_array_append_val(carriers, carrier);
	}
}

/* The vCPU threads that somebody named; false if one of them never entered a guest. */
static bool get_told(const DtcHistory *h, guint host, const struct dtc_cluster_node *told, struct carrier *ret_carrier)
{
	*ret_carrier = (struct carrier){
		.host = host, .pid = -1, .is_told = true, .vcpus = g_array_new(FALSE, FALSE, sizeof(uint32_t))
	};
	for (guint i = 0; i < told->vcpu_tids->len; i++) {
		int32_t tid = (int32_t)g_array_index(told->vcpu_tids, uint32_t, i);
		uint32_t found = DTC_NONE;
		for (uint32_t k = 0; k < dtc_history_get_vcpu_count(h) && found == DTC_NONE; k++)
			if (dtc_history_get_thread(h, dtc_history_get_vcpu(h, k)->thread)->tid == tid)
				found = k;
		g_array_append_val(ret_carrier->vcpus, found);
		if (found == DTC_NONE) {
			carrier_clear(ret_carrier);
			return false;
		}
	}
	return true;
}

/* Compares the events of a guest's CPU with the stays of a vCPU. */
static struct comparison compare(const struct dtc_stays *s, const GArray *events)
{
	struct comparison result = { 0 };
	uint32_t first, last, tried = 0, missed = 0;
	int64_t lo_ns, hi_ns;
	guint step = events->len / SAMPLE_LIMIT + 1;
	for (guint i = 0; i < events->len; i += step) {
		dtc_stays_get_window(s, g_array_index(events, int64_t, i), &lo_ns, &hi_ns);
		enum dtc_stays_place place = dtc_stays_locate(s, lo_ns, hi_ns, &first, &last);
		result.event_count += place != DTC_PLACE_NOT_KNOWN;
		result.misses += place == DTC_PLACE_OUTSIDE;
	}
	if (events->len == 0)
		return result;
	int64_t begin_ns = g_array_index(events, int64_t, 0), end_ns = g_array_index(events, int64_t, events->len - 1);
	for (guint i = 0; i < CHANCE_SAMPLES; i++) {
		int64_t at_ns = begin_ns + (end_ns - begin_ns) / CHANCE_SAMPLES * i;
		dtc_stays_get_window(s, at_ns, &lo_ns, &hi_ns);
		enum dtc_stays_place place = dtc_stays_locate(s, lo_ns, hi_ns, &first, &last);
		tried += place != DTC_PLACE_NOT_KNOWN;
		missed += place == DTC_PLACE_OUTSIDE;
	}
	if (tried)
		result.expected = (double)result.event_count * missed / tried;
	return result;
}

static struct comparison compare_vcpu(const struct dtc_guests_input *input, guint guest, guint host, uint32_t vcpu,
				      const GArray *events)
{
	const DtcHistory *h = input->histories[host];
	const struct dtc_stays stays = { h, input->clocks, guest, host, dtc_history_get_vcpu(h, vcpu) };
	return compare(&stays, events);
}

static bool fits(const struct comparison *c)
{
	return c->misses == 0 || (double)c->misses <= TOLERATED_MISSES * c->expected;
}

static bool is_verified(const struct comparison *c)
{
	return c->expected >= TELLING_MISSES && fits(c);
}

/* The one vCPU of the carrier that the events of a CPU fit, or DTC_NONE. */
static uint32_t find_fitting(const struct dtc_guests_input *input, guint guest, const struct carrier *carrier,
			     const GArray *events, struct comparison *ret_comparison)
{
	uint32_t found = DTC_NONE;
	for (guint i = 0; i < carrier->vcpus->len; i++) {
		uint32_t vcpu = g_array_index(carrier->vcpus, uint32_t, i);
		if (vcpu == DTC_NONE)
			continue;
		struct comparison c = compare_vcpu(input, guest, carrier->host, vcpu, events);
		if (!is_verified(&c))
			continue;
		if (found != DTC_NONE)
			return DTC_NONE;
		found = vcpu;
		*ret_comparison = c;
	}
	return found;
}

/* Which of the carrier's vCPUs are this guest's CPUs: the one in its place, unless the events say another. */
static void judge(const struct dtc_guests_input *input, guint guest, const GPtrArray *events, struct carrier *carrier)
{
	GArray *mapped = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	for (guint cpu = 0; cpu < events->len; cpu++) {
		const GArray *own = g_ptr_array_index(events, cpu);
		uint32_t vcpu = cpu < carrier->vcpus->len ? g_array_index(carrier->vcpus, uint32_t, cpu) : DTC_NONE;
		struct comparison c = { 0 };
		if (vcpu != DTC_NONE)
			c = compare_vcpu(input, guest, carrier->host, vcpu, own);
		if (own->len && (vcpu == DTC_NONE || !fits(&c)))
			vcpu = carrier->is_told ? DTC_NONE : find_fitting(input, guest, carrier, own, &c);
		g_array_append_val(mapped, vcpu);
		if (vcpu == DTC_NONE) {
			carrier->misfit_count += own->len > 0;
			carrier->misfit_events += c.misses;
			continue;
		}
		carrier->fit_count += c.event_count > 0;
		carrier->sum.misses += c.misses;
		carrier->sum.expected += c.expected;
		carrier->sum.event_count += c.event_count;
	}
	g_array_unref(carrier->vcpus);
	carrier->vcpus = mapped;
}

/*
 * The APIC id of a vCPU. Its own thread makes interrupts pending for it (its timer's) and puts them in afterwards; it
 * also sends some to others, but those it does not put in.
 */
static int find_apic(const DtcHistory *h, const struct dtc_vcpu *vcpu)
{
	int last[256], best = -1;
	uint32_t counts[256] = { 0 };
	memset(last, 0xff, sizeof(last));
	for (uint32_t i = 0; i < dtc_history_get_guest_irq_count(h); i++) {
		const struct dtc_guest_irq *irq = dtc_history_get_guest_irq(h, i);
		if (irq->thread != vcpu->thread)
			continue;
		if (!irq->is_injection) {
			last[irq->vector] = irq->apic;
		} else if (last[irq->vector] >= 0) {
			counts[last[irq->vector]]++;
			last[irq->vector] = -1;
		}
	}
	for (int apic = 0; apic < 256; apic++)
		if (counts[apic] && (best < 0 || counts[apic] > counts[best]))
			best = apic;
	return best;
}

static void add_mapping_finding(const DtcGuests *guests, guint guest, const struct carrier *carrier,
				DtcFindings *findings)
{
	const DtcHistory *h = guests->histories[carrier->host];
	g_autoptr(GString) text = g_string_new(NULL);
	guint shown = 0;
	for (guint cpu = 0; cpu < guests->cpus[guest]->len; cpu++) {
		const struct dtc_guest_cpu *c = &g_array_index(guests->cpus[guest], struct dtc_guest_cpu, cpu);
		if (c->vcpu == DTC_NONE || shown++ >= 4)
			continue;
		const struct dtc_guest_span *first =
			dtc_history_get_guest_span(h, dtc_history_get_vcpu(h, c->vcpu)->span_first);
		g_string_append_printf(text, "%s CPU %u is %s (tid %d)%s", text->len ? "," : "", cpu,
				       dtc_history_get_comm(h, c->thread, first->entry_ns),
				       dtc_history_get_thread(h, c->thread)->tid,
				       c->is_verified ? "" : ", not verified");
	}
	if (shown > 4)
		g_string_append_printf(text, ", and %u more", shown - 4);
	if (shown)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, guests->names[guest],
				 "runs in a virtual machine on '%s':%s", guests->names[carrier->host], text->str);
}

static void map_cpus(DtcGuests *guests, const struct dtc_guests_input *input, guint guest, const GPtrArray *events,
		     const struct carrier *carrier, DtcFindings *findings)
{
	const DtcHistory *h = input->histories[carrier->host];
	GArray *cpus = g_array_new(FALSE, FALSE, sizeof(struct dtc_guest_cpu));
	for (guint cpu = 0; cpu < events->len; cpu++) {
		const GArray *own = g_ptr_array_index(events, cpu);
		uint32_t vcpu = g_array_index(carrier->vcpus, uint32_t, cpu);
		struct comparison c = { 0 };
		if (vcpu != DTC_NONE)
			c = compare_vcpu(input, guest, carrier->host, vcpu, own);
		else if (own->len)
			dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, input->names[guest],
					 "which thread of '%s' carries CPU %u is not known: its events fit no vCPU, or "
					 "several; its time is not divided into the host's doings",
					 input->names[carrier->host], cpu);
		const struct dtc_guest_cpu mapped = {
			.host = carrier->host,
			.vcpu = vcpu,
			.thread = vcpu == DTC_NONE ? DTC_NONE : dtc_history_get_vcpu(h, vcpu)->thread,
			.apic = vcpu == DTC_NONE ? -1 : find_apic(h, dtc_history_get_vcpu(h, vcpu)),
			.is_verified = vcpu != DTC_NONE && is_verified(&c),
		};
		g_array_append_val(cpus, mapped);
	}
	guests->cpus[guest] = cpus;
	add_mapping_finding(guests, guest, carrier, findings);
}

/* The carriers that may carry a guest, judged by its events. */
static GArray *judge_all(const struct dtc_guests_input *input, guint guest, const struct dtc_cluster_node *told,
			 const GPtrArray *events, const GArray *carriers, DtcFindings *findings)
{
	GArray *judged = g_array_new(FALSE, FALSE, sizeof(struct carrier));
	g_array_set_clear_func(judged, carrier_clear);
	for (guint host = 0; told && told->vcpu_tids->len && host < input->node_count; host++) {
		struct carrier carrier;
		if (host == guest || !input->histories[host] || strcmp(input->names[host], told->host) != 0)
			continue;
		if (get_told(input->histories[host], host, told, &carrier))
			g_array_append_val(judged, carrier);
		else
			dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, told->name,
					 "a thread of '%s' that is said to be its vCPU never entered a guest",
					 told->host);
	}
	bool is_told = judged->len > 0;
	for (guint i = 0; !is_told && i < carriers->len; i++) {
		struct carrier carrier = g_array_index(carriers, struct carrier, i);
		bool elsewhere = told && *told->host && strcmp(told->host, input->names[carrier.host]) != 0;
		if (carrier.host == guest || elsewhere ||
		    dtc_clocks_get_group(input->clocks, carrier.host) != dtc_clocks_get_group(input->clocks, guest))
			continue;
		g_array_ref(carrier.vcpus);
		g_array_append_val(judged, carrier);
	}
	for (guint i = 0; i < judged->len; i++)
		judge(input, guest, events, &g_array_index(judged, struct carrier, i));
	return judged;
}

static void find_carrier(DtcGuests *guests, const struct dtc_guests_input *input, guint guest, const GArray *carriers,
			 DtcFindings *findings)
{
	const struct dtc_cluster_node *told =
		input->cluster ? dtc_cluster_find_node(input->cluster, input->names[guest]) : NULL;
	if (told && strcmp(told->role, "guest") != 0)
		told = NULL;
	g_autoptr(GPtrArray) events = dtc_stays_list_events(input->histories[guest]);
	g_autoptr(GArray) judged = judge_all(input, guest, told, events, carriers, findings);
	const struct carrier *verified = NULL, *possible = NULL;
	guint verified_count = 0, possible_count = 0;
	for (guint i = 0; i < judged->len; i++) {
		const struct carrier *c = &g_array_index(judged, struct carrier, i);
		if (c->fit_count > c->misfit_count && is_verified(&c->sum)) {
			verified = c;
			verified_count++;
		} else if (told && c->fit_count > c->misfit_count) {
			possible = c; /* nothing contradicts what somebody says */
			possible_count++;
		} else if (told && c->is_told && c->misfit_count) {
			dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, told->name,
					 "%" G_GUINT64_FORMAT " events happened while the threads of '%s' that are "
					 "said to be its vCPUs were not in a guest: they are not its vCPUs",
					 c->misfit_events, told->host);
		}
	}
	if (verified_count == 1)
		map_cpus(guests, input, guest, events, verified, findings);
	else if (verified_count == 0 && possible_count == 1)
		map_cpus(guests, input, guest, events, possible, findings);
	else if (verified_count + possible_count > 1)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, input->names[guest],
				 "%u processes of traced hosts may be the virtual machine that this node runs in; name "
				 "its vcpus in a cluster file",
				 verified_count + possible_count);
	else if (told && judged->len)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, told->name,
				 "no thread of '%s' runs when this guest runs, so its time is not divided into the "
				 "host's doings",
				 told->host);
}

/* A process is one guest: of two nodes that seem to be the same one, neither is believed. */
static void drop_doubles(DtcGuests *guests, DtcFindings *findings)
{
	g_autofree bool *is_double = g_new0(bool, guests->node_count + 1);
	for (guint a = 0; a < guests->node_count; a++) {
		for (guint b = 0; guests->cpus[a] && b < guests->node_count; b++) {
			if (a == b || !guests->cpus[b])
				continue;
			for (guint i = 0; i < guests->cpus[a]->len * guests->cpus[b]->len; i++) {
				const struct dtc_guest_cpu *x =
					&g_array_index(guests->cpus[a], struct dtc_guest_cpu, i / guests->cpus[b]->len);
				const struct dtc_guest_cpu *y =
					&g_array_index(guests->cpus[b], struct dtc_guest_cpu, i % guests->cpus[b]->len);
				if (x->host == y->host && x->vcpu == y->vcpu && x->vcpu != DTC_NONE)
					is_double[a] = true;
			}
		}
	}
	for (guint a = 0; a < guests->node_count; a++) {
		if (!is_double[a])
			continue;
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, guests->names[a],
				 "another node seems to run on the same vCPUs, so its time is not divided into the "
				 "host's doings");
		g_clear_pointer(&guests->cpus[a], g_array_unref);
	}
}

DtcGuests *dtc_guests_find(const struct dtc_guests_input *input, DtcFindings *findings)
{
	DtcGuests *guests = g_new0(DtcGuests, 1);
	guests->node_count = input->node_count;
	guests->names = g_new0(char *, input->node_count + 1);
	guests->histories = input->histories;
	guests->cpus = g_new0(GArray *, input->node_count + 1);
	g_autoptr(GArray) carriers = g_array_new(FALSE, FALSE, sizeof(struct carrier));
	g_array_set_clear_func(carriers, carrier_clear);
	for (guint node = 0; node < input->node_count; node++) {
		guests->names[node] = g_strdup(input->names[node]);
		if (input->histories[node])
			list_carriers(input->histories[node], node, carriers);
	}
	for (guint node = 0; carriers->len && node < input->node_count; node++)
		if (input->histories[node])
			find_carrier(guests, input, node, carriers, findings);
	drop_doubles(guests, findings);
	return guests;
}

void dtc_guests_free(DtcGuests *guests)
{
	if (!guests)
		return;
	for (guint node = 0; node < guests->node_count; node++)
		if (guests->cpus[node])
			g_array_unref(guests->cpus[node]);
	g_free(guests->cpus);
	g_strfreev(guests->names);
	g_free(guests);
}

bool dtc_guests_has_any(const DtcGuests *guests)
{
	for (guint node = 0; node < guests->node_count; node++)
		if (guests->cpus[node])
			return true;
	return false;
}

bool dtc_guests_is_guest(const DtcGuests *guests, guint node)
{
	const GArray *cpus = guests && node < guests->node_count ? guests->cpus[node] : NULL;
	for (guint i = 0; cpus && i < cpus->len; i++)
		if (g_array_index(cpus, struct dtc_guest_cpu, i).vcpu != DTC_NONE)
			return true;
	return false;
}

bool dtc_guests_get_cpu(const DtcGuests *guests, guint node, uint32_t cpu, struct dtc_guest_cpu *ret_cpu)
{
	const GArray *cpus = guests && node < guests->node_count ? guests->cpus[node] : NULL;
	if (!cpus || cpu >= cpus->len || g_array_index(cpus, struct dtc_guest_cpu, cpu).vcpu == DTC_NONE)
		return false;
	*ret_cpu = g_array_index(cpus, struct dtc_guest_cpu, cpu);
	return true;
}

/* --- bounds and checks ------------------------------------------------------------------------------------------ */

GArray *dtc_guests_list_bounds(const DtcGuests *guests, const DtcClocks *clocks, bool is_steady)
{
	GArray *bounds = g_array_new(FALSE, FALSE, sizeof(struct dtc_guest_bound));
	for (guint node = 0; node < guests->node_count; node++) {
		if (!guests->cpus[node])
			continue;
		g_autoptr(GPtrArray) events = dtc_stays_list_events(guests->histories[node]);
		for (guint cpu = 0; cpu < events->len; cpu++) {
			struct dtc_guest_cpu mapped;
			if (!dtc_guests_get_cpu(guests, node, cpu, &mapped) || !mapped.is_verified)
				continue;
			const DtcHistory *h = guests->histories[mapped.host];
			const struct dtc_stays stays = { h, clocks, node, mapped.host,
							 dtc_history_get_vcpu(h, mapped.vcpu) };
			dtc_stays_add_bounds(&stays, g_ptr_array_index(events, cpu), is_steady, bounds);
		}
	}
	return bounds;
}

struct dtc_guest_fit dtc_guests_check(const DtcGuests *guests, guint node, const DtcClocks *clocks)
{
	struct dtc_guest_fit fit = { 0 };
	if (!guests || node >= guests->node_count || !guests->cpus[node])
		return fit;
	g_autoptr(GPtrArray) events = dtc_stays_list_events(guests->histories[node]);
	for (guint cpu = 0; cpu < events->len; cpu++) {
		struct dtc_guest_cpu mapped;
		if (!dtc_guests_get_cpu(guests, node, cpu, &mapped))
			continue;
		const DtcHistory *h = guests->histories[mapped.host];
		const struct dtc_stays stays = { h, clocks, node, mapped.host, dtc_history_get_vcpu(h, mapped.vcpu) };
		const GArray *own = g_ptr_array_index(events, cpu);
		for (guint i = 0; i < own->len; i++) {
			int64_t lo_ns, hi_ns, at_ns = g_array_index(own, int64_t, i);
			uint32_t first, last;
			dtc_stays_get_window(&stays, at_ns, &lo_ns, &hi_ns);
			enum dtc_stays_place place = dtc_stays_locate(&stays, lo_ns, hi_ns, &first, &last);
			fit.event_count += place != DTC_PLACE_NOT_KNOWN;
			if (place == DTC_PLACE_OUTSIDE && fit.outside_count++ == 0)
				fit.outside_ns = at_ns;
		}
	}
	return fit;
}
