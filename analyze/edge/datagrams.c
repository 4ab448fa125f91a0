/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/datagrams.h"

#include "analyze/exchange/endpoint.h"
#include "collect/packets/records.h"

#include <dtrace-chain/bisect.h>

#include <errno.h>
#include <string.h>

/* Sockets on one port that are told apart: one for each process or thread of a server, with SO_REUSEPORT. */
#define SHARING_MAX 64
/* Packets of a flow that are looked at for who sends by it. */
#define SENDS_MAX 64
/* What lies in a socket and was not taken: of a few, what is read out of order by several threads at once. */
#define UNTAKEN_MAX 64
#define OVERTAKEN_MAX 256
/* Calls between a poll and the read that it was for; of a thread that are looked at for whether it polls. */
#define TURN_CALLS 64
#define BEGUN_CALLS 64
/* Of one call: the kernel takes no more (UIO_MAXIOV). */
#define MESSAGES_MAX 1024
/* From the device into the socket: a softirq that handles many, on a CPU that is taken away. */
#define ENQUEUE_NS 1000000

/* A local address and port, and a file or flow that has it. */
struct end {
	uint8_t address[16];
	uint16_t port;
	uint16_t netns;
	uint32_t id;
};

struct pair {
	struct dtc_datagram read;
	uint32_t packet;
};

/* What a socket received, and who read it. */
struct queue {
	guint count;
	bool has_peers;
	struct pair *by_packet; /* behind the pairs by read */
	struct pair by_read[];
};

struct DtcDatagrams {
	const DtcHistory *history;
	const DtcPackets *packets;
	GArray *files; /* struct end, by end and file */
	GArray *flows; /* struct end: where UDP flows lead to, by end and flow */
	gpointer *queues;
	guint file_count;
};

static int compare_ends(const struct end *a, const struct end *b)
{
	int order = memcmp(a->address, b->address, sizeof(a->address));
	if (order)
		return order;
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return a->netns < b->netns ? -1 : a->netns > b->netns;
}

static int compare_in_list(gconstpointer a, gconstpointer b)
{
	const struct end *x = a, *y = b;
	int order = compare_ends(x, y);
	return order ? order : x->id < y->id ? -1 : x->id > y->id;
}

/* Where a flow leads to. */
static struct end get_end(const struct dtc_flow *flow)
{
	struct end end = { .port = flow->destination_port, .netns = flow->netns, .id = DTC_NONE };
	memcpy(end.address, flow->destination, sizeof(end.address));
	return end;
}

bool dtc_datagrams_is_socket(const DtcHistory *h, uint32_t file)
{
	uint32_t flow = file == DTC_NONE ? DTC_NONE : dtc_history_get_file(h, file)->flow_in;
	return flow != DTC_NONE && dtc_packets_get_flow(dtc_history_get_packets(h), flow)->protocol == DTC_PROTOCOL_UDP;
}

DtcDatagrams *dtc_datagrams_new(const DtcHistory *history)
{
	DtcDatagrams *d = g_new0(DtcDatagrams, 1);
	d->history = history;
	d->packets = dtc_history_get_packets(history);
	d->files = g_array_new(FALSE, FALSE, sizeof(struct end));
	d->flows = g_array_new(FALSE, FALSE, sizeof(struct end));
	d->file_count = dtc_history_get_file_count(history);
	for (uint32_t i = 0; i < d->file_count; i++) {
		if (!dtc_datagrams_is_socket(history, i))
			continue;
		struct end end = get_end(dtc_packets_get_flow(d->packets, dtc_history_get_file(history, i)->flow_in));
		end.id = i;
		g_array_append_val(d->files, end);
	}
	for (uint32_t i = 0; d->files->len && i < dtc_packets_get_flow_count(d->packets); i++) {
		const struct dtc_flow *flow = dtc_packets_get_flow(d->packets, i);
		if (flow->protocol != DTC_PROTOCOL_UDP)
			continue;
		struct end end = get_end(flow);
		end.id = i;
		g_array_append_val(d->flows, end);
	}
	g_array_sort(d->files, compare_in_list);
	g_array_sort(d->flows, compare_in_list);
	d->queues = g_new0(gpointer, d->files->len + 1);
	return d;
}

