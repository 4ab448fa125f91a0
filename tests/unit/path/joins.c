/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread starts two legs, at 10 and at 15, which run side by side on two other CPUs, and joins them in turn, from 20
 * on the one that ends at 120, from 130 on the one that ends at 300.
 */
#include "analyze/edge/join.h"
#include "tests/support/path_at.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define DEAD 0x20
#define MAIN 10
#define SHORT 11
#define LONG 12
#define WAIT 0
#define END 400

struct variant {
	const char *name;
	const char *call;      /* with which they are joined */
	int64_t long_ns;       /* when the long one begins */
	int64_t second_ns;     /* when the second join begins */
	const char *last_call; /* of the short one */
	int64_t joined_ns;     /* so long before the second wait the first one began, if that is part of it */
};

static const struct variant variants[] = {
	{ "threads", "futex", 15, 130, "exit", 110 },
	{ "processes", "wait4", 15, 130, "exit_group", 110 },
	{ "one-after-the-other", "futex", 125, 130, "exit", 0 },
	{ "works-between", "futex", 15, 250, "exit", 0 },
	{ "lock-before", "futex", 15, 130, "futex", 0 },
};

static void begin_join(struct story *s, int64_t t, const char *call)
{
	if (strcmp(call, "futex") == 0)
		story_futex(s, t - 1, 0, WAIT, 0x1000);
	else
		story_enter(s, t - 1, 0, call, -1);
	story_switch(s, t, 0, MAIN, "main", SLEEP, 0, "swapper/0");
}

static void end_leg(struct story *s, int64_t t, uint32_t cpu, int tid, const char *call)
{
	story_enter(s, t - 2, cpu, call, -1);
	story_task(s, DTC_EVENT_SCHED_WAKING, t, cpu, MAIN, "main", 0);
	if (strncmp(call, "exit", 4) == 0) {
		story_task(s, DTC_EVENT_SCHED_EXIT, t + 1, cpu, tid, "leg", 0);
	} else {
		story_leave(s, t + 1, cpu, call, 1);
		story_enter(s, t + 1, cpu, "pause", -1);
	}
	story_switch(s, t + 2, cpu, tid, "leg", strncmp(call, "exit", 4) == 0 ? DEAD : SLEEP, 0, "swapper");
}

static void begin_leg(struct story *s, int64_t t, uint32_t cpu, int tid)
{
	story_fork(s, t, 0, MAIN, MAIN, tid, MAIN, "leg");
	story_switch(s, t + 2, cpu, 0, "swapper", RUN, tid, "leg");
	story_leave(s, t + 3, cpu, "clone", 0);
}

static void go_on(struct story *s, int64_t t, const char *call)
{
	story_switch(s, t, 0, 0, "swapper/0", RUN, MAIN, "main");
	story_leave(s, t + 1, 0, call, 0);
}

static const DtcHistory *tell(struct story *s, const struct variant *v)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, 0, "swapper/0", RUN, MAIN, "main");
	begin_leg(s, 10, 1, SHORT);
	if (v->long_ns < 20)
		begin_leg(s, v->long_ns, 2, LONG);
	begin_join(s, 20, v->call);
	end_leg(s, 120, 1, SHORT, v->last_call);
	go_on(s, 123, v->call);
	if (v->long_ns > 120)
		begin_leg(s, v->long_ns, 2, LONG);
	begin_join(s, v->second_ns, v->call);
	end_leg(s, 300, 2, LONG, "exit");
	go_on(s, 303, v->call);
	story_switch(s, END, 0, MAIN, "main", SLEEP, 0, "swapper/0");
	return story_end(s);
}

static void test_joined(gconstpointer data)
{
	const struct variant *v = data;
	struct story s;
	const DtcHistory *h = tell(&s, v);
	const struct dtc_interval *second = story_interval(&s, MAIN, 299);
	g_assert_cmpint(second->begin_ns, ==, v->second_ns);
	g_assert_cmpint(dtc_join_get_ns(h, second), ==, v->joined_ns);
	g_assert_cmpint(dtc_join_get_ns(h, story_interval(&s, MAIN, 50)), ==, 0);
	story_clear(&s);
}

/* The long leg is all that both joins were for; the short one is nowhere on the path. */
static void test_path(void)
{
	struct story s;
	const DtcHistory *h = tell(&s, &variants[0]);
	g_autoptr(DtcPath) path = path_of(h, MAIN, 0, END, DTC_NONE);
	int64_t long_ns = 0;
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(path, i);
		g_assert_cmpint(segment->tid, !=, SHORT);
		if (segment->tid == LONG)
			long_ns += segment->end.ns - segment->begin.ns;
	}
	g_assert_cmpint(long_ns, ==, 280);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(variants); i++) {
		g_autofree char *path = g_strdup_printf("/joins/%s", variants[i].name);
		g_test_add_data_func(path, &variants[i], test_joined);
	}
	g_test_add_func("/joins/path", test_path);
	return g_test_run();
}
