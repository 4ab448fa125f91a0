/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/verdict.h"

#include "analyze/report/pool.h"

#include <string.h>

enum dtc_family dtc_family_of_cause(enum dtc_cause cause)
{
	switch (cause) {
	case DTC_CAUSE_RUNNING_USER:
	case DTC_CAUSE_RUNNING_KERNEL:
	case DTC_CAUSE_RUNNING_GUEST:
	case DTC_CAUSE_IRQ:
	case DTC_CAUSE_SOFTIRQ:
	case DTC_CAUSE_FORK_EXEC:
		return DTC_FAMILY_CPU;
	case DTC_CAUSE_RUNQUEUE:
	case DTC_CAUSE_PREEMPTED:
	case DTC_CAUSE_CPU_LIMIT:
		return DTC_FAMILY_CPU_WAIT;
	case DTC_CAUSE_DISK:
	case DTC_CAUSE_PAGE_FAULT:
		return DTC_FAMILY_DISK;
	case DTC_CAUSE_DEVICE:
		return DTC_FAMILY_DEVICE;
	case DTC_CAUSE_LOCK:
		return DTC_FAMILY_LOCK;
	case DTC_CAUSE_IPC:
	case DTC_CAUSE_CHILD:
		return DTC_FAMILY_IPC;
	case DTC_CAUSE_STOPPED:
		return DTC_FAMILY_STOPPED;
	case DTC_CAUSE_NETWORK_SEND:
	case DTC_CAUSE_NETWORK_WIRE:
	case DTC_CAUSE_NETWORK_RECEIVE:
	case DTC_CAUSE_RETRANSMISSION:
		return DTC_FAMILY_NETWORK;
	case DTC_CAUSE_TIMER:
		return DTC_FAMILY_TIMER;
	case DTC_CAUSE_VM_PREEMPTED:
	case DTC_CAUSE_VM_EXIT:
		return DTC_FAMILY_VM;
	case DTC_CAUSE_UNKNOWN:
	case DTC_CAUSES:
		break;
	}
	return DTC_FAMILY_UNKNOWN;
}

const char *dtc_family_to_string(enum dtc_family family)
{
	static const char *const names[DTC_FAMILIES] = {
		[DTC_FAMILY_CPU] = "cpu",	  [DTC_FAMILY_CPU_WAIT] = "cpu-wait",
		[DTC_FAMILY_DISK] = "disk",	  [DTC_FAMILY_LOCK] = "lock",
		[DTC_FAMILY_IPC] = "ipc",	  [DTC_FAMILY_NETWORK] = "network",
		[DTC_FAMILY_TIMER] = "timer",	  [DTC_FAMILY_VM] = "vm",
		[DTC_FAMILY_UNKNOWN] = "unknown", [DTC_FAMILY_STOPPED] = "stopped",
		[DTC_FAMILY_DEVICE] = "device",
	};
	return names[family];
}

/* Steps of one machine and family that were about one thing, as far as they count here. */
struct piece {
	const char *node; /* strings of a report are stored once: equal ones have equal addresses */
	/* a text, or a thread's name or a call that becomes one with what follows; NULL: nobody is known */
	const char *name;
	const char *file; /* of a call; or NULL */
	const char *what; /* the text that becomes of it */
	enum dtc_family family;
	int32_t tid; /* -1: none */
	int64_t ns;
};

struct DtcVerdictSums {
	DtcPool *pool;	    /* struct piece */
	GHashTable *pieces; /* of the pool */
	GPtrArray *list;    /* the same */
};

static guint piece_hash(gconstpointer data)
{
	const struct piece *piece = data;
	guint hash = g_direct_hash(piece->node) * 31 + g_direct_hash(piece->name);
	return ((hash * 31 + g_direct_hash(piece->file)) * 31 + piece->family) * 31 + (guint)piece->tid;
}

static gboolean piece_equal(gconstpointer a, gconstpointer b)
{
	const struct piece *x = a, *y = b;
	return x->node == y->node && x->name == y->name && x->file == y->file && x->family == y->family &&
	       x->tid == y->tid;
}

DtcVerdictSums *dtc_verdict_sums_new(void)
{
	DtcVerdictSums *sums = g_new0(DtcVerdictSums, 1);
	sums->pieces = g_hash_table_new(piece_hash, piece_equal);
	sums->list = g_ptr_array_new();
	sums->pool = dtc_pool_new(sizeof(struct piece));
	return sums;
}

void dtc_verdict_sums_free(DtcVerdictSums *sums)
{
	if (!sums)
		return;
	g_hash_table_unref(sums->pieces);
	g_ptr_array_unref(sums->list);
	dtc_pool_free(sums->pool);
	g_free(sums);
}

static const char *name_network(enum dtc_cause cause)
{
	switch (cause) {
	case DTC_CAUSE_NETWORK_SEND:
		return "in the sender";
	case DTC_CAUSE_NETWORK_RECEIVE:
		return "in the receiver";
	case DTC_CAUSE_RETRANSMISSION:
		return "sent again";
	default:
		return "on the wire";
	}
}