void dtc_datagrams_free(DtcDatagrams *d)
{
	if (!d)
		return;
	for (guint i = 0; i < d->files->len; i++)
		g_free(d->queues[i]);
	g_free(d->queues);
	g_array_unref(d->files);
	g_array_unref(d->flows);
	g_free(d);
}

/* Those of a list with the same end. */
static const struct end *find_ends(const GArray *list, const struct end *end, guint *ret_first, guint *ret_count)
{
	const struct end *ends = (const struct end *)(const void *)list->data;
	guint first = DTC_BISECT(i, 0, list->len, compare_ends(&ends[i], end) < 0);
	guint behind = DTC_BISECT(i, first, list->len, compare_ends(&ends[i], end) <= 0);
	*ret_first = first;
	*ret_count = behind - first;
	return ends + first;
}

/* --- whose a flow is --- */

/* The call in which a packet left; DTC_NONE: in none. */
static uint32_t find_sending_call(const DtcHistory *h, uint32_t packet)
{
	const struct dtc_packet_context context = dtc_history_get_plain_context(h, packet);
	if (context.in_softirq || context.thread == DTC_NONE)
		return DTC_NONE;
	return dtc_history_get_packet_context(h, packet).call;
}

/* The write that sent a packet, of a file if that is not DTC_NONE; else DTC_NONE. */
static uint32_t find_write(const DtcDatagrams *d, uint32_t file, uint32_t packet)
{
	uint32_t call = dtc_packets_read(d->packets, packet).direction == DTC_SENT
				? find_sending_call(d->history, packet)
				: DTC_NONE;
	if (call == DTC_NONE)
		return DTC_NONE;
	const struct dtc_call sent = dtc_history_copy_call(d->history, call);
	return sent.kind == DTC_CALL_WRITE && (file == DTC_NONE || sent.file == file) ? call : DTC_NONE;
}

/* Who sends by a flow, among sockets that share its port. */
static uint32_t find_sending_file(const DtcDatagrams *d, uint32_t flow)
{
	const struct dtc_flow *f = dtc_packets_get_flow(d->packets, flow);
	for (uint32_t i = 0; i < f->packet_count && i < SENDS_MAX; i++) {
		uint32_t call = find_write(d, DTC_NONE, dtc_packets_read_flow_packet(d->packets, f, i));
		uint32_t file = call == DTC_NONE ? DTC_NONE : dtc_history_copy_call(d->history, call).file;
		if (file != DTC_NONE)
			return file;
	}
	return DTC_NONE;
}

/* Whether a socket was used around a time, as far as its calls tell: one that was not seen to be made was there. */
static bool is_used(const DtcHistory *h, uint32_t file, int64_t time_ns)
{
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	int64_t begin_ns = dtc_history_get_file(h, file)->begin_ns;
	if (!count || (begin_ns > time_ns && begin_ns < dtc_history_get_call_begin_ns(h, calls[0])))
		return false;
	int64_t end_ns = dtc_history_copy_call(h, calls[count - 1]).end_ns;
	return end_ns == DTC_TIME_NONE || end_ns >= time_ns;
}

uint32_t dtc_datagrams_find_file(DtcDatagrams *d, uint32_t flow_in, int64_t time_ns)
{
	const DtcHistory *h = d->history;
	const struct dtc_flow *flow = dtc_packets_get_flow(d->packets, flow_in);
	struct end end = get_end(flow);
	guint first, count, open_count = 0;
	const struct end *files = find_ends(d->files, &end, &first, &count);
	uint32_t own = DTC_NONE, open = DTC_NONE;
	for (guint i = 0; i < count && count <= SHARING_MAX; i++) {
		uint32_t file = files[i].id;
		bool is_own = dtc_history_get_file(h, file)->flow_in == flow_in;
		if (count > 1 && !is_used(h, file, time_ns))
			continue;
		if (is_own) {
			own = file; /* of several, one after the other, the last */
		} else if (!dtc_endpoint_has_connected(h, file)) {
			open = file;
			open_count++;
		}
	}
	if (own != DTC_NONE || open_count <= 1)
		return own != DTC_NONE ? own : open;
	uint32_t sender = find_sending_file(d, flow->reverse);
	for (guint i = 0; i < count; i++)
		if (files[i].id == sender && is_used(h, sender, time_ns))
			return sender;
	return DTC_NONE;
}

