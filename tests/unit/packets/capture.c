/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captures made by hand: link layers, headers, what is cut, and whose capture it is. */
#include "collect/packets/frame.h"
#include "collect/packets/plain.h"
#include "dtrace-chain/error.h"
#include "tests/support/made_capture.h"

#include <fcntl.h>

#define TCP 6
#define UDP 17

struct reading {
	char *path;
	DtcCapture *capture;
	GArray *packets; /* struct dtc_captured; payload pointers are void */
	DtcFindings *findings;
};

static void read_bytes(struct reading *reading, GByteArray *file, gsize bytes)
{
	g_autoptr(GError) error = NULL;
	reading->path = made_capture_write(file, bytes);
	g_byte_array_unref(file);
	reading->capture = dtc_capture_open("made", reading->path, &error);
	g_assert_no_error(error);
	reading->packets = g_array_new(FALSE, FALSE, sizeof(struct dtc_captured));
	reading->findings = dtc_findings_new();
	const struct dtc_captured *captured;
	guint64 done_bytes = dtc_capture_get_consumed_bytes(reading->capture);
	while ((captured = dtc_capture_next(reading->capture))) {
		g_array_append_vals(reading->packets, captured, 1);
		g_assert_cmpuint(dtc_capture_get_consumed_bytes(reading->capture), >, done_bytes);
		done_bytes = dtc_capture_get_consumed_bytes(reading->capture);
	}
	g_assert_cmpuint(done_bytes, <=, bytes);
	g_assert_null(dtc_capture_next(reading->capture));
	dtc_capture_finish(reading->capture, reading->findings);
}

static void read_file(struct reading *reading, GByteArray *file)
{
	read_bytes(reading, file, file->len);
}

static void reading_clear(struct reading *reading)
{
	dtc_capture_free(reading->capture);
	g_array_unref(reading->packets);
	dtc_findings_free(reading->findings);
	g_unlink(reading->path);
	g_free(reading->path);
}

static const struct dtc_captured *get(const struct reading *reading, guint index)
{
	g_assert_cmpuint(index, <, reading->packets->len);
	return &g_array_index(reading->packets, struct dtc_captured, index);
}

static void add_payload(GByteArray *frame, guint count)
{
	for (guint i = 0; i < count; i++)
		made_net(frame, i, 1);
}

static void check_tcp(const struct dtc_captured *captured, guint payload_bytes)
{
	const struct dtc_headers *headers = &captured->headers;
	g_assert_cmpuint(headers->protocol, ==, TCP);
	g_assert_true(headers->has_transport);
	g_assert_cmpuint(headers->source_port, ==, 4000);
	g_assert_cmpuint(headers->destination_port, ==, 80);
	g_assert_cmpuint(headers->seq, ==, 0xfffffff0);
	g_assert_cmpuint(headers->ack, ==, 7);
	g_assert_cmpuint(headers->tcp_flags, ==, 0x18);
	g_assert_cmpuint(headers->window, ==, 501);
	g_assert_true(headers->has_timestamps);
	g_assert_cmpuint(headers->tsval, ==, 123456);
	g_assert_cmpuint(headers->payload_bytes, ==, payload_bytes);
}

static void add_tcp(GByteArray *frame)
{
	made_tcp(frame, 4000, 80, 0xfffffff0, 7, 0x18, 123456);
}

