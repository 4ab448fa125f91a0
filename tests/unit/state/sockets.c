/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections from before the trace: where in its stream a socket's first read byte lies, by all its reads and what had
 * arrived. A server answers each message with one byte, which tells the connection.
 */
#include "tests/support/story.h"

#include <errno.h>

#define FD 5
#define TID 10
#define OTHER_TID 11
#define START 1000u /* of the stream */

struct server {
	struct story story;
	int64_t t;
	uint32_t first; /* number of the first byte that is read in the trace */
};

static void begin(struct server *s, uint32_t first)
{
	*s = (struct server){ .t = 100, .first = first };
	story_begin(&s->story, "n");
	story_fork(&s->story, 10, 0, 1, 1, TID, TID, "db");
	story_fork(&s->story, 11, 0, TID, TID, OTHER_TID, TID, "db");
	story_switch(&s->story, 20, 0, 0, "swapper/0", 0, TID, "db");
	story_switch(&s->story, 20, 1, 0, "swapper/1", 0, OTHER_TID, "db");
}

static void arrive(struct server *s, uint32_t seq, uint32_t bytes)
{
	struct dtc_headers headers = story_headers(1, 1000, 2, 3306, seq, 1, DTC_TCP_ACK, bytes, 0);
	story_context(&s->story, DTC_EVENT_SOFTIRQ_ENTRY, s->t++, 0, 3, NULL);
	story_packet(&s->story, DTC_EVENT_NET_RECEIVE, s->t++, 0, &headers);
	story_context(&s->story, DTC_EVENT_SOFTIRQ_EXIT, s->t++, 0, 3, NULL);
}

static void take_on(struct server *s, uint32_t cpu, int64_t bytes)
{
	story_enter(&s->story, s->t++, cpu, "read", FD);
	story_leave(&s->story, s->t++, cpu, "read", bytes);
}

static void take(struct server *s, int64_t bytes)
{
	take_on(s, 0, bytes);
}

static void answer(struct server *s)
{
	struct dtc_headers headers = story_headers(2, 3306, 1, 1000, 1, 1, DTC_TCP_ACK, 1, 0);
	story_enter(&s->story, s->t++, 0, "write", FD);
	story_packet(&s->story, DTC_EVENT_NET_SEND, s->t++, 0, &headers);
	story_leave(&s->story, s->t++, 0, "write", 1);
}

/* What a write gives leaves later, in nobody's call: it tells nothing. */
static void write_only(struct server *s)
{
	story_enter(&s->story, s->t++, 0, "write", FD);
	story_leave(&s->story, s->t++, 0, "write", 1);
}

/* The first read byte has the number that it should have; 0: nothing tells it. */
static void end(struct server *s)
{
	answer(s);
	story_switch(&s->story, s->t, 0, TID, "db", 1, 0, "swapper/0");
	story_end(&s->story);
	const struct dtc_file *file = NULL;
	for (uint32_t i = 0; !file || file->flow_in == DTC_NONE; i++) {
		g_assert_cmpuint(i, <, dtc_history_get_file_count(s->story.history));
		file = dtc_history_get_file(s->story.history, i);
	}
	g_assert_true(file->has_base_in == (s->first != 0));
	if (s->first)
		g_assert_cmpuint(file->base_in, ==, s->first);
	story_clear(&s->story);
}

/* Read as it comes, in one piece. */
static void test_whole(void)
{
	struct server s;
	begin(&s, START);
	for (uint32_t i = 0; i < 3; i++) {
		arrive(&s, START + 50 * i, 50);
		take(&s, 50);
		answer(&s);
	}
	end(&s);
}

/* MariaDB: 4 bytes that tell the length, then so many. All messages of one length must not make a habit of it. */
static void test_header_first(void)
{
	static const uint32_t sizes[][3] = { { 50, 50, 50 }, { 50, 7, 90 } };
	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		struct server s;
		uint32_t seq = 0xffffffc0u; /* wraps in the second message */
		begin(&s, seq);
		for (guint k = 0; k < 3; seq += sizes[i][k++]) {
			arrive(&s, seq, sizes[i][k]);
			take(&s, 4);
			take(&s, sizes[i][k] - 4);
			answer(&s);
		}
		end(&s);
	}
}

/* The same from the middle of a message on, and with header and body in segments of their own. */
static void test_body_first(void)
{
	struct server s;
	begin(&s, START + 4);
	take(&s, 46); /* its header was read before the trace */
	answer(&s);
	for (uint32_t seq = START + 50; seq < START + 200; seq += 50) {
		arrive(&s, seq, 4);
		take(&s, 4);
		arrive(&s, seq + 4, 46);
		take(&s, 46);
		answer(&s);
	}
	end(&s);
}

