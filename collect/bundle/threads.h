/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work that falls into parts which know nothing of each other: one node, one pair of nodes. What a part makes goes to a
 * place of its own, so that the result is the same whatever the number of threads.
 */
#pragma once

#include <glib.h>

/*
 * Calls do_part(data, index) once for each index below count and returns when all are done. The caller's thread works
 * along with as many others as there are processors; without any it does all of it. Parts that come first are begun
 * first.
 */
void dtc_threads_run(guint count, void (*do_part)(gpointer data, guint index), gpointer data);
/* The same on up to so many threads, for parts that wait for something else than a processor. */
void dtc_threads_run_on(guint thread_count, guint count, void (*do_part)(gpointer data, guint index), gpointer data);
