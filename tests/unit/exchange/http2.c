/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of HTTP/2 in made-up connections: split, lost, cut, met in the middle. */
#include "tests/support/made_connection.h"
#include "tests/support/made_frames.h"

/* A client's and a server's first bytes, then a question of 40 bytes in stream 1 and its answer of 300. */
static void make(struct made_frames sent[2])
{
	memset(sent, 0, 2 * sizeof(*sent));
	made_frames_add_bytes(&sent[CLIENT], MADE_PREFACE, 24);
	made_frames_add(&sent[CLIENT], DTC_FRAME_SETTINGS, 0, 0, 12);
	made_frames_add(&sent[CLIENT], DTC_FRAME_HEADERS, 4, 1, 20);
	made_frames_add(&sent[CLIENT], DTC_FRAME_DATA, 1, 1, 11);
	made_frames_add(&sent[CLIENT], DTC_FRAME_PING, 0, 0, 8);
	made_frames_add(&sent[SERVER], DTC_FRAME_SETTINGS, 0, 0, 0);
	made_frames_add(&sent[SERVER], DTC_FRAME_WINDOW_UPDATE, 0, 1, 4);
	made_frames_add(&sent[SERVER], DTC_FRAME_HEADERS, 4, 1, 10);
	made_frames_add(&sent[SERVER], DTC_FRAME_DATA, 1, 1, 281);
}

static void send_pieces(struct made_connection *c, enum made_side from, const struct made_frames *sent, uint32_t bytes)
{
	for (uint32_t at = 0; at < sent->count; at += bytes)
		made_segment(c, from, at, sent->bytes + at, MIN(bytes, sent->count - at));
}

static void open_connection(struct made_capture *m, struct made_connection *c)
{
	made_open(m);
	made_connect_silently(c, m, 40000, 0xffffffe0u, 7000);
	made_shake_hands(c);
}

static DtcFrames *finish(struct made_capture *m)
{
	made_finish(m);
	return dtc_http_steal_frames(m->http);
}

/* What the frames of a direction are, one letter each: those of messages are capitals. */
static char *tell(const struct made_connection *c, const DtcFrames *frames, enum made_side from, uint32_t offset,
		  uint32_t bytes)
{
	GString *told = g_string_new(NULL);
	guint count = 0;
	uint32_t flow = dtc_packets_find_flow(c->capture->packets, c->address[from], c->port[from], c->address[!from],
					      c->port[!from], DTC_PROTOCOL_TCP, 0);
	const struct dtc_http2_frame *found = dtc_frames_find(frames, flow, c->first[from] + offset, bytes, &count);
	if (!found)
		g_string_append(told, "unknown");
	for (guint i = 0; found && i < count; i++)
		g_string_append_printf(told, "%s%s%u:%u", i ? " " : "",
				       dtc_http2_frame_is_message(&found[i]) ? "MESSAGE" : "control", found[i].stream,
				       found[i].bytes);
	return g_string_free(told, FALSE);
}

static void assert_told(const struct made_connection *c, const DtcFrames *frames, enum made_side from, uint32_t offset,
			uint32_t bytes, const char *wanted)
{
	g_autofree char *told = tell(c, frames, from, offset, bytes);
	g_assert_cmpstr(told, ==, wanted);
}

static void assert_all(const struct made_connection *c, const DtcFrames *frames)
{
	assert_told(c, frames, CLIENT, 0, 24 + 21 + 29 + 20 + 17,
		    "control0:24 control0:21 MESSAGE1:29 MESSAGE1:20 control0:17");
	assert_told(c, frames, SERVER, 0, 9 + 13 + 19 + 290, "control0:9 control1:13 MESSAGE1:19 MESSAGE1:290");
	/* a byte of a frame is enough, and what lies behind the last one is not known */
	assert_told(c, frames, CLIENT, 24 + 21 + 28, 2, "MESSAGE1:29 MESSAGE1:20");
	assert_told(c, frames, SERVER, 9, 13, "control1:13");
	assert_told(c, frames, SERVER, 0, 9 + 13 + 19 + 291, "unknown");
}

static void test_split(void)
{
	struct made_frames sent[2];
	make(sent);
	for (uint32_t bytes = 1; bytes <= 400; bytes++)
		for (int first = CLIENT; first <= SERVER; first++) {
			struct made_capture m;
			struct made_connection c;
			/* a server may speak first, but only what looks like a frame tells that it is one */
			if (first == SERVER && bytes < 400)
				continue;
			open_connection(&m, &c);
			send_pieces(&c, first, &sent[first], bytes);
			send_pieces(&c, !first, &sent[!first], bytes);
			g_autoptr(DtcFrames) frames = finish(&m);
			assert_all(&c, frames);
			g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, 1);
			g_assert_false(made_has_finding(&m, "lacks frames"));
			made_close(&m);
		}
}

/* Payload beyond the snapshot length is stepped over; the head of a frame there is not, but the next segment's is. */
static void test_cut(void)
{
	struct made_frames sent[2];
	struct made_capture m;
	struct made_connection c;
	make(sent);
	open_connection(&m, &c);
	made_segment(&c, CLIENT, 0, sent[CLIENT].bytes, 45);
	m.snapshot_bytes = 12;
	made_segment(&c, CLIENT, 45, sent[CLIENT].bytes + 45, 29);
	made_segment(&c, CLIENT, 74, sent[CLIENT].bytes + 74, 20 + 17);
	made_segment(&c, CLIENT, 111, sent[CLIENT].bytes + 45, 29);
	made_segment(&c, CLIENT, 140, sent[CLIENT].bytes + 94, 12); /* all of it, but a ping has 17 bytes */
	m.snapshot_bytes = 0;
	made_segment(&c, CLIENT, 157, sent[CLIENT].bytes + 94, 17);
	g_autoptr(DtcFrames) frames = finish(&m);
	assert_told(&c, frames, CLIENT, 24, 70, "control0:21 MESSAGE1:29 MESSAGE1:20");
	assert_told(&c, frames, CLIENT, 74, 37, "unknown");
	assert_told(&c, frames, CLIENT, 157, 17, "control0:17");
	g_assert_true(made_has_finding(&m, "of 1 HTTP/2 connections the capture lacks frames"));
	made_close(&m);
}

