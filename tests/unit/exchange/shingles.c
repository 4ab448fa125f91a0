/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shingles: what two messages have in common is kept, what many have or one alone is not; as an image they are the
 * same. */
#include "analyze/exchange/shingles.h"
#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define FLOWS 4

static DtcPackets *make_packets(void)
{
	DtcPackets *packets = dtc_packets_new();
	for (uint8_t i = 1; i <= FLOWS / 2; i++) { /* and their reverse */
		struct dtc_headers headers = { .ip_version = 4, .protocol = DTC_PROTOCOL_TCP, .source = { [15] = i } };
		dtc_packets_add(packets, 1000 * i, DTC_SENT, 0, 0, &headers);
	}
	dtc_packets_seal(packets);
	return packets;
}

static void add(DtcShingles *shingles, uint32_t flow, uint32_t seq, const char *text)
{
	dtc_shingles_add(shingles, flow, seq, (const uint8_t *)text, (uint32_t)strlen(text));
}

static guint count(const DtcShingles *shingles, uint32_t flow, uint32_t seq, uint32_t bytes)
{
	guint found;
	(void)dtc_shingles_find(shingles, flow, seq, bytes, &found);
	return found;
}

#define JOB "{\"job\": \"thumbnail-of-9d3f1c7a\"}"

static DtcShingles *make(void)
{
	DtcShingles *shingles = dtc_shingles_new(0);
	add(shingles, 0, 0xfffffff0, "*3\r\n$5\r\nLPUSH\r\n" JOB);
	for (uint32_t i = 0; i < 20; i++)
		add(shingles, i % 2, 1000 + 100 * i, "what every message says, over and over");
	add(shingles, 2, 500, "$4\r\njobs\r\n" JOB);
	add(shingles, 0, 5000, "said once, and by nobody else at all");
	dtc_shingles_finish(shingles);
	return shingles;
}

static void assert_told(const DtcShingles *shingles)
{
	guint in = count(shingles, 0, 0xfffffff0, 50), out = count(shingles, 2, 500, 50);
	g_assert_cmpuint(in, >, 4);
	g_assert_cmpuint(in, ==, out);
	g_assert_cmpuint(count(shingles, 0, 1000, 8000), ==, 0);
	g_assert_cmpuint(count(shingles, 1, 0, 8000), ==, 0);
	g_assert_cmpuint(count(shingles, 3, 0, 8000), ==, 0);
	g_assert_cmpuint(count(shingles, 0, 0xfffffff0, 8), ==, 0); /* the head is the protocol's */
	guint found;
	const struct dtc_shingle *list = dtc_shingles_find(shingles, 2, 500, 50, &found);
	for (guint i = 0; i < found; i++) {
		g_assert_cmpuint(dtc_shingles_count_alike(shingles, list[i].hash), ==, 2);
		g_assert_cmpuint(dtc_shingles_get_alike(shingles, list[i].hash, 0)->flow, ==, 0);
		g_assert_cmpuint(dtc_shingles_get_alike(shingles, list[i].hash, 1)->seq, ==, list[i].seq);
	}
	g_assert_cmpuint(dtc_shingles_count_alike(shingles, list[0].hash ^ 2), ==, 0);
}

static void test_told(void)
{
	g_autoptr(DtcShingles) shingles = make();
	assert_told(shingles);
	g_assert_false(dtc_shingles_are_none(shingles));
}

/* Sent again, or out of order: once is enough, and on one connection alone it tells nothing. */
static void test_again(void)
{
	g_autoptr(DtcShingles) shingles = dtc_shingles_new(0);
	add(shingles, 0, 100, JOB);
	add(shingles, 0, 100, JOB);
	add(shingles, 0, 90, JOB);
	add(shingles, 0, 200, JOB);
	dtc_shingles_finish(shingles);
	g_assert_true(dtc_shingles_are_none(shingles));
}

/* More than 2 GiB of a connection have no place behind its begin. */
static void test_long(void)
{
	g_autoptr(DtcShingles) shingles = dtc_shingles_new(0);
	static const char *const jobs[] = { "the first of its messages", "one in its middle, later on",
					    "what comes in the third GiB" };
	for (uint32_t i = 0; i < 3; i++) {
		add(shingles, 0, i * 0x50000000, jobs[i]);
		add(shingles, 2, i * 0x1000, jobs[i]);
	}
	dtc_shingles_finish(shingles);
	for (guint i = 0; i < 2; i++)
		g_assert_cmpuint(count(shingles, 0, i * 0x50000000, 100), >, 0);
	g_assert_cmpuint(count(shingles, 0, 0xa0000000, 100), ==, 0);
}

/* Of more than may be kept fewer count, the same of each message: it is passed on even so. */
static void test_full(void)
{
	g_autoptr(DtcShingles) shingles = dtc_shingles_new(64);
	for (uint32_t i = 0; i < 40; i++) {
		g_autofree char *text = g_strdup_printf("{\"job\": \"%08x-%08x\"}", i * 2654435761u, i * 40503u);
		add(shingles, 0, 100 * i, text);
		add(shingles, 2, 100 * i, text);
	}
	dtc_shingles_finish(shingles);
	guint in = count(shingles, 0, 0, 4000);
	g_assert_cmpuint(in, >, 8);
	g_assert_cmpuint(in, <=, 32);
	g_assert_cmpuint(in, ==, count(shingles, 2, 0, 4000));
}

static DtcImage *make_image(const struct dtc_shingle *list, gsize length)
{
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	const struct dtc_image_key key = { { 0 } };
	g_autoptr(GError) error = NULL;
	g_autofree char *path = NULL;
	g_autoptr(DtcShingles) made = make();
	int file = g_file_open_tmp("shingles-XXXXXX", &path, &error);
	g_assert_no_error(error);
	if (list)
		dtc_image_add_copy(writer, "shingles", sizeof(*list), list, length);
	else
		dtc_shingles_save(made, writer);
	g_assert_true(dtc_image_write(writer, file, &key, &error));
	DtcImage *image = dtc_image_map(file, "image", &key, &error);
	g_assert_no_error(error);
	close(file);
	g_unlink(path);
	return image;
}

static void test_image(void)
{
	g_autoptr(DtcPackets) packets = make_packets();
	g_autoptr(DtcImage) image = make_image(NULL, 0);
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcShingles) loaded = dtc_shingles_load(image, packets, &error);
	g_assert_no_error(error);
	assert_told(loaded);
}

static void test_damaged(void)
{
	static const struct dtc_shingle lists[][3] = {
		{ { 2, 0, 100 }, { 4, 0, 100 }, { 6, 1, 100 } },	      /* one place twice */
		{ { 2, 1, 100 }, { 4, 0, 200 }, { 6, 1, 300 } },	      /* flows out of order */
		{ { 2, 0, 100 }, { 4, 0, 200 }, { 6, FLOWS, 100 } },	      /* of no flow */
		{ { 2, 0, 100 }, { 4, 0, 0x7fffffff }, { 6, 0, 0x80000065 } } /* 2 GiB on */
	};
	g_autoptr(DtcPackets) packets = make_packets();
	for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
		g_autoptr(DtcImage) image = make_image(lists[i], 3);
		g_autoptr(GError) error = NULL;
		g_assert_null(dtc_shingles_load(image, packets, &error));
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/shingles/told", test_told);
	g_test_add_func("/shingles/again", test_again);
	g_test_add_func("/shingles/long", test_long);
	g_test_add_func("/shingles/full", test_full);
	g_test_add_func("/shingles/image", test_image);
	g_test_add_func("/shingles/damaged", test_damaged);
	return g_test_run();
}
