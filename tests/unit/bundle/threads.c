/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each part is done once, whatever their number, and all are done when it returns. */
#include "collect/bundle/threads.h"

static void do_part(gpointer data, guint index)
{
	guint *done = data;
	done[index] += index + 1;
}

static void test_each_once(void)
{
	const guint counts[] = { 0, 1, 2, 3, 1000 };
	for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
		g_autofree guint *done = g_new0(guint, counts[i] + 1);
		dtc_threads_run(counts[i], do_part, done);
		for (guint k = 0; k < counts[i]; k++)
			g_assert_cmpuint(done[k], ==, k + 1);
		g_assert_cmpuint(done[counts[i]], ==, 0);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/threads/each-once", test_each_once);
	return g_test_run();
}
