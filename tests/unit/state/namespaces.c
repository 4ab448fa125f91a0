/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two pods of a node listen on 127.0.0.1:6379 and are asked from the same port: whose connection is it? */
#include "tests/support/story.h"

#define LOOP 0x7f000001
#define CLIENT_PORT 40000
#define SERVER_PORT 6379
#define FD 5

static const uint32_t pods[] = { 4026532100u, 4026532200u };
static const int tids[] = { 10, 11 };

static void set_environment(struct story *s)
{
	g_autoptr(DtcEnvironment) environment = dtc_environment_new();

	for (guint i = 0; i < 2; i++) {
		g_autofree char *file = g_strdup_printf("packets-%u.pcap", pods[i]);
		dtc_environment_add_capture(environment, file)->netns = pods[i];
	}
	dtc_machine_set_environment(s->machine, environment);
}

static void dump_netns(struct story *s, int64_t t, int tid, uint32_t inode)
{
	struct dtc_event e = story_event(DTC_EVENT_DUMP_NETNS, t, 0);

	e.v[DTC_DUMP_NETNS_TID] = tid;
	e.v[DTC_DUMP_NETNS_INODE] = inode;
	dtc_machine_apply(s->machine, &e);
}

static void see_packet(struct story *s, enum dtc_event_kind kind, int64_t t, uint32_t netns, struct dtc_headers headers,
		       enum dtc_header_source source)
{
	struct dtc_event e = story_event(kind, t, 0);

	e.headers = headers;
	e.text[0] = "lo";
	e.v[DTC_NET_NETNS] = netns;
	e.v[DTC_NET_SOURCE] = source;
	dtc_machine_apply(s->machine, &e);
}

static void accept_call(struct story *s, int64_t t, uint32_t cpu)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_EXIT, t + 1, cpu);
	struct dtc_headers from = story_headers(LOOP, CLIENT_PORT, LOOP, SERVER_PORT, 0, 0, 0, 0, 0);

	story_enter(s, t, cpu, "accept4", 3);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "accept4");
	e.v[DTC_CALL_RET] = FD;
	e.v[DTC_CALL_PORT] = CLIENT_PORT;
	e.has_address = true;
	memcpy(e.address, from.source, 16);
	dtc_machine_apply(s->machine, &e);
}

static void begin(struct story *s, bool has_children)
{
	story_begin(s, "n");
	set_environment(s);
	for (guint i = 0; i < 2; i++) {
		int parent = has_children ? 2 + (int)i : tids[i];
		dump_netns(s, 1, parent, pods[i]);
		if (has_children)
			story_fork(s, 10, i, parent, parent, tids[i], tids[i], "redis");
		story_switch(s, 20, i, 0, "swapper", 0, tids[i], "redis");
	}
}

/* The connection of the file that the thread accepted. */
static const struct dtc_file *find_accepted(const struct story *s, int tid)
{
	uint32_t count = dtc_history_get_file_count(s->history);

	for (uint32_t i = 0; i < count; i++) {
		const struct dtc_file *file = dtc_history_get_file(s->history, i);
		if (file->accept != DTC_NONE && dtc_history_copy_call(s->history, file->accept).thread ==
							dtc_history_find_thread(s->history, tid, 1000))
			return file;
	}
	g_error("thread %d accepted nothing", tid);
}

/* Both SYNs come before either accept, which come in the other order; children are where their parents are. */
static void test_accept(void)
{
	for (guint has_children = 0; has_children < 2; has_children++) {
		struct story s;
		begin(&s, has_children);
		for (guint i = 0; i < 2; i++)
			see_packet(&s, DTC_EVENT_NET_RECEIVE, 100 + i, pods[i],
				   story_headers(LOOP, CLIENT_PORT, LOOP, SERVER_PORT, 1000 + i, 0, DTC_TCP_SYN, 0, 0),
				   DTC_HEADER_JOINED);
		accept_call(&s, 200, 1);
		accept_call(&s, 300, 0);
		story_end(&s);
		const DtcPackets *packets = dtc_history_get_packets(s.history);
		for (guint i = 0; i < 2; i++) {
			const struct dtc_file *file = find_accepted(&s, tids[i]);
			g_assert_cmpuint(file->flow_in, !=, DTC_NONE);
			const struct dtc_flow *flow = dtc_packets_get_flow(packets, file->flow_in);
			g_assert_cmpuint(dtc_packets_get_netns(packets, flow->netns), ==, pods[i]);
			g_assert_cmpuint(flow->isn, ==, 1000 + i);
		}
		story_clear(&s);
	}
}

/* A thread that may have moved is not taken to be where it was. */
static void test_moved(void)
{
	struct story s;

	begin(&s, false);
	see_packet(&s, DTC_EVENT_NET_RECEIVE, 100, pods[0],
		   story_headers(LOOP, CLIENT_PORT, LOOP, SERVER_PORT, 1000, 0, DTC_TCP_SYN, 0, 0), DTC_HEADER_JOINED);
	story_enter(&s, 150, 0, "setns", 4);
	story_leave(&s, 151, 0, "setns", 0);
	accept_call(&s, 200, 0);
	story_end(&s);
	g_assert_cmpuint(find_accepted(&s, tids[0])->flow_in, ==, DTC_NONE);
	story_clear(&s);
}

/* Headers that another packet may have are marked, and those of an event that has none are none. */
static void test_inferred(void)
{
	struct story s;
	struct dtc_headers headers = story_headers(LOOP, CLIENT_PORT, LOOP, SERVER_PORT, 1000, 0, DTC_TCP_SYN, 0, 0);

	begin(&s, false);
	see_packet(&s, DTC_EVENT_NET_RECEIVE, 100, pods[0], headers, DTC_HEADER_JOINED);
	see_packet(&s, DTC_EVENT_NET_RECEIVE, 110, pods[0], headers, DTC_HEADER_INFERRED);
	story_end(&s);
	const DtcPackets *packets = dtc_history_get_packets(s.history);
	g_assert_false(dtc_packets_get(packets, 0).is_inferred);
	g_assert_true(dtc_packets_get(packets, 1).is_inferred);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/state/namespaces/accept", test_accept);
	g_test_add_func("/state/namespaces/moved", test_moved);
	g_test_add_func("/state/namespaces/inferred", test_inferred);
	return g_test_run();
}
