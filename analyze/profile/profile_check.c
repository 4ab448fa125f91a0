/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/profile/profile_check.h"

#include "analyze/edge/cause.h"
#include "analyze/path/walk_check.h"
#include "analyze/profile/profile.h"
#include "analyze/profile/share_check.h"
#include "collect/bundle/threads.h"

#include <dtrace-chain/hash.h>

#include <inttypes.h>
#include <string.h>

static void check_clear(void *data)
{
	struct dtc_check *check = data;
	g_free(check->detail);
}

void dtc_check_look(struct dtc_check *check, bool is_right, const char *format, ...)
{
	check->count++;
	if (is_right)
		return;
	if (check->wrong_count++ > 0)
		return;
	va_list args;
	va_start(args, format);
	check->detail = g_strdup_vprintf(format, args);
	va_end(args);
}

/* What is to be said of a check in which nothing was wrong. */
static void say(struct dtc_check *check, char *text)
{
	if (check->detail)
		g_free(text);
	else
		check->detail = text;
}

static int get_tid(const DtcHistory *history, uint32_t thread)
{
	return dtc_history_get_thread(history, thread)->tid;
}

static char *first_line(const GError *error)
{
	return g_strndup(error->message, strcspn(error->message, "\n"));
}

static struct dtc_check check_history(const DtcHistory *history, guint node)
{
	struct dtc_check check = { .name = "history",
				   .node = node,
				   .text = "intervals are contiguous, and a CPU runs one thread at a time" };
	g_autoptr(GError) error = NULL;

	check.count = dtc_history_get_thread_count(history);
	if (!dtc_history_check(history, &error)) {
		check.wrong_count = 1;
		check.detail = first_line(error);
	}
	return check;
}

static struct dtc_check check_sums(const DtcHistory *history, const GArray *rows, guint node)
{
	struct dtc_check check = { .name = "sums",
				   .node = node,
				   .text = "the times of a thread sum to its life to the nanosecond" };

	for (guint i = 0; i < rows->len; i++) {
		const struct dtc_profile_row *row = &g_array_index(rows, struct dtc_profile_row, i);
		int64_t sum_ns = 0;
		for (guint k = 0; k < DTC_PROFILE_BASIC_COLUMNS; k++)
			sum_ns += row->value[k];
		dtc_check_look(&check, sum_ns == row->value[DTC_PROFILE_LIFE],
			       "tid %d: %" PRId64 " ns in all, but it lived for %" PRId64 " ns",
			       get_tid(history, row->thread), sum_ns, row->value[DTC_PROFILE_LIFE]);
	}
	return check;
}

/* What one walk over the intervals of all threads looks at. */
struct intervals {
	const DtcHistory *history;
	struct dtc_check waits, causes;
	uint64_t untold_count;
	bool *is_taken;	     /* by wake: it ended a wait */
	int64_t *running_ns; /* by CPU: what threads ran on it, found without looking at its runs */
};

/* A wait that something ended. */
struct ended_wait {
	struct dtc_interval interval;
	bool is_seen_from_begin; /* not under way when the thread came into sight */
};

static void look_at_wakeup(struct intervals *of, const struct dtc_interval *wait, const struct dtc_wake *wake)
{
	bool is_own = wake && wake->target == wait->thread && wake->waking_ns == wait->end_ns;

	dtc_check_look(&of->waits, is_own && !of->is_taken[wait->ref],
		       "tid %d: the wait that ended at %" PRId64 " has %s", get_tid(of->history, wait->thread),
		       wait->end_ns,
		       !wake				 ? "no wakeup"
		       : wake->target != wait->thread	 ? "another thread's wakeup"
		       : wake->waking_ns != wait->end_ns ? "a wakeup of another time"
							 : "the wakeup of another wait");
	if (wake)
		of->is_taken[wait->ref] = true;
}

