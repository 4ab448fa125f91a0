/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/question.h"
#include "analyze/path/silence.h"
#include "analyze/path/spin.h"
#include "dtrace-chain/error.h"

#define BUSY_SHOWN 5			    /* other requests that a finding names */
#define SPIN_NS (INT64_C(10) * 1000 * 1000) /* shorter user-mode runs are nothing to wonder about */

/* What the reader should know about how the request was placed. */
static void add_place_findings(const struct dtc_place *place, const DtcLoad *load, DtcFindings *findings)
{
	const char *node = dtc_load_get_node_names(load)[place->node];

	if (place->attempt_count > 1)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, NULL,
				 "the request was sent %u times; the span is from the first attempt to the last "
				 "response",
				 place->attempt_count);
	if (!place->has_end)
		dtc_findings_add(findings, DTC_SEVERITY_WARNING, false, NULL,
				 "no whole response was seen: the span ends where the client gave up or the "
				 "recording ends");
	if (!place->is_client)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, node,
				 "the client is not traced: the span is the server's, from the first byte read to "
				 "the last byte written");
	if (place->inferred)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, node,
				 "the request's calls were found by order and time, not by the bytes they carried");
}

/* The last attempt of the root hop: its status is what the user got. */
static const struct dtc_exchange *find_answered(const struct dtc_place *place)
{
	const struct dtc_hop *root = &g_array_index(place->hops, struct dtc_hop, place->root);
	const struct dtc_hop *last = root;

	for (guint i = 0; i < place->hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(place->hops, struct dtc_hop, i);
		if (hop->parent == root->parent && hop->attempt > last->attempt)
			last = hop;
	}
	return last->exchange;
}

/* The call with which the place's span ends: of the attempt that was answered last. */
static uint32_t find_last_call(const struct dtc_place *place)
{
	for (guint i = 0; i < place->hops->len; i++) {
		const struct dtc_hop *hop = &g_array_index(place->hops, struct dtc_hop, i);
		const struct dtc_hop_side *side = place->is_client ? &hop->client : &hop->server;
		if (side->node == place->node && side->thread == place->thread && side->file != DTC_NONE &&
		    side->end.ns == place->end.ns)
			return side->response_last_call;
	}
	return DTC_NONE;
}

void dtc_question_clear(struct dtc_question *question)
{
	dtc_place_free(question->place);
	*question = (struct dtc_question){ 0 };
}

DtcServing *dtc_question_new_serving(const DtcLoad *load, const DtcRequests *requests, DtcLocator *locator, guint index)
{
	DtcServing *serving =
		dtc_serving_new(dtc_load_get_node_count(load), dtc_load_get_histories(load), dtc_load_get_clocks(load));

	for (guint i = 0; i < dtc_requests_get_count(requests); i++) {
		if (index != G_MAXUINT && i != index && !dtc_locator_may_overlap(locator, index, i))
			continue;
		struct dtc_place *place = dtc_locator_find(locator, i);
		dtc_serving_add(serving, i, place);
		dtc_place_free(place);
	}
	dtc_serving_seal(serving);
	return serving;
}

#define LACK_SHOWN 6 /* findings in a hint */

/* No thread can be named: what the recordings lack (events that were not recorded, damage) is the likely reason. */
static void set_no_thread(const struct dtc_question *question, const DtcFindings *findings, GError **error)
{
	g_autoptr(GString) lacks = g_string_new(NULL);
	guint shown = 0;

	for (guint i = 0; i < dtc_findings_get_count(findings) && shown < LACK_SHOWN; i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		if (finding->severity == DTC_SEVERITY_INFO || !finding->node)
			continue;
		g_string_append_printf(lacks, "\n%s: %s", finding->node, finding->text);
		shown++;
	}
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
		    "the captures show request '%s', but no kernel trace shows a thread that sent or answered it\n%s%s",
		    question->request->id,
		    shown ? "the recordings lack something:"
			  : "the traces may not cover its time: `dtrace-chain stats` tells what each node has",
		    lacks->str);
}

bool dtc_question_set_request(struct dtc_question *question, const DtcLoad *load, const DtcRequests *requests,
			      DtcLocator *locator, guint index, DtcFindings *findings, GError **error)
{
	const DtcClocks *clocks = dtc_load_get_clocks(load);
	struct dtc_place *place = dtc_locator_find(locator, index);

	question->place = place;
	question->requests = requests;
	question->index = index;
	question->request = dtc_requests_get(requests, index);
	if (place->thread == DTC_NONE) {
		set_no_thread(question, findings, error);
		return false;
	}
	question->exchange = find_answered(place);
	question->target.node = place->node;
	question->target.thread = place->thread;
	question->target.begin = dtc_clocks_to_cluster(clocks, place->node, place->begin);
	question->target.end = dtc_clocks_to_cluster(clocks, place->node, place->end);
	question->target.call = find_last_call(place);
	add_place_findings(place, load, findings);
	return true;
}

