/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Probes between this machine and a socket of the test's that plays another node: what is asked, who is answered, and
 * who is not. Which nodes probe each other.
 */
#include "collect/record/cluster/probes.h"
#include "collect/record/cluster/peers.h"
#include "collect/record/cluster/traffic.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define TOKEN "000102030405060708090a0b0c0d0e0f"
#define OWN 7u
#define OTHER 3u
#define HEADER_BYTES 40u

/* ---- who ---- */

static void test_circle(void)
{
	for (guint count = 1; count < 150; count++) {
		g_autofree gboolean *is_reached = g_new0(gboolean, count);
		guint reached = 1, before = 0, most = 0;
		is_reached[0] = TRUE;
		while (before != reached) {
			before = reached;
			for (guint i = 0; i < count * count; i++)
				if (is_reached[i / count] && !is_reached[i % count] &&
				    dtc_peers_are_two(i / count, i % count, count)) {
					is_reached[i % count] = TRUE;
					reached++;
				}
		}
		for (guint a = 0; a < count; a++) {
			guint peers = 0;
			for (guint b = 0; b < count; b++) {
				g_assert_cmpint(dtc_peers_are_two(a, b, count), ==, dtc_peers_are_two(b, a, count));
				peers += dtc_peers_are_two(a, b, count);
			}
			most = MAX(most, peers);
		}
		g_assert_cmpuint(reached, ==, count);
		g_assert_cmpuint(most, <=, 16);
	}
	g_assert_true(dtc_peers_are_two(0, 7, 8));
	g_assert_false(dtc_peers_are_two(0, 3, 9));
}

/* What several nodes have is nobody's: 172.17.0.1 is each host's own. */
static void test_own_addresses(void)
{
	static const char *const a[] = { "10.0.0.1", "172.17.0.1", "fd00::1", NULL },
				 *const b[] = { "172.17.0.1", "10.0.0.2", NULL }, *const c[] = { "172.17.0.1", NULL };
	char *const *all[] = { (char *const *)a, (char *const *)b, NULL, (char *const *)c };
	char **own[4];

	dtc_peers_list_own(all, 4, own);
	g_assert_cmpuint(g_strv_length(own[0]), ==, 2);
	g_assert_cmpstr(own[0][1], ==, "fd00::1");
	g_assert_cmpuint(g_strv_length(own[1]), ==, 1);
	g_assert_cmpstr(own[1][0], ==, "10.0.0.2");
	g_assert_cmpuint(g_strv_length(own[2]) + g_strv_length(own[3]), ==, 0);
	for (guint i = 0; i < 4; i++)
		g_strfreev(own[i]);
}

/* ---- what is said ---- */

struct lab {
	DtcProbes *probes;
	int fd; /* of the other node */
	uint16_t port;
	struct sockaddr_in own, other;
};

/* An address of this machine that is not loopback's; NULL: it has none. Caller owns. */
static char *get_address(void)
{
	g_auto(GStrv) addresses = dtc_probes_list_addresses();
	struct in_addr parsed;

	for (char **address = addresses; *address; address++)
		if (inet_pton(AF_INET, *address, &parsed) == 1)
			return g_strdup(*address);
	return NULL;
}

static int open_socket(const char *address, struct sockaddr_in *ret_address)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t bytes = sizeof(*ret_address);

	*ret_address = (struct sockaddr_in){ .sin_family = AF_INET };
	g_assert_cmpint(inet_pton(AF_INET, address, &ret_address->sin_addr), ==, 1);
	g_assert_cmpint(bind(fd, (struct sockaddr *)ret_address, bytes), ==, 0);
	g_assert_cmpint(getsockname(fd, (struct sockaddr *)ret_address, &bytes), ==, 0);
	return fd;
}

static bool make_lab(struct lab *lab)
{
	g_autofree char *address = get_address();
	g_autoptr(GError) error = NULL;

	if (!address) {
		g_test_skip("no address but loopback's here");
		return false;
	}
	const char *addresses[] = { "224.0.0.1", "127.0.0.1", "not one", address, NULL };
	lab->probes = dtc_probes_open(&error);
	g_assert_no_error(error);
	lab->fd = open_socket(address, &lab->other);
	lab->own = lab->other;
	lab->own.sin_port = htons(dtc_probes_get_port(lab->probes));
	g_assert_false(dtc_probes_begin(lab->probes, "000102", OWN));
	g_assert_true(dtc_probes_begin(lab->probes, TOKEN, OWN));
	g_assert_false(dtc_probes_add_peer(lab->probes, OTHER, 0, addresses));
	addresses[3] = NULL;
	g_assert_false(dtc_probes_add_peer(lab->probes, OTHER, ntohs(lab->other.sin_port), addresses));
	addresses[3] = address;
	g_assert_true(dtc_probes_add_peer(lab->probes, OTHER, ntohs(lab->other.sin_port), addresses));
	return true;
}