/* The same segment behind every kind of link layer. */
static void test_links(void)
{
	static const guint links[] = { MADE_ETHERNET, MADE_LOOPBACK, MADE_RAW, MADE_COOKED, MADE_COOKED2 };
	for (guint i = 0; i < G_N_ELEMENTS(links); i++) {
		GByteArray *file = made_capture_new(links[i]), *frame = g_byte_array_new();
		switch (links[i]) {
		case MADE_ETHERNET: /* with two tags */
			made_ethernet(frame, 2, 1, 0x88a8);
			made_net(frame, 0x00648100, 4);
			made_net(frame, 0x00c80800, 4);
			break;
		case MADE_LOOPBACK:
			made_net(frame, 2, 4);
			break;
		case MADE_COOKED:
			made_net(frame, 4, 2); /* outgoing */
			made_net(frame, 1, 2);
			made_net(frame, 6, 2);
			made_net(frame, 0x0200000000010000, 8);
			made_net(frame, 0x0800, 2);
			break;
		case MADE_COOKED2:
			made_net(frame, 0x0800, 2);
			made_net(frame, 0, 2);
			made_net(frame, 3, 4);
			made_net(frame, 1, 2);
			made_net(frame, 0, 1); /* to us */
			made_net(frame, 6, 1);
			made_net(frame, 0x0200000000010000, 8);
			break;
		default:
			break;
		}
		made_ipv4(frame, 1, 2, TCP, 20 + 32 + 10, 0, 0, 64);
		add_tcp(frame);
		add_payload(frame, 10);
		made_capture_add(file, 1700000000123456789, frame, 0, 0);
		struct reading reading;
		read_file(&reading, file);
		g_assert_cmpuint(reading.packets->len, ==, 1);
		check_tcp(get(&reading, 0), 10);
		g_assert_cmpint(get(&reading, 0)->time_ns, ==, 1700000000123456789);
		g_assert_cmpuint(get(&reading, 0)->payload_captured_bytes, ==, 10);
		g_assert_cmpint(get(&reading, 0)->direction, ==,
				links[i] == MADE_COOKED	   ? DTC_CAPTURE_OUT
				: links[i] == MADE_COOKED2 ? DTC_CAPTURE_IN
							   : DTC_CAPTURE_UNKNOWN);
		reading_clear(&reading);
	}
}

static void test_ipv4(void)
{
	GByteArray *file = made_capture_new(MADE_RAW), *frame = g_byte_array_new();
	made_ipv4(frame, 1, 2, TCP, 20 + 8 + 32 + 5, 0, 8, 64); /* options, and padding behind */
	add_tcp(frame);
	add_payload(frame, 25);
	made_capture_add(file, 1, frame, 0, 0);
	frame = g_byte_array_new(); /* a later fragment: no ports, whatever stands there */
	made_ipv4(frame, 1, 2, UDP, 20 + 100, 0x2007, 0, 64);
	add_payload(frame, 100);
	made_capture_add(file, 2, frame, 0, 0);
	frame = g_byte_array_new(); /* the first fragment of a long datagram */
	made_ipv4(frame, 1, 2, UDP, 20 + 1480, 0x2000, 0, 64);
	made_udp(frame, 5000, 5001, 3008);
	add_payload(frame, 1472);
	made_capture_add(file, 3, frame, 0, 0);
	frame = g_byte_array_new(); /* segmentation offload: length 0, the frame tells it */
	made_ipv4(frame, 1, 2, TCP, 0, 0, 0, 64);
	add_tcp(frame);
	add_payload(frame, 30);
	made_capture_add(file, 4, frame, 0, 70000);
	frame = g_byte_array_new(); /* not long enough for its own header */
	made_ipv4(frame, 1, 2, TCP, 19, 0, 0, 64);
	made_capture_add(file, 5, frame, 0, 0);
	struct reading reading;
	read_file(&reading, file);
	g_assert_cmpuint(reading.packets->len, ==, 5);
	check_tcp(get(&reading, 0), 5);
	g_assert_cmpuint(get(&reading, 0)->headers.ip_id, ==, 0xbeef);
	g_assert_cmpmem(get(&reading, 0)->headers.source, 16, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
	g_assert_cmpuint(get(&reading, 0)->payload_captured_bytes, ==, 5);
	g_assert_cmpuint(get(&reading, 1)->headers.ip_version, ==, 4);
	g_assert_false(get(&reading, 1)->headers.has_transport);
	g_assert_true(get(&reading, 2)->headers.has_transport);
	g_assert_cmpuint(get(&reading, 2)->headers.payload_bytes, ==, 3000);
	g_assert_cmpuint(get(&reading, 2)->payload_captured_bytes, ==, 1472);
	check_tcp(get(&reading, 3), 70000 - 20 - 32);
	g_assert_cmpuint(get(&reading, 4)->headers.ip_version, ==, 0);
	reading_clear(&reading);
}

static void test_ipv6(void)
{
	GByteArray *file = made_capture_new(MADE_RAW), *frame = g_byte_array_new();
	made_ipv6(frame, 0, 8 + 16 + 32 + 5); /* hop-by-hop and destination options before TCP */
	made_net(frame, 60 << 8, 2);
	made_zero(frame, 6);
	made_net(frame, TCP << 8 | 1, 2);
	made_zero(frame, 14);
	add_tcp(frame);
	add_payload(frame, 5);
	made_capture_add(file, 1, frame, 0, 0);
	frame = g_byte_array_new(); /* a later fragment */
	made_ipv6(frame, 44, 8 + 100);
	made_net(frame, UDP << 8, 2);
	made_net(frame, 0x0008, 2);
	made_net(frame, 1, 4);
	add_payload(frame, 100);
	made_capture_add(file, 2, frame, 0, 0);
	frame = g_byte_array_new(); /* a header that claims more than there is */
	made_ipv6(frame, 43, 100);
	made_net(frame, TCP << 8 | 255, 2);
	made_capture_add(file, 3, frame, 0, 0);
	struct reading reading;
	read_file(&reading, file);
	g_assert_cmpuint(reading.packets->len, ==, 3);
	check_tcp(get(&reading, 0), 5);
	g_assert_cmpuint(get(&reading, 0)->headers.ip_version, ==, 6);
	g_assert_cmpuint(get(&reading, 0)->headers.source[15], ==, 1);
	g_assert_cmpuint(get(&reading, 1)->headers.protocol, ==, UDP);
	g_assert_false(get(&reading, 1)->headers.has_transport);
	g_assert_cmpuint(get(&reading, 2)->headers.ip_version, ==, 6);
	g_assert_false(get(&reading, 2)->headers.has_transport);
	reading_clear(&reading);
}

/* What lies behind the IP packet is padding, unless a jumbogram keeps its length elsewhere (RFC 2675). */
static void test_ipv6_hints(void)
{
	static const struct {
		guint payload_bytes, padding_bytes;
	} cases[] = { { 32, 6 }, { 38, 0 }, { 0, 0 }, { 300, 0 } };
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GByteArray) frame = g_byte_array_new();
		made_ethernet(frame, 1, 2, 0x86dd);
		made_ipv6(frame, TCP, cases[i].payload_bytes);
		add_tcp(frame);
		made_zero(frame, 6);
		struct dtc_frame_hints hints =
			dtc_frame_get_hints(DTC_FRAME_ETHERNET, frame->data, frame->len, frame->len);
		g_assert_cmpuint(hints.ttl, ==, 64);
		g_assert_cmpuint(hints.padding_bytes, ==, cases[i].padding_bytes);
	}
}

