/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state tree and the longest instances: levels that sum to each other, spells that are what a reader calls one. */
#include "analyze/profile/profile_states.h"
#include "tests/support/story.h"

static DtcStateTree *build(const struct story *s, int tid, int64_t begin_ns, int64_t end_ns)
{
	DtcStateTree *tree = dtc_state_tree_new();
	struct dtc_spells spells;
	struct dtc_interval spell;

	dtc_spells_begin(&spells, NULL, 0, s->history, dtc_history_find_thread(s->history, tid, DTC_TIME_NONE),
			 (DtcNodeTime){ begin_ns }, (DtcNodeTime){ end_ns });
	while (dtc_spells_next(&spells, &spell))
		dtc_state_tree_add(tree, s->history, &spell);
	dtc_spells_end(&spells);
	dtc_state_tree_finish(tree);
	return tree;
}

/* The entry with the names from class down; NULL if there is none. */
static const struct dtc_state_entry *find(const DtcStateTree *tree, const char *const *names)
{
	guint from = 0, to = dtc_state_tree_get_count(tree);
	const struct dtc_state_entry *found = NULL;

	for (; *names; names++) {
		found = NULL;
		for (guint i = from; i < to; i = dtc_state_tree_get(tree, i)->end) {
			if (strcmp(dtc_state_tree_get(tree, i)->name, *names) != 0)
				continue;
			found = dtc_state_tree_get(tree, i);
			from = i + 1;
			to = found->end;
			break;
		}
		if (!found)
			return NULL;
	}
	return found;
}
#define FIND(tree, ...) find(tree, (const char *const[]){ __VA_ARGS__, NULL })

/* Each level's children sum to their parent, and are ordered by time. */
static void assert_levels(const DtcStateTree *tree, int64_t total_ns)
{
	g_assert_cmpint(dtc_state_tree_get_total_ns(tree), ==, total_ns);
	for (guint i = 0; i < dtc_state_tree_get_count(tree); i++) {
		const struct dtc_state_entry *parent = dtc_state_tree_get(tree, i);
		int64_t sum_ns = 0, last_ns = INT64_MAX;
		uint64_t count = 0;
		g_assert_cmpint(parent->min_ns, <=, parent->max_ns);
		if (parent->end == i + 1)
			continue;
		for (guint k = i + 1; k < parent->end; k = dtc_state_tree_get(tree, k)->end) {
			const struct dtc_state_entry *child = dtc_state_tree_get(tree, k);
			g_assert_cmpuint(child->parent, ==, i);
			g_assert_cmpint(child->total_ns, <=, last_ns);
			last_ns = child->total_ns;
			sum_ns += child->total_ns;
			count += child->count;
		}
		g_assert_cmpint(sum_ns, ==, parent->total_ns);
		g_assert_cmpuint(count, ==, parent->count);
	}
}

/* Reads from two descriptors and computes, preempted once in a call and once outside; ends in a wait. */
static void tell_reader(struct story *s)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", 0, 10, "reader");
	for (int i = 0; i < 3; i++) {
		int64_t t = 100 * i;
		story_enter(s, t + 10, 0, "read", i < 2 ? 4 : 5);
		story_switch(s, t + 20, 0, 10, "reader", 1, 11, "writer");
		story_task(s, DTC_EVENT_SCHED_WAKING, t + 60, 0, 10, "reader", 0);
		story_switch(s, t + 70, 0, 11, "writer", 1, 10, "reader");
		story_leave(s, t + 80, 0, "read", 1);
	}
	story_switch(s, 300, 0, 10, "reader", 0, 11, "writer");
	story_switch(s, 310, 0, 11, "writer", 0, 10, "reader");
	story_enter(s, 320, 0, "futex", -1);
	story_switch(s, 325, 0, 10, "reader", 0, 11, "writer");
	story_switch(s, 332, 0, 11, "writer", 0, 10, "reader");
	story_switch(s, 340, 0, 10, "reader", 1, 11, "writer");
	story_switch(s, 400, 0, 11, "writer", 1, 0, "swapper/0");
	story_end(s);
}