/* A client that asks on before it is answered: the socket is drained at the very end only. */
static void test_pipelined(void)
{
	struct server s;
	begin(&s, START);
	arrive(&s, START, 50);
	take(&s, 4);
	arrive(&s, START + 50, 50);
	take(&s, 46);
	arrive(&s, START + 100, 50);
	take(&s, 4);
	take(&s, 46);
	take(&s, 4);
	take(&s, 46);
	end(&s);
}

/* Header by one thread, body by another; a look and a read in vain take nothing. */
static void test_two_threads(void)
{
	struct server s;
	begin(&s, START);
	for (uint32_t i = 0; i < 3; i++) {
		arrive(&s, START + 50 * i, 50);
		story_enter(&s.story, s.t++, 1, "read", FD);
		take_on(&s, 0, 4);
		story_leave(&s.story, s.t++, 1, "read", 46);
		take_on(&s, 1, -EAGAIN);
		answer(&s);
	}
	end(&s);
}

/* What had arrived before the trace is read in it, before anything else comes. */
static void test_arrived_before(void)
{
	struct server s;
	begin(&s, START);
	take(&s, 4);
	take(&s, 46);
	answer(&s);
	arrive(&s, START + 50, 50);
	take(&s, 4);
	take(&s, 46);
	end(&s);
}

/* The event of an arrival is lost: what was read of it shows no earlier base. */
static void test_lost_arrival(void)
{
	struct server s;
	begin(&s, START);
	arrive(&s, START, 50);
	take(&s, 4);
	take(&s, 46);
	answer(&s);
	take(&s, 50); /* of START + 50 */
	answer(&s);
	arrive(&s, START + 100, 50);
	take(&s, 4);
	take(&s, 46);
	answer(&s);
	arrive(&s, START + 150, 50);
	take(&s, 50);
	answer(&s);
	take(&s, 50); /* of START + 200 */
	end(&s);
}

/* The first segment in the trace is an old one once more: it says nothing about what is there to be read. */
static void test_old_segment_first(void)
{
	struct server s;
	begin(&s, START);
	arrive(&s, START - 200, 50);
	take(&s, 50); /* had arrived before the trace */
	arrive(&s, START + 50, 50);
	take(&s, 50);
	arrive(&s, START + 100, 50);
	take(&s, 50);
	end(&s);
}

/* Two segments change places; what is behind the hole cannot be read yet. */
static void test_reordered(void)
{
	struct server s;
	begin(&s, START);
	arrive(&s, START, 50);
	take(&s, 50);
	arrive(&s, START + 100, 50);
	arrive(&s, START + 50, 50);
	take(&s, 4);
	take(&s, 96);
	arrive(&s, START + 150, 50);
	take(&s, 50);
	end(&s);
}

static void test_no_arrival(void)
{
	struct server s;
	begin(&s, 0);
	take(&s, 4);
	take(&s, 46);
	end(&s);
}

/* The offset of the last call that moved bytes. */
static uint64_t find_last_offset(const DtcHistory *h, enum dtc_call_kind kind)
{
	uint64_t offset = 0;

	for (uint32_t i = 0; i < dtc_history_get_call_count(h); i++) {
		const struct dtc_call call = dtc_history_copy_call(h, i);
		if (call.kind == kind && call.result > 0)
			offset = call.offset;
	}
	return offset;
}

/* How many reads that took nothing lie behind so many bytes. */
static guint count_at(const DtcHistory *h, uint64_t offset)
{
	guint count = 0;
	for (uint32_t i = 0; i < dtc_history_get_call_count(h); i++) {
		const struct dtc_call call = dtc_history_copy_call(h, i);
		bool is_read = call.kind == DTC_CALL_PEEK || (call.kind == DTC_CALL_READ && call.result <= 0);
		count += is_read && call.offset == offset;
	}
	return count;
}

static const struct dtc_file *find_socket(const DtcHistory *h)
{
	for (uint32_t i = 0; i < dtc_history_get_file_count(h); i++)
		if (dtc_history_get_file(h, i)->flow_in != DTC_NONE)
			return dtc_history_get_file(h, i);
	g_assert_not_reached();
}

static void send_bytes(struct server *s, uint32_t seq, uint32_t bytes)
{
	struct dtc_headers headers = story_headers(2, 3306, 1, 1000, seq, 1, DTC_TCP_ACK, bytes, 0);
	story_enter(&s->story, s->t++, 0, "write", FD);
	story_packet(&s->story, DTC_EVENT_NET_SEND, s->t++, 0, &headers);
	story_leave(&s->story, s->t++, 0, "write", (int64_t)bytes);
}