/* The length comes from the headers, not from what the snapshot length left. */
static void test_snapshot_length(void)
{
	static const guint lengths[] = { 0, 300, 60, 30, 10 };
	GByteArray *file = made_capture_new(MADE_RAW);
	for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
		GByteArray *frame = g_byte_array_new();
		made_ipv4(frame, 1, 2, TCP, 20 + 32 + 1000, 0, 0, 64);
		add_tcp(frame);
		add_payload(frame, 1000);
		made_capture_add(file, i, frame, lengths[i], 0);
	}
	struct reading reading;
	read_file(&reading, file);
	check_tcp(get(&reading, 0), 1000);
	check_tcp(get(&reading, 1), 1000);
	check_tcp(get(&reading, 2), 1000);
	g_assert_cmpuint(get(&reading, 1)->payload_captured_bytes, ==, 300 - 52);
	g_assert_cmpuint(get(&reading, 0)->headers.payload_hash, ==, 0); /* its numbers tell it */
	g_assert_cmpuint(get(&reading, 3)->headers.ip_version, ==, 4);
	g_assert_false(get(&reading, 3)->headers.has_transport);
	g_assert_cmpuint(get(&reading, 4)->headers.ip_version, ==, 0);
	reading_clear(&reading);
}

/* The hash of a payload must not depend on how much of it was kept. */
static void test_hash(void)
{
	static const guint lengths[] = { 0, 300, 60 };
	GByteArray *file = made_capture_new(MADE_RAW);
	for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
		GByteArray *frame = g_byte_array_new();
		made_ipv4(frame, 1, 2, UDP, 20 + 8 + 1000, 0, 0, 64);
		made_udp(frame, 4000, 53, 8 + 1000);
		add_payload(frame, 1000);
		made_capture_add(file, i, frame, lengths[i], 0);
	}
	struct reading reading;
	read_file(&reading, file);
	g_assert_cmpuint(get(&reading, 0)->headers.payload_hash, !=, 0);
	g_assert_cmpuint(get(&reading, 1)->headers.payload_hash, ==, get(&reading, 0)->headers.payload_hash);
	g_assert_cmpuint(get(&reading, 2)->headers.payload_hash, ==, 0);
	reading_clear(&reading);
}