static void test_tree(void)
{
	struct story s;
	tell_reader(&s);
	g_autoptr(DtcStateTree) tree = build(&s, 10, 0, 400);

	assert_levels(tree, 400);
	g_assert_cmpstr(dtc_state_tree_get(tree, 0)->name, ==, "working");
	const struct dtc_state_entry *read = FIND(tree, "blocked", "ipc", "read");
	g_assert_nonnull(read);
	g_assert_cmpuint(read->count, ==, 3);
	g_assert_cmpint(read->total_ns, ==, 120);
	g_assert_cmpint(FIND(tree, "blocked", "ipc", "read", "fd 4")->count, ==, 2);
	g_assert_cmpint(FIND(tree, "blocked", "ipc", "read", "fd 5")->total_ns, ==, 40);
	/* in and outside a call: one child each; the waits all had one, and need none */
	g_assert_cmpint(FIND(tree, "interrupted", "preempted", "")->total_ns, ==, 10);
	g_assert_cmpint(FIND(tree, "interrupted", "preempted", "futex")->total_ns, ==, 7);
	g_assert_null(FIND(tree, "blocked", "ipc", ""));
	g_assert_null(FIND(tree, "working", "user", ""));
	g_assert_cmpint(FIND(tree, "blocked", "wait")->total_ns, ==, 60); /* not woken before the end */
	story_clear(&s);
}

static void test_every_span(void)
{
	struct story s;
	tell_reader(&s);
	for (int64_t begin_ns = 0; begin_ns < 400; begin_ns += 7) {
		for (int64_t end_ns = begin_ns + 1; end_ns <= 400; end_ns += 13) {
			g_autoptr(DtcStateTree) tree = build(&s, 10, begin_ns, end_ns);
			assert_levels(tree, end_ns - begin_ns);
		}
	}
	story_clear(&s);
}

/* A migration while it waits for a CPU cuts the interval, but it waited once. */
static void test_migration_is_one_spell(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, 10, "a");
	story_switch(&s, 10, 0, 10, "a", 0, 11, "b");
	story_task(&s, DTC_EVENT_SCHED_MIGRATE, 20, 0, 10, "a", 1);
	story_switch(&s, 40, 1, 0, "swapper/1", 0, 10, "a");
	story_switch(&s, 50, 1, 10, "a", 1, 0, "swapper/1");
	story_end(&s);
	g_autoptr(DtcStateTree) tree = build(&s, 10, 0, 50);
	const struct dtc_state_entry *preempted = FIND(tree, "interrupted", "preempted");

	assert_levels(tree, 50);
	g_assert_cmpuint(preempted->count, ==, 1);
	g_assert_cmpint(preempted->max_ns, ==, 30);
	story_clear(&s);
}

/* The same two files under one name are one entry. */
static void test_same_name_is_one_entry(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, 10, "a");
	for (int i = 0; i < 2; i++) {
		int64_t t = 100 * i;
		struct dtc_event open = story_event(DTC_EVENT_SYSCALL_ENTRY, t + 10, 0);
		open.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s.machine, "openat");
		open.text[0] = "/etc/hosts";
		dtc_machine_apply(s.machine, &open);
		story_leave(&s, t + 20, 0, "openat", 4 + i);
		story_enter(&s, t + 30, 0, "read", 4 + i);
		story_leave(&s, t + 50, 0, "read", 1);
	}
	story_switch(&s, 200, 0, 10, "a", 1, 0, "swapper/0");
	story_end(&s);
	g_autoptr(DtcStateTree) tree = build(&s, 10, 0, 200);

	assert_levels(tree, 200);
	g_assert_cmpuint(FIND(tree, "working", "syscall", "read", "/etc/hosts")->count, ==, 2);
	g_assert_cmpint(FIND(tree, "working", "syscall", "openat", "/etc/hosts")->total_ns, ==, 20);
	story_clear(&s);
}