/* --- what a socket received --- */

/* A datagram is seen on one interface after the other: the last one it came by is where the socket is. */
static uint16_t find_last_interface(const DtcPackets *packets, const struct dtc_flow *flow)
{
	for (uint32_t i = flow->packet_count; i-- > 0;) {
		const struct dtc_packet p = dtc_packets_read(packets, dtc_packets_read_flow_packet(packets, flow, i));
		if (p.direction == DTC_RECEIVED)
			return p.interface;
	}
	return 0;
}

static bool has_packets(const DtcPackets *packets, const struct dtc_flow *flow)
{
	return flow->packet_count || dtc_packets_get_flow(packets, flow->reverse)->packet_count;
}

/* Whose a flow is. */
struct owners {
	uint32_t first; /* when it was first used, in whichever direction */
	bool is_one;	/* and at the end as well: all the time */
};

static struct owners find_owners(DtcDatagrams *d, uint32_t flow_in)
{
	const struct dtc_flow *flow = dtc_packets_get_flow(d->packets, flow_in);
	uint32_t seen = flow->packet_count ? flow_in : flow->reverse;
	uint32_t last = dtc_packets_get_flow(d->packets, seen)->packet_count - 1;
	uint32_t ids[2] = { dtc_packets_get_flow_packet(d->packets, seen, 0),
			    dtc_packets_get_flow_packet(d->packets, seen, last) };
	uint32_t owners[2];
	for (guint i = 0; i < 2; i++)
		owners[i] = dtc_datagrams_find_file(d, flow_in, dtc_packets_get_time_ns(d->packets, ids[i]));
	return (struct owners){ owners[0], owners[0] == owners[1] };
}

