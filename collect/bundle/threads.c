/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/threads.h"

struct run {
	void (*do_part)(gpointer data, guint index);
	gpointer data;
	guint count;
	gint next; /* atomic: the first part that nobody has begun */
};

static gpointer do_some(gpointer data)
{
	struct run *run = data;
	guint index;
	while ((index = (guint)g_atomic_int_add(&run->next, 1)) < run->count)
		run->do_part(run->data, index);
	return NULL;
}

void dtc_threads_run(guint count, void (*do_part)(gpointer data, guint index), gpointer data)
{
	dtc_threads_run_on(g_get_num_processors(), count, do_part, data);
}

void dtc_threads_run_on(guint thread_count, guint count, void (*do_part)(gpointer data, guint index), gpointer data)
{
	struct run run = { .do_part = do_part, .data = data, .count = count };
	guint wanted = MIN(thread_count, count), started = 0;
	g_autofree GThread **threads = g_new0(GThread *, wanted + 1);
	/* the caller's is one of them; what cannot be started is done by those that could */
	while (started + 1 < wanted && (threads[started] = g_thread_try_new("part", do_some, &run, NULL)))
		started++;
	do_some(&run);
	for (guint i = 0; i < started; i++)
		g_thread_join(threads[i]);
}