static DtcReport *build_report(const DtcLoad *load, const struct dtc_question *question, const DtcPath *path,
			       const DtcFindings *findings, GError **error)
{
	const struct dtc_path_target *target = &question->target;
	const DtcHistory *history = dtc_load_get_history(load, target->node);
	const struct dtc_thread *thread = dtc_history_get_thread(history, target->thread);
	int64_t end_ns = dtc_clocks_to_node(dtc_load_get_clocks(load), target->node, target->end).ns;
	struct dtc_report_input input = {
		.node_names = dtc_load_get_node_names(load),
		.node_count = dtc_load_get_node_count(load),
		.cluster = dtc_load_get_cluster(load),
		.path = path,
		.clocks = dtc_load_get_clocks(load),
		.findings = findings,
		.target_node = target->node,
		.target_pid = thread->pid,
		.target_tid = thread->tid,
		.target_comm = dtc_history_get_comm(history, target->thread, end_ns),
		.target_process = dtc_history_get_process(history, target->thread, end_ns),
		.place = question->place,
		.histories = dtc_load_get_histories(load),
	};
	if (question->serving)
		input.followed = dtc_serving_get_hops(question->serving, question->index, &input.followed_count);
	if (question->span_identity.source) {
		input.request = question->span_identity.id;
		input.identities = &question->span_identity;
		input.identity_count = 1;
	}
	if (question->request) {
		input.request = question->request->id;
		input.identities = question->request->identities;
		input.identity_count = question->request->identity_count;
		input.method = question->exchange->method;
		input.url = question->exchange->target;
		input.status = question->exchange->status;
	}
	return dtc_report_new(&input, error);
}

/* Messages that run backward: within the clocks' uncertainty they are possible, beyond it something is wrong. */
static void add_reversal_findings(const DtcPath *path, const DtcLoad *load, DtcFindings *findings)
{
	const char *const *names = dtc_load_get_node_names(load);
	int64_t most_ns = 0;
	guint possible = 0;

	for (guint i = 0; i < dtc_path_get_reversal_count(path); i++) {
		const struct dtc_reversal *reversal = dtc_path_get_reversal(path, i);
		if (reversal->by_ns > reversal->uncertainty_ns) {
			dtc_findings_add(
				findings, DTC_SEVERITY_WARNING, false, names[reversal->to],
				"a message from %s arrives %" G_GINT64_FORMAT " ns before it was sent, more than "
				"the clocks' uncertainty of %" G_GINT64_FORMAT " ns: clocks or match are wrong",
				names[reversal->from], (gint64)reversal->by_ns, (gint64)reversal->uncertainty_ns);
			continue;
		}
		possible++;
		most_ns = MAX(most_ns, reversal->by_ns);
	}
	if (possible)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, NULL,
				 "%u messages on the path seem to arrive up to %" G_GINT64_FORMAT
				 " ns before they were "
				 "sent, within the clocks' uncertainty: their time on the wire counts as nothing",
				 possible, (gint64)most_ns);
}

/*
 * The longest time that one thread ran on the path without entering the kernel, if it is a good part of the whole. It
 * may be work, and it may be a lock in user space that spins, or a poll of shared memory: the trace shows the same.
 */
static void add_spin_finding(const DtcPath *path, const DtcLoad *load, DtcFindings *findings)
{
	int64_t total_ns = dtc_path_get_end(path).ns - dtc_path_get_begin(path).ns;
	int64_t longest_ns = 0, ns = 0;
	const struct dtc_segment *longest = NULL, *before = NULL;

	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(path, i);
		bool is_taken = s->cause == DTC_CAUSE_IRQ || s->cause == DTC_CAUSE_SOFTIRQ ||
				s->cause == DTC_CAUSE_PREEMPTED || s->cause == DTC_CAUSE_RUNQUEUE;
		bool is_same = before && before->node == s->node && before->thread == s->thread;
		if (!is_same || (s->cause != DTC_CAUSE_RUNNING_USER && !is_taken))
			ns = 0;
		if (s->cause == DTC_CAUSE_RUNNING_USER)
			ns += s->end.ns - s->begin.ns;
		if (ns > longest_ns) {
			longest_ns = ns;
			longest = s;
		}
		before = s;
	}
	if (longest && longest_ns >= SPIN_NS && longest_ns >= total_ns / 10)
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, dtc_load_get_node_names(load)[longest->node],
				 "%s (tid %d) ran %.3f ms without a system call: it computes, or spins on memory; a "
				 "kernel trace does not tell which",
				 longest->comm, longest->tid, (double)longest_ns / 1e6);
}

