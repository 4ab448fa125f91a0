/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a socket's bytes lie in its flows' sequence space. The SYN of a connection that was opened in the trace tells.
 *
 * A connection from before the trace has no byte of a known number. What is read had arrived: at the end of every read
 * the base is at most the end of what had arrived less what had been read, and is just that if the read left nothing in
 * the socket. So the least of these bounds is the base, if the socket was drained once. No single read tells: servers
 * of protocols with a length in front (MariaDB, Kafka, TLS records) read a header first, which leaves the rest of the
 * message in the socket; with the base taken from the first read every query had been read by an earlier one's call.
 *
 * A bound is too low only if something arrived that the trace does not have. The next arrival shows it, as it begins
 * behind the end of the last one: the bounds in between count for nothing, but for those from before the trace says
 * that events were lost.
 */
#include "analyze/state/machine_state.h"
#include "collect/packets/records.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

static const struct dtc_call *get_call(const DtcMachine *m, const uint32_t *ids, guint index)
{
	return DTC_AT(m->history->filling->calls, struct dtc_call, ids[index]);
}

/* Until when nothing that arrived after a time was lost, as far as the trace says that events were. */
static int64_t find_loss(const DtcMachine *m, int64_t since_ns)
{
	const GArray *bounds = m->gap_bounds;
	guint first = DTC_BISECT(i, 0, bounds->len, g_array_index(bounds, int64_t, i) < since_ns);

	return first < bounds->len ? g_array_index(bounds, int64_t, first) : INT64_MAX;
}

void dtc_machine_bound_reads(const DtcMachine *m, uint32_t flow_in, const uint32_t *reads, guint count,
			     struct dtc_seq_bound *ret_bounds)
{
	const DtcPackets *packets = m->history->packets;
	uint32_t packet_count = dtc_packets_get_flow(packets, flow_in)->packet_count;
	uint32_t arrived_seq = 0; /* the end of what arrived */
	bool has_arrival = false, has_hole = false;
	int64_t whole_ns = INT64_MIN; /* until then nothing is missing behind the latest arrival, whatever comes */
	guint next = 0;

	memset(ret_bounds, 0, count * sizeof(*ret_bounds));
	for (uint32_t i = 0; i <= packet_count; i++) {
		struct dtc_packet place, *p = NULL;
		if (i < packet_count) {
			place = dtc_packets_read(packets, dtc_packets_get_flow_packet(packets, flow_in, i));
			p = &place;
		}
		if (p && (p->direction != DTC_RECEIVED || !p->payload_bytes))
			continue;
		/* where there were holes, there may be one behind the last, as where events were lost since then */
		bool is_hole = p ? has_arrival && dtc_seq_distance(arrived_seq, p->seq) > 0
				 : has_hole || whole_ns != INT64_MIN;
		for (; next < count && (!p || get_call(m, reads, next)->end_ns < p->time_ns); next++) {
			const struct dtc_call *read = get_call(m, reads, next);
			ret_bounds[next].is_known = has_arrival && (!is_hole || read->end_ns <= whole_ns);
			ret_bounds[next].seq = arrived_seq - (uint32_t)read->offset - (uint32_t)read->result;
		}
		if (!p)
			return;
		has_hole |= is_hole && whole_ns == INT64_MIN;
		int64_t loss_ns = find_loss(m, p->time_ns);
		whole_ns = loss_ns < INT64_MAX ? loss_ns : INT64_MIN;
		if (!has_arrival || dtc_seq_distance(arrived_seq, p->seq + p->payload_bytes) > 0)
			arrived_seq = p->seq + p->payload_bytes;
		has_arrival = true;
	}
}

/* The least of the bounds, which lie less than 2 GiB apart. */
static struct dtc_seq_bound find_base_in(const DtcMachine *m, uint32_t flow_in, const uint32_t *reads, guint count)
{
	g_autofree struct dtc_seq_bound *bounds = g_new(struct dtc_seq_bound, count);
	struct dtc_seq_bound base = { 0 };

	dtc_machine_bound_reads(m, flow_in, reads, count, bounds);
	for (guint i = 0; i < count; i++)
		if (bounds[i].is_known && (!base.is_known || dtc_seq_distance(base.seq, bounds[i].seq) < 0))
			base = bounds[i];
	return base;
}

static int compare_reads(gconstpointer a, gconstpointer b, gpointer machine)
{
	const DtcMachine *m = machine;
	const struct dtc_call *x = DTC_AT(m->history->filling->calls, struct dtc_call, *(const uint32_t *)a);
	const struct dtc_call *y = DTC_AT(m->history->filling->calls, struct dtc_call, *(const uint32_t *)b);
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset; /* given when they ended */
}

