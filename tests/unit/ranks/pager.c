/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is touched comes, nothing else does, and what is read in a row comes in larger and larger parts. */
#include "analyze/ranks/pager.h"

#include <poll.h>
#include <string.h>

#define PAGE ((guint64)65536) /* at least one page anywhere */
#define PAGES ((guint64)200)
#define BYTES (PAGES * PAGE + 1000)

struct owner {
	DtcPager *pager;
	guint8 *file;
	gint putting;	/* atomic: threads that answer */
	gint fetches;	/* atomic */
	gint pages;	/* atomic: that were asked for, of 4 KiB */
	gint has_ended; /* atomic */
};

/* The pager is told in a thread of its own, as it would be by an owner. */
struct fetched {
	struct owner *owner;
	struct dtc_pager_name name;
	guint64 at;
	gsize bytes;
};

static void *put(void *data)
{
	struct fetched *fetched = data;

	g_usleep(200);
	/* in two parts, the first of whole pages */
	gsize half = fetched->bytes > PAGE ? fetched->bytes / 2 / PAGE * PAGE : 0;
	if (half)
		dtc_pager_put(fetched->owner->pager, fetched->name.file, fetched->at,
			      fetched->owner->file + fetched->at, half);
	dtc_pager_put(fetched->owner->pager, fetched->name.file, fetched->at + half,
		      fetched->owner->file + fetched->at + half, fetched->bytes - half);
	g_atomic_int_add(&fetched->owner->putting, -1);
	g_free(fetched);
	return NULL;
}

static void fetch(void *data, const struct dtc_pager_name *name, guint64 at, gsize bytes)
{
	struct owner *owner = data;
	struct fetched *fetched = g_new(struct fetched, 1);

	g_assert_cmpuint(name->rank, ==, 4);
	g_assert_cmpuint(name->image, ==, 9);
	g_assert_cmpuint(at + bytes, <=, BYTES);
	*fetched = (struct fetched){ owner, *name, at, bytes };
	g_atomic_int_inc(&owner->putting);
	g_atomic_int_inc(&owner->fetches);
	g_atomic_int_add(&owner->pages, (gint)((bytes + 4095) / 4096));
	g_thread_unref(g_thread_new("put", put, fetched));
}

static void *listen(void *data)
{
	struct owner *owner = data;
	struct pollfd file = { dtc_pager_get_file(owner->pager), POLLIN, 0 };

	while (!g_atomic_int_get(&owner->has_ended))
		if (poll(&file, 1, 20) > 0)
			dtc_pager_answer(owner->pager);
	return NULL;
}

static GThread *begin(struct owner *owner)
{
	*owner = (struct owner){ .file = g_malloc(BYTES) };
	for (gsize i = 0; i < BYTES; i++)
		owner->file[i] = (guint8)(i * 13 + (i >> 12));
	owner->pager = dtc_pager_new(fetch, owner);
	return dtc_pager_get_file(owner->pager) >= 0 ? g_thread_new("listen", listen, owner) : NULL;
}

static void end(struct owner *owner, GThread *thread)
{
	g_atomic_int_set(&owner->has_ended, 1);
	if (thread)
		g_thread_join(thread);
	while (g_atomic_int_get(&owner->putting)) /* they use it */
		g_usleep(1000);
	dtc_pager_free(owner->pager);
	g_free(owner->file);
}

static struct dtc_pager_file *add(struct owner *owner, gsize begin_bytes)
{
	g_autoptr(GBytes) first = g_bytes_new_static(owner->file, begin_bytes);
	g_autoptr(GError) error = NULL;
	struct dtc_pager_file *file = dtc_pager_add(owner->pager, 4, 9, BYTES, first, &error);

	g_assert_no_error(error);
	return file;
}

static void test_touched(void)
{
	struct owner owner;
	GThread *thread = begin(&owner);

	if (!thread) {
		g_test_skip("no userfaultfd");
		end(&owner, thread);
		return;
	}
	struct dtc_pager_file *file = add(&owner, PAGE);
	const guint8 *data = dtc_pager_get_data(file);
	g_assert_cmpuint(data[100], ==, owner.file[100]);
	g_assert_cmpint(g_atomic_int_get(&owner.fetches), ==, 0);
	g_assert_cmpuint(data[150 * PAGE + 77], ==, owner.file[150 * PAGE + 77]);
	g_assert_cmpuint(data[BYTES - 1], ==, owner.file[BYTES - 1]);
	g_assert_cmpint(g_atomic_int_get(&owner.fetches), ==, 2);
	g_assert_cmpint(g_atomic_int_get(&owner.pages), <=, 2 * (gint)(PAGE / 4096));
	dtc_pager_release(file);
	end(&owner, thread);
}