/* Whether the trace tells what a wait was for and who ended it. */
static bool is_told(const struct intervals *of, const struct ended_wait *wait, const struct dtc_wake *wake)
{
	if (!wake || wake->waker == DTC_WAKER_UNKNOWN || wake->waker == DTC_WAKER_IPI)
		return false;
	/* a call that was entered before the trace, or a worker that the kernel runs in a user's address space (vhost)
	 */
	if (wait->interval.call == DTC_NONE && !dtc_history_get_thread(of->history, wait->interval.thread)->is_kernel)
		return false;
	return wait->is_seen_from_begin;
}

static void look_at_wait(struct intervals *of, const struct ended_wait *wait)
{
	const struct dtc_interval *interval = &wait->interval;
	struct dtc_wake place;
	const struct dtc_wake *wake = interval->ref < dtc_history_get_wake_count(of->history)
					      ? dtc_history_get_wake(of->history, interval->ref, &place)
					      : NULL;

	look_at_wakeup(of, interval, wake);
	if (is_told(of, wait, wake))
		dtc_check_look(&of->causes, dtc_cause_of_interval(of->history, interval) != DTC_CAUSE_UNKNOWN,
			       "tid %d: the wait that ended at %" PRId64 " has none",
			       get_tid(of->history, interval->thread), interval->end_ns);
	else
		of->untold_count++;
}

static void look_at_thread(struct intervals *of, uint32_t thread)
{
	guint cpu_count = dtc_history_get_cpu_count(of->history);
	enum dtc_state before = DTC_STATE_UNKNOWN;
	struct ended_wait wait;
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_get_plain_after(of->history, thread, INT64_MIN, &place);

	for (; v; v = dtc_history_get_next_plain(of->history, &place)) {
		/* not one that the thread is in at its end, nor one that lost events cut off */
		if (dtc_state_is_wait(before) && v->state != DTC_STATE_UNKNOWN)
			look_at_wait(of, &wait);
		if (dtc_state_is_wait(v->state)) {
			dtc_history_fill_interval(of->history, &place);
			wait = (struct ended_wait){ *v, before != DTC_STATE_UNKNOWN };
		}
		bool is_running = dtc_state_is_running(v->state) || v->state == DTC_STATE_IDLE;
		if (is_running && v->cpu < cpu_count)
			of->running_ns[v->cpu] += v->end_ns - v->begin_ns;
		before = (enum dtc_state)v->state;
	}
}

/* The checks of waits, and what check_cpus needs: by CPU, owned by the caller. */
static int64_t *check_intervals(const DtcHistory *history, guint node, struct dtc_check *ret_waits,
				struct dtc_check *ret_causes)
{
	g_autofree bool *is_taken = g_new0(bool, dtc_history_get_wake_count(history) + 1);
	struct intervals of = {
		.history = history,
		.waits = { .name = "waits",
			   .node = node,
			   .text = "every wait that ended has one wakeup of its own, at its end" },
		.causes = { .name = "causes",
			    .node = node,
			    .text = "a wait of which the trace tells begin, call and waker has a cause" },
		.is_taken = is_taken,
		.running_ns = g_new0(int64_t, dtc_history_get_cpu_count(history) + 1),
	};

	for (uint32_t t = 0; t < dtc_history_get_thread_count(history); t++)
		look_at_thread(&of, t);
	if (of.untold_count)
		say(&of.causes,
		    g_strdup_printf("of %" PRIu64 " more waits the trace does not tell begin, call or waker",
				    of.untold_count));
	*ret_waits = of.waits;
	*ret_causes = of.causes;
	return of.running_ns;
}

static struct dtc_check check_cpus(const DtcLinks *links, const DtcHistory *history, guint node,
				   const int64_t *running_ns)
{
	struct dtc_check check = { .name = "cpus",
				   .node = node,
				   .text = "CPU time of all threads plus idle is the CPU's span minus gaps" };
	DtcNodeTime begin = { dtc_history_get_begin_ns(history) }, end = { dtc_history_get_end_ns(history) };
	int64_t unknown_ns = 0;

	for (guint cpu = 0; cpu < dtc_history_get_cpu_count(history); cpu++) {
		struct dtc_profile_cpu sums = dtc_profile_get_cpu(links, node, history, cpu, begin, end);
		int64_t expected_ns = sums.span_ns - sums.unknown_ns;
		unknown_ns += sums.unknown_ns;
		dtc_check_look(&check, sums.wrong_count == 0 && running_ns[cpu] == expected_ns,
			       "cpu %u: its threads ran for %" PRId64 " ns, but it was taken for %" PRId64
			       " ns; %u times by a thread that was not running",
			       cpu, running_ns[cpu], expected_ns, sums.wrong_count);
	}
	if (unknown_ns)
		say(&check, g_strdup_printf("%" PRId64 " ns in which the trace does not tell who ran", unknown_ns));
	return check;
}