static struct dtc_file *get_file(const DtcMachine *m, uint32_t file)
{
	return DTC_AT(m->history->files, struct dtc_file, file);
}

static const struct dtc_flow *get_flow(const DtcMachine *m, uint32_t flow)
{
	return dtc_packets_get_flow(m->history->packets, flow);
}

static bool is_tcp(const DtcMachine *m, const struct dtc_file *file)
{
	return file->flow_out != DTC_NONE && get_flow(m, file->flow_out)->protocol == DTC_PROTOCOL_TCP;
}

/* Of how many sockets no byte that was written, or read, has a known number: of most the SYN told. */
static guint count_open(const DtcMachine *m, bool is_out)
{
	guint count = 0;
	for (uint32_t i = 0; i < m->history->files->len; i++) {
		const struct dtc_file *file = get_file(m, i);
		count += is_tcp(m, file) && !(is_out ? file->has_base_out : file->has_base_in);
	}
	return count;
}

/* Its first read byte follows from all reads and arrivals. */
static void place_open_reads(DtcMachine *m)
{
	DtcHistory *h = m->history;
	if (!count_open(m, false))
		return;
	g_autoptr(GArray) reads = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	for (uint32_t i = 0; i < h->filling->calls->len; i++) {
		const struct dtc_call *call = DTC_AT(h->filling->calls, struct dtc_call, i);
		if (call->file != DTC_NONE && call->kind == DTC_CALL_READ && call->result > 0 &&
		    is_tcp(m, get_file(m, call->file)) && !get_file(m, call->file)->has_base_in)
			g_array_append_val(reads, i);
	}
	if (reads->len > 1)
		g_array_sort_with_data(reads, compare_reads, m);
	const uint32_t *ids = (const uint32_t *)reads->data;
	for (guint first = 0, end; first < reads->len; first = end) {
		uint32_t index = get_call(m, ids, first)->file;
		for (end = first + 1; end < reads->len && get_call(m, ids, end)->file == index; end++)
			;
		struct dtc_file *file = get_file(m, index);
		struct dtc_seq_bound base = find_base_in(m, file->flow_in, ids + first, end - first);
		file->has_base_in = base.is_known;
		file->base_in = base.seq;
	}
}

/*
 * Its first written byte is the first byte of the first segment that left inside a write. What was held back until its
 * socket was uncorked or closed ends with the last segment that leaves in that call, which has PSH.
 */
void dtc_machine_place_writes(DtcMachine *m)
{
	DtcHistory *h = m->history;
	guint left = count_open(m, true);
	for (uint32_t i = 0; i < h->contexts->len && left; i++) {
		const struct dtc_packet p = dtc_packets_read(h->packets, i);
		if (p.direction != DTC_SENT || !p.payload_bytes)
			continue;
		const struct dtc_packet_context context = dtc_history_read_context(h, i);
		if (context.call == DTC_NONE)
			continue;
		const struct dtc_call *call = DTC_AT(h->filling->calls, struct dtc_call, context.call);
		bool is_let_go = call->kind != DTC_CALL_WRITE && call->offset > 0 && (p.tcp_flags & DTC_TCP_PSH) &&
				 (call->kind == DTC_CALL_OTHER || call->kind == DTC_CALL_CLOSE);
		if ((call->kind != DTC_CALL_WRITE && !is_let_go) || call->file == DTC_NONE)
			continue;
		struct dtc_file *file = get_file(m, call->file);
		if (file->has_base_out || file->flow_out != p.flow || !is_tcp(m, file))
			continue;
		file->base_out = p.seq + (is_let_go ? p.payload_bytes : 0) - (uint32_t)call->offset;
		file->has_base_out = true;
		left--;
	}
}

void dtc_machine_place_sockets(DtcMachine *m)
{
	DtcHistory *h = m->history;
	uint32_t flow_count = dtc_packets_get_flow_count(h->packets);
	dtc_machine_join_passed_files(m);
	g_array_set_size(h->flow_files, flow_count);
	if (flow_count)
		memset(h->flow_files->data, 0xff, flow_count * sizeof(uint32_t));
	for (uint32_t i = 0; i < h->files->len; i++) {
		struct dtc_file *file = get_file(m, i);
		if (file->flow_out == DTC_NONE)
			continue;
		g_array_index(h->flow_files, uint32_t, file->flow_out) = i;
		if (!is_tcp(m, file))
			continue;
		const struct dtc_flow *out = get_flow(m, file->flow_out), *in = get_flow(m, file->flow_in);
		if (out->has_isn) {
			file->base_out = out->isn + 1;
			file->has_base_out = true;
		}
		if (in->has_isn) {
			file->base_in = in->isn + 1;
			file->has_base_in = true;
		}
	}
	dtc_machine_place_writes(m);
	place_open_reads(m);
}