static gint compare_ids(gconstpointer a, gconstpointer b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Adds what came for a socket by a flow. */
static void add_arrivals(DtcDatagrams *d, uint32_t file, uint32_t flow_in, const struct owners *owners,
			 GArray *arrivals)
{
	const struct dtc_flow *flow = dtc_packets_get_flow(d->packets, flow_in);
	uint16_t interface = find_last_interface(d->packets, flow);
	if (owners->is_one && owners->first != file)
		return;
	for (uint32_t i = 0; i < flow->packet_count; i++) {
		uint32_t id = dtc_packets_read_flow_packet(d->packets, flow, i);
		const struct dtc_packet p = dtc_packets_read(d->packets, id);
		if (p.direction == DTC_RECEIVED && p.interface == interface &&
		    (owners->is_one || dtc_datagrams_find_file(d, flow_in, p.time_ns) == file))
			g_array_append_val(arrivals, id);
	}
}

/* What came for a socket, in order; with how many peers it talks. */
static GArray *collect_arrivals(DtcDatagrams *d, uint32_t file, guint *ret_peers)
{
	GArray *arrivals = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	struct end end = get_end(dtc_packets_get_flow(d->packets, dtc_history_get_file(d->history, file)->flow_in));
	guint first, count;
	const struct end *flows = find_ends(d->flows, &end, &first, &count);
	*ret_peers = 0;
	for (guint i = 0; i < count; i++) {
		if (!has_packets(d->packets, dtc_packets_get_flow(d->packets, flows[i].id)))
			continue;
		const struct owners owners = find_owners(d, flows[i].id);
		*ret_peers += owners.first == file;
		add_arrivals(d, file, flows[i].id, &owners, arrivals);
	}
	g_array_sort(arrivals, compare_ids);
	return arrivals;
}

/* --- who read it --- */

/* What a look took: nothing; or it is not told how many bytes. */
#define NO_BYTES (-1)
#define ANY_BYTES (-2)

/* A look at a socket's queue. One call may take several datagrams. */
struct look {
	int64_t at_ns; /* when the thread was there: it may be kept from returning */
	int64_t end_ns;
	int64_t empty_ns; /* there was nothing in it then; INT64_MIN: not known */
	int64_t bytes;	  /* that it took; NO_BYTES, ANY_BYTES */
	uint32_t count;	  /* datagrams */
	uint32_t call;	  /* DTC_NONE: it is not in the trace */
	uint32_t waking;  /* the packet that ended its wait for something to come, or DTC_NONE */
};

static int compare_looks(gconstpointer a, gconstpointer b)
{
	const struct look *x = a, *y = b;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

/* When a thread that was woken from a wait was on a CPU again, if that was before a time. */
static int64_t find_run_ns(const DtcHistory *h, const struct dtc_interval *wait, int64_t end_ns)
{
	struct dtc_interval place = *wait;
	const struct dtc_interval *v = dtc_history_get_next_interval(h, &place);
	while (v && v->begin_ns < end_ns && !dtc_state_is_running(v->state))
		v = dtc_history_get_next_interval(h, &place);
	return v ? MIN(v->begin_ns, end_ns) : end_ns;
}

/* The packet that ended a wait, or DTC_NONE: none did. */
static uint32_t find_waking(const DtcHistory *h, const struct dtc_interval *wait)
{
	struct dtc_wake place;
	const struct dtc_wake *wake = wait->ref == DTC_NONE ? NULL : dtc_history_get_wake(h, wait->ref, &place);
	return wake && wake->waker == DTC_WAKER_PACKET ? wake->ref : DTC_NONE;
}

/*
 * What was not there when a call went to sleep last, and what came then. Gives when it was on a CPU again. One that
 * takes several may sleep for each of them: with the first, all that it has is still to come.
 */
static int64_t note_wait(const DtcHistory *h, const struct dtc_call *call, struct look *look)
{
	int64_t run_ns = call->begin_ns;
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_get_interval_after(h, call->thread, call->begin_ns, &place);
	for (; v && v->begin_ns < call->end_ns; v = dtc_history_get_next_interval(h, &place)) {
		if (!dtc_state_is_wait(v->state) || v->begin_ns < call->begin_ns)
			continue;
		look->empty_ns = v->begin_ns;
		look->waking = find_waking(h, v);
		run_ns = find_run_ns(h, v, call->end_ns);
		if (look->count > 1)
			break;
	}
	return run_ns;
}

/*
 * A loop waited in a poll that returned for this socket, before a read of it: nothing was there when it went to wait.
 * Not where it is told of arrivals alone (EPOLLET): such a one reads until there is no more.
 */
static void note_poll(const DtcHistory *h, uint32_t file, struct look *look)
{
	struct dtc_call place;
	const struct dtc_call *call = dtc_history_get_call(h, look->call, &place);
	uint32_t first = dtc_history_get_thread(h, call->thread)->call_first;
	for (uint32_t i = look->call; i-- > first && look->call - i <= TURN_CALLS;) {
		const struct dtc_call *before = dtc_history_get_call(h, i, &place);
		if (before->kind == DTC_CALL_READ && before->file == file)
			break;
		if (before->kind != DTC_CALL_POLL || dtc_call_is_glance(before))
			continue;
		if (before->end_ns != DTC_TIME_NONE && dtc_history_may_be_ready(h, i, file))
			note_wait(h, before, look);
		break;
	}
}

/* Whether a thread waits in polls before it reads, as far as its first calls tell. */
static bool is_polling(const DtcHistory *h, const struct dtc_thread *thread)
{
	for (uint32_t i = 0; i < thread->call_count && i < BEGUN_CALLS; i++)
		if (dtc_history_copy_call(h, thread->call_first + i).kind == DTC_CALL_POLL)
			return true;
	return false;
}

/*
 * A thread that slept when the trace began, in a read of the socket or in a poll, of which there is no call, and a
 * packet ended it: the first question to each worker of a pool is taken by no read that is known.
 */
static void add_begun(const DtcHistory *h, uint32_t index, GArray *looks)
{
	const struct dtc_thread *thread = dtc_history_get_thread(h, index);
	int64_t begin_ns = dtc_history_get_call_begin_ns(h, thread->call_first);
	struct look look = { begin_ns, begin_ns, INT64_MIN, is_polling(h, thread) ? NO_BYTES : ANY_BYTES,
			     1,	       DTC_NONE, DTC_NONE };
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_get_interval_after(h, index, thread->begin_ns, &place);
	for (; v && v->begin_ns < begin_ns; v = dtc_history_get_next_interval(h, &place))
		if (dtc_state_is_wait(v->state) && v->call == DTC_NONE) {
			look.waking = find_waking(h, v);
			look.at_ns = find_run_ns(h, v, begin_ns);
		}
	if (look.waking != DTC_NONE)
		g_array_append_val(looks, look);
}

static GArray *collect_looks(const DtcHistory *h, uint32_t file)
{
	GArray *looks = g_array_new(FALSE, FALSE, sizeof(struct look));
	g_autoptr(GHashTable) threads = g_hash_table_new(g_direct_hash, g_direct_equal);
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, file, &count);
	bool is_drained = false;
	for (uint32_t i = 0; i < count; i++) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, calls[i], &place);
		if (call->kind != DTC_CALL_READ || call->end_ns == DTC_TIME_NONE || call->result == DTC_ABSENT)
			continue;
		if (g_hash_table_add(threads, GUINT_TO_POINTER(call->thread)))
			add_begun(h, call->thread, looks);
		struct look look = {
			call->begin_ns, call->end_ns, INT64_MIN, MAX(call->result, NO_BYTES), dtc_datagrams_count(call),
			calls[i],	DTC_NONE
		};
		if (dtc_call_counts_messages(call))
			look.bytes = call->result > 0 ? ANY_BYTES : NO_BYTES;
		if (call->result == -EAGAIN) {
			is_drained = true;
			look.empty_ns = call->begin_ns;
		} else {
			look.at_ns = note_wait(h, call, &look);
		}
		g_array_append_val(looks, look);
	}
	for (guint i = 0; i < looks->len && !is_drained; i++) {
		struct look *look = &g_array_index(looks, struct look, i);
		if (look->call != DTC_NONE && look->empty_ns == INT64_MIN)
			note_poll(h, file, look);
	}
	g_array_sort(looks, compare_looks);
	return looks;
}

