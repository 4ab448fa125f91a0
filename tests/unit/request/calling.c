/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A loop that has read X's question calls another one of its process by an eventfd, which asks a server for it. Or two
 * have called it, or several threads read there, or it reads a question of Y's first. Times in microseconds.
 *
 *   reader   10 reads X's question  12 calls
 *   other                           14 calls (TWICE)
 *   asker    polls                  20 reads the eventfd  (25 reads Y's)  30 asks  40 polls
 */
#include "tests/support/served_path.h"

#define RUN 0
#define US G_GINT64_CONSTANT(1000)
#define READER 20
#define ASKER 21
#define OTHER 22
#define EVENT 9
#define OURS 4
#define OTHERS 5
#define SERVER 6
#define X 0
#define Y 1

enum variant { ALONE, TWICE, SHARED, READS, OWN };

static void tell_call(struct story *s, int64_t us, uint32_t cpu, const char *name, int64_t fd, int64_t result)
{
	story_enter(s, us * US, cpu, name, fd);
	story_leave(s, (us + 1) * US, cpu, name, result);
}

static void tell(struct story *s, struct served_path *w, enum variant variant)
{
	story_begin(s, "n");
	story_switch(s, 1, 0, 0, "swapper/0", RUN, READER, "loop");
	story_fork(s, 2, 0, READER, READER, ASKER, READER, "loop");
	story_fork(s, 3, 0, READER, READER, OTHER, READER, "loop");
	story_switch(s, 4, 1, 0, "swapper/1", RUN, ASKER, "loop");
	story_switch(s, 5, 2, 0, "swapper/2", RUN, OTHER, "loop");
	tell_call(s, 1, 0, "eventfd2", -1, EVENT);
	for (int64_t fd = OURS; fd <= SERVER; fd++)
		tell_call(s, 3 + 2 * (fd - OURS), 0, "socket", -1, fd);
	if (variant == OWN) {
		story_enter(s, 8 * US + 200, 1, "read", OTHERS);
		story_leave(s, 8 * US + 400, 1, "read", 40);
		story_poll(s, 8 * US + 500, 0, "epoll_wait", 3, -1);
	}
	story_poll(s, 9 * US, 1, "epoll_wait", 3, -1);
	if (variant == OWN) {
		story_switch(s, 9 * US + 100, 1, ASKER, "loop", 1, 0, "swapper/1");
		story_leave(s, 9 * US + 500, 0, "epoll_wait", 1);
	}
	tell_call(s, 10, 0, "read", OURS, 40);
	tell_call(s, 12, 0, "write", EVENT, 8);
	if (variant == TWICE)
		tell_call(s, 14, 2, "write", EVENT, 8);
	if (variant == OWN) {
		story_task(s, DTC_EVENT_SCHED_WAKING, 14 * US, 0, ASKER, "loop", 1);
		story_switch(s, 15 * US, 1, 0, "swapper/1", 0, ASKER, "loop");
	}
	story_leave(s, 16 * US, 1, "epoll_wait", 1);
	tell_call(s, 20, 1, "read", EVENT, 8);
	if (variant == READS)
		tell_call(s, 25, 1, "read", OTHERS, 40);
	tell_call(s, 30, 1, "write", variant == OWN ? OTHERS : SERVER, 44);
	story_poll(s, 40 * US, 1, "epoll_wait", 3, -1);
	story_leave(s, 50 * US, 1, "epoll_wait", 1);
	if (variant == SHARED) {
		tell_call(s, 60, 2, "write", EVENT, 8);
		tell_call(s, 62, 2, "read", EVENT, 8);
	}
	story_end(s);
	*w = served_path_begin(s);
	served_path_add(w, READER, 10 * US, X, false);
	if (variant == READS)
		served_path_add(w, ASKER, 25 * US, Y, false);
	if (variant == OWN)
		served_path_add(w, ASKER, 8 * US + 200, Y, false);
	dtc_serving_seal(w->serving, true);
}

static guint request_at(const struct served_path *w, int64_t us)
{
	uint32_t thread = dtc_history_find_thread(w->history, ASKER, us * US);
	const struct dtc_served *span = dtc_serving_find_span(w->serving, 0, thread, us * US);
	return span && !span->leads ? span->request : DTC_NO_REQUEST;
}

static void test(gconstpointer data)
{
	static const guint asked[] = { [ALONE] = X, [TWICE] = DTC_NO_REQUEST, [SHARED] = DTC_NO_REQUEST, [READS] = Y };
	enum variant variant = (enum variant)GPOINTER_TO_UINT(data);
	struct story s;
	struct served_path w;
	tell(&s, &w, variant);
	const struct dtc_owned *owned =
		dtc_serving_find_owned(w.serving, 0, served_path_find_call(&w, ASKER, 30 * US), 0);
	g_assert_cmpuint(owned ? owned->request : DTC_NO_REQUEST, ==, asked[variant]);
	g_assert_cmpuint(request_at(&w, 22), ==, variant == READS ? X : asked[variant]);
	g_assert_cmpuint(request_at(&w, 45), ==, DTC_NO_REQUEST);
	served_path_clear(&w);
}

/*
 * The other loop answers Y, that it had read itself, in the turn in which it is called: no pool's thread has told it
 * to, but a loop whose own calls tell that it called for X.
 */
static void test_own(void)
{
	struct story s;
	struct served_path w;
	tell(&s, &w, OWN);
	uint32_t thread = dtc_history_find_thread(w.history, READER, 10 * US);
	const struct dtc_served *before = dtc_serving_find_span(w.serving, 0, thread, 9 * US + 600);
	const struct dtc_served *span = dtc_serving_find_span(w.serving, 0, thread, 11 * US);
	g_assert_true(!before || before->leads);
	g_assert_nonnull(span);
	g_assert_cmpuint(span->request, ==, X);
	served_path_clear(&w);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "alone", "twice", "shared", "reads" };
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_strconcat("/request/calling/", names[i], NULL);
		g_test_add_data_func(path, GUINT_TO_POINTER(i), test);
	}
	g_test_add_func("/request/calling/own", test_own);
	return g_test_run();
}