/* With MSG_PEEK. */
static void look(struct server *s, int64_t bytes)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, s->t++, 0);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->story.machine, "recvfrom");
	e.v[DTC_CALL_FD] = FD;
	e.v[DTC_CALL_FLAGS] = 2;
	dtc_machine_apply(s->story.machine, &e);
	story_leave(&s->story, s->t++, 0, "recvfrom", bytes);
}

static void lose(struct server *s)
{
	s->t += 10;
	story_lost(&s->story, s->t - 10, s->t, 0);
	story_switch(&s->story, s->t++, 0, 0, "swapper/0", 0, TID, "db");
}

static void end_lost(struct server *s)
{
	story_switch(&s->story, s->t, 0, TID, "db", 1, 0, "swapper/0");
	story_end(&s->story);
}

/*
 * Corked (TCP_CORK: puma, Apache): head and body of an answer leave when the socket is uncorked, or closed, and tell
 * whose it is all the same, and where its bytes lie.
 */
static void test_corked(void)
{
	static const char *const calls[] = { "setsockopt", "shutdown", "close" };

	for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
		struct server s;
		begin(&s, START);
		arrive(&s, START, 50);
		take(&s, 50);
		story_enter(&s.story, s.t++, 0, "setsockopt", FD);
		story_leave(&s.story, s.t++, 0, "setsockopt", 0);
		write_only(&s);
		write_only(&s);
		struct dtc_headers headers = story_headers(2, 3306, 1, 1000, 500, 1, DTC_TCP_ACK | DTC_TCP_PSH, 2, 0);
		story_enter(&s.story, s.t++, 0, calls[i], FD);
		story_packet(&s.story, DTC_EVENT_NET_SEND, s.t++, 0, &headers);
		story_leave(&s.story, s.t++, 0, calls[i], 0);
		end_lost(&s);
		const struct dtc_file *file = find_socket(s.story.history);
		g_assert_true(file->has_base_in);
		g_assert_cmpuint(file->base_in, ==, START);
		g_assert_true(file->has_base_out);
		g_assert_cmpuint(file->base_out, ==, 500);
		story_clear(&s.story);
	}
}

/*
 * The events of a read were lost, and those of the arrival before it: the next read is of what arrived next. Header
 * first, so that not each read drains the socket.
 */
static void test_lost_read(void)
{
	for (uint32_t arrived = 0; arrived < 2; arrived++) {
		struct server s;
		begin(&s, START);
		arrive(&s, START, 50);
		take(&s, 50);
		answer(&s);
		if (arrived)
			arrive(&s, START + 50, 30);
		lose(&s);
		for (uint32_t i = 0; i < 3; i++) {
			arrive(&s, START + 80 + 50 * i, 50);
			take(&s, 4);
			take(&s, 46);
		}
		take(&s, -EAGAIN);
		lose(&s);
		look(&s, 12);
		take(&s, 0);
		end_lost(&s);
		const struct dtc_file *file = find_socket(s.story.history);
		g_assert_cmpuint(count_at(s.story.history, 80 + 150), ==, 3);
		g_assert_true(file->has_lost_bytes);
		g_assert_cmpuint(file->base_in, ==, START);
		g_assert_cmpuint(find_last_offset(s.story.history, DTC_CALL_READ), ==, 80 + 100 + 4);
		g_assert_cmpuint(file->read_bytes, ==, 80 + 150);
		story_clear(&s.story);
	}
}

/* A write was lost; what leaves later than it is written, as the window opens, tells nothing too much. */
static void test_lost_write(void)
{
	struct server s;
	begin(&s, START);
	arrive(&s, START, 50);
	take(&s, 50);
	send_bytes(&s, 500, 10);
	lose(&s); /* a write of 7 */
	send_bytes(&s, 517, 10);
	struct dtc_headers late = story_headers(2, 3306, 1, 1000, 527, 1, DTC_TCP_ACK, 10, 0);
	story_enter(&s.story, s.t++, 0, "write", FD);
	story_leave(&s.story, s.t++, 0, "write", 20);
	story_packet(&s.story, DTC_EVENT_NET_SEND, s.t++, 0, &late);
	send_bytes(&s, 537, 20);
	end_lost(&s);
	const struct dtc_file *file = find_socket(s.story.history);
	g_assert_true(file->has_lost_bytes);
	g_assert_cmpuint(file->base_out, ==, 500);
	g_assert_cmpuint(find_last_offset(s.story.history, DTC_CALL_WRITE), ==, 47);
	g_assert_cmpuint(file->written_bytes, ==, 67);
	story_clear(&s.story);
}