/* What came for a socket, in order, and what is known of each. */
struct arrivals {
	const DtcHistory *history;
	const GArray *packets;
	bool *is_gone; /* taken, or dropped */
	guint *wakes;  /* the last look that it ended the wait of, and one */
	guint first;   /* those before it are gone */
};

static struct dtc_packet get_arrival(const struct arrivals *arrivals, guint index)
{
	return dtc_packets_read(dtc_history_get_packets(arrivals->history),
				g_array_index(arrivals->packets, uint32_t, index));
}

/* The place of a packet among them; G_MAXUINT: it is none of them. */
static guint find_arrival(const struct arrivals *arrivals, uint32_t packet)
{
	const uint32_t *ids = (const uint32_t *)(const void *)arrivals->packets->data;
	guint i = DTC_BISECT(k, 0, arrivals->packets->len, ids[k] < packet);
	return i < arrivals->packets->len && ids[i] == packet ? i : G_MAXUINT;
}

/* One softirq may bring several before the first of them wakes anybody. */
static bool came_together(const struct arrivals *arrivals, guint a, guint b)
{
	const DtcHistory *h = arrivals->history;
	const struct dtc_packet_context x =
		dtc_history_get_plain_context(h, g_array_index(arrivals->packets, uint32_t, a));
	const struct dtc_packet_context y =
		dtc_history_get_plain_context(h, g_array_index(arrivals->packets, uint32_t, b));
	return x.queue_ns != DTC_TIME_NONE && x.queue_ns == y.queue_ns;
}

/* Threads that were woken by what came before a place, and have not looked yet: each will find something. */
static guint count_pending(const struct arrivals *arrivals, guint end, guint index)
{
	guint pending = 0;
	for (guint i = end; i-- > 0 && end - i <= UNTAKEN_MAX;)
		pending += arrivals->wakes[i] > index + 1;
	return pending;
}

/*
 * What came before a queue was seen to be empty is gone: dropped on the way, or taken by a call that the trace lacks.
 * So is what came before the packet that a look waited for, since whatever came during the wait would have ended it;
 * but not as much as those find who were woken before and have not looked yet. Who is faster takes another's (a pool
 * of threads behind systemd-resolved: the first that was woken came third).
 */
