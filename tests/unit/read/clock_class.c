/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/clock_class.h"
#include "collect/read/reader.h"

#include <glib/gstdio.h>
#include <string.h>

static void test_text(void)
{
	static const struct {
		const char *text;
		bool is_found;
		const char *name, *uuid;
		guint64 frequency_hz;
		int64_t offset_s, offset_cycles;
	} cases[] = {
		{ "clock {\n\tname = \"monotonic\";\n\tuuid = \"ab-cd\";\n\tfreq = 1000000000; /* Hz */\n"
		  "\toffset = 1795168674639826578;\n};\n",
		  true, "monotonic", "ab-cd", 1000000000, 0, 1795168674639826578 },
		{ "clock{name=m;freq=19200000;offset_s=-5;offset=7;}", true, "m", "", 19200000, -5, 7 },
		{ "clock { name = m; }", true, "m", "", 1000000000, 0, 0 },
		{ "typealias integer { map = clock.m.value; };\nmyclock { freq = 1; };\nclock { freq = 2; };", true, "",
		  "", 2, 0, 0 },
		{ "clock", false, NULL, NULL, 0, 0, 0 },
		{ "clock {", false, NULL, NULL, 0, 0, 0 },
		{ "clock { freq = 12", false, NULL, NULL, 0, 0, 0 },
		{ "", false, NULL, NULL, 0, 0, 0 },
		/* not a number, and one that does not fit, are as if they were not there */
		{ "clock { freq = fast; offset = 99999999999999999999; }", true, "", "", 1000000000, 0, 0 },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		/* exactly as many bytes, so that a sanitizer sees a read beyond them */
		gsize bytes = strlen(cases[i].text);
		g_autofree char *copy = g_memdup2(cases[i].text, bytes);
		struct dtc_clock_class clock = { 0 };
		g_assert_cmpint(dtc_clock_class_parse(copy ? copy : "", bytes, &clock), ==, cases[i].is_found);
		if (cases[i].is_found) {
			g_assert_cmpstr(clock.name, ==, cases[i].name);
			g_assert_cmpstr(clock.uuid, ==, cases[i].uuid);
			g_assert_cmpuint(clock.frequency_hz, ==, cases[i].frequency_hz);
			g_assert_cmpint(clock.offset_s, ==, cases[i].offset_s);
			g_assert_cmpint(clock.offset_cycles, ==, cases[i].offset_cycles);
		}
		dtc_clock_class_clear(&clock);
	}
}

/* The clock's text is cut by the end of a packet; the sizes lie in one way after the other. */
static void test_packets(void)
{
	static const char text[] = "/* CTF 1.8 */ clock { name = m; freq = 1234; offset = 5; };";
	const gsize head = 37, cut = 25;
	g_autofree char *folder = g_dir_make_tmp("dtc-clock-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "metadata", NULL);
	g_autoptr(GByteArray) file = g_byte_array_new();

	for (gsize at = 0; at < strlen(text); at += cut) {
		gsize part = MIN(cut, strlen(text) - at);
		guint8 packet[64] = { 0x57, 0x1d, 0xd1, 0x75 };
		const guint32 content_bits = GUINT32_TO_LE((guint32)(head + part) * 8);
		const guint32 packet_bits = GUINT32_TO_LE((guint32)sizeof(packet) * 8);
		memcpy(packet + 24, &content_bits, 4);
		memcpy(packet + 28, &packet_bits, 4);
		memcpy(packet + head, text + at, part);
		g_byte_array_append(file, packet, sizeof(packet));
	}
	struct dtc_clock_class clock = { 0 };
	g_assert_true(g_file_set_contents(path, (char *)file->data, file->len, NULL));
	g_assert_true(dtc_clock_class_read(folder, &clock));
	g_assert_cmpstr(clock.name, ==, "m");
	g_assert_cmpuint(clock.frequency_hz, ==, 1234);
	dtc_clock_class_clear(&clock);
	/* sizes that lie: nothing is read beyond the file, and nothing loops */
	for (gsize i = 24; i < 32; i++) {
		for (guint value = 0; value < 256; value += 15) {
			guint8 before = file->data[i];
			file->data[i] = (guint8)value;
			g_assert_true(g_file_set_contents(path, (char *)file->data, file->len, NULL));
			if (dtc_clock_class_read(folder, &clock))
				dtc_clock_class_clear(&clock);
			file->data[i] = before;
		}
	}
	g_unlink(path);
	g_assert_false(dtc_clock_class_read(folder, &clock));
	g_rmdir(folder);
}

/* What the demo's metadata says. */
static void test_demo(void)
{
	g_autofree char *path = g_build_filename(g_getenv("DTC_SOURCE_DIR"), "clusters/demo/web/kernel", NULL);
	struct dtc_clock_class clock = { 0 };
	g_assert_true(dtc_clock_class_read(path, &clock));
	g_assert_cmpstr(clock.name, ==, "monotonic");
	g_assert_cmpstr(clock.uuid, ==, "127e86ee-fa24-47d1-807a-c14ccd6321de");
	g_assert_cmpint(clock.offset_cycles, ==, 1795168674639826578);
	dtc_clock_class_clear(&clock);
}

/* CTF 2 tells the same in JSON. */
static void test_version_2(void)
{
	static const char text[] =
		"\x1e{\"type\":\"preamble\",\"version\":2,\"uuid\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,255]}\n"
		"\x1e{\"type\":\"trace-class\",\"environment\":{\"hostname\":\"web\",\"tracer_name\":\"lttng-modules\"}"
		"}\n"
		"\x1e{\"type\":\"clock-class\",\"id\":\"c\",\"name\":\"monotonic\",\"uid\":\"ab-cd\",\"frequency\":"
		"1000,"
		"\"offset-from-origin\":{\"seconds\":-5,\"cycles\":7}}\n";
	g_autofree char *folder = g_dir_make_tmp("dtc-clock-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "metadata", NULL);
	struct dtc_clock_class clock = { 0 };
	struct dtc_trace_origin origin = { 0 };
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	g_assert_true(dtc_reader_describe_clock(folder, &clock));
	g_assert_cmpstr(clock.name, ==, "monotonic");
	g_assert_cmpstr(clock.uuid, ==, "ab-cd");
	g_assert_cmpuint(clock.frequency_hz, ==, 1000);
	g_assert_cmpint(clock.offset_s, ==, -5);
	g_assert_cmpint(clock.offset_cycles, ==, 7);
	dtc_clock_class_clear(&clock);
	g_assert_true(dtc_reader_describe_origin(folder, &origin));
	g_assert_cmpstr(origin.uuid, ==, "00010203-0405-0607-0809-0a0b0c0d0eff");
	g_assert_cmpstr(origin.host, ==, "web");
	g_assert_cmpstr(origin.boot, ==, "ab-cd");
	dtc_trace_origin_clear(&origin);
	g_unlink(path);
	g_rmdir(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/read/clock-class/text", test_text);
	g_test_add_func("/read/clock-class/packets", test_packets);
	g_test_add_func("/read/clock-class/demo", test_demo);
	g_test_add_func("/read/clock-class/version-2", test_version_2);
	return g_test_run();
}
