/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection whose ends know it by other addresses: when is it one, and who sent what then arrives? */
#include "analyze/edge/translations.h"
#include "analyze/edge/links.h"
#include "sync/fit/clocks.h"
#include "tests/support/story.h"

#define CLIENT 0x0af40102u
#define SERVICE 0x0a60000au
#define HOST 0xc0a84d01u /* under which the client's requests arrive, where they are masqueraded */
#define POD 0x0af40202u
#define NODES 3

struct told {
	const char *name;
	bool has_begin[2]; /* the SYN and its answer are in the trace of the client, of the server */
	uint32_t source;   /* of what reaches the server */
	uint16_t source_port;
	uint32_t ack;	 /* of the request that the server gets: 5001, if it is the client's */
	bool has_double; /* another machine's socket says the same */
	bool is_one;
};

static void see(struct story *s, int64_t t, bool is_sent, uint32_t from, uint16_t from_port, uint32_t to,
		uint16_t to_port, uint32_t seq, uint32_t ack, uint8_t flags, uint32_t bytes)
{
	struct dtc_headers headers = story_headers(from, from_port, to, to_port, seq, ack, flags, bytes, 7);
	story_packet(s, is_sent ? DTC_EVENT_NET_SEND : DTC_EVENT_NET_RECEIVE, t, 0, &headers);
}

static void tell_client(struct story *s, const struct told *told)
{
	story_begin(s, "a");
	story_switch(s, 0, 0, 0, "swapper/0", 0, 10, "client");
	story_enter(s, 10, 0, "connect", 4);
	if (told->has_begin[0]) {
		see(s, 11, true, CLIENT, 1000, SERVICE, 80, 100, 0, DTC_TCP_SYN, 0);
		see(s, 20, false, SERVICE, 80, CLIENT, 1000, 5000, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0);
	}
	story_leave(s, 21, 0, "connect", 0);
	story_enter(s, 30, 0, "write", 4);
	see(s, 31, true, CLIENT, 1000, SERVICE, 80, 101, 5001, DTC_TCP_ACK, 50);
	story_leave(s, 32, 0, "write", 50);
	see(s, 60, false, SERVICE, 80, CLIENT, 1000, 5001, 151, DTC_TCP_ACK, 60);
}

static void tell_server(struct story *s, const struct told *told, const char *node)
{
	story_begin(s, node);
	story_switch(s, 0, 0, 0, "swapper/0", 0, 20, "server");
	if (told->has_begin[1]) {
		see(s, 14, false, told->source, told->source_port, POD, 8080, 100, 0, DTC_TCP_SYN, 0);
		see(s, 15, true, POD, 8080, told->source, told->source_port, 5000, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0);
	}
	see(s, 40, false, told->source, told->source_port, POD, 8080, 101, told->ack, DTC_TCP_ACK, 50);
	story_enter(s, 50, 0, "write", 5);
	see(s, 51, true, POD, 8080, told->source, told->source_port, told->ack, 151, DTC_TCP_ACK, 60);
	story_leave(s, 52, 0, "write", 60);
}

static void test_told(gconstpointer data)
{
	static const char *const names[NODES] = { "a", "b", "c" };
	const struct told *told = data;
	struct story stories[NODES];
	const DtcHistory *histories[NODES] = { NULL };
	guint count = told->has_double ? NODES : 2;
	tell_client(&stories[0], told);
	for (guint i = 1; i < count; i++)
		tell_server(&stories[i], told, names[i]);
	for (guint i = 0; i < count; i++)
		histories[i] = story_end(&stories[i]);
	g_autoptr(DtcTranslations) translations = dtc_translations_new(histories, count);
	g_assert_cmpuint(dtc_translations_get_count(translations), ==, told->is_one);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new(count, 0);
	for (guint i = 0; i < count; i++) {
		struct dtc_clock_knot knots[] = { { 0, 0, 0, 0 }, { 1000, 1000, 1000, 1000 } };
		dtc_clocks_set_node(clocks, i, 0, knots, G_N_ELEMENTS(knots), 0);
	}
	g_autoptr(DtcLinks) links = dtc_links_new(count, names, histories, clocks);
	uint32_t answer = dtc_packets_get_count(dtc_history_get_packets(histories[0])) - 1, file;
	guint node;
	struct dtc_send send;
	g_assert_cmpint(dtc_links_find_send(links, 0, answer, &send), ==, told->is_one);
	if (told->is_one) {
		g_assert_cmpuint(send.node, ==, 1);
		g_assert_true(send.exact);
		g_assert_cmpint(dtc_packets_get_time_ns(dtc_history_get_packets(histories[1]), send.packet), ==, 51);
	}
	uint32_t out = dtc_packets_get_flow_of(dtc_history_get_packets(histories[0]), answer);
	out = dtc_packets_get_flow(dtc_history_get_packets(histories[0]), out)->reverse;
	uint32_t own = dtc_history_find_file_of_flow(histories[0], out);
	g_assert_cmpuint(own, !=, DTC_NONE);
	g_assert_cmpint(dtc_links_find_peer(links, 0, own, 30, &node, &file), ==, told->is_one);
	for (guint i = 0; i < count; i++)
		story_clear(&stories[i]);
}