static void forget_gone(struct arrivals *arrivals, const struct look *look, guint index)
{
	guint waking = look->waking == DTC_NONE ? G_MAXUINT : find_arrival(arrivals, look->waking), left = 0;
	while (waking != G_MAXUINT && waking > arrivals->first && came_together(arrivals, waking - 1, waking))
		waking--;
	for (guint i = arrivals->first; waking != G_MAXUINT && i < waking; i++)
		left += !arrivals->is_gone[i];
	guint pending = left ? count_pending(arrivals, waking, index) : 0;
	for (guint i = arrivals->first; left > pending; i++) {
		left -= !arrivals->is_gone[i];
		arrivals->is_gone[i] = true;
	}
	for (; arrivals->first < arrivals->packets->len; arrivals->first++)
		if (!arrivals->is_gone[arrivals->first] &&
		    (look->empty_ns == INT64_MIN ||
		     get_arrival(arrivals, arrivals->first).time_ns + ENQUEUE_NS >= look->empty_ns))
			break;
}

/* Of those that came by then, and are not gone, the first that has as many bytes; else the first that has more. */
static guint find_fitting(const struct arrivals *arrivals, const struct look *look)
{
	guint longer = G_MAXUINT;
	for (guint i = arrivals->first, seen = 0; i < arrivals->packets->len && seen < UNTAKEN_MAX; i++) {
		const struct dtc_packet p = get_arrival(arrivals, i);
		if (p.time_ns > look->end_ns)
			break;
		if (arrivals->is_gone[i])
			continue;
		seen++;
		if (p.payload_bytes == look->bytes || look->bytes == ANY_BYTES)
			return i;
		if (longer == G_MAXUINT && p.payload_bytes > look->bytes) /* into a short buffer */
			longer = i;
	}
	return longer;
}

static int compare_by_read(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	if (x->read.call != y->read.call)
		return x->read.call < y->read.call ? -1 : 1;
	return x->read.number < y->read.number ? -1 : x->read.number > y->read.number;
}

static int compare_by_packet(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	return x->packet < y->packet ? -1 : x->packet > y->packet;
}

/* Reads, in the order in which their threads came to them, take what came, in order. */
static struct queue *new_queue(DtcDatagrams *d, uint32_t file)
{
	guint peers;
	g_autoptr(GArray) packets = collect_arrivals(d, file, &peers);
	g_autoptr(GArray) looks = collect_looks(d->history, file);
	g_autofree bool *is_gone = g_new0(bool, packets->len + 1);
	g_autofree guint *wakes = g_new0(guint, packets->len + 1);
	struct arrivals arrivals = { d->history, packets, is_gone, wakes, 0 };
	gsize taken = 0;
	for (guint i = 0; i < looks->len; i++)
		taken += g_array_index(looks, struct look, i).count;
	struct queue *queue = g_malloc0(sizeof(*queue) + 2 * taken * sizeof(struct pair));
	queue->has_peers = peers > 1;
	for (guint i = 0; i < looks->len; i++) {
		uint32_t waking = g_array_index(looks, struct look, i).waking;
		guint at = waking == DTC_NONE ? G_MAXUINT : find_arrival(&arrivals, waking);
		if (at != G_MAXUINT)
			wakes[at] = i + 1;
	}
	for (guint i = 0; i < looks->len; i++) {
		const struct look *look = &g_array_index(looks, struct look, i);
		forget_gone(&arrivals, look, i);
		for (uint32_t number = 1; number <= look->count; number++) {
			guint found = look->bytes == NO_BYTES ? G_MAXUINT : find_fitting(&arrivals, look);
			if (found == G_MAXUINT)
				break;
			is_gone[found] = true;
			while (found - arrivals.first > OVERTAKEN_MAX) /* what so many overtook is lost */
				is_gone[arrivals.first++] = true;
			if (look->call != DTC_NONE)
				queue->by_read[queue->count++] =
					(struct pair){ { look->call, look->count > 1 ? number : 0 },
						       g_array_index(packets, uint32_t, found) };
		}
	}
	queue->by_packet = queue->by_read + taken;
	memcpy(queue->by_packet, queue->by_read, queue->count * sizeof(struct pair));
	qsort(queue->by_read, queue->count, sizeof(struct pair), compare_by_read);
	qsort(queue->by_packet, queue->count, sizeof(struct pair), compare_by_packet);
	return queue;
}

