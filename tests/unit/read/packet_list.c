/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets that contradict each other: which is believed, what is put right, and what is said. */
#include "collect/read/ctf/packet_list.h"

#include <string.h>

#define COUNT 8
#define SECOND UINT64_C(1000000000)

static const struct dtc_packet_rules rules = {
	.has_sequence = true,
	.has_discarded = true,
	.has_cpu = true,
	.second_ticks = SECOND,
	.tolerance_ticks = SECOND / 1000,
	.wrap_ticks = UINT64_C(1) << 32,
};
static const struct dtc_packet_rules bare = { .second_ticks = SECOND, .tolerance_ticks = SECOND / 1000 };

/* Packets of a tenth of a second, one after the other. */
static GArray *make_packets(void)
{
	GArray *packets = g_array_new(FALSE, FALSE, sizeof(struct dtc_ctf_packet));
	for (guint i = 0; i < COUNT; i++) {
		struct dtc_ctf_packet packet = { .offset = (gsize)4096 * i,
						 .bytes = 4096,
						 .begin_ticks = 100 * SECOND + i * SECOND / 10,
						 .end_ticks = 100 * SECOND + i * SECOND / 10 + SECOND / 11,
						 .content_bits = 8000 + i,
						 .sequence = i,
						 .cpu = 1 };
		g_array_append_val(packets, packet);
	}
	return packets;
}

static struct dtc_ctf_packet *get(GArray *packets, guint index)
{
	g_assert_cmpuint(index, <, packets->len);
	return &g_array_index(packets, struct dtc_ctf_packet, index);
}

/* Judges, and frees the packets unless they are sound; the code and text of the one finding, NULL: none. */
static char *judge(GArray *packets, const struct dtc_packet_rules *by)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_packet_names names = { "web", "ch0_0" };
	bool is_sound = dtc_packets_judge(packets, by, &names, findings);
	g_assert_true(is_sound == (dtc_findings_get_count(findings) == 0));
	g_assert_true(is_sound == dtc_findings_get_complete(findings));
	if (is_sound)
		return NULL;
	g_assert_cmpuint(dtc_findings_get_count(findings), ==, 1);
	const struct dtc_finding *finding = dtc_findings_get(findings, 0);
	return g_strdup_printf("%s: %s", finding->code, finding->text);
}

static void assert_says(const char *said, const char *code, const char *part)
{
	g_assert_nonnull(said);
	g_assert_true(g_str_has_prefix(said, code));
	if (!strstr(said, part))
		g_error("'%s' is not in '%s'", part, said);
}

static void assert_in_order(GArray *packets)
{
	g_assert_cmpuint(packets->len, ==, COUNT);
	for (guint i = 0; i < COUNT; i++)
		g_assert_cmpuint(get(packets, i)->content_bits, ==, 8000 + i);
}

static void test_sound(void)
{
	g_autoptr(GArray) packets = make_packets();
	g_assert_null(judge(packets, &rules));
	g_assert_null(judge(packets, &bare));
	/* good traces overlap by a microsecond, and have packets without events */
	get(packets, 3)->end_ticks = get(packets, 4)->begin_ticks + 1000;
	get(packets, 5)->begin_ticks = get(packets, 5)->end_ticks = get(packets, 4)->end_ticks;
	g_assert_null(judge(packets, &rules));
	assert_in_order(packets);
	/* a recording whose first packets were overwritten, and one that lost some */
	for (guint i = 0; i < COUNT; i++)
		get(packets, i)->sequence += i < 4 ? 100 : 120;
	get(packets, 6)->discarded = get(packets, 7)->discarded = 70;
	g_assert_null(judge(packets, &rules));
}

static void test_shared(void)
{
	g_autoptr(GArray) packets = make_packets();
	get(packets, 0)->cpu = 100000;
	get(packets, 6)->cpu = 7;
	g_autofree char *said = judge(packets, &rules);
	assert_says(said, "packet-cpu", "(byte 0) is damaged: it claims CPU 100000 in a stream of 1 (and so 1 more)");
	g_assert_cmpuint(get(packets, 0)->cpu, ==, 1);
	g_assert_true(get(packets, 6)->is_changed);
}

static void test_copy(void)
{
	g_autoptr(GArray) packets = make_packets();
	struct dtc_ctf_packet copy = *get(packets, 3);
	copy.offset = 32768;
	g_array_append_val(packets, copy);
	g_autofree char *said = judge(packets, &rules);
	assert_says(said, "packet-order", "(byte 32768) is damaged: it was there before");
	assert_in_order(packets);
}

static void test_order(void)
{
	g_autoptr(GArray) packets = make_packets();
	struct dtc_ctf_packet moved = *get(packets, 3);
	*get(packets, 3) = *get(packets, 4);
	*get(packets, 4) = moved;
	get(packets, 3)->offset = 12288;
	get(packets, 4)->offset = 16384;
	g_autoptr(GArray) unnumbered = g_array_copy(packets);
	g_autofree char *said = judge(packets, &rules);
	assert_says(said, "packet-order", "(byte 12288) is damaged: it is out of its place");
	assert_in_order(packets);
	for (guint i = 0; i < COUNT; i++)
		get(unnumbered, i)->sequence = 0;
	g_autofree char *said_of_unnumbered = judge(unnumbered, &bare);
	assert_says(said_of_unnumbered, "packet-order", "out of its place");
	assert_in_order(unnumbered);
}