/* The thread that asked longest in vain, of those on the path, while it was on it. */
static void add_polling_finding(const DtcPath *path, const DtcLoad *load, DtcFindings *findings)
{
	const DtcClocks *clocks = dtc_load_get_clocks(load);
	int64_t total_ns = dtc_path_get_end(path).ns - dtc_path_get_begin(path).ns;
	guint count = dtc_path_get_segment_count(path), end;
	const struct dtc_segment *who = NULL;
	struct dtc_polling longest = { 0 }, polling;

	for (guint i = 0; i < count; i = end) {
		const struct dtc_segment *first = dtc_path_get_segment(path, i), *last = first;
		for (end = i + 1; end < count; end++) {
			const struct dtc_segment *next = dtc_path_get_segment(path, end);
			if (next->node != first->node || next->thread != first->thread)
				break;
			last = next;
		}
		const DtcHistory *h = dtc_links_get_history(dtc_load_get_links(load), first->node);
		if (first->thread == DTC_NONE || !h)
			continue;
		if (dtc_spin_find_polling(h, first->thread, dtc_clocks_to_node(clocks, first->node, first->begin),
					  dtc_clocks_to_node(clocks, first->node, last->end), &polling) &&
		    polling.end_ns - polling.begin_ns > longest.end_ns - longest.begin_ns) {
			longest = polling;
			who = first;
		}
	}
	int64_t ns = longest.end_ns - longest.begin_ns;
	if (!who || ns < SPIN_NS || ns < total_ns / 10)
		return;
	const DtcHistory *h = dtc_links_get_history(dtc_load_get_links(load), who->node);
	dtc_findings_add(findings, DTC_SEVERITY_INFO, false, dtc_load_get_node_names(load)[who->node],
			 "%s (tid %d) is not blocked but polls: %" G_GUINT64_FORMAT " calls in vain (%s and the like) "
			 "in %.3f ms; what it waits for is not in a kernel trace",
			 who->comm, who->tid, (guint64)longest.count,
			 dtc_history_get_string(h, dtc_history_get_call(h, longest.call)->name), (double)ns / 1e6);
}

/* A guest's CPU that was ready to run and did not, if it is a part of the whole that matters. */
static void add_vm_finding(const DtcPath *path, const DtcLoad *load, guint node, DtcFindings *findings)
{
	int64_t whole_ns = dtc_path_get_end(path).ns - dtc_path_get_begin(path).ns;
	int64_t sum_ns = 0, run_ns = 0, longest_ns = 0, most_ns = 0;
	DtcClusterTime at = { INT64_MIN };
	const char *most = NULL;
	g_autoptr(GHashTable) by = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);

	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(path, i);
		if (s->node != node || s->cause != DTC_CAUSE_VM_PREEMPTED)
			continue;
		int64_t ns = s->end.ns - s->begin.ns;
		sum_ns += ns;
		run_ns = s->begin.ns == at.ns ? run_ns + ns : ns;
		longest_ns = MAX(longest_ns, run_ns);
		at = s->end;
		int64_t *sum = g_hash_table_lookup(by, s->detail);
		if (!sum) {
			sum = g_new0(int64_t, 1);
			g_hash_table_insert(by, s->detail, sum);
		}
		*sum += ns;
		if (*sum > most_ns) {
			most_ns = *sum;
			most = s->detail;
		}
	}
	if (sum_ns >= whole_ns / 100 && sum_ns > 0)
		dtc_findings_add(findings, sum_ns >= whole_ns / 10 ? DTC_SEVERITY_WARNING : DTC_SEVERITY_INFO, false,
				 dtc_load_get_node_names(load)[node],
				 "its virtual CPU was ready and did not run for %.3f ms of this (at most %.3f ms at "
				 "once), most of it %s",
				 (double)sum_ns / 1e6, (double)longest_ns / 1e6, most);
}

/*
 * A receiver that was silent while a packet was on its way to it. An idle CPU may be silent; one that runs a thread is
 * interrupted by its timer many times a second, if the trace has those interrupts at all. One that is not had no CPU:
 * it runs in a virtual machine whose host is not in this bundle, or the host does not tell.
 */
