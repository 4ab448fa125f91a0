/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of open files, and which end of a connection answers: by connect(), by the SYN, and else by the ports. */
#include "analyze/exchange/endpoint.h"
#include "tests/support/said.h"
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define HERE 0x0a000001u
#define THERE 0x0a000002u

struct made {
	struct story story;
	const DtcHistory *history;
	uint32_t file; /* of the last call */
};

static void made_begin(struct made *made)
{
	story_begin(&made->story, "n");
	story_switch(&made->story, 0, 0, 0, "swapper/0", RUN, 10, "a");
}

static void made_end(struct made *made)
{
	story_switch(&made->story, 900, 0, 10, "a", SLEEP, 0, "swapper/0");
	made->history = story_end(&made->story);
	made->file = dtc_history_copy_call(made->history, dtc_history_get_call_count(made->history) - 1).file;
	g_assert_cmpuint(made->file, !=, DTC_NONE);
}

static void made_clear(struct made *made)
{
	story_clear(&made->story);
}

enum opened { BEFORE, CONNECTED, SYN_SENT, SYN_RECEIVED };

/* A connection on descriptor 4, and a write on it that tells its ports. */
static void tell_connection(struct story *s, enum opened opened, uint32_t to, uint16_t own_port, uint16_t other_port)
{
	struct dtc_headers out = story_headers(HERE, own_port, to, other_port, 100, 0, DTC_TCP_SYN, 0, 0);
	struct dtc_headers in = story_headers(to, other_port, HERE, own_port, 500, 0, DTC_TCP_SYN, 0, 0);
	struct dtc_headers data = story_headers(HERE, own_port, to, other_port, 101, 501, DTC_TCP_ACK, 10, 0);
	if (opened == CONNECTED) {
		story_enter(s, 10, 0, "connect", 4);
		story_leave(s, 12, 0, "connect", 0);
	} else if (opened == SYN_SENT) {
		story_packet(s, DTC_EVENT_NET_SEND, 10, 0, &out);
	} else if (opened == SYN_RECEIVED) {
		story_packet(s, DTC_EVENT_NET_RECEIVE, 10, 0, &in);
	}
	story_enter(s, 100, 0, "write", 4);
	story_packet(s, DTC_EVENT_NET_SEND, 105, 0, &data);
	story_leave(s, 110, 0, "write", 10);
}

static void test_server(void)
{
	static const struct {
		enum opened opened;
		uint16_t own_port, other_port;
		bool is_server;
		const char *name;
	} cases[] = {
		{ BEFORE, 80, 40000, true, ":80 from 10.0.0.2" },
		{ BEFORE, 40000, 80, false, "to 10.0.0.2:80" },
		{ BEFORE, 5432, 5433, true, ":5432 from 10.0.0.2" },
		/* ftp's data connections are opened from port 20; what was seen decides, not the port */
		{ CONNECTED, 20, 40000, false, "to 10.0.0.2:40000" },
		{ SYN_SENT, 20, 40000, false, "to 10.0.0.2:40000" },
		{ SYN_RECEIVED, 40000, 20, true, ":40000 from 10.0.0.2" },
		{ SYN_SENT, 40000, 80, false, "to 10.0.0.2:80" },
		{ SYN_RECEIVED, 80, 40000, true, ":80 from 10.0.0.2" },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct made made;
		made_begin(&made);
		tell_connection(&made.story, cases[i].opened, THERE, cases[i].own_port, cases[i].other_port);
		made_end(&made);
		const char *name = said_of_label(made.history, made.file);
		g_assert_true(dtc_endpoint_is_server(made.history, made.file) == cases[i].is_server);
		g_assert_cmpstr(name, ==, cases[i].name);
		g_assert_false(dtc_endpoint_is_local(made.history, made.file));
		made_clear(&made);
	}
}

static void test_local(void)
{
	static const uint32_t addresses[] = { HERE, 0x7f000001u, 0x7f123456u, THERE };
	for (gsize i = 0; i < G_N_ELEMENTS(addresses); i++) {
		struct made made;
		made_begin(&made);
		tell_connection(&made.story, CONNECTED, addresses[i], 40000, 80);
		made_end(&made);
		g_assert_true(dtc_endpoint_is_local(made.history, made.file) == (addresses[i] != THERE));
		made_clear(&made);
	}
	struct made made;
	struct dtc_headers data = story_headers(HERE, 40000, THERE, 80, 101, 501, DTC_TCP_ACK, 10, 0);
	memset(data.destination, 0, sizeof(data.destination));
	data.destination[15] = 1; /* ::1 */
	made_begin(&made);
	story_enter(&made.story, 100, 0, "write", 4);
	story_packet(&made.story, DTC_EVENT_NET_SEND, 105, 0, &data);
	story_leave(&made.story, 110, 0, "write", 10);
	made_end(&made);
	g_assert_true(dtc_endpoint_is_local(made.history, made.file));
	made_clear(&made);
}

static void test_names(void)
{
	static const struct {
		const char *call;
		const char *name;
	} cases[] = { { "accept", "listening socket" }, { "connect", "socket" }, { "read", NULL } };
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct made made;
		made_begin(&made);
		story_enter(&made.story, 10, 0, cases[i].call, 4);
		story_leave(&made.story, 20, 0, cases[i].call, 9);
		made_end(&made);
		const char *name = said_of_label(made.history, made.file);
		g_assert_cmpstr(name, ==, cases[i].name);
		made_clear(&made);
	}
	struct made made;
	made_begin(&made);
	struct dtc_event open = story_event(DTC_EVENT_SYSCALL_ENTRY, 10, 0);
	open.v[DTC_CALL_NAME] = dtc_machine_add_call_name(made.story.machine, "open");
	open.text[0] = "/var/data";
	dtc_machine_apply(made.story.machine, &open);
	story_leave(&made.story, 20, 0, "open", 4);
	story_enter(&made.story, 30, 0, "read", 4);
	story_leave(&made.story, 40, 0, "read", 1);
	made_end(&made);
	const char *name = said_of_label(made.history, made.file);
	g_assert_cmpstr(name, ==, "/var/data");
	made_clear(&made);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/label/server", test_server);
	g_test_add_func("/label/local", test_local);
	g_test_add_func("/label/names", test_names);
	return g_test_run();
}