/* NULL: it is no socket of UDP. Of two threads that made the same the second takes what the first one put there. */
static const struct queue *get_queue(DtcDatagrams *d, uint32_t file)
{
	if (!dtc_datagrams_is_socket(d->history, file))
		return NULL;
	struct end end = get_end(dtc_packets_get_flow(d->packets, dtc_history_get_file(d->history, file)->flow_in));
	guint first, count;
	const struct end *files = find_ends(d->files, &end, &first, &count);
	guint index = first + DTC_BISECT(i, 0, count, files[i].id < file);
	struct queue *queue = g_atomic_pointer_get(&d->queues[index]);
	if (queue)
		return queue;
	queue = new_queue(d, file);
	if (g_atomic_pointer_compare_and_exchange(&d->queues[index], NULL, queue))
		return queue;
	g_free(queue);
	return g_atomic_pointer_get(&d->queues[index]);
}

bool dtc_datagrams_has_peers(DtcDatagrams *d, uint32_t file)
{
	const struct queue *queue = get_queue(d, file);
	return queue && queue->has_peers;
}

uint32_t dtc_datagrams_count(const struct dtc_call *call)
{
	return dtc_call_counts_messages(call) && call->result > 1 ? (uint32_t)MIN(call->result, MESSAGES_MAX) : 1;
}

uint32_t dtc_datagrams_find_taken(DtcDatagrams *d, struct dtc_datagram read)
{
	const struct queue *queue = get_queue(d, dtc_history_copy_call(d->history, read.call).file);
	if (!queue)
		return DTC_NONE;
	struct pair wanted = { .read = read };
	guint i = DTC_BISECT(k, 0, queue->count, compare_by_read(&queue->by_read[k], &wanted) < 0);
	bool is_it = i < queue->count && queue->by_read[i].read.call == read.call &&
		     (!read.number || queue->by_read[i].read.number == read.number);
	return is_it ? queue->by_read[i].packet : DTC_NONE;
}

struct dtc_datagram dtc_datagrams_find_read(DtcDatagrams *d, uint32_t file, uint32_t packet)
{
	const struct queue *queue = get_queue(d, file);
	guint i = queue ? DTC_BISECT(k, 0, queue->count, queue->by_packet[k].packet < packet) : 0;
	bool is_it = queue && i < queue->count && queue->by_packet[i].packet == packet;
	return is_it ? queue->by_packet[i].read : (struct dtc_datagram){ DTC_NONE, 0 };
}

/* --- what a call sent --- */

/*
 * What a call sent, in order: the one with a number, or the number of one (DTC_NONE: all are numbered alike). One that
 * is seen on several interfaces in the call counts once.
 */
static uint32_t look_at_sent(const DtcHistory *h, uint32_t write, uint32_t number, uint32_t packet,
			     uint32_t *ret_number)
{
	const DtcPackets *packets = dtc_history_get_packets(h);
	struct dtc_call place;
	const struct dtc_call *call = dtc_history_get_call(h, write, &place);
	uint32_t count = dtc_packets_get_count(packets), seen = 0;
	uint32_t i = DTC_BISECT(k, 0, count, dtc_packets_get_time_ns(packets, k) < call->begin_ns);
	uint16_t interface = 0;
	for (; i < count; i++) {
		const struct dtc_packet p = dtc_packets_read(packets, i);
		if (call->end_ns == DTC_TIME_NONE || p.time_ns > call->end_ns)
			break;
		if (p.direction != DTC_SENT || p.flow == DTC_NONE ||
		    dtc_packets_get_flow(packets, p.flow)->protocol != DTC_PROTOCOL_UDP)
			continue;
		if (dtc_history_get_plain_context(h, i).thread != call->thread || find_sending_call(h, i) != write)
			continue;
		if (!seen)
			interface = p.interface;
		seen += p.interface == interface;
		*ret_number = seen;
		if (packet == DTC_NONE ? seen >= number : i == packet)
			return i;
	}
	return DTC_NONE;
}

uint32_t dtc_datagrams_find_sent(const DtcHistory *h, struct dtc_datagram write)
{
	uint32_t number;
	return look_at_sent(h, write.call, MAX(write.number, 1), DTC_NONE, &number);
}