static void clear_lab(struct lab *lab)
{
	close(lab->fd);
	dtc_probes_free(lab->probes);
}

/* The bytes that came within that time; 0: none. */
static gsize await(const struct lab *lab, int fd, uint8_t bytes[2048], gint64 timeout_ms)
{
	gint64 end_us = g_get_monotonic_time() + timeout_ms * 1000;
	struct pollfd fds[1 + DTC_PROBES_POLL_COUNT] = { { .fd = fd, .events = POLLIN } };

	while (g_get_monotonic_time() < end_us) {
		dtc_probes_go_on(lab->probes);
		dtc_probes_fill_poll(lab->probes, fds + 1);
		g_assert_cmpint(dtc_probes_get_wait_ms(lab->probes), >=, 0);
		(void)poll(fds, G_N_ELEMENTS(fds), 10);
		ssize_t count = recv(fd, bytes, 2048, MSG_DONTWAIT);
		if (count > 0)
			return (gsize)count;
	}
	return 0;
}

static uint32_t get_word(const uint8_t *bytes, guint at)
{
	uint32_t word;

	memcpy(&word, bytes + at, sizeof(word));
	return ntohl(word);
}

static void put_word(uint8_t *bytes, guint at, uint32_t word)
{
	uint32_t value = htonl(word);

	memcpy(bytes + at, &value, sizeof(value));
}

/* Each question is of another length, and odd. */
static void test_questions(void)
{
	struct lab lab = { 0 };
	uint8_t bytes[2048];
	gsize before = 0;

	if (!make_lab(&lab))
		return;
	for (guint i = 0; i < 3; i++) {
		gsize count = await(&lab, lab.fd, bytes, 5000);
		g_assert_cmpuint(count, >, HEADER_BYTES);
		g_assert_cmpuint(count % 2, ==, 1);
		g_assert_cmpuint(count, !=, before);
		g_assert_cmpmem(bytes, 8, "dtcprobe", 8);
		g_assert_cmpuint(bytes[23], ==, 15);
		g_assert_cmpuint(get_word(bytes, 24), ==, OWN);
		g_assert_cmpuint(get_word(bytes, 28), ==, OTHER);
		g_assert_cmpuint(get_word(bytes, 32), ==, 0);
		before = count;
	}
	clear_lab(&lab);
}

static void make_question(uint8_t bytes[HEADER_BYTES + 10])
{
	memset(bytes, 0, HEADER_BYTES + 10);
	memcpy(bytes, "dtcprobe", 8);
	for (guint i = 0; i < 16; i++)
		bytes[8 + i] = (uint8_t)i;
	put_word(bytes, 24, OTHER);
	put_word(bytes, 28, OWN);
	put_word(bytes, 36, 4711);
}

/* An answer among what comes; questions come, too. */
static bool is_answered(const struct lab *lab, int fd, const uint8_t *question, gsize count)
{
	gint64 end_us = g_get_monotonic_time() + (gint64)300 * 1000;
	uint8_t bytes[2048];

	g_assert_cmpint(sendto(fd, question, count, 0, (const struct sockaddr *)&lab->own, sizeof(lab->own)), ==,
			(ssize_t)count);
	while (g_get_monotonic_time() < end_us) {
		gsize got = await(lab, fd, bytes, 100);
		if (got == 0 || get_word(bytes, 32) == 0)
			continue;
		g_assert_cmpuint(got, ==, count - 1);
		g_assert_cmpuint(get_word(bytes, 24), ==, OWN);
		g_assert_cmpuint(get_word(bytes, 28), ==, OTHER);
		g_assert_cmpuint(get_word(bytes, 36), ==, 4711);
		return true;
	}
	return false;
}