/* Of a node that runs on virtual CPUs of another. */
static struct dtc_check check_guest(const struct dtc_check_input *input, guint node)
{
	struct dtc_check check = { .name = "guest",
				   .node = node,
				   .text = "a guest's CPU has events only while its vCPU is in the guest, within the "
					   "clocks' bounds" };
	struct dtc_guest_fit fit =
		dtc_guests_check(dtc_links_get_guests(input->links), node, dtc_links_get_clocks(input->links));

	check.count = fit.event_count;
	check.wrong_count = fit.outside_count;
	if (fit.outside_count)
		check.detail = g_strdup_printf("at %" PRId64 " its vCPU was not in the guest", fit.outside_ns);
	return check;
}

/* The path of one of the threads that used the CPUs of a node most. */
struct path_check {
	const DtcLinks *links;
	guint node;
	uint32_t thread;
	char *wrong; /* owned; NULL: nothing */
};

/* What is checked of a node, by a thread of the program. */
struct node_checks {
	const struct dtc_check_input *input;
	guint node;
	GArray *before,
		*behind; /* struct dtc_check: that are told before, and behind the paths; NULL: nothing to check */
	GArray *paths;	 /* struct path_check */
};

static void path_clear(void *data)
{
	struct path_check *path = data;
	g_free(path->wrong);
}

static GArray *list_paths(const struct dtc_check_input *input, const DtcHistory *history, GArray *rows, guint node)
{
	GArray *paths = g_array_new(FALSE, FALSE, sizeof(struct path_check));

	g_array_set_clear_func(paths, path_clear);
	dtc_profile_sort(rows, DTC_PROFILE_CPU);
	for (guint i = 0; i < rows->len && paths->len < input->path_count; i++) {
		uint32_t thread = g_array_index(rows, struct dtc_profile_row, i).thread;
		const struct path_check path = { .links = input->links, .node = node, .thread = thread };
		if (dtc_history_get_thread(history, thread)->idle_cpu < 0)
			g_array_append_val(paths, path);
	}
	return paths;
}

/* The whole life of the thread. */
static struct dtc_path_target get_target(const struct path_check *path)
{
	const DtcClocks *clocks = dtc_links_get_clocks(path->links);
	const struct dtc_thread *life =
		dtc_history_get_thread(dtc_links_get_history(path->links, path->node), path->thread);

	return (struct dtc_path_target){
		.node = path->node,
		.thread = path->thread,
		.begin = dtc_clocks_to_cluster(clocks, path->node, (DtcNodeTime){ life->begin_ns }),
		.end = dtc_clocks_to_cluster(clocks, path->node, (DtcNodeTime){ life->end_ns }),
		.call = DTC_NONE,
	};
}

static struct dtc_check sum_up_paths(const struct node_checks *of)
{
	struct dtc_check check = { .name = "paths",
				   .node = of->node,
				   .text = "critical paths of the busiest threads are contiguous and span "
					   "their lives" };
	const DtcHistory *history = dtc_links_get_history(of->input->links, of->node);

	for (guint i = 0; i < of->paths->len; i++) {
		const struct path_check *path = &g_array_index(of->paths, struct path_check, i);
		dtc_check_look(&check, !path->wrong, "tid %d: %s", get_tid(history, path->thread),
			       path->wrong ? path->wrong : "");
	}
	return check;
}

