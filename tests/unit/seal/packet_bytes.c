/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packet's own bytes in events that the recorder made: as Debian's 6.1 writes their format, and its bytes. */
#include "collect/seal/packet_bytes.h"

#include "collect/seal/classes.h"

#include <string.h>

#define FORMAT(system, name)                                                                                           \
	"system " system "\nname: " name "\nID: 1700\nformat:\n"                                                       \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                                         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                                         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"                                 \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"                                                   \
	"\tfield:u64 skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:u64 head;\toffset:16;\tsize:8;\tsigned:0;\n"     \
	"\tfield:u64 data;\toffset:24;\tsize:8;\tsigned:0;\n\tfield:u16 network;\toffset:32;\tsize:2;\tsigned:0;\n"    \
	"\tfield:u16 protocol;\toffset:34;\tsize:2;\tsigned:0;\n\tfield:u32 netns;\toffset:36;\tsize:4;\tsigned:0;\n"  \
	"\tfield:u64 bytes[];\toffset:40;\tsize:88;\tsigned:0;\n\nprint fmt: \"\"\n\n"

#define EVENT_BYTES 128

/* Of net_dev_queue_bytes on lo, 127.0.0.1:60272 -> 127.0.0.1:5555. */
static const uint64_t sent[11] = { 0x0,
				   0x45000800000000,
				   0x640004000e93400,
				   0x7f0100007fc153,
				   0x7373b31570e20100,
				   0x118075604c7e30be,
				   0x101000028fe0002,
				   0xb00fa6c5eff0a08,
				   0x3007,
				   0x0,
				   0x0 };

static void make_event(uint8_t to[EVENT_BYTES], uint64_t head, uint64_t data, uint16_t network, uint16_t protocol,
		       const uint64_t *words, guint skipped)
{
	const uint64_t buffer = 0xffff888005090ae8;
	const uint32_t netns = 4026531840u;

	memset(to, 0, EVENT_BYTES);
	memcpy(to + 8, &buffer, 8);
	memcpy(to + 16, &head, 8);
	memcpy(to + 24, &data, 8);
	memcpy(to + 32, &network, 2);
	memcpy(to + 34, &protocol, 2);
	memcpy(to + 36, &netns, 4);
	memcpy(to + 40, (const uint8_t *)words + skipped, 88 - skipped);
}

static DtcFormats *parse(const char *text)
{
	guint skipped = 0;
	DtcFormats *formats = dtc_formats_parse(text, strlen(text), &skipped);

	g_assert_cmpuint(skipped, ==, 0);
	g_assert_cmpuint(dtc_formats_get_count(formats), ==, 1);
	return formats;
}

static struct dtc_packet_bytes_layout find(const char *text)
{
	g_autoptr(DtcFormats) formats = parse(text);
	struct dtc_packet_bytes_layout layout;

	g_assert_true(dtc_packet_bytes_find(dtc_formats_get(formats, 0), &layout));
	return layout;
}

static void expect(const struct dtc_packet_bytes_layout *layout, const uint8_t *bytes)
{
	const struct dtc_raw_event event = { .data = bytes, .bytes = EVENT_BYTES };
	struct dtc_wire_headers headers = { 0 };

	g_assert_true(dtc_packet_bytes_read(layout, &event, &headers));
	g_assert_cmphex(dtc_packet_bytes_get_buffer(layout, &event), ==, 0xffff888005090ae8);
	g_assert_cmpuint(headers.netns, ==, 4026531840u);
	g_assert_cmpuint(headers.network_bytes, ==, 20);
	g_assert_cmpuint(headers.transport_bytes, ==, 20);
	g_assert_cmphex(headers.bytes[12], ==, 127);
	g_assert_cmpuint(headers.bytes[22] << 8 | headers.bytes[23], ==, 5555);
}

static void test_packet(void)
{
	struct dtc_packet_bytes_layout out = find(FORMAT("dtrace_collect_1_2", "net_dev_queue_bytes"));
	struct dtc_packet_bytes_layout in = find(FORMAT("dtrace_collect_1_2", "netif_receive_skb_bytes"));
	uint8_t bytes[EVENT_BYTES];

	make_event(bytes, 0xffff8880060ac400, 0xffff8880060ac4fe, 268, 0x8, sent, 0);
	expect(&out, bytes);
	make_event(bytes, 0xffff8880060ac400, 0xffff8880060ac50c, 0, 0x8, sent, 14); /* network is not set yet */
	expect(&in, bytes);
	make_event(bytes, 0xffff8880060ac400, 0xffff8880060ac4fe, 268, 0x81, sent, 0); /* a tag's type */
	expect(&out, bytes);
}

/* No IP, or a header that is not behind data: nothing, and nothing beyond the bytes is read. */
static void test_others(void)
{
	struct dtc_packet_bytes_layout out = find(FORMAT("dtrace_collect_1_2", "net_dev_queue_bytes"));
	const uint16_t networks[] = { 0, 253, 254 + 88, 254 + 87, 0xffff };
	uint8_t bytes[EVENT_BYTES];
	const struct dtc_raw_event event = { .data = bytes, .bytes = EVENT_BYTES };
	struct dtc_wire_headers headers;

	make_event(bytes, 0xffff8880060ac400, 0xffff8880060ac4fe, 268, 0x608, sent, 0); /* ARP */
	g_assert_false(dtc_packet_bytes_read(&out, &event, &headers));
	for (guint i = 0; i < G_N_ELEMENTS(networks); i++) {
		make_event(bytes, 0xffff8880060ac400, 0xffff8880060ac4fe, networks[i], 0x8, sent, 0);
		g_assert_false(dtc_packet_bytes_read(&out, &event, &headers));
	}
}

/* Other people's events of the same shape are not taken. */
static void test_formats(void)
{
	struct dtc_packet_bytes_layout layout;
	g_autoptr(DtcFormats) others = parse(FORMAT("eprobes", "net_dev_queue_bytes"));

	g_assert_false(dtc_raw_format_is_made(dtc_formats_get(others, 0)));
	g_assert_false(dtc_packet_bytes_find(dtc_formats_get(others, 0), &layout));
}

/* A call with the name of its file is the call; its class has the name once. */
static void test_calls(void)
{
	static const char text[] = "system dtrace_collect_1_2\nname: sys_enter_openat_bytes\nID: 1504\nformat:\n"
				   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
				   "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
				   "\tfield:s32 dfd;\toffset:8;\tsize:4;\tsigned:1;\n"
				   "\tfield:__data_loc char[] filename;\toffset:12;\tsize:4;\tsigned:1;\n\n";
	g_autoptr(DtcFormats) formats = parse(text);
	const struct dtc_raw_format *format = dtc_formats_get(formats, 0);
	g_assert_cmpstr(format->system, ==, "syscalls");
	g_assert_cmpstr(format->name, ==, "sys_enter_openat");
	g_autoptr(DtcClasses) classes = dtc_classes_new(formats);
	const struct dtc_event_type *type = dtc_classes_find(classes, format->id);
	g_assert_cmpstr(type->plain.name, ==, "syscall_entry_openat");
	g_assert_cmpint(type->role, ==, DTC_CLASS_PLAIN);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/seal/packet-bytes/packet", test_packet);
	g_test_add_func("/seal/packet-bytes/others", test_others);
	g_test_add_func("/seal/packet-bytes/formats", test_formats);
	g_test_add_func("/seal/packet-bytes/calls", test_calls);
	return g_test_run();
}