/* A stranger, and whoever does not know the token, is not answered. */
static void test_answers(void)
{
	static const guint spoiled[] = { 0, 8, 23, 27, 31, 35 }; /* magic, token, sender, receiver, kind */
	struct lab lab = { 0 };
	struct sockaddr_in stranger;
	uint8_t question[HEADER_BYTES + 10];
	char text[INET_ADDRSTRLEN];

	if (!make_lab(&lab))
		return;
	make_question(question);
	g_assert_true(is_answered(&lab, lab.fd, question, sizeof(question)));
	g_assert_false(is_answered(&lab, lab.fd, question, HEADER_BYTES));
	for (gsize i = 0; i < G_N_ELEMENTS(spoiled); i++) {
		make_question(question);
		question[spoiled[i]] ^= 0x20;
		g_assert_false(is_answered(&lab, lab.fd, question, sizeof(question)));
	}
	make_question(question);
	int fd = open_socket(inet_ntop(AF_INET, &lab.own.sin_addr, text, sizeof(text)), &stranger);
	g_assert_false(is_answered(&lab, fd, question, sizeof(question)));
	g_assert_true(is_answered(&lab, lab.fd, question, sizeof(question)));
	close(fd);
	clear_lab(&lab);
}

/* ---- enough traffic ---- */

static void test_traffic(void)
{
	g_autofree char *address = get_address();
	DtcTraffic *traffic = dtc_traffic_open(9);
	struct sockaddr_in here, there;
	uint8_t other[2][16] = { { 0xfd, [15] = 9 }, { [10] = 0xff, [11] = 0xff } };

	if (!traffic || !address) {
		g_test_skip("it takes the right to look at packets (CAP_NET_RAW), and an address");
		dtc_traffic_free(traffic);
		return;
	}
	int from = open_socket(address, &here), to = open_socket(address, &there);
	memcpy(&other[1][12], &here.sin_addr, 4);
	dtc_traffic_add(traffic, (const uint8_t(*)[16])other, 1);
	dtc_traffic_add(traffic, (const uint8_t(*)[16])other, 2);
	dtc_traffic_begin(traffic);
	for (guint i = 0; i < 2 * DTC_TRAFFIC_ENOUGH; i++)
		g_assert_cmpint(sendto(from, "x", 1, 0, (struct sockaddr *)&there, sizeof(there)), ==, 1);
	dtc_traffic_go_on(traffic);
	g_assert_false(dtc_traffic_is_enough(traffic, 0));
	g_assert_true(dtc_traffic_is_enough(traffic, 1));
	dtc_traffic_begin(traffic);
	g_assert_false(dtc_traffic_is_enough(traffic, 1));
	close(from);
	close(to);
	dtc_traffic_free(traffic);
}

/* False where there is no IPv6. */
static bool say_to_itself(void)
{
	struct sockaddr_in6 here = { .sin6_family = AF_INET6,
				     .sin6_port = htons(9),
				     .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_said = fd >= 0;

	for (guint i = 0; is_said && i < 2 * DTC_TRAFFIC_ENOUGH; i++)
		is_said = sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&here, sizeof(here)) == 1 || i > 0;
	if (fd >= 0)
		close(fd);
	return is_said;
}

/* As many addresses as are looked for fit into what any kernel takes. */
static void test_many_addresses(void)
{
	DtcTraffic *traffic = dtc_traffic_open(1);
	const guint peers = 24;

	if (!traffic) {
		g_test_skip("it takes the right to look at packets (CAP_NET_RAW)");
		return;
	}
	for (guint i = 0; i < peers; i++) {
		uint8_t addresses[16][16] = { { 0 } };
		for (guint k = 0; k < 16; k++) {
			addresses[k][0] = 0xfd;
			addresses[k][8] = (uint8_t)i;
			addresses[k][15] = (uint8_t)k;
		}
		dtc_traffic_add(traffic, (const uint8_t(*)[16])addresses, 16);
	}
	const uint8_t own[1][16] = { { [15] = 1 } };
	dtc_traffic_add(traffic, own, 1);
	dtc_traffic_begin(traffic);
	if (say_to_itself()) {
		dtc_traffic_go_on(traffic);
		g_assert_true(dtc_traffic_is_enough(traffic, peers));
	}
	for (guint i = 0; i < peers; i++)
		g_assert_false(dtc_traffic_is_enough(traffic, i));
	dtc_traffic_free(traffic);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/probes/circle", test_circle);
	g_test_add_func("/probes/own-addresses", test_own_addresses);
	g_test_add_func("/probes/questions", test_questions);
	g_test_add_func("/probes/answers", test_answers);
	g_test_add_func("/probes/traffic", test_traffic);
	g_test_add_func("/probes/many-addresses", test_many_addresses);
	return g_test_run();
}