bool dtc_verdict_looks_at(enum dtc_cause cause)
{
	enum dtc_family family = dtc_family_of_cause(cause);
	return family != DTC_FAMILY_CPU && family != DTC_FAMILY_NETWORK && family != DTC_FAMILY_UNKNOWN;
}

/*
 * Who or what a step was about, such that many can be added up: who ran, who had the CPU or the lock, in which call it
 * slept, what happened to a message.
 */
static void set_what(struct piece *piece, const struct dtc_report_step *step,
		     const struct dtc_report_evidence *evidence)
{
	switch (piece->family) {
	case DTC_FAMILY_CPU:
	case DTC_FAMILY_STOPPED: /* not who let it go on */
		piece->name = step->who.process;
		break;
	case DTC_FAMILY_CPU_WAIT:
	case DTC_FAMILY_LOCK:
	case DTC_FAMILY_IPC:
	case DTC_FAMILY_VM:
		piece->name = evidence ? evidence->by.comm : NULL;
		if (piece->name && evidence->by.tid >= 0) /* else it is an interrupt */
			piece->tid = evidence->by.tid;
		break;
	case DTC_FAMILY_DISK:
	case DTC_FAMILY_DEVICE:
	case DTC_FAMILY_TIMER:
		piece->name = !evidence ? NULL : evidence->call ? evidence->call : evidence->device_name;
		piece->file = evidence && evidence->call ? evidence->file : NULL;
		break;
	case DTC_FAMILY_NETWORK:
		piece->name = name_network(step->cause);
		break;
	case DTC_FAMILY_UNKNOWN:
	case DTC_FAMILIES:
		break;
	}
}

void dtc_verdict_sums_add(DtcVerdictSums *sums, const struct dtc_report_step *step,
			  const struct dtc_report_evidence *evidence)
{
	struct piece key = { .node = step->who.node, .family = dtc_family_of_cause(step->cause), .tid = -1 };
	set_what(&key, step, evidence);
	struct piece *piece = g_hash_table_lookup(sums->pieces, &key);
	if (!piece) {
		piece = dtc_pool_add(sums->pool, &key);
		g_hash_table_add(sums->pieces, piece);
		g_ptr_array_add(sums->list, piece);
	}
	piece->ns += step->end_ns - step->begin_ns;
}

static const char *keep_what(DtcReport *report, const struct piece *piece)
{
	if (piece->tid < 0 && !piece->file)
		return piece->name;
	g_autofree char *text = piece->file ? g_strdup_printf("%s(%s)", piece->name, piece->file)
					    : g_strdup_printf("%s %d", piece->name, piece->tid);
	return g_string_chunk_insert_const(report->strings, text);
}

static gint compare_pieces(gconstpointer a, gconstpointer b)
{
	const struct piece *x = *(struct piece *const *)a, *y = *(struct piece *const *)b;
	int order = x->node == y->node ? 0 : strcmp(x->node, y->node);

	if (order == 0)
		order = (x->family > y->family) - (x->family < y->family);
	return order || x->what == y->what ? order : g_strcmp0(x->what, y->what);
}

static int compare_ns(int64_t a, int64_t b)
{
	return (a < b) - (a > b);
}

static int compare_machines(const void *a, const void *b)
{
	const struct dtc_report_machine *x = a, *y = b;
	int order = compare_ns(x->ns, y->ns);
	return order ? order : strcmp(x->node, y->node);
}

static int compare_parts(const void *a, const void *b)
{
	const struct dtc_report_part *x = a, *y = b;
	int order = compare_ns(x->ns, y->ns);
	return order ? order : (x->family > y->family) - (x->family < y->family);
}

/* The pieces of a machine and family that are about one thing lie together: the largest of them names the part. */
static void add_piece(DtcReport *report, const struct piece *piece, const struct piece *before, int64_t *what_ns)
{
	bool is_same_machine = before && before->node == piece->node;
	bool is_same_part = is_same_machine && before->family == piece->family;
	if (!is_same_machine) {
		const struct dtc_report_machine machine = { .node = piece->node, .part_first = report->parts->len };
		g_array_append_val(report->machines, machine);
	}
	struct dtc_report_machine *machine =
		&g_array_index(report->machines, struct dtc_report_machine, report->machines->len - 1);
	if (!is_same_part) {
		const struct dtc_report_part part = { .family = piece->family };
		g_array_append_val(report->parts, part);
		machine->part_count++;
	}
	struct dtc_report_part *part = &g_array_index(report->parts, struct dtc_report_part, report->parts->len - 1);
	*what_ns = is_same_part && before->what == piece->what ? *what_ns + piece->ns : piece->ns;
	machine->ns += piece->ns;
	part->ns += piece->ns;
	if (piece->what && *what_ns > part->what_ns) {
		part->what = piece->what;
		part->what_ns = *what_ns;
	}
}

