/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a flight recorder keeps: packets by age and room, samples, and the walk that a recording begins with. */
#include "collect/record/flight.h"
#include "collect/record/packet_ring.h"

#define S INT64_C(1000000000)

/* ---- packets ---- */

struct seen {
	guint count;
	int64_t first_ns, last_ns;
};

static void see(const struct dtc_ring_packet *packet, const uint8_t *bytes, void *data)
{
	struct seen *seen = data;

	for (uint32_t i = 0; i < packet->captured_bytes; i++)
		g_assert_cmpuint(bytes[i], ==, (uint8_t)(packet->time_ns / S + i));
	if (seen->count++ == 0)
		seen->first_ns = packet->time_ns;
	g_assert_cmpint(packet->time_ns, >=, seen->last_ns);
	seen->last_ns = packet->time_ns;
}

static void add(DtcPacketRing *ring, int64_t time_ns, uint32_t captured_bytes)
{
	g_autofree uint8_t *bytes = g_malloc(captured_bytes + 1);
	const struct dtc_ring_packet packet = { time_ns, captured_bytes, 3 * captured_bytes };

	for (uint32_t i = 0; i < captured_bytes; i++)
		bytes[i] = (uint8_t)(time_ns / S + i);
	dtc_packet_ring_add(ring, &packet, bytes);
}

static struct seen look(const DtcPacketRing *ring, int64_t from_ns, int64_t until_ns)
{
	struct seen seen = { 0 };

	dtc_packet_ring_each(ring, from_ns, until_ns, see, &seen);
	return seen;
}

/* Nothing of what is wanted goes by age, and what has gone gives its memory back. */
static void test_age(void)
{
	struct dtc_packet_budget budget = { .max_kib = 1 << 20 };
	DtcPacketRing *ring = dtc_packet_ring_new(20 * S, &budget);

	for (int i = 1; i <= 1000; i++)
		add(ring, i * S, 60000);
	g_assert_cmpint(dtc_packet_ring_get_cut_ns(ring), ==, INT64_MIN);
	struct seen seen = look(ring, 985 * S, 995 * S);
	g_assert_cmpuint(seen.count, ==, 11);
	g_assert_cmpint(seen.first_ns, ==, 985 * S);
	seen = look(ring, INT64_MIN, INT64_MAX);
	g_assert_cmpuint(seen.count, >=, 21);
	g_assert_cmpuint(seen.count, <, 30);
	dtc_packet_ring_age(ring, 2000 * S);
	g_assert_cmpuint(look(ring, INT64_MIN, INT64_MAX).count, ==, 0);
	g_assert_cmpint(budget.kib, ==, 0);
	add(ring, 2001 * S, 0);
	add(ring, 2001 * S, 262144);
	g_assert_cmpuint(look(ring, 2001 * S, 2001 * S).count, ==, 2);
	dtc_packet_ring_free(ring);
	g_assert_cmpint(budget.kib, ==, 0);
}

/* Two rings share what there is; the own oldest go, and that they are missing is known. */
static void test_room(void)
{
	struct dtc_packet_budget budget = { .max_kib = 4096 };
	g_autoptr(DtcPacketRing) busy = dtc_packet_ring_new(1000 * S, &budget);
	g_autoptr(DtcPacketRing) calm = dtc_packet_ring_new(1000 * S, &budget);

	add(calm, 1 * S, 100);
	for (int i = 2; i <= 200; i++)
		add(busy, i * S, 60000);
	struct seen seen = look(busy, INT64_MIN, INT64_MAX);
	g_assert_cmpint(seen.last_ns, ==, 200 * S);
	g_assert_cmpint(dtc_packet_ring_get_cut_ns(busy), ==, seen.first_ns - S);
	g_assert_cmpint(budget.kib, <=, budget.max_kib);
	g_assert_cmpuint(look(calm, INT64_MIN, INT64_MAX).count, ==, 1);
	budget.max_kib = 0;
	add(calm, 201 * S, 262144);
	g_assert_cmpint(dtc_packet_ring_get_cut_ns(calm), ==, 201 * S);
}

