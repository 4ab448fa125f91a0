/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of random bytes, and headers with random bits flipped: nothing is read outside, lengths stay plausible. */
#include "collect/packets/frame.h"
#include "tests/support/made_capture.h"

static void check_frame(enum dtc_frame_kind kind, const guint8 *bytes, guint captured_bytes, guint wire_bytes)
{
	/* a copy of exactly that size, so that a sanitizer sees a read beyond it */
	g_autofree guint8 *copy = g_memdup2(bytes, captured_bytes);
	struct dtc_captured captured;
	dtc_frame_decode(kind, copy, captured_bytes, wire_bytes, &captured);
	dtc_frame_get_hints(kind, copy, captured_bytes, wire_bytes);
	const struct dtc_headers *headers = &captured.headers;
	if (headers->ip_version == 0) {
		g_assert_false(headers->has_transport);
		return;
	}
	g_assert_cmpuint(captured.payload_captured_bytes, <=, headers->payload_bytes);
	g_assert_true(captured.payload >= copy);
	g_assert_true(captured.payload + captured.payload_captured_bytes <= copy + captured_bytes);
	guint8 sum = 0;
	for (guint i = 0; i < captured.payload_captured_bytes; i++)
		sum ^= captured.payload[i];
	g_assert_cmpuint(sum, <=, 255); /* they were read */
}

static GByteArray *make_frame(GRand *rand)
{
	GByteArray *frame = g_byte_array_new();
	bool is_ipv4 = g_rand_boolean(rand), is_tcp = g_rand_boolean(rand);
	made_ethernet(frame, 1, 2, is_ipv4 ? 0x0800 : 0x86dd);
	if (is_ipv4)
		made_ipv4(frame, 1, 2, is_tcp ? 6 : 17, 152, 0, 4 * (guint)g_rand_int_range(rand, 0, 10), 64);
	else
		made_ipv6(frame, is_tcp ? 6 : (guint)g_rand_int_range(rand, 0, 64), 132);
	if (is_tcp)
		made_tcp(frame, 1, 2, 3, 4, 0x10, 5);
	else
		made_udp(frame, 1, 2, 100);
	made_zero(frame, 100);
	return frame;
}

static void test_frames(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(20261120);
	for (guint round = 0; round < 60000; round++) {
		g_autoptr(GByteArray) frame = make_frame(rand);
		for (int flips = g_rand_int_range(rand, 0, 12); flips > 0; flips--)
			frame->data[g_rand_int_range(rand, 0, MIN((gint32)frame->len, 90))] ^=
				(guint8)(1 << g_rand_int_range(rand, 0, 8));
		guint captured = (guint)g_rand_int_range(rand, 0, (gint32)frame->len + 1);
		enum dtc_frame_kind kind =
			round % 3 ? DTC_FRAME_ETHERNET : (enum dtc_frame_kind)g_rand_int_range(rand, 0, 5);
		check_frame(kind, frame->data, captured, g_rand_int(rand));
		check_frame(kind, frame->data, captured, frame->len);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/capture/random-frames", test_frames);
	return g_test_run();
}
