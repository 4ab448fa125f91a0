/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is put comes out in order, however slow the reader is; a full disk is said and nobody waits for it. */
#include "collect/record/spool.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CHUNKS 20

static void *read_slowly(void *data)
{
	const int *fd = data;
	GByteArray *got = g_byte_array_new();
	static guint8 bytes[65536];

	for (ssize_t count; (count = read(*fd, bytes, sizeof(bytes))) > 0;) {
		g_byte_array_append(got, bytes, (guint)count);
		g_usleep(500);
	}
	return got;
}

static void test_order(void)
{
	int ends[2];

	g_assert_cmpint(pipe(ends), ==, 0);
	GThread *reader = g_thread_new("reader", read_slowly, &ends[0]);
	DtcSpool *spool = dtc_spool_new(ends[1], 3);
	for (int i = 0; i < CHUNKS; i++) {
		char *chunk = dtc_spool_take(spool);
		memset(chunk, i, DTC_SPOOL_CHUNK_BYTES);
		dtc_spool_put(spool, chunk, i % 2 ? DTC_SPOOL_CHUNK_BYTES : 1000);
	}
	dtc_spool_put(spool, dtc_spool_take(spool), 0);
	dtc_spool_finish(spool);
	g_assert_false(dtc_spool_is_failed(spool));
	dtc_spool_free(spool);
	close(ends[1]);
	GByteArray *got = g_thread_join(reader);
	g_assert_cmpuint(got->len, ==, CHUNKS / 2 * (DTC_SPOOL_CHUNK_BYTES + 1000));
	for (guint i = 1; i < got->len; i++)
		g_assert_true(got->data[i] == got->data[i - 1] || got->data[i] == got->data[i - 1] + 1);
	g_byte_array_unref(got);
	close(ends[0]);
}

static void test_full(void)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	g_autoptr(DtcSpool) spool = dtc_spool_new(fd, 1);
	for (int i = 0; i < CHUNKS; i++)
		dtc_spool_put(spool, memset(dtc_spool_take(spool), 0, 1000), 1000);
	dtc_spool_finish(spool);
	g_assert_true(dtc_spool_is_failed(spool));
	close(fd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/spool/order", test_order);
	g_test_add_func("/record/spool/full", test_full);
	return g_test_run();
}
