/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trace of a tracer that aligns: what lies between its fields goes, what its fields say stays. */
#include "collect/redact/trace.h"

#include <glib/gstdio.h>
#include <string.h>

#define PACKET_BYTES 128
#define SECRET "secret"

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 32; align = 32; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 64; signed = false; } := uint64_t;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint32_t magic; uint32_t stream_id; "
	"};\n"
	"};\n"
	"clock { name = \"monotonic\"; freq = 1000000000; offset = 0; };\n"
	"typealias integer { size = 64; align = 64; map = clock.monotonic.value; } := time_t;\n"
	"stream { id = 0; event.header := struct { uint8_t id; time_t timestamp; };\n"
	"packet.context := struct { uint32_t content_size; uint32_t packet_size; }; };\n"
	"event { id = 0; name = \"e\"; stream_id = 0;\n"
	"fields := struct { uint8_t count; uint32_t values[count]; uint8_t kind; uint64_t number; string name; }; };\n";

static void put32(uint8_t *at, uint32_t value)
{
	value = GUINT32_TO_LE(value);
	memcpy(at, &value, sizeof(value));
}

/* Two events: their fields are small numbers, and there is a secret wherever there is no field. */
static void make_packet(uint8_t packet[PACKET_BYTES])
{
	for (guint i = 0; i < PACKET_BYTES; i++)
		packet[i] = (uint8_t)SECRET[i % strlen(SECRET)];
	put32(packet, 0xc1fc1fc1);
	put32(packet + 4, 0);
	put32(packet + 8, 120 * 8);
	put32(packet + 12, PACKET_BYTES * 8);
	for (guint i = 0; i < 2; i++) {
		uint8_t *event = packet + 16 + i * 56;
		event[0] = 0;
		memset(event + 8, 0, 8);
		event[8] = (uint8_t)(i + 1);
		event[16] = (uint8_t)(i * 2); /* of values, at 20 if there are any */
		memset(event + 20, 7, i * 8);
		event[20 + i * 8] = 3;
		memset(event + 24 + i * 8, 9, 8);
		memcpy(event + 32 + i * 8, i ? "abcdefg" : "abcdefghijklmnopqrstuvw", i ? 8 : 24);
	}
}

static void check_event(const uint8_t *event, guint number)
{
	g_assert_cmpuint(event[8], ==, number + 1);
	g_assert_cmpuint(event[16], ==, number * 2);
	for (guint i = 0; i < number * 8; i++)
		g_assert_cmpuint(event[20 + i], ==, 7);
	g_assert_cmpuint(event[20 + number * 8], ==, 3);
	for (guint i = 0; i < 8; i++)
		g_assert_cmpuint(event[24 + number * 8 + i], ==, 9);
}

static void check_copy(const char *folder, const uint8_t *packet)
{
	g_autofree char *path = g_build_filename(folder, "cpu0", NULL);
	char *bytes = NULL;
	gsize count = 0;
	g_assert_true(g_file_get_contents(path, &bytes, &count, NULL));
	g_assert_cmpuint(count, ==, PACKET_BYTES);
	g_assert_cmpmem(bytes, 16, packet, 16);
	check_event((const uint8_t *)bytes + 16, 0);
	check_event((const uint8_t *)bytes + 72, 1);
	for (gsize i = 0; i + 3 <= count; i++)
		for (gsize k = 0; k + 3 <= strlen(SECRET); k++)
			g_assert_cmpint(memcmp(bytes + i, SECRET + k, 3), !=, 0);
	g_free(bytes);
	g_unlink(path);
}

static void test_padding(void)
{
	g_autofree char *from = g_dir_make_tmp("dtc-trace-XXXXXX", NULL),
			*to = g_dir_make_tmp("dtc-trace-XXXXXX", NULL);
	g_autofree char *described = g_build_filename(from, "metadata", NULL);
	g_autofree char *described_again = g_build_filename(to, "metadata", NULL);
	g_autofree char *stream = g_build_filename(from, "cpu0", NULL);
	g_autoptr(GError) error = NULL;
	struct dtc_redaction redaction;
	uint8_t packet[PACKET_BYTES];

	make_packet(packet);
	g_assert_true(g_file_set_contents(described, metadata, -1, NULL));
	g_assert_true(g_file_set_contents(stream, (const char *)packet, sizeof(packet), NULL));
	g_assert_true(dtc_redaction_init(&redaction, DTC_REDACT_PAYLOAD | DTC_REDACT_NAMES, NULL, &error));
	dtc_trace_redact(&redaction, "node", from, to, &error);
	g_assert_no_error(error);
	check_copy(to, packet);
	dtc_redaction_clear(&redaction);
	g_unlink(described);
	g_unlink(described_again);
	g_unlink(stream);
	g_rmdir(from);
	g_rmdir(to);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/trace/padding", test_padding);
	return g_test_run();
}