/* Events were lost, but none of this connection. A segment that leaves once more tells nothing. */
static void test_lost_nothing(void)
{
	struct server s;
	begin(&s, START);
	for (uint32_t i = 0; i < 3; i++) {
		arrive(&s, START + 50 * i, 50);
		take(&s, 4);
		if (i == 1)
			lose(&s);
		take(&s, 46);
		send_bytes(&s, 500 + 10 * i, 10);
		struct dtc_headers again = story_headers(2, 3306, 1, 1000, 500, 1, DTC_TCP_ACK, 10, 0);
		story_packet(&s.story, DTC_EVENT_NET_SEND, s.t++, 0, &again);
	}
	end_lost(&s);
	g_assert_false(find_socket(s.story.history)->has_lost_bytes);
	g_assert_cmpuint(find_last_offset(s.story.history, DTC_CALL_READ), ==, 104);
	story_clear(&s.story);
}

/* The arrival of what is read last was lost, too: the reads behind the gap before it have their bytes all the same. */
static void test_lost_last_arrival(void)
{
	struct server s;
	begin(&s, START);
	arrive(&s, START, 50);
	take(&s, 50);
	answer(&s);
	lose(&s); /* a read of 30 */
	arrive(&s, START + 80, 50);
	take(&s, 50);
	lose(&s);
	take(&s, 40);
	end_lost(&s);
	const struct dtc_file *file = find_socket(s.story.history);
	g_assert_cmpuint(file->base_in, ==, START);
	g_assert_true(file->has_lost_bytes);
	g_assert_cmpuint(find_last_offset(s.story.history, DTC_CALL_READ), ==, 130);
	story_clear(&s.story);
}

/* Two threads write to one socket, and the one that begins first returns last: nothing is missing. */
static void test_two_writers(void)
{
	struct server s;
	begin(&s, START);
	arrive(&s, START, 50);
	take(&s, 50);
	send_bytes(&s, 500, 10);
	lose(&s);
	struct dtc_headers first = story_headers(2, 3306, 1, 1000, 510, 1, DTC_TCP_ACK, 10, 0);
	struct dtc_headers second = story_headers(2, 3306, 1, 1000, 520, 1, DTC_TCP_ACK, 7, 0);
	story_enter(&s.story, s.t++, 0, "write", FD);
	story_packet(&s.story, DTC_EVENT_NET_SEND, s.t++, 0, &first);
	story_enter(&s.story, s.t++, 1, "write", FD);
	story_packet(&s.story, DTC_EVENT_NET_SEND, s.t++, 1, &second);
	story_leave(&s.story, s.t++, 1, "write", 7);
	story_leave(&s.story, s.t++, 0, "write", 10);
	send_bytes(&s, 527, 10);
	end_lost(&s);
	g_assert_false(find_socket(s.story.history)->has_lost_bytes);
	g_assert_cmpuint(find_socket(s.story.history)->written_bytes, ==, 37);
	story_clear(&s.story);
}

/* The offset of each call that moved bytes is what it was before anything was lost, from the first visible byte on. */
static void check_offsets(const DtcHistory *h, enum dtc_call_kind kind, const GArray *offsets)
{
	guint found = 0;

	for (uint32_t i = 0; i < dtc_history_get_call_count(h); i++) {
		const struct dtc_call call = dtc_history_copy_call(h, i);
		if (call.kind != kind || call.result <= 0)
			continue;
		g_assert_cmpuint(found, <, offsets->len);
		g_assert_cmpuint(call.offset, ==, g_array_index(offsets, uint64_t, found++));
	}
	g_assert_cmpuint(found, ==, offsets->len);
}