static void test_numbers(void)
{
	g_autoptr(GArray) packets = make_packets();
	get(packets, 5)->sequence = 2;
	g_autofree char *said = judge(packets, &rules);
	assert_says(said, "packet-order", "(byte 20480) is damaged: its number is 2, not 5");
	g_assert_cmpuint(get(packets, 5)->sequence, ==, 5);

	get(packets, 2)->discarded = G_MAXUINT64; /* babeltrace2 2.0.4 aborts on it */
	g_autofree char *said_of_lost = judge(packets, &rules);
	assert_says(said_of_lost, "stream-damaged", "its count of lost events is 18446744073709551615");
	g_assert_cmpuint(get(packets, 2)->discarded, ==, 0);
	assert_in_order(packets);
}

/* What one begin or end gets wrong, by little and by much, in both directions and at both ends of the stream. */
static void test_times(void)
{
	static const int64_t offs[] = { 1, -1, 1000, -100 };
	for (guint i = 0; i < COUNT * G_N_ELEMENTS(offs) * 2; i++) {
		g_autoptr(GArray) packets = make_packets();
		struct dtc_ctf_packet *packet = get(packets, i / 2 % COUNT);
		int64_t off = offs[i / 2 / COUNT] * (int64_t)SECOND;
		uint64_t *time = i % 2 ? &packet->begin_ticks : &packet->end_ticks;
		bool is_harmless = (time == &packet->begin_ticks && packet->offset == 0 && off < 0) ||
				   (time == &packet->end_ticks && packet->sequence == COUNT - 1 && off > 0);
		*time += (uint64_t)off;
		g_autofree char *said = judge(packets, &rules);
		if (is_harmless) {
			g_assert_null(said);
			continue;
		}
		assert_says(said, "packet-time", i % 2 ? "its begin" : "its end");
		assert_in_order(packets);
		g_assert_true(packet->is_changed);
		for (guint k = 0; k < COUNT; k++) {
			g_assert_cmpuint(get(packets, k)->begin_ticks, <=, get(packets, k)->end_ticks);
			/* the time of its first event follows from its low bits */
			g_assert_cmpuint(get(packets, k)->begin_ticks, <=, 100 * SECOND + k * SECOND / 10);
			g_assert_cmpuint(get(packets, k)->begin_ticks + rules.wrap_ticks, >,
					 100 * SECOND + k * SECOND / 10);
			g_assert_cmpuint(get(packets, k)->end_ticks, >=, 100 * SECOND + k * SECOND / 10 + SECOND / 11);
		}
	}
}

/* The clock is set back by more and by less than what is left, and what is left is on another clock. */
static void test_clock(void)
{
	static const uint64_t backs[] = { SECOND / 4, SECOND / 3, 50 * SECOND };
	for (guint i = 0; i < G_N_ELEMENTS(backs); i++) {
		for (guint at = 3; at < 6; at++) {
			g_autoptr(GArray) packets = make_packets();
			for (guint k = at; k < COUNT; k++) {
				get(packets, k)->begin_ticks -= backs[i];
				get(packets, k)->end_ticks -= backs[i];
			}
			g_autofree char *said = judge(packets, &rules);
			assert_says(said, "clock-jump", "stays there");
			g_assert_cmpuint(packets->len, ==, at);
		}
	}
}

/* Two in a row that nobody can place are left out; the rest stays. */
static void test_run(void)
{
	g_autoptr(GArray) packets = make_packets();
	for (guint k = 3; k < 5; k++) {
		get(packets, k)->begin_ticks += 500 * SECOND;
		get(packets, k)->end_ticks += 500 * SECOND;
	}
	g_autofree char *said = judge(packets, &rules);
	assert_says(said, "packet-time",
		    "(byte 12288) is damaged: its time is not between those of its neighbours, and it "
		    "was left out with an unknown number of events (and so 1 more)");
	g_assert_cmpuint(packets->len, ==, COUNT - 2);
}