static void order_parts(GArray *machines, GArray *parts)
{
	for (guint i = 0; i < machines->len; i++) {
		const struct dtc_report_machine *m = &g_array_index(machines, struct dtc_report_machine, i);
		qsort(&g_array_index(parts, struct dtc_report_part, m->part_first), m->part_count,
		      sizeof(struct dtc_report_part), compare_parts);
	}
	g_array_sort(machines, compare_machines);
}

void dtc_verdict_set(struct dtc_report_verdict *verdict, GArray *machines, GArray *parts, int64_t duration_ns)
{
	int64_t families[DTC_FAMILIES] = { 0 };

	order_parts(machines, parts);
	for (guint i = 0; i < machines->len; i++) {
		const struct dtc_report_machine *m = &g_array_index(machines, struct dtc_report_machine, i);
		for (guint k = 0; k < m->part_count; k++) {
			const struct dtc_report_part *part =
				&g_array_index(parts, struct dtc_report_part, m->part_first + k);
			families[part->family] += part->ns;
			if (part->ns < duration_ns - part->ns || verdict->is_single)
				continue;
			verdict->is_single = true;
			verdict->single = m->part_first + k;
			verdict->machine = m->node;
			verdict->family = part->family;
		}
	}
	for (guint i = 1; !verdict->is_single && i < DTC_FAMILIES; i++)
		if (families[i] > families[verdict->family])
			verdict->family = (enum dtc_family)i;
	if (!verdict->is_single && machines->len)
		verdict->machine = g_array_index(machines, struct dtc_report_machine, 0).node;
}

typedef const char *(*DtcGetKey)(const struct dtc_waiting *waiting);

static const char *get_busy_with(const struct dtc_waiting *waiting)
{
	return waiting->busy_with;
}

static const char *get_tier(const struct dtc_waiting *waiting)
{
	return waiting->tier;
}

static const char *get_candidate(const struct dtc_waiting *waiting)
{
	return waiting->candidate;
}

/*
 * Which of the strings that get_key gives got the most time, and how much; of all steps, or of those that were for
 * busy_with only. NULL: no step has one.
 */
static const char *find_longest(const GArray *waitings, const char *busy_with, DtcGetKey get_key, int64_t *longest_ns)
{
	g_autoptr(GHashTable) sums = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	const char *longest = NULL;
	*longest_ns = 0;
	for (guint i = 0; i < waitings->len; i++) {
		const struct dtc_waiting *waiting = &g_array_index(waitings, struct dtc_waiting, i);
		const char *key = get_key(waiting);
		if (!key || (busy_with && waiting->busy_with != busy_with))
			continue;
		int64_t *sum = g_hash_table_lookup(sums, key);
		if (!sum) {
			sum = g_new0(int64_t, 1);
			g_hash_table_insert(sums, (gpointer)key, sum);
		}
		*sum += waiting->ns;
		if (*sum > *longest_ns) {
			*longest_ns = *sum;
			longest = key;
		}
	}
	return longest;
}

void dtc_verdict_set_waited(struct dtc_report_verdict *verdict, const GArray *waitings)
{
	if (!waitings->len)
		return;
	verdict->waited_for = find_longest(waitings, NULL, get_busy_with, &verdict->waited_ns);
	if (!verdict->waited_for)
		return;
	verdict->waited_tier = find_longest(waitings, verdict->waited_for, get_tier, &verdict->waited_tier_ns);
	verdict->waited_candidate =
		find_longest(waitings, verdict->waited_for, get_candidate, &verdict->waited_candidate_ns);
}

static void set_waited(DtcReport *report)
{
	g_autoptr(GArray) waitings = g_array_new(FALSE, FALSE, sizeof(struct dtc_waiting));

	for (guint i = 0; i < report->steps->len; i++) {
		const struct dtc_report_step *step = DTC_AT(report->steps, struct dtc_report_step, i);
		const struct dtc_waiting waiting = { step->busy_with, step->who.tier, step->candidate,
						     step->end_ns - step->begin_ns };
		if (step->busy_with)
			g_array_append_val(waitings, waiting);
	}
	dtc_verdict_set_waited(&report->verdict, waitings);
}

void dtc_verdict_add(DtcReport *report, DtcVerdictSums *sums)
{
	const GPtrArray *pieces = sums->list;
	int64_t what_ns = 0;

	for (guint i = 0; i < pieces->len; i++) {
		struct piece *piece = pieces->pdata[i];
		piece->what = keep_what(report, piece);
	}
	g_ptr_array_sort(sums->list, compare_pieces);
	for (guint i = 0; i < pieces->len; i++)
		add_piece(report, pieces->pdata[i], i ? pieces->pdata[i - 1] : NULL, &what_ns);
	dtc_verdict_set(&report->verdict, report->machines, report->parts, report->duration_ns);
	set_waited(report);
}