static void add_segment(GByteArray *file, gint64 time, guint8 from, guint8 to, guint flags, guint32 seq, guint32 ack,
			guint ttl, guint padding)
{
	GByteArray *frame = g_byte_array_new();
	made_ethernet(frame, to, from, 0x0800);
	made_ipv4(frame, from, to, TCP, 20 + 32, 0, 0, ttl);
	made_tcp(frame, from == 1 ? 4000 : 80, from == 1 ? 80 : 4000, seq, ack, flags, 1);
	made_zero(frame, padding);
	made_capture_add(file, time, frame, 0, 0);
}

static void check_owner(GByteArray *file, guint8 owner)
{
	struct reading reading;
	read_file(&reading, file);
	for (guint i = 0; i < reading.packets->len; i++)
		g_assert_cmpint(get(&reading, i)->direction, ==,
				owner == 0				   ? DTC_CAPTURE_UNKNOWN
				: get(&reading, i)->mac_source[5] == owner ? DTC_CAPTURE_OUT
									   : DTC_CAPTURE_IN);
	reading_clear(&reading);
}

/* Handshakes as the host with the given address sees them: the peer's answer takes 500 us, its own 20 us. */
static GByteArray *make_handshakes(guint8 owner)
{
	GByteArray *file = made_capture_new(MADE_ETHERNET);
	gint64 time = 1000000;
	for (guint32 i = 0; i < 5; i++) {
		add_segment(file, time, 1, 2, 0x02, 100 * i, 0, 64, 0);
		time += owner == 1 ? 500000 : 20000;
		add_segment(file, time, 2, 1, 0x12, 7000 * i, 100 * i + 1, 64, 0);
		time += owner == 1 ? 20000 : 500000;
		add_segment(file, time, 1, 2, 0x10, 100 * i + 1, 7000 * i + 1, 64, 0);
		time += 1000000;
	}
	return file;
}

static void test_owner(void)
{
	/* one address is in all frames */
	GByteArray *file = made_capture_new(MADE_ETHERNET);
	for (guint8 i = 0; i < 20; i++)
		add_segment(file, i, i % 2 ? 1 : 2 + i % 3, i % 2 ? 2 + i % 3 : 1, 0x10, i, i, 64, 0);
	check_owner(file, 1);
	/* two are, and nothing tells them apart */
	file = made_capture_new(MADE_ETHERNET);
	for (guint8 i = 0; i < 20; i++)
		add_segment(file, i, 1 + i % 2, 2 - i % 2, 0x10, i, i, 64, 0);
	check_owner(file, 0);
	/* the gateway forwards */
	file = made_capture_new(MADE_ETHERNET);
	for (guint8 i = 0; i < 20; i++)
		add_segment(file, i, 1 + i % 2, 2 - i % 2, 0x10, i, i, i % 2 ? 57 : 64, 0);
	check_owner(file, 1);
	/* what is received is padded by the sender's card */
	file = made_capture_new(MADE_ETHERNET);
	for (guint8 i = 0; i < 20; i++)
		add_segment(file, i, 1 + i % 2, 2 - i % 2, 0x10, i, i, 64, i % 2 ? 0 : 4);
	check_owner(file, 2);
	check_owner(make_handshakes(1), 1);
	check_owner(make_handshakes(2), 2);
}

/* Files end anywhere: every packet before the cut is read, and the finding says where it is. */
static void test_cut(void)
{
	GByteArray *whole = make_handshakes(1);
	guint packet_bytes = 16 + 14 + 20 + 32;
	for (gsize bytes = 24; bytes < whole->len; bytes += 7) {
		GByteArray *copy = g_byte_array_new();
		g_byte_array_append(copy, whole->data, (guint)bytes);
		struct reading reading;
		read_file(&reading, copy);
		g_assert_cmpuint(reading.packets->len, ==, (bytes - 24) / packet_bytes);
		bool is_cut = (bytes - 24) % packet_bytes != 0;
		g_assert_cmpuint(dtc_findings_get_count(reading.findings), ==, is_cut);
		g_assert_true(dtc_findings_get_complete(reading.findings) == !is_cut);
		if (is_cut) {
			g_autofree char *position = g_strdup_printf("at byte %" G_GSIZE_FORMAT ",", bytes);
			g_assert_nonnull(strstr(dtc_findings_get(reading.findings, 0)->text, position));
		}
		reading_clear(&reading);
	}
	g_byte_array_unref(whole);
}

/* --- captures as this machine writes them ----------------------------------------------------------------------- */