/* Any order of adding gives the same list: compared with a full sort. */
static int64_t sum_line(const struct story *s, const struct dtc_state_line *line)
{
	struct dtc_spells spells;
	struct dtc_interval spell;
	int64_t ns = 0;

	dtc_spells_begin(&spells, NULL, 0, s->history, dtc_history_find_thread(s->history, 10, DTC_TIME_NONE),
			 (DtcNodeTime){ 0 }, (DtcNodeTime){ 1000 });
	while (dtc_spells_next(&spells, &spell))
		if (dtc_state_line_has(line, s->history, &spell))
			ns += spell.end_ns - spell.begin_ns;
	dtc_spells_end(&spells);
	return ns;
}

/* The single spells of a line of the tree are those that it sums, and no others. */
static void test_lines(void)
{
	struct story s;
	guint checked = 0;
	tell_reader(&s);
	DtcStateTree *tree = build(&s, 10, 0, 1000);

	for (guint i = 0; i < dtc_state_tree_get_count(tree); i++) {
		const struct dtc_state_entry *entry = dtc_state_tree_get(tree, i);
		if (entry->level != DTC_LEVEL_FILE || entry->is_none)
			continue;
		const struct dtc_state_entry *call = dtc_state_tree_get(tree, entry->parent);
		const struct dtc_state_line line = { dtc_state_tree_get(tree, call->parent)->name, call->name,
						     entry->name };
		g_assert_cmpint(sum_line(&s, &line), ==, entry->total_ns);
		checked++;
	}
	g_assert_cmpuint(checked, >=, 2);
	g_assert_cmpint(sum_line(&s, &(struct dtc_state_line){ .call = "write" }), ==, 0);
	g_assert_cmpint(sum_line(&s, &(struct dtc_state_line){ 0 }), ==, dtc_state_tree_get_total_ns(tree));
	dtc_state_tree_free(tree);
	story_clear(&s);
}

static void test_longest(void)
{
	enum { COUNT = 500 };
	g_autoptr(GRand) rand = g_rand_new_with_seed(4);
	int64_t lengths[COUNT];

	for (guint limit = 0; limit <= 40; limit += 8) {
		g_autoptr(DtcStateInstances) instances = dtc_state_instances_new(limit);
		for (guint i = 0; i < COUNT; i++) {
			lengths[i] = g_rand_int_range(rand, 1, 100); /* many are equal */
			const struct dtc_interval spell = { .begin_ns = i, .end_ns = i + lengths[i], .thread = i % 3 };
			dtc_state_instances_add(instances, i % 2, &spell);
		}
		const GArray *list = dtc_state_instances_finish(instances);
		guint longer = 0;
		g_assert_cmpuint(list->len, ==, limit);
		for (guint i = 0; i < list->len; i++) {
			const struct dtc_state_instance *at = &g_array_index(list, struct dtc_state_instance, i);
			int64_t ns = at->spell.end_ns - at->spell.begin_ns;
			if (i == 0)
				continue;
			const struct dtc_state_instance *before = at - 1;
			int64_t before_ns = before->spell.end_ns - before->spell.begin_ns;
			g_assert_cmpint(ns, <=, before_ns);
			if (ns == before_ns)
				g_assert_cmpuint(before->node, <=, at->node);
		}
		if (!limit)
			continue;
		const struct dtc_state_instance *last = &g_array_index(list, struct dtc_state_instance, limit - 1);
		for (guint i = 0; i < COUNT; i++)
			longer += lengths[i] > last->spell.end_ns - last->spell.begin_ns;
		g_assert_cmpuint(longer, <, limit); /* none that is longer was left out */
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/states/tree", test_tree);
	g_test_add_func("/states/every-span", test_every_span);
	g_test_add_func("/states/migration-is-one-spell", test_migration_is_one_spell);
	g_test_add_func("/states/same-name-is-one-entry", test_same_name_is_one_entry);
	g_test_add_func("/states/longest", test_longest);
	g_test_add_func("/profile/states/lines", test_lines);
	return g_test_run();
}