static void test_row(void)
{
	struct owner owner;
	GThread *thread = begin(&owner);
	struct dtc_pager_file *file = add(&owner, 0);
	const guint8 *data = dtc_pager_get_data(file);

	g_assert_true(memcmp(data, owner.file, BYTES) == 0);
	/* 3,200 pages by twos and fours up to 256 */
	g_assert_cmpint(g_atomic_int_get(&owner.fetches), <=, 24);
	dtc_pager_release(file);
	end(&owner, thread);
}

struct reader {
	const struct owner *owner;
	const guint8 *data;
	guint seed;
};

static void *read_some(void *data)
{
	const struct reader *reader = data;
	guint64 at = reader->seed;

	for (guint i = 0; i < 500; i++) {
		at = (at * 2862933555777941757 + 3037000493) % BYTES;
		g_assert_cmpuint(reader->data[at], ==, reader->owner->file[at]);
	}
	return NULL;
}

/* Several threads touch the same pages. */
static void test_threads(void)
{
	struct owner owner;
	GThread *thread = begin(&owner), *threads[4];
	struct dtc_pager_file *file = add(&owner, PAGE);
	struct reader readers[4];

	for (guint i = 0; i < G_N_ELEMENTS(threads); i++) {
		readers[i] = (struct reader){ &owner, dtc_pager_get_data(file), i / 2 };
		threads[i] = g_thread_new("read", read_some, &readers[i]);
	}
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
	dtc_pager_release(file);
	end(&owner, thread);
}

/* More than may be held is the same when it is read again: of two files in turn, forward and by several threads. */
static void read_again(struct owner *owner)
{
	struct dtc_pager_file *files[] = { add(owner, PAGE), add(owner, 0) };
	GThread *threads[4];
	struct reader readers[4];

	for (guint i = 0; i < 6; i++)
		g_assert_true(memcmp(dtc_pager_get_data(files[i % 2]), owner->file, BYTES) == 0);
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++) {
		readers[i] = (struct reader){ owner, dtc_pager_get_data(files[i % 2]), i / 2 };
		threads[i] = g_thread_new("read", read_some, &readers[i]);
	}
	for (guint i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
	dtc_pager_release(files[0]);
	dtc_pager_release(files[1]);
}

/* It is there that the process keeps what it may not hold. */
static void test_budget(void)
{
	struct owner owner;

	g_setenv("DTRACE_CHAIN_MPI_MIB", "1", TRUE); /* 8 */
	GThread *thread = begin(&owner);
	read_again(&owner);
	if (thread) /* each page once, but for those that two threads read at the same time */
		g_assert_cmpint(g_atomic_int_get(&owner.pages), <, (gint)(5 * BYTES / 4096 / 2));
	end(&owner, thread);
	g_unsetenv("DTRACE_CHAIN_MPI_MIB");
}

/* A full disk, or none: its owner is asked again. */
static void test_no_room(void)
{
	struct owner owner;

	if (!g_test_subprocess()) {
		g_setenv("TMPDIR", "/dev/null/nowhere", TRUE);
		g_setenv("DTRACE_CHAIN_MPI_MIB", "1", TRUE);
		g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
		g_unsetenv("DTRACE_CHAIN_MPI_MIB");
		g_unsetenv("TMPDIR");
		g_test_trap_assert_passed();
		return;
	}
	GThread *thread = begin(&owner);
	read_again(&owner);
	if (thread)
		g_assert_cmpint(g_atomic_int_get(&owner.pages), >, (gint)(5 * BYTES / 4096));
	end(&owner, thread);
}

/* Where there is no userfaultfd. */
static void test_whole(void)
{
	struct owner owner;

	g_setenv("DTRACE_CHAIN_WHOLE_IMAGES", "1", TRUE);
	GThread *thread = begin(&owner);
	g_assert_null(thread);
	struct dtc_pager_file *file = add(&owner, PAGE);
	g_assert_true(memcmp(dtc_pager_get_data(file), owner.file, BYTES) == 0);
	g_assert_cmpint(g_atomic_int_get(&owner.fetches), ==, 1);
	dtc_pager_release(file);
	end(&owner, thread);
	g_unsetenv("DTRACE_CHAIN_WHOLE_IMAGES");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pager/touched", test_touched);
	g_test_add_func("/pager/row", test_row);
	g_test_add_func("/pager/threads", test_threads);
	g_test_add_func("/pager/budget", test_budget);
	g_test_add_func("/pager/no-room", test_no_room);
	g_test_add_func("/pager/whole", test_whole);
	return g_test_run();
}
