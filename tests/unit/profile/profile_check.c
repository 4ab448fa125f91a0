/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checks pass on what is right, and each finds what was broken for it. */
#include "analyze/profile/profile_check.h"
#include "analyze/history/records.h"
#include "sync/fit/fit.h"
#include "tests/support/story.h"

struct bundle {
	struct story stories[2];
	DtcClocks *clocks;
	DtcLinks *links;
	DtcMatches *matches;
	GArray *exceptions;
};

static void tell(struct story *s, const char *node)
{
	story_begin(s, node);
	story_switch(s, 0, 0, 0, "swapper/0", 0, 10, "a");
	for (int i = 0; i < 2; i++) {
		int64_t t = 100 * i;
		story_enter(s, t + 10, 0, "read", 4);
		story_switch(s, t + 20, 0, 10, "a", 1, 11, "b");
		story_task(s, DTC_EVENT_SCHED_WAKING, t + 60, 0, 10, "a", 0);
		story_switch(s, t + 70, 0, 11, "b", 0, 10, "a");
		story_leave(s, t + 80, 0, "read", 1);
	}
	story_switch(s, 200, 0, 10, "a", 1, 0, "swapper/0");
	story_end(s);
}

static void bundle_begin(struct bundle *bundle, guint node_count)
{
	static const char *const names[] = { "a", "b" };
	const DtcHistory *histories[2] = { 0 };

	*bundle = (struct bundle){ 0 };
	for (guint i = 0; i < node_count; i++) {
		tell(&bundle->stories[i], names[i]);
		histories[i] = bundle->stories[i].history;
	}
	bundle->clocks = dtc_clocks_new_identity(node_count);
	bundle->links = dtc_links_new(node_count, names, histories, bundle->clocks);
	bundle->matches = dtc_matches_new(names, node_count);
	bundle->exceptions = g_array_new(FALSE, FALSE, sizeof(struct dtc_check_exception));
}

static void bundle_clear(struct bundle *bundle)
{
	dtc_matches_free(bundle->matches);
	dtc_links_free(bundle->links);
	dtc_clocks_free(bundle->clocks);
	g_array_unref(bundle->exceptions);
	for (guint i = 0; i < 2; i++)
		if (bundle->stories[i].history)
			story_clear(&bundle->stories[i]);
}

static GArray *run(const struct bundle *bundle)
{
	const struct dtc_check_input input = { bundle->links, bundle->matches, bundle->exceptions, 5 };
	return dtc_check_run(&input);
}

static const struct dtc_check *find(const GArray *checks, const char *name)
{
	for (guint i = 0; i < checks->len; i++)
		if (strcmp(g_array_index(checks, struct dtc_check, i).name, name) == 0)
			return &g_array_index(checks, struct dtc_check, i);
	g_assert_not_reached();
}

/* Exactly the named checks are wrong. */
static void assert_wrong(const GArray *checks, const char *const *names)
{
	for (guint i = 0; i < checks->len; i++) {
		const struct dtc_check *check = &g_array_index(checks, struct dtc_check, i);
		bool expected = g_strv_contains(names, check->name);
		if (expected != (check->wrong_count > 0))
			g_test_message("%s: %s", check->name, check->detail ? check->detail : "nothing wrong");
		g_assert_true(expected == (check->wrong_count > 0));
		if (expected)
			g_assert_nonnull(check->detail);
	}
}
#define ASSERT_WRONG(checks, ...) assert_wrong(checks, (const char *const[]){ __VA_ARGS__ })

static void test_right(void)
{
	struct bundle bundle;
	bundle_begin(&bundle, 1);
	g_autoptr(GArray) checks = run(&bundle);

	ASSERT_WRONG(checks, NULL);
	g_assert_cmpuint(find(checks, "waits")->count, ==, 2);
	g_assert_cmpuint(find(checks, "causes")->count, ==, 2);
	g_assert_cmpuint(find(checks, "cpus")->count, ==, 1);
	g_assert_cmpuint(find(checks, "paths")->count, ==, 2);
	g_assert_cmpuint(find(checks, "clocks")->count, ==, 1);
	bundle_clear(&bundle);
}

