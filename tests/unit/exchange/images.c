/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests as an image: the same when they are loaded, and refused if their ids or times are none of theirs. */
#include "analyze/exchange/exchanges.h"
#include "dtrace-chain/error.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* Of a saved request; docs/formats.md has no more than that the format is private. */
#define RECORD_BYTES 80
#define IDENTITY_BYTES 12
#define REQUEST_NS_AT 0
#define REQUEST_END_NS_AT 8
#define RESPONSE_NS_AT 16
#define IDENTITY_FIRST_AT 64

static DtcPackets *make_packets(void)
{
	DtcPackets *packets = dtc_packets_new();
	struct dtc_headers headers = { .ip_version = 4, .protocol = DTC_PROTOCOL_TCP, .source = { [15] = 1 } };

	dtc_packets_add(packets, 1000, DTC_SENT, 0, 0, &headers);
	dtc_packets_add(packets, 2000, DTC_SENT, 0, 0, &headers);
	dtc_packets_seal(packets);
	return packets;
}

/* So many, each with one id, and without an answer. */
static DtcExchanges *make_exchanges(guint count)
{
	DtcExchanges *exchanges = dtc_exchanges_new(0);

	for (guint i = 0; i < count; i++) {
		g_autofree char *id = g_strdup_printf("request-%u", i);
		const struct dtc_identity identity = { "x-request-id", id, id };
		const struct dtc_exchange exchange = { .method = "GET",
						       .target = "/",
						       .identities = &identity,
						       .identity_count = 1,
						       .has_request = true,
						       .request_ns = 1000,
						       .request_end_ns = 2000,
						       .response_ns = DTC_TIME_NONE,
						       .response_end_ns = DTC_TIME_NONE };
		dtc_exchanges_add(exchanges, &exchange);
	}
	return exchanges;
}

static DtcImage *make_image(const DtcImageWriter *writer)
{
	const struct dtc_image_key key = { { 0 } };
	g_autoptr(GError) error = NULL;
	g_autofree char *path = NULL;
	int file = g_file_open_tmp("exchanges-XXXXXX", &path, &error);

	g_assert_no_error(error);
	g_assert_true(dtc_image_write(writer, file, &key, &error));
	DtcImage *image = dtc_image_map(file, "image", &key, &error);
	g_assert_no_error(error);
	close(file);
	g_unlink(path);
	return image;
}

static DtcImage *save(const DtcExchanges *exchanges)
{
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();

	dtc_exchanges_save(exchanges, writer);
	return make_image(writer);
}

/* The same image, but for some bytes of a request. */
static DtcImage *change(const DtcImage *image, guint record, gsize at, const void *bytes, gsize bytes_count)
{
	static const struct {
		const char *name;
		gsize record_bytes;
	} sections[] = {
		{ "exchanges.head", 16 },
		{ "exchanges.records", RECORD_BYTES },
		{ "exchanges.identities", IDENTITY_BYTES },
		{ "exchanges.strings", 1 },
	};
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autofree char *records = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(sections); i++) {
		gsize count;
		const void *data = dtc_image_get(image, sections[i].name, sections[i].record_bytes, &count, NULL);
		g_assert_nonnull(data);
		if (sections[i].record_bytes == RECORD_BYTES) {
			data = records = g_memdup2(data, count * RECORD_BYTES);
			memcpy(records + record * RECORD_BYTES + at, bytes, bytes_count);
		}
		dtc_image_add(writer, sections[i].name, sections[i].record_bytes, data, count);
	}
	return make_image(writer);
}

static void test_same(void)
{
	g_autoptr(DtcPackets) packets = make_packets();
	g_autoptr(DtcExchanges) exchanges = make_exchanges(3);
	g_autoptr(DtcImage) image = save(exchanges);
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcExchanges) loaded = dtc_exchanges_load(image, 5, packets, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(dtc_exchanges_get_count(loaded), ==, 3);
	for (guint i = 0; i < 3; i++) {
		const struct dtc_exchange *a = dtc_exchanges_get(exchanges, i), *b = dtc_exchanges_get(loaded, i);
		g_assert_cmpuint(b->node, ==, 5);
		g_assert_cmpuint(b->identity_count, ==, 1);
		g_assert_cmpstr(b->identities[0].id, ==, a->identities[0].id);
		g_assert_cmpstr(b->target, ==, "/");
	}
}

/* Requests that share their ids would take memory without end. */
static void test_shared_identities(void)
{
	g_autoptr(DtcPackets) packets = make_packets();
	g_autoptr(DtcExchanges) exchanges = make_exchanges(3);
	g_autoptr(DtcImage) image = save(exchanges);

	for (guint32 first = 0; first < 3; first++) {
		g_autoptr(DtcImage) other = change(image, 1, IDENTITY_FIRST_AT, &first, sizeof(first));
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcExchanges) loaded = dtc_exchanges_load(other, 0, packets, &error);
		if (first == 1) {
			g_assert_no_error(error);
			continue;
		}
		g_assert_null(loaded);
		g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED);
	}
}

/* All are those of packets, of which differences can be made. */
static void test_times(void)
{
	static const struct {
		gsize at;
		gint64 ns;
		bool is_good;
	} changes[] = {
		{ REQUEST_NS_AT, 1500, true },		 { REQUEST_NS_AT, 999, false },
		{ REQUEST_NS_AT, DTC_TIME_NONE, false }, { REQUEST_NS_AT, G_MAXINT64, false },
		{ REQUEST_END_NS_AT, 999, false },	 { REQUEST_END_NS_AT, 2001, false },
		{ RESPONSE_NS_AT, 1500, false },
	};
	g_autoptr(DtcPackets) packets = make_packets();
	g_autoptr(DtcExchanges) exchanges = make_exchanges(2);
	g_autoptr(DtcImage) image = save(exchanges);

	for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
		g_autoptr(DtcImage) other = change(image, 1, changes[i].at, &changes[i].ns, sizeof(changes[i].ns));
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcExchanges) loaded = dtc_exchanges_load(other, 0, packets, &error);
		g_test_message("change %" G_GSIZE_FORMAT, i);
		g_assert_true((loaded != NULL) == changes[i].is_good);
		g_assert_true(loaded || g_error_matches(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/exchange/images/same", test_same);
	g_test_add_func("/exchange/images/shared-identities", test_shared_identities);
	g_test_add_func("/exchange/images/times", test_times);
	return g_test_run();
}