static void check_node(gpointer data, guint index)
{
	struct node_checks *of = &((struct node_checks *)data)[index];
	const struct dtc_check_input *input = of->input;
	guint node = of->node;
	const DtcHistory *history = dtc_links_get_history(input->links, node);

	if (!history || dtc_history_get_begin_ns(history) == DTC_TIME_NONE)
		return;
	DtcNodeTime begin = { dtc_history_get_begin_ns(history) }, end = { dtc_history_get_end_ns(history) };
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_profile_row));
	dtc_profile_add_threads(rows, input->links, node, history, begin, end);
	struct dtc_check waits, causes;
	g_autofree int64_t *running_ns = check_intervals(history, node, &waits, &causes);
	const struct dtc_check found[] = {
		check_history(history, node),
		check_sums(history, rows, node),
		waits,
		causes,
		check_cpus(input->links, history, node, running_ns),
	};
	of->before = g_array_new(FALSE, FALSE, sizeof(struct dtc_check));
	of->behind = g_array_new(FALSE, FALSE, sizeof(struct dtc_check));
	g_array_append_vals(of->before, found, G_N_ELEMENTS(found));
	of->paths = list_paths(input, history, rows, node);
	struct dtc_check guest = check_guest(input, node);
	struct dtc_check shares = dtc_share_check_run(input->links, node);
	if (guest.count)
		g_array_append_val(of->behind, guest);
	if (shares.count)
		g_array_append_val(of->behind, shares);
}

/* Of all nodes together, since many of them are the same for most of their length. */
static void check_all_paths(const DtcLinks *links, struct node_checks *nodes, guint node_count)
{
	g_autoptr(GPtrArray) paths = g_ptr_array_new();
	g_autoptr(GArray) targets = g_array_new(FALSE, FALSE, sizeof(struct dtc_path_target));

	for (guint node = 0; node < node_count; node++)
		for (guint i = 0; nodes[node].paths && i < nodes[node].paths->len; i++) {
			struct path_check *path = &g_array_index(nodes[node].paths, struct path_check, i);
			const struct dtc_path_target target = get_target(path);
			g_ptr_array_add(paths, path);
			g_array_append_val(targets, target);
		}
	g_autofree GError **errors = g_new0(GError *, paths->len + 1);
	dtc_path_check_walks(links, &g_array_index(targets, struct dtc_path_target, 0), paths->len, errors);
	for (guint i = 0; i < paths->len; i++) {
		struct path_check *path = paths->pdata[i];
		path->wrong = errors[i] ? first_line(errors[i]) : NULL;
		g_clear_error(&errors[i]);
	}
}

/* Takes them, in the order in which they are told. */
static void take_checks(struct node_checks *of, GArray *checks)
{
	if (!of->before)
		return;
	const struct dtc_check paths = sum_up_paths(of);
	g_array_append_vals(checks, of->before->data, of->before->len);
	g_array_append_val(checks, paths);
	g_array_append_vals(checks, of->behind->data, of->behind->len);
	g_array_unref(of->before);
	g_array_unref(of->behind);
	g_array_unref(of->paths);
}

static struct dtc_check check_clocks(const struct dtc_check_input *input)
{
	struct dtc_check check = { .name = "clocks",
				   .node = G_MAXUINT,
				   .text = "clock maps increase strictly and lie within their bounds" };
	const DtcClocks *clocks = dtc_links_get_clocks(input->links);

	for (guint node = 0; node < dtc_clocks_get_node_count(clocks); node++) {
		guint count;
		const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, node, &count);
		for (guint i = 0; i < count; i++) {
			bool rises = i == 0 || (knots[i].node_ns > knots[i - 1].node_ns &&
						knots[i].cluster_ns > knots[i - 1].cluster_ns);
			bool is_bounded =
				knots[i].lo_ns <= knots[i].cluster_ns && knots[i].cluster_ns <= knots[i].hi_ns;
			dtc_check_look(&check, rises && is_bounded, "node '%s': knot %u at %" PRId64 " %s",
				       dtc_links_get_node_name(input->links, node), i, knots[i].node_ns,
				       rises ? "lies outside its bounds" : "goes back");
		}
	}
	return check;
}