static void turn_number(GByteArray *file, guint at)
{
	guint32 number;
	if (at + sizeof(number) > file->len)
		return;
	memcpy(&number, file->data + at, sizeof(number));
	number = GUINT32_FROM_BE(number);
	memcpy(file->data + at, &number, sizeof(number));
}

static guint32 get_number(const GByteArray *file, guint at)
{
	guint32 number;
	memcpy(&number, file->data + at, sizeof(number));
	return GUINT32_FROM_BE(number);
}

/* The same file in this machine's order, which is read another way. Records must be whole but for the last one. */
static GByteArray *turn_file(const GByteArray *file)
{
	const guint16 version[2] = { 2, 4 };
	GByteArray *turned = g_byte_array_new();
	g_byte_array_append(turned, file->data, file->len);
	for (guint at = 0; at < 24; at += 4)
		turn_number(turned, at);
	memcpy(turned->data + 4, version, sizeof(version));
	for (guint at = 24; at + 16 <= file->len; at += 16 + get_number(file, at + 8))
		for (guint field = 0; field < 16; field += 4)
			turn_number(turned, at + field);
	return turned;
}

/* Both are read alike: packets, and what is said of the rest. */
static void check_turned(GByteArray *file, guint packet_count)
{
	struct reading foreign, own;
	read_file(&own, turn_file(file));
	read_file(&foreign, file);
	g_assert_cmpuint(foreign.packets->len, ==, packet_count);
	g_assert_cmpuint(own.packets->len, ==, packet_count);
	for (guint i = 0; i < packet_count; i++) {
		g_assert_cmpint(get(&own, i)->time_ns, ==, get(&foreign, i)->time_ns);
		g_assert_cmpmem(&get(&own, i)->headers, sizeof(struct dtc_headers), &get(&foreign, i)->headers,
				sizeof(struct dtc_headers));
		g_assert_cmpuint(get(&own, i)->payload_captured_bytes, ==, get(&foreign, i)->payload_captured_bytes);
	}
	g_assert_cmpuint(dtc_capture_get_consumed_bytes(own.capture), ==,
			 dtc_capture_get_consumed_bytes(foreign.capture));
	guint finding_count = dtc_findings_get_count(foreign.findings);
	g_assert_cmpuint(dtc_findings_get_count(own.findings), ==, finding_count);
	for (guint i = 0; i < finding_count; i++) /* behind the name */
		g_assert_cmpstr(strstr(dtc_findings_get(own.findings, i)->text, "' is"), ==,
				strstr(dtc_findings_get(foreign.findings, i)->text, "' is"));
	reading_clear(&own);
	reading_clear(&foreign);
}

static GByteArray *copy_file(const GByteArray *file, guint bytes)
{
	GByteArray *copy = g_byte_array_new();
	g_byte_array_append(copy, file->data, bytes);
	return copy;
}

static void set_number(GByteArray *file, guint at, guint32 number)
{
	number = GUINT32_TO_BE(number);
	memcpy(file->data + at, &number, sizeof(number));
}

/* A number in a record's header that makes it odd: the first two come without libpcap, which has the rest. */
static void check_odd(const GByteArray *whole, guint at, guint32 number, guint position)
{
	g_autoptr(GByteArray) file = copy_file(whole, whole->len);
	set_number(file, at, number);
	g_autoptr(GByteArray) turned = turn_file(file);
	g_autofree char *path = made_capture_write(turned, turned->len);
	int fd = g_open(path, O_RDONLY | O_CLOEXEC, 0);
	DtcPlain *plain = dtc_plain_new(fd, get_number(file, 16));
	struct dtc_plain_record record;
	g_assert_true(dtc_plain_next(plain, &record) && dtc_plain_next(plain, &record));
	g_assert_false(dtc_plain_next(plain, &record));
	g_assert_cmpuint(dtc_plain_get_position(plain), ==, position);
	dtc_plain_free(plain);
	g_close(fd, NULL);
	g_unlink(path);
}

/* Cut anywhere, in microseconds, and records that are larger than the file says any is, or than any can be. */
static void test_plain(void)
{
	GByteArray *whole = make_handshakes(1);
	const guint record_bytes = 16 + 14 + 20 + 32, third = 24 + 2 * record_bytes;
	const struct {
		guint at;
		guint32 number;
		guint packet_count;
	} cases[] = { { 0, 0xa1b2c3d4, 15 },	{ 16, 65535, 15 },     { 16, 60, 15 },
		      { third + 8, 262145, 2 }, { third + 8, -1u, 2 }, { third + 12, 9, 15 } };
	for (guint bytes = 24; bytes < whole->len; bytes += 5)
		check_turned(copy_file(whole, bytes), (bytes - 24) / record_bytes);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		GByteArray *file = copy_file(whole, whole->len);
		set_number(file, cases[i].at, cases[i].number);
		check_turned(file, cases[i].packet_count);
	}
	for (guint at = third; at < third + 12; at += 4) /* times that are negative to some, lengths */
		check_odd(whole, at, 0x80000000, third);
	g_byte_array_unref(whole);
}