/* Both ends are traced from later on than the host between them, which saw the connection begin. */
static void test_begin_on_the_way(void)
{
	static const char *const names[NODES] = { "a", "b", "c" };
	const struct told told = { .source = HOST, .source_port = 2000, .ack = 5001 };
	struct story stories[NODES];
	const DtcHistory *histories[NODES];
	tell_client(&stories[0], &told);
	tell_server(&stories[1], &told, names[1]);
	story_begin(&stories[2], names[2]);
	story_switch(&stories[2], 0, 0, 0, "swapper/0", 0, 30, "other");
	see(&stories[2], 12, false, CLIENT, 1000, SERVICE, 80, 100, 0, DTC_TCP_SYN, 0);
	see(&stories[2], 19, true, SERVICE, 80, CLIENT, 1000, 5000, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0);
	for (guint i = 0; i < NODES; i++)
		histories[i] = story_end(&stories[i]);
	g_autoptr(DtcTranslations) translations = dtc_translations_new(histories, NODES);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new(NODES, 0);
	g_autoptr(DtcLinks) links = dtc_links_new(NODES, names, histories, clocks);
	uint32_t answer = dtc_packets_get_count(dtc_history_get_packets(histories[0])) - 1, isn = 0;
	g_assert_cmpuint(dtc_translations_get_count(translations), ==, 1);
	g_assert_true(dtc_links_find_isn(links, 0, dtc_packets_get(dtc_history_get_packets(histories[0]), answer).flow,
					 &isn));
	g_assert_cmpuint(isn, ==, 5000);
	for (guint i = 0; i < NODES; i++)
		story_clear(&stories[i]);
}

/* --- both on one node, with the host between them: it sends what arrives, and is not who sent it --- */

static void test_one_node(void)
{
	static const char *const name = "a";
	struct story s;
	story_begin(&s, name);
	story_switch(&s, 0, 0, 0, "swapper/0", 0, 10, "client");
	story_enter(&s, 10, 0, "connect", 4);
	see(&s, 11, true, CLIENT, 1000, SERVICE, 80, 100, 0, DTC_TCP_SYN, 0);
	see(&s, 12, true, CLIENT, 1000, POD, 8080, 100, 0, DTC_TCP_SYN, 0);
	see(&s, 13, false, CLIENT, 1000, POD, 8080, 100, 0, DTC_TCP_SYN, 0);
	see(&s, 14, true, POD, 8080, CLIENT, 1000, 5000, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0);
	see(&s, 15, false, SERVICE, 80, CLIENT, 1000, 5000, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0);
	story_leave(&s, 21, 0, "connect", 0);
	story_switch(&s, 22, 0, 10, "client", 1, 20, "server");
	story_enter(&s, 50, 0, "write", 5);
	see(&s, 51, true, POD, 8080, CLIENT, 1000, 5001, 101, DTC_TCP_ACK, 60);
	story_leave(&s, 52, 0, "write", 60);
	see(&s, 70, true, SERVICE, 80, CLIENT, 1000, 5001, 101, DTC_TCP_ACK, 60);
	see(&s, 71, false, SERVICE, 80, CLIENT, 1000, 5001, 101, DTC_TCP_ACK, 60);
	const DtcHistory *history = story_end(&s);
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &history, clocks);
	uint32_t answer = dtc_packets_get_count(dtc_history_get_packets(history)) - 1;
	struct dtc_send send;
	g_assert_true(dtc_links_find_send(links, 0, answer, &send));
	g_assert_cmpint(dtc_packets_get_time_ns(dtc_history_get_packets(history), send.packet), ==, 51);
	story_clear(&s);
}

static const struct told all[] = {
	{ "service", { true, true }, CLIENT, 1000, 5001, false, true },
	{ "masqueraded", { true, true }, HOST, 61000, 5001, false, true },
	{ "older-than-the-trace", { false, false }, HOST, 61000, 5001, false, true },
	{ "begin-on-one-side", { true, false }, HOST, 61000, 5001, false, true },
	/* one number alone, and the same port: another connection */
	{ "another", { false, false }, CLIENT, 1000, 777, false, false },
	/* which of them it was is not told: a machine that was copied, and goes on as both */
	{ "doubled", { true, true }, HOST, 61000, 5001, true, false },
	{ "doubled-later", { false, false }, HOST, 61000, 5001, true, false },
};

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
		g_autofree char *path = g_strdup_printf("/translations/%s", all[i].name);
		g_test_add_data_func(path, &all[i], test_told);
	}
	g_test_add_func("/translations/begin-on-the-way", test_begin_on_the_way);
	g_test_add_func("/translations/one-node", test_one_node);
	return g_test_run();
}