/* Histories are read-only; a test may break one all the same. */
static struct dtc_interval_record *spoil_interval(struct bundle *bundle, int tid, int64_t time_ns)
{
	return DTC_AT(bundle->stories[0].history->intervals, struct dtc_interval_record,
		      story_interval(&bundle->stories[0], tid, time_ns)->index);
}

static void test_wrong_wake(void)
{
	struct bundle bundle;
	bundle_begin(&bundle, 1);
	struct dtc_interval_record *second = spoil_interval(&bundle, 10, 150);
	uint32_t right = story_interval(&bundle.stories[0], 10, 150)->ref;
	const struct dtc_odd_ref first = { story_interval(&bundle.stories[0], 10, 150)->index,
					   story_interval(&bundle.stories[0], 10, 50)->ref };

	second->ref = DTC_REF_ODD; /* used twice, and of another time */
	dtc_table_append(bundle.stories[0].history->odd_refs, &first);
	g_autoptr(GArray) twice = run(&bundle);
	ASSERT_WRONG(twice, "history", "waits", NULL);
	dtc_table_set_length(bundle.stories[0].history->odd_refs, 0);
	second->ref = 0;
	g_autoptr(GArray) none = run(&bundle);
	g_assert_cmpuint(find(none, "waits")->wrong_count, ==, 1);
	g_assert_nonnull(strstr(find(none, "waits")->detail, "tid 10"));
	second->ref = DTC_REF_WAKE;
	DTC_AT(bundle.stories[0].history->wakes, struct dtc_wake_record, right)->target++;
	g_autoptr(GArray) other = run(&bundle);
	ASSERT_WRONG(other, "history", "waits", NULL);
	bundle_clear(&bundle);
}

/* A thread that runs where another has the CPU, and one whose time is not all there. */
static void test_wrong_intervals(void)
{
	struct bundle bundle;
	bundle_begin(&bundle, 1);
	struct dtc_interval_record *interval = spoil_interval(&bundle, 11, 65);

	g_assert_cmpint(interval->state, ==, DTC_STATE_USER);
	interval->state = DTC_STATE_PREEMPTED;
	g_autoptr(GArray) absent = run(&bundle);
	ASSERT_WRONG(absent, "history", "cpus", NULL);
	interval->state = DTC_STATE_USER;
	interval->begin--;
	g_autoptr(GArray) earlier = run(&bundle);
	ASSERT_WRONG(earlier, "history", "cpus", NULL);
	interval->begin++;
	DTC_AT(bundle.stories[0].history->intervals, struct dtc_interval_record, 0)->begin++;
	g_autoptr(GArray) late = run(&bundle);
	ASSERT_WRONG(late, "history", "sums", NULL);
	bundle_clear(&bundle);
}