/* More than one block, and records of which few fit into one. */
static void test_blocks(void)
{
	GByteArray *file = made_capture_new(MADE_RAW);
	for (guint i = 0; i < 40; i++) {
		GByteArray *frame = g_byte_array_new();
		guint payload_bytes = i % 4 ? 40 + i : 65000 - 32 - 20;
		made_ipv4(frame, 1, 2, TCP, 20 + 32 + payload_bytes, 0, 0, 64);
		made_tcp(frame, 4000, 80, i, 7, 0x18, i);
		made_zero(frame, payload_bytes);
		made_capture_add(file, i * 1000, frame, 0, 0);
	}
	set_number(file, 16, 70000);
	check_turned(file, 40);
}

/* A frame at each of these fractions of a second, one second after the other. */
static void check_fractions(const guint *fractions, guint count, const char *said)
{
	GByteArray *file = made_capture_new(MADE_ETHERNET);
	for (guint i = 0; i < count; i++) {
		GByteArray *frame = g_byte_array_new();
		made_ethernet(frame, 2, 1, 0x0800);
		made_capture_add(file, 1795168700 * INT64_C(1000000000) + i * INT64_C(1000000000) + fractions[i], frame,
				 0, 0);
	}
	struct reading reading;
	read_file(&reading, file);
	g_assert_cmpuint(dtc_findings_get_count(reading.findings), ==, said ? 1 : 0);
	if (said) {
		const struct dtc_finding *finding = dtc_findings_get(reading.findings, 0);
		g_assert_cmpstr(finding->code, ==, DTC_FINDING_CAPTURE_TIME);
		g_assert_nonnull(strstr(finding->text, said));
	}
	reading_clear(&reading);
}

/* A file of microseconds that claims nanoseconds, and files that seem to. */
static void test_fractions(void)
{
	static const guint small[10] = { 999999, 3, 712345, 1, 2, 3, 4, 5, 6, 7 };
	static const guint mixed[10] = { 999999, 3, 712345, 1, 2, 3, 4, 5, 6, 1000000 };
	static const guint none[10] = { 0 };
	check_fractions(small, 10, "microseconds taken for nanoseconds");
	check_fractions(small, 7, NULL);
	check_fractions(mixed, 10, NULL);
	check_fractions(none, 10, NULL);
}

static void check_refused(const char *path, int code)
{
	g_autoptr(GError) error = NULL;
	g_assert_null(dtc_capture_open("made", path, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, code);
	g_assert_nonnull(strstr(error->message, "'made'"));
	g_assert_nonnull(strchr(error->message, '\n'));
}

static void test_refused(void)
{
	check_refused("/nonexistent.pcap", DTC_ERROR_NOT_FOUND);
	check_refused("/", DTC_ERROR_NOT_FOUND);
	GByteArray *text = g_byte_array_new(), *radio = made_capture_new(127), *empty = g_byte_array_new();
	g_byte_array_append(text, (const guint8 *)"this is no capture, whatever its name says", 42);
	GByteArray *files[] = { text, radio, empty };
	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = made_capture_write(files[i], files[i]->len);
		check_refused(path, DTC_ERROR_UNREADABLE);
		g_unlink(path);
		g_byte_array_unref(files[i]);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/capture/links", test_links);
	g_test_add_func("/capture/ipv4", test_ipv4);
	g_test_add_func("/capture/ipv6", test_ipv6);
	g_test_add_func("/capture/ipv6-hints", test_ipv6_hints);
	g_test_add_func("/capture/snapshot-length", test_snapshot_length);
	g_test_add_func("/capture/hash", test_hash);
	g_test_add_func("/capture/owner", test_owner);
	g_test_add_func("/capture/cut", test_cut);
	g_test_add_func("/capture/plain", test_plain);
	g_test_add_func("/capture/blocks", test_blocks);
	g_test_add_func("/capture/fractions", test_fractions);
	g_test_add_func("/capture/refused", test_refused);
	return g_test_run();
}