/* Reading the buffers of a flight takes longer than packets are kept. */
static void test_hold(void)
{
	struct dtc_packet_budget budget = { .max_kib = 1 << 20 };
	g_autoptr(DtcPacketRing) ring = dtc_packet_ring_new(20 * S, &budget);

	add(ring, 1 * S, 100);
	dtc_packet_ring_hold(ring, 2 * S);
	dtc_packet_ring_age(ring, 1000 * S);
	add(ring, 2 * S, 100); /* was on its way */
	add(ring, 1000 * S, 100);
	struct seen seen = look(ring, INT64_MIN, INT64_MAX);
	g_assert_cmpuint(seen.count, ==, 2);
	g_assert_cmpint(seen.last_ns, ==, 2 * S);
}

/* ---- walks ---- */

static void walk(DtcFlight *flight, int64_t at_ns)
{
	const struct dtc_flight_walk walk = { .begin_ns = at_ns, .text = g_strdup("") };

	dtc_flight_take_walk(flight, &walk);
}

/* The latest that is old enough, if the buffers reach back to it; of 20 s there are walks each 5. */
static void test_walks(void)
{
	g_autoptr(DtcFlight) flight = dtc_flight_new(20 * S, S / 1000);

	g_assert_true(dtc_flight_wants_walk(flight, 0));
	g_assert_null(dtc_flight_choose_walk(flight, 0, 0));
	for (int i = 0; i <= 100; i++)
		if (dtc_flight_wants_walk(flight, i * S))
			walk(flight, i * S);
	g_assert_cmpint(dtc_flight_choose_walk(flight, 0, 103 * S)->begin_ns, ==, 80 * S);
	g_assert_cmpint(dtc_flight_choose_walk(flight, 0, 105 * S)->begin_ns, ==, 85 * S);
	g_assert_cmpint(dtc_flight_choose_walk(flight, 91 * S, 103 * S)->begin_ns, ==, 95 * S);
	g_assert_cmpint(dtc_flight_choose_walk(flight, 102 * S, 103 * S)->begin_ns, ==, 100 * S);
	g_assert_cmpint(dtc_flight_get_hold_ns(flight), >=, 25 * S);
}

/* A walk that costs much is not made as often, and more has to be held until there is one that is old enough. */
static void test_costly_walks(void)
{
	g_autoptr(DtcFlight) flight = dtc_flight_new(20 * S, S / 10);

	walk(flight, 100 * S);
	g_assert_false(dtc_flight_wants_walk(flight, 124 * S));
	g_assert_true(dtc_flight_wants_walk(flight, 125 * S));
	g_assert_cmpint(dtc_flight_get_hold_ns(flight), >=, 45 * S);
}

static void test_samples(void)
{
	g_autoptr(DtcFlight) flight = dtc_flight_new(2 * S, 0);

	for (int i = 0; i < 100; i++) {
		const struct dtc_flight_losses losses = { (guint64)i / 98, (guint64)i };
		dtc_flight_take_sample(flight, i * S, g_strdup_printf("c%d\n", i), g_strdup_printf("d%d\n", i),
				       &losses);
	}
	struct dtc_flight_losses before = dtc_flight_get_losses_before(flight, 97 * S + 1);
	g_assert_cmpuint(before.events, ==, 0);
	g_assert_cmpuint(before.packets, ==, 97);
	g_assert_cmpuint(dtc_flight_get_losses_before(flight, 0).packets, ==, 95);
	g_autofree char *clocks = dtc_flight_join_clocks(flight), *drops = dtc_flight_join_drops(flight);
	g_assert_cmpstr(clocks, ==, "c95\nc96\nc97\nc98\nc99\n");
	g_assert_cmpstr(drops, ==, "d95\nd96\nd97\nd98\nd99\n");
}

/* Whatever the machine, the buffers begin within what was given. */
static void test_buffers(void)
{
	g_assert_cmpuint(dtc_flight_get_buffer_bytes((guint64)1 << 30, 2), ==, 32 << 20);
	g_assert_cmpuint(dtc_flight_get_buffer_bytes(16 << 20, 2), ==, 1 << 20);
	g_assert_cmpuint(dtc_flight_get_buffer_bytes(16 << 20, 64), ==, 128 << 10);
	g_assert_cmpuint(dtc_flight_get_buffer_bytes(16 << 20, 512) * 512, <=, 8 << 20);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/flight/packets/age", test_age);
	g_test_add_func("/record/flight/packets/room", test_room);
	g_test_add_func("/record/flight/packets/hold", test_hold);
	g_test_add_func("/record/flight/walks", test_walks);
	g_test_add_func("/record/flight/walks/costly", test_costly_walks);
	g_test_add_func("/record/flight/samples", test_samples);
	g_test_add_func("/record/flight/buffers", test_buffers);
	return g_test_run();
}