struct dtc_datagram dtc_datagrams_find_write(const DtcHistory *h, uint32_t packet)
{
	struct dtc_datagram write = { find_sending_call(h, packet), 0 };
	if (write.call == DTC_NONE)
		return write;
	const struct dtc_call call = dtc_history_copy_call(h, write.call);
	if (call.kind != DTC_CALL_WRITE)
		write.call = DTC_NONE;
	else if (dtc_datagrams_count(&call) > 1)
		look_at_sent(h, write.call, 0, packet, &write.number);
	return write;
}

uint32_t dtc_datagrams_find_peer(DtcDatagrams *d, struct dtc_datagram datagram)
{
	struct dtc_call place;
	const struct dtc_call *call = dtc_history_get_call(d->history, datagram.call, &place);
	bool is_write = call->kind == DTC_CALL_WRITE;
	uint32_t packet = is_write			? dtc_datagrams_find_sent(d->history, datagram)
			  : call->kind == DTC_CALL_READ ? dtc_datagrams_find_taken(d, datagram)
							: DTC_NONE;
	if (packet == DTC_NONE)
		return DTC_NONE;
	uint32_t flow = dtc_packets_get_flow_of(d->packets, packet);
	return is_write ? dtc_packets_get_flow(d->packets, flow)->reverse : flow;
}

/* The first of a flow's packets that is later than a time. */
static uint32_t find_packet_after(const DtcPackets *packets, const struct dtc_flow *flow, int64_t time_ns)
{
	return DTC_BISECT(k, 0, flow->packet_count,
			  dtc_packets_get_time_ns(packets, dtc_packets_read_flow_packet(packets, flow, k)) <= time_ns);
}

static uint32_t find_next_write(const DtcDatagrams *d, uint32_t file, const struct dtc_flow *flow, int64_t time_ns)
{
	for (uint32_t i = find_packet_after(d->packets, flow, time_ns); i < flow->packet_count; i++) {
		uint32_t call = find_write(d, file, dtc_packets_read_flow_packet(d->packets, flow, i));
		if (call != DTC_NONE && dtc_history_get_call_begin_ns(d->history, call) > time_ns)
			return call;
	}
	return DTC_NONE;
}

uint32_t dtc_datagrams_find_asking(const DtcDatagrams *d, uint32_t file, uint32_t flow_in, int64_t time_ns)
{
	const struct dtc_flow *in = dtc_packets_get_flow(d->packets, flow_in);
	const struct dtc_flow *out = dtc_packets_get_flow(d->packets, in->reverse);
	if (dtc_endpoint_is_asked(d->history, flow_in))
		return DTC_NONE;
	for (uint32_t i = find_packet_after(d->packets, out, time_ns); i-- > 0;) {
		uint32_t call = find_write(d, file, dtc_packets_read_flow_packet(d->packets, out, i));
		if (call != DTC_NONE && dtc_history_get_call_begin_ns(d->history, call) < time_ns)
			return call;
	}
	return DTC_NONE;
}

/* What lies in the socket at a time is read after it: a few. */
static uint32_t find_next_read(DtcDatagrams *d, uint32_t file, const struct dtc_flow *flow, int64_t time_ns)
{
	uint32_t behind = find_packet_after(d->packets, flow, time_ns);
	for (uint32_t i = behind - MIN(behind, UNTAKEN_MAX); i < flow->packet_count; i++) {
		uint32_t packet = dtc_packets_read_flow_packet(d->packets, flow, i);
		uint32_t read = dtc_datagrams_find_read(d, file, packet).call;
		if (read != DTC_NONE && dtc_history_copy_call(d->history, read).end_ns > time_ns)
			return read;
	}
	return DTC_NONE;
}

uint32_t dtc_datagrams_find_next(DtcDatagrams *d, uint32_t file, uint32_t flow_in, bool written, int64_t time_ns)
{
	const struct dtc_flow *in = dtc_packets_get_flow(d->packets, flow_in);
	return written ? find_next_write(d, file, dtc_packets_get_flow(d->packets, in->reverse), time_ns)
		       : find_next_read(d, file, in, time_ns);
}