/* Messages of any length, in one read or two, each answered; gaps with some of them in, or none. */
static void test_random(void)
{
	for (guint round = 0; round < 200; round++) {
		struct server s;
		uint64_t read = 0, written = 0;
		g_autoptr(GArray) reads = g_array_new(FALSE, FALSE, sizeof(uint64_t));
		g_autoptr(GArray) writes = g_array_new(FALSE, FALSE, sizeof(uint64_t));
		guint count = (guint)g_test_rand_int_range(2, 40);
		begin(&s, START);
		for (guint i = 0; i < count; i++) {
			uint32_t bytes = (uint32_t)g_test_rand_int_range(5, 3000);
			uint32_t answer_bytes = (uint32_t)g_test_rand_int_range(1, 3000);
			bool is_lost = i > 0 && i + 1 < count && g_test_rand_int_range(0, 4) == 0;
			if (is_lost || g_test_rand_int_range(0, 4) == 0)
				lose(&s);
			if (!is_lost) {
				uint32_t first = g_test_rand_int_range(0, 2) ? 4 : bytes;
				uint64_t second = read + first;
				g_array_append_val(reads, read);
				if (first < bytes)
					g_array_append_val(reads, second);
				g_array_append_val(writes, written);
				arrive(&s, START + (uint32_t)read, bytes);
				take(&s, first);
				if (first < bytes)
					take(&s, bytes - first);
				send_bytes(&s, 500 + (uint32_t)written, answer_bytes);
			}
			read += bytes;
			written += answer_bytes;
		}
		end_lost(&s);
		check_offsets(s.story.history, DTC_CALL_READ, reads);
		check_offsets(s.story.history, DTC_CALL_WRITE, writes);
		story_clear(&s.story);
	}
}

/* A write is lost on one CPU, in a gap in which the other CPU has one before it and one behind it. */
static void test_gap_of_another(void)
{
	struct server s;
	begin(&s, START);
	arrive(&s, START, 50);
	take(&s, 50);
	send_bytes(&s, 500, 10);
	int64_t begin_ns = s.t++;
	send_bytes(&s, 510, 10);
	send_bytes(&s, 550, 10);
	story_lost(&s.story, begin_ns, s.t++, 1);
	send_bytes(&s, 560, 10);
	end_lost(&s);
	static const uint64_t wanted[] = { 0, 10, 50, 60 };
	g_autoptr(GArray) offsets = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	g_array_append_vals(offsets, wanted, G_N_ELEMENTS(wanted));
	check_offsets(s.story.history, DTC_CALL_WRITE, offsets);
	story_clear(&s.story);
}

/* What is sent by calls that are no writes is not lost: nothing can be said, and nothing is moved. */
static void test_lost_unknown(void)
{
	struct server s;
	begin(&s, START);
	send_bytes(&s, 500, 10);
	struct dtc_headers other = story_headers(2, 3306, 1, 1000, 510, 1, DTC_TCP_ACK, 90, 0);
	story_packet(&s.story, DTC_EVENT_NET_SEND, s.t++, 0, &other);
	lose(&s);
	send_bytes(&s, 600, 10);
	end_lost(&s);
	g_assert_false(find_socket(s.story.history)->has_lost_bytes);
	story_clear(&s.story);
}

/* Where the first written byte lies was seen before all was forgotten, and not again. */
static void test_forgotten_write(void)
{
	struct server s;
	begin(&s, 0);
	answer(&s);
	dtc_machine_forget(s.story.machine);
	write_only(&s);
	story_end(&s.story);
	guint count = 0;
	for (uint32_t i = 0; i < dtc_history_get_file_count(s.story.history); i++) {
		const struct dtc_file *file = dtc_history_get_file(s.story.history, i);
		if (file->flow_out == DTC_NONE)
			continue;
		count++;
		g_assert_true(file->has_base_out);
		g_assert_cmpuint(file->base_out, ==, 1);
		g_assert_cmpuint(file->written_bytes, ==, 2);
	}
	g_assert_cmpuint(count, ==, 1);
	story_clear(&s.story);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sockets/whole", test_whole);
	g_test_add_func("/sockets/header-first", test_header_first);
	g_test_add_func("/sockets/body-first", test_body_first);
	g_test_add_func("/sockets/pipelined", test_pipelined);
	g_test_add_func("/sockets/two-threads", test_two_threads);
	g_test_add_func("/sockets/arrived-before", test_arrived_before);
	g_test_add_func("/sockets/lost-arrival", test_lost_arrival);
	g_test_add_func("/sockets/old-segment-first", test_old_segment_first);
	g_test_add_func("/sockets/reordered", test_reordered);
	g_test_add_func("/sockets/no-arrival", test_no_arrival);
	g_test_add_func("/sockets/lost-read", test_lost_read);
	g_test_add_func("/sockets/lost-write", test_lost_write);
	g_test_add_func("/sockets/lost-nothing", test_lost_nothing);
	g_test_add_func("/sockets/lost-last-arrival", test_lost_last_arrival);
	g_test_add_func("/sockets/two-writers", test_two_writers);
	g_test_add_func("/sockets/lost-random", test_random);
	g_test_add_func("/sockets/gap-of-another", test_gap_of_another);
	g_test_add_func("/sockets/lost-unknown", test_lost_unknown);
	g_test_add_func("/sockets/forgotten-write", test_forgotten_write);
	g_test_add_func("/sockets/corked", test_corked);
	return g_test_run();
}