static void test_lost(void)
{
	struct made_frames sent[2];
	struct made_capture m;
	struct made_connection c;
	make(sent);
	open_connection(&m, &c);
	made_segment(&c, CLIENT, 0, sent[CLIENT].bytes, 45);
	/* the headers are lost, and acknowledged */
	made_segment(&c, CLIENT, 74, sent[CLIENT].bytes + 74, 37);
	c.next[CLIENT] = c.first[CLIENT] + 111;
	made_segment(&c, SERVER, 0, sent[SERVER].bytes, sent[SERVER].count);
	g_autoptr(DtcFrames) frames = finish(&m);
	assert_told(&c, frames, CLIENT, 0, 45, "control0:24 control0:21");
	assert_told(&c, frames, CLIENT, 45, 29, "unknown");
	assert_told(&c, frames, CLIENT, 74, 37, "MESSAGE1:20 control0:17");
	made_close(&m);
}

/* The connection is older than the capture. */
static void test_middle(void)
{
	struct made_frames sent[2];
	struct made_capture m;
	struct made_connection c;
	make(sent);
	made_open(&m);
	made_connect_silently(&c, &m, 40000, 5000, 7000);
	made_segment(&c, CLIENT, 60, sent[CLIENT].bytes + 60, 14); /* the rest of a frame is none */
	made_segment(&c, CLIENT, 74, sent[CLIENT].bytes + 74, 37);
	made_segment(&c, SERVER, 9, sent[SERVER].bytes + 9, 13);
	made_segment(&c, SERVER, 22, sent[SERVER].bytes + 22, 100);
	made_segment(&c, SERVER, 122, sent[SERVER].bytes + 122, sent[SERVER].count - 122);
	g_autoptr(DtcFrames) frames = finish(&m);
	assert_told(&c, frames, CLIENT, 60, 14, "unknown");
	assert_told(&c, frames, CLIENT, 74, 37, "MESSAGE1:20 control0:17");
	assert_told(&c, frames, SERVER, 9, 322, "control1:13 MESSAGE1:19 MESSAGE1:290");
	made_close(&m);
}

/* Bytes of other protocols that begin like a frame's head. */
static void test_foreign(void)
{
	static const struct {
		uint32_t count;
		uint8_t bytes[24];
	} others[] = {
		{ 9, { 5, 0, 0, 0, 3, 's', 'e', 'l', '1' } },	       /* MariaDB's COM_QUERY */
		{ 16, { 0, 0, 0, 12, 0, 3, 0, 0, 0, 0, 0, 1, 0, 0 } }, /* Kafka */
		{ 9, { 0, 0, 8, 6, 0, 0, 0, 0, 0 } },		       /* a ping without its payload */
		{ 13, { 0, 0, 4, 8, 0x10, 0, 0, 0, 0 } },	       /* flags that nobody uses */
	};
	struct made_capture m;
	struct made_connection c;
	for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
		open_connection(&m, &c);
		made_segment(&c, CLIENT, 0, (const char *)others[i].bytes, others[i].count);
		g_autoptr(DtcFrames) frames = finish(&m);
		g_assert_true(dtc_frames_are_none(frames));
		made_close(&m);
	}
}

/* What may be kept is bounded, and nothing is kept twice. */
static void test_limits(void)
{
	g_autoptr(DtcFrames) frames = dtc_frames_new(3 * sizeof(struct dtc_http2_frame));
	struct dtc_http2_frame frame = { .seq = 100, .bytes = 10, .stream = 1 };
	guint count;
	dtc_frames_add(frames, 4, &frame);
	dtc_frames_add(frames, 4, &frame);
	frame.seq = 110;
	dtc_frames_add(frames, 4, &frame);
	g_assert_nonnull(dtc_frames_find(frames, 4, 100, 20, &count));
	g_assert_cmpuint(count, ==, 2);
	frame.seq = 120 + 0x80000000u; /* 2 GiB on */
	dtc_frames_add(frames, 4, &frame);
	dtc_frames_add(frames, 5, &frame);
	g_assert_nonnull(dtc_frames_find(frames, 5, frame.seq, 10, &count));
	frame.seq += 10;
	dtc_frames_add(frames, 5, &frame);
	g_assert_null(dtc_frames_find(frames, 5, frame.seq, 10, &count));
	g_assert_null(dtc_frames_find(frames, 4, 90, 20, &count));
	g_assert_null(dtc_frames_find(frames, 4, 100, 0, &count));
	g_assert_null(dtc_frames_find(frames, 6, 100, 1, &count));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/http2/split", test_split);
	g_test_add_func("/http2/cut", test_cut);
	g_test_add_func("/http2/lost", test_lost);
	g_test_add_func("/http2/middle", test_middle);
	g_test_add_func("/http2/foreign", test_foreign);
	g_test_add_func("/http2/limits", test_limits);
	return g_test_run();
}