static guint hash_exception(const void *data)
{
	const struct dtc_check_exception *exception = data;
	return dtc_hash_int64(&exception->sent_ns) * 31 + dtc_hash_int64(&exception->received_ns) +
	       exception->from * 7 + exception->to;
}

static gboolean equal_exceptions(const void *a, const void *b)
{
	const struct dtc_check_exception *x = a, *y = b;
	return x->from == y->from && x->to == y->to && x->sent_ns == y->sent_ns && x->received_ns == y->received_ns;
}

static void check_direction(struct dtc_check *check, const struct dtc_check_input *input, GHashTable *exceptions,
			    guint from, guint to, const struct dtc_message *messages, guint count)
{
	const DtcClocks *clocks = dtc_links_get_clocks(input->links);

	for (guint i = 0; i < count; i++) {
		int64_t sent_ns = messages[i].sent_ns, received_ns = messages[i].received_ns;
		DtcClusterTime sent = dtc_clocks_to_cluster(clocks, from, (DtcNodeTime){ sent_ns });
		DtcClusterTime received = dtc_clocks_to_cluster(clocks, to, (DtcNodeTime){ received_ns });
		int64_t early_ns = sent.ns - received.ns;
		bool is_right = early_ns <= 0 || early_ns <= dtc_clocks_get_uncertainty_ns(clocks, from, to, received);
		const struct dtc_check_exception key = { from, to, sent_ns, received_ns };
		if (!is_right && g_hash_table_contains(exceptions, &key))
			continue;
		dtc_check_look(check, is_right,
			       "from '%s' at %" PRId64 " to '%s' at %" PRId64 ": %" PRId64 " ns before it was sent",
			       dtc_links_get_node_name(input->links, from), sent_ns,
			       dtc_links_get_node_name(input->links, to), received_ns, early_ns);
	}
}

static struct dtc_check check_messages(const struct dtc_check_input *input)
{
	struct dtc_check check = { .name = "messages",
				   .node = G_MAXUINT,
				   .text = "no message arrives before it is sent, within the clocks' uncertainty" };
	const DtcClocks *clocks = dtc_links_get_clocks(input->links);
	g_autoptr(GHashTable) exceptions = g_hash_table_new(hash_exception, equal_exceptions);
	guint unaligned_count = 0;

	for (guint i = 0; i < input->exceptions->len; i++)
		g_hash_table_add(exceptions, &g_array_index(input->exceptions, struct dtc_check_exception, i));
	for (guint i = 0; i < dtc_matches_get_pair_count(input->matches); i++) {
		struct dtc_match_pair pair;
		dtc_matches_get_pair(input->matches, i, &pair);
		if (dtc_clocks_get_group(clocks, pair.a) != dtc_clocks_get_group(clocks, pair.b)) {
			unaligned_count++;
			continue;
		}
		check_direction(&check, input, exceptions, pair.a, pair.b, pair.ab, pair.ab_count);
		check_direction(&check, input, exceptions, pair.b, pair.a, pair.ba, pair.ba_count);
	}
	if (unaligned_count)
		say(&check, g_strdup_printf("%u pairs of nodes are not aligned", unaligned_count));
	else if (input->exceptions->len)
		say(&check, g_strdup_printf("%u more contradict the others and were left out of the alignment",
					    input->exceptions->len));
	return check;
}

GArray *dtc_check_run(const struct dtc_check_input *input)
{
	GArray *checks = g_array_new(FALSE, FALSE, sizeof(struct dtc_check));
	guint node_count = dtc_links_get_node_count(input->links);
	g_autofree struct node_checks *nodes = g_new0(struct node_checks, node_count + 1);

	g_array_set_clear_func(checks, check_clear);
	for (guint node = 0; node < node_count; node++)
		nodes[node] = (struct node_checks){ .input = input, .node = node };
	dtc_threads_run(node_count, check_node, nodes);
	check_all_paths(input->links, nodes, node_count);
	for (guint node = 0; node < node_count; node++)
		take_checks(&nodes[node], checks);
	const struct dtc_check found[] = { check_clocks(input), check_messages(input) };
	g_array_append_vals(checks, found, G_N_ELEMENTS(found));
	return checks;
}