static void test_messages(void)
{
	struct bundle bundle;
	bundle_begin(&bundle, 1);
	g_clear_pointer(&bundle.matches, dtc_matches_free);
	g_clear_pointer(&bundle.links, dtc_links_free);
	g_clear_pointer(&bundle.clocks, dtc_clocks_free);

	/* two nodes on one clock, joined by messages both ways: the map is certain to half a round trip */
	static const char *const names[] = { "a", "b" };
	const DtcHistory *histories[2] = { bundle.stories[0].history, NULL };
	struct dtc_fit_options options = dtc_fit_options_default();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	bundle.matches = dtc_matches_new(names, 2);
	for (int64_t i = 0; i < 200; i++) {
		g_assert_true(dtc_matches_add(bundle.matches, 0, 1, i * 10000000, i * 10000000 + 50000));
		g_assert_true(dtc_matches_add(bundle.matches, 1, 0, i * 10000000 + 5000000, i * 10000000 + 5050000));
	}
	options.reference = 0;
	g_autoptr(DtcSync) sync = dtc_fit_clocks(bundle.matches, &options, findings, &error);
	g_assert_no_error(error);
	bundle.clocks = dtc_sync_steal_clocks(sync);
	bundle.links = dtc_links_new(2, names, histories, bundle.clocks);
	g_autoptr(GArray) right = run(&bundle);
	g_assert_cmpuint(find(right, "messages")->count, ==, 400);
	ASSERT_WRONG(right, NULL);

	/* a message that arrives 10 ms before it is sent, unknown to the alignment */
	g_assert_true(dtc_matches_add(bundle.matches, 0, 1, 1000000000, 990000000));
	g_autoptr(GArray) wrong = run(&bundle);
	ASSERT_WRONG(wrong, "messages", NULL);
	g_assert_cmpuint(find(wrong, "messages")->wrong_count, ==, 1);
	const struct dtc_check_exception exception = { 0, 1, 1000000000, 990000000 };
	g_array_append_val(bundle.exceptions, exception);
	g_autoptr(GArray) excepted = run(&bundle);
	ASSERT_WRONG(excepted, NULL);
	g_assert_cmpuint(find(excepted, "messages")->count, ==, 400);
	bundle_clear(&bundle);
}

/* A wait in a call that began before the trace: nobody can say what it was for, and no cause is made up. */
static void test_untold(void)
{
	static const char *const names[] = { "a" };
	struct bundle bundle = { .exceptions = g_array_new(FALSE, FALSE, sizeof(struct dtc_check_exception)) };
	struct story *s = &bundle.stories[0];
	story_begin(s, "a");
	struct dtc_event fault = story_event(DTC_EVENT_FAULT_USER, 1, 0); /* faults are traced, and this is none */
	dtc_machine_apply(s->machine, &fault);
	story_switch(s, 10, 0, 0, "swapper/0", 0, 10, "a");
	story_switch(s, 20, 0, 10, "a", 1, 11, "b");
	story_task(s, DTC_EVENT_SCHED_WAKING, 60, 0, 10, "a", 0);
	story_switch(s, 70, 0, 11, "b", 1, 10, "a");
	story_leave(s, 80, 0, "read", 1);
	story_end(s);
	const DtcHistory *history = s->history;
	bundle.clocks = dtc_clocks_new_identity(1);
	bundle.links = dtc_links_new(1, names, &history, bundle.clocks);
	bundle.matches = dtc_matches_new(names, 1);
	g_autoptr(GArray) checks = run(&bundle);

	ASSERT_WRONG(checks, NULL);
	g_assert_cmpuint(find(checks, "waits")->count, ==, 1);
	g_assert_cmpuint(find(checks, "causes")->count, ==, 0);
	g_assert_nonnull(find(checks, "causes")->detail);
	bundle_clear(&bundle);
}

/* Nothing relates two nodes: their messages cannot be judged, and that is said. */
static void test_unaligned(void)
{
	struct bundle bundle;
	bundle_begin(&bundle, 2);
	g_assert_true(dtc_matches_add(bundle.matches, 0, 1, 1000, 1));
	g_autoptr(GArray) checks = run(&bundle);

	ASSERT_WRONG(checks, NULL);
	g_assert_cmpuint(find(checks, "messages")->count, ==, 0);
	g_assert_cmpstr(find(checks, "messages")->detail, ==, "1 pairs of nodes are not aligned");
	bundle_clear(&bundle);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/check/right", test_right);
	g_test_add_func("/check/wrong-wake", test_wrong_wake);
	g_test_add_func("/check/wrong-intervals", test_wrong_intervals);
	g_test_add_func("/check/messages", test_messages);
	g_test_add_func("/check/untold", test_untold);
	g_test_add_func("/check/unaligned", test_unaligned);
	return g_test_run();
}