static void add_silence_finding(const DtcPath *path, const DtcLoad *load, DtcFindings *findings)
{
	const DtcClocks *clocks = dtc_load_get_clocks(load);
	struct dtc_silence longest = { 0 };
	const struct dtc_segment *where = NULL;

	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(path, i);
		const DtcHistory *history = dtc_load_get_history(load, s->node);
		struct dtc_guest_cpu cpu;
		struct dtc_silence silence;
		if (s->cause != DTC_CAUSE_NETWORK_WIRE || s->end.ns - s->begin.ns < DTC_SILENCE_NS || !history ||
		    dtc_guests_get_cpu(dtc_links_get_guests(dtc_load_get_links(load)), s->node, 0, &cpu))
			continue;
		if (!dtc_silence_find(history, dtc_clocks_to_node(clocks, s->node, s->begin).ns,
				      dtc_clocks_to_node(clocks, s->node, s->end).ns, &silence))
			continue;
		if (silence.end_ns - silence.begin_ns > longest.end_ns - longest.begin_ns) {
			longest = silence;
			where = s;
		}
	}
	if (where)
		dtc_findings_add(
			findings, DTC_SEVERITY_WARNING, false, dtc_load_get_node_names(load)[where->node],
			"silent for %.3f ms while a packet was on the wire to it: CPU %u ran %s without a "
			"single timer interrupt; its host may not have let it run, and then the wire's time "
			"is the host's",
			(double)(longest.end_ns - longest.begin_ns) / 1e6, longest.cpu,
			dtc_history_get_comm(dtc_load_get_history(load, where->node), longest.thread, longest.end_ns));
}

/* What a thread did for others on the path. */
struct busy {
	const struct dtc_segment *first; /* names the thread */
	const char *other;
	int64_t ns;
};

static int compare_busy(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->first->begin.ns < y->first->begin.ns ? -1 : x->first->begin.ns > y->first->begin.ns;
}

/* Waiting for other requests in the same loop, pool or lock, if it is a part of the whole that matters. */
static void add_busy_findings(const DtcPath *path, const DtcLoad *load, DtcFindings *findings)
{
	int64_t whole_ns = dtc_path_get_end(path).ns - dtc_path_get_begin(path).ns;
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct busy));
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(path, i);
		if (!s->busy_with)
			continue;
		char *key = g_strdup_printf("%u %u %s", s->node, s->thread, s->busy_with);
		guint at = GPOINTER_TO_UINT(g_hash_table_lookup(seen, key));
		if (!at) {
			struct busy new = { s, s->busy_with, 0 };
			g_array_append_val(all, new);
			at = all->len;
		}
		g_hash_table_insert(seen, key, GUINT_TO_POINTER(at));
		g_array_index(all, struct busy, at - 1).ns += s->end.ns - s->begin.ns;
	}
	if (all->len)
		g_array_sort(all, compare_busy);
	for (guint i = 0; i < MIN(all->len, BUSY_SHOWN); i++) {
		const struct busy *busy = &g_array_index(all, struct busy, i);
		if (busy->ns < whole_ns / 100)
			break;
		dtc_findings_add(findings, DTC_SEVERITY_INFO, false, dtc_load_get_node_names(load)[busy->first->node],
				 "%s (tid %d) worked %.3f ms for request %s while this one waited", busy->first->comm,
				 busy->first->tid, (double)busy->ns / 1e6, busy->other);
	}
}

/* Packets that no other node's match: drops, other peers, missing events. */
static void add_unmatched_findings(const DtcLoad *load, DtcFindings *findings)
{
	const DtcSync *sync = dtc_load_get_sync(load);
	const char *const *names = dtc_load_get_node_names(load);

	for (guint i = 0; sync && i < dtc_sync_get_pair_count(sync); i++) {
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
		guint64 matched = pair->messages_ab + pair->messages_ba;
		guint64 unmatched = pair->unmatched_a + pair->unmatched_b;
		if (matched && unmatched)
			dtc_findings_add(
				findings, DTC_SEVERITY_INFO, false, NULL,
				"%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
				" packets between %s and %s have no match on the other side (lost, or not recorded)",
				unmatched, matched + unmatched, names[pair->a], names[pair->b]);
	}
}

DtcReport *dtc_question_answer(const struct dtc_question *question, const DtcLoad *load,
			       const struct dtc_path_options *options, DtcFindings *findings, DtcPath **ret_path,
			       GError **error)
{
	g_autoptr(DtcPath) path = dtc_path_walk(dtc_load_get_links(load), &question->target, options, error);
	if (!path)
		return NULL;
	if (question->serving)
		dtc_path_name_busy(path, question->index, question->requests, question->serving,
				   dtc_load_get_clocks(load));
	add_busy_findings(path, load, findings);
	add_reversal_findings(path, load, findings);
	add_unmatched_findings(load, findings);
	add_spin_finding(path, load, findings);
	add_polling_finding(path, load, findings);
	add_silence_finding(path, load, findings);
	for (guint node = 0; node < dtc_load_get_node_count(load); node++)
		add_vm_finding(path, load, node, findings);
	DtcReport *report = build_report(load, question, path, findings, error);
	if (report && ret_path)
		*ret_path = g_steal_pointer(&path);
	return report;
}
