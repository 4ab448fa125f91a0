/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server makes a process for X, which makes another one; both are gone before X is answered. Or the process goes on
 * behind the answer, or serves Y, or was made when the server was at nothing. One that exits
 * may lose its CPU to who goes on with that. Times in microseconds.
 *
 *   server      10 reads X's question  20 makes child                                           80 answers
 *   child                              22 runs  30 makes grandchild                 70 exits
 *   grandchild                                  32 runs              60 exits
 */
#include "tests/support/served_path.h"

#define RUN 0
#define SLEEP 1
#define DEAD 0x10
#define US G_GINT64_CONSTANT(1000)
#define SERVER 20
#define CHILD 30
#define GRANDCHILD 31
#define FD 4
#define X 0
#define Y 1

enum variant { GONE, LINGERS, GOES_ON, SERVES, AT_NOTHING };

static void make_process(struct story *s, int64_t us, uint32_t cpu, int parent, int child)
{
	story_enter(s, us * US, cpu, "clone", -1);
	story_fork(s, us * US + 300, cpu, parent, parent, child, child, "child");
	story_leave(s, (us + 1) * US, cpu, "clone", child);
	story_switch(s, (us + 2) * US, cpu + 1, 0, "swapper", RUN, child, "child");
}

static void exits(struct story *s, int64_t us, int64_t gone_us, uint32_t cpu, int tid)
{
	story_enter(s, us * US, cpu, "exit_group", -1);
	story_task(s, DTC_EVENT_SCHED_EXIT, us * US + 500, cpu, tid, "child", 0);
	story_switch(s, gone_us * US, cpu, tid, "child", DEAD, 0, "swapper");
}

static void moves(struct story *s, int64_t us, uint32_t cpu, const char *name)
{
	story_enter(s, us * US, cpu, name, FD);
	story_leave(s, (us + 1) * US, cpu, name, 40);
}

/* Until when a request lasts. */
static void add_life(DtcServing *serving, guint request, uint32_t thread, int64_t end_us)
{
	struct dtc_place *place = g_new0(struct dtc_place, 1);
	place->hops = g_array_new(FALSE, FALSE, sizeof(struct dtc_hop));
	place->thread = thread;
	place->has_end = true;
	place->end.ns = end_us * US;
	dtc_serving_add(serving, request, place);
	dtc_place_free(place);
}

static void tell(struct served_path *w, struct story *s, enum variant variant)
{
	story_begin(s, "n");
	story_switch(s, 1, 0, 0, "swapper/0", RUN, SERVER, "server");
	story_enter(s, 2 * US, 0, "socket", -1);
	story_leave(s, 3 * US, 0, "socket", FD);
	if (variant == AT_NOTHING)
		make_process(s, 5, 0, SERVER, CHILD);
	moves(s, 10, 0, "read");
	if (variant != AT_NOTHING)
		make_process(s, 20, 0, SERVER, CHILD);
	make_process(s, 30, 1, CHILD, GRANDCHILD);
	moves(s, 40, 1, "read");
	exits(s, 59, 60, 2, GRANDCHILD);
	if (variant != GOES_ON && variant != LINGERS)
		exits(s, 69, 70, 1, CHILD);
	if (variant == LINGERS)
		story_enter(s, 69 * US, 1, "exit_group", -1);
	moves(s, 80, 0, "write");
	if (variant == LINGERS)
		story_switch(s, 95 * US, 1, CHILD, "child", DEAD, 0, "swapper");
	story_switch(s, 100 * US, 0, SERVER, "server", SLEEP, 0, "swapper/0");
	story_end(s);
	*w = served_path_begin(s);
	add_life(w->serving, X, dtc_history_find_thread(w->history, SERVER, 10 * US), 90);
	served_path_add(w, SERVER, 10 * US, X, false);
	served_path_add(w, SERVER, 80 * US, X, true);
	if (variant == SERVES)
		served_path_add(w, CHILD, 40 * US, Y, false);
	dtc_serving_seal(w->serving, true);
}

static guint request_at(const struct served_path *w, int tid, int64_t us)
{
	uint32_t thread = dtc_history_find_thread(w->history, tid, us * US);
	const struct dtc_served *span = dtc_serving_find_span(w->serving, 0, thread, us * US);
	return span && !span->leads ? span->request : DTC_NO_REQUEST;
}

static void test(gconstpointer data)
{
	enum variant variant = (enum variant)GPOINTER_TO_UINT(data);
	guint made_for = variant == GONE || variant == LINGERS ? X : DTC_NO_REQUEST;
	struct story s;
	struct served_path w;
	tell(&w, &s, variant);
	g_assert_cmpuint(request_at(&w, SERVER, 15), ==, X);
	g_assert_cmpuint(request_at(&w, CHILD, 25), ==, made_for);
	g_assert_cmpuint(request_at(&w, CHILD, 65), ==, variant == SERVES ? Y : made_for);
	g_assert_cmpuint(request_at(&w, GRANDCHILD, 45), ==, made_for);
	served_path_clear(&w);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "gone", "lingers", "goes-on", "serves", "at-nothing" };
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_strconcat("/request/made-for/", names[i], NULL);
		g_test_add_data_func(path, GUINT_TO_POINTER(i), test);
	}
	return g_test_run();
}