/* Damage all over, as much of it as can be: the judging ends, soon, with few words, and leaves no contradiction. */
static void test_much(void)
{
	g_autoptr(GRand) dice = g_rand_new_with_seed(13);
	for (guint round = 0; round < 40; round++) {
		g_autoptr(GArray) packets = g_array_new(FALSE, TRUE, sizeof(struct dtc_ctf_packet));
		g_array_set_size(packets, round < 38 ? 300 : 60000);
		for (guint i = 0; i < packets->len; i++) {
			bool is_wrong = g_rand_int_range(dice, 0, 40) < (gint)round;
			uint64_t now = (uint64_t)i * SECOND / 10;
			uint64_t wrong = (uint64_t)g_rand_int(dice) * (g_rand_int(dice) % 100000 + 1);
			*get(packets, i) = (struct dtc_ctf_packet){ .offset = (gsize)4096 * i,
								    .bytes = 4096,
								    .begin_ticks = is_wrong ? wrong : now,
								    .end_ticks = now + SECOND / 11,
								    .content_bits = 8000 + i,
								    .sequence = is_wrong ? wrong : i,
								    .discarded = is_wrong ? wrong : 0 };
		}
		g_autoptr(DtcFindings) findings = dtc_findings_new();
		const struct dtc_packet_names names = { "web", "ch0_0" };
		dtc_packets_judge(packets, &rules, &names, findings);
		g_assert_cmpuint(dtc_findings_get_count(findings), <, 10);
		for (guint i = 0; i < packets->len; i++) {
			const struct dtc_ctf_packet *packet = get(packets, i);
			g_assert_cmpuint(packet->begin_ticks, <=, packet->end_ticks);
			if (i > 0)
				g_assert_cmpuint(get(packets, i - 1)->end_ticks, <=,
						 packet->begin_ticks + rules.tolerance_ticks);
		}
	}
}

/* A tracer that died wrote no end into its last packets; one of them alone, elsewhere, is damage. */
static void test_open(void)
{
	g_autoptr(GArray) packets = make_packets();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_packet_names names = { "web", "ch0_0" };
	for (guint i = COUNT - 3; i < COUNT; i++)
		get(packets, i)->end_ticks = 0;
	g_assert_true(dtc_packets_judge(packets, &rules, &names, findings));
	g_assert_cmpuint(dtc_findings_get_count(findings), ==, 1);
	g_assert_false(dtc_findings_get_complete(findings));
	assert_says(dtc_findings_get(findings, 0)->text, "the last packets of stream 'ch0_0' (from byte 20480 on)",
		    "the tracer died");
	assert_in_order(packets);
	g_assert_cmpuint(get(packets, COUNT - 2)->end_ticks, ==, get(packets, COUNT - 1)->begin_ticks);
	g_assert_true(get(packets, COUNT - 1)->is_open);
	g_assert_cmpuint(get(packets, COUNT - 1)->end_ticks, ==, 0);

	g_autoptr(GArray) damaged = make_packets();
	get(damaged, 3)->end_ticks = 0;
	g_autofree char *said = judge(damaged, &rules);
	assert_says(said, "packet-time", "(byte 12288) is damaged: its end is not between");
}

/* Other streams are from 100 to 108 s. */
static bool judge_ends(GArray *packets)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_packet_names names = { "web", "statedump" };
	bool is_sound = dtc_packets_judge_ends(packets, 100 * SECOND, 108 * SECOND, &rules, &names, findings);
	g_assert_true(is_sound == (dtc_findings_get_count(findings) == 0));
	return is_sound;
}

/* Whatever nothing comes before or behind: one bit makes it centuries long. */
static void test_ends(void)
{
	g_autoptr(GArray) packets = make_packets();
	uint64_t last = get(packets, COUNT - 1)->end_ticks;
	g_assert_true(judge_ends(packets));
	get(packets, COUNT - 1)->end_ticks = last + 600 * SECOND; /* nothing happened there */
	g_assert_true(judge_ends(packets));
	get(packets, COUNT - 1)->end_ticks = last ^ UINT64_C(1) << 62;
	g_assert_false(judge_ends(packets));
	g_assert_cmpuint(get(packets, COUNT - 1)->end_ticks, ==, 108 * SECOND);

	g_array_set_size(packets, 1);
	struct dtc_ctf_packet *dump = get(packets, 0);
	const struct dtc_ctf_packet sound = *dump;
	dump->end_ticks ^= UINT64_C(1) << 62;
	g_assert_false(judge_ends(packets));
	g_assert_cmpuint(dump->begin_ticks, ==, sound.begin_ticks);
	g_assert_cmpuint(dump->end_ticks, ==, 108 * SECOND);

	*dump = sound;
	dump->begin_ticks ^= UINT64_C(1) << 62;
	g_assert_null(judge(packets, &rules));
	g_assert_false(judge_ends(packets));
	g_assert_cmpuint(dump->begin_ticks, <=, sound.end_ticks);
	g_assert_cmpuint(dump->begin_ticks, >, sound.end_ticks - (UINT64_C(1) << 32));
	g_assert_cmpuint(dump->end_ticks, ==, sound.end_ticks);

	*dump = sound; /* made days before a flight recorder wrote the others */
	dump->begin_ticks -= 90 * SECOND;
	dump->end_ticks -= 90 * SECOND;
	g_assert_true(judge_ends(packets));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/packet-list/sound", test_sound);
	g_test_add_func("/packet-list/shared", test_shared);
	g_test_add_func("/packet-list/copy", test_copy);
	g_test_add_func("/packet-list/order", test_order);
	g_test_add_func("/packet-list/numbers", test_numbers);
	g_test_add_func("/packet-list/times", test_times);
	g_test_add_func("/packet-list/clock", test_clock);
	g_test_add_func("/packet-list/run", test_run);
	g_test_add_func("/packet-list/much", test_much);
	g_test_add_func("/packet-list/open", test_open);
	g_test_add_func("/packet-list/ends", test_ends);
	return g_test_run();
}
