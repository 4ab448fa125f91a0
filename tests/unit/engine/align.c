/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A host and its guest, of whose clocks packets say little and the stays of the vCPU much: see align.h. */
#include "analyze/engine/align.h"
#include "tests/support/made_guest.h"

#define HOST 0
#define GUEST 1
#define SHIFT 7000000 /* the guest's clock is ahead of the host's */
#define PERIOD_NS 100000
#define PERIODS 60
#define END_NS (PERIODS * PERIOD_NS)
#define WAY_NS 6300 /* of the fastest packet */
#define PACKETS 60  /* each way */

/*
 * What the vCPU does in each period, and where in its stays the guest logs something, in ns. From the long stays
 * follows that the clocks are right to 4.2 us, whatever else could be. Once that is known, the guest's events in the
 * second stay can be in no other any more, which leaves 1.9 us; and then those in the third, which leaves 0.45 us.
 */
static const struct {
	int64_t begin, end;
	int64_t events[4];
} stays[] = {
	{ 0, 10000, { 4200, 4700, 5300, 5800 } },
	{ 14000, 18000, { 15900, 15950, 16050, 16100 } },
	{ 20500, 21500, { 20950, 20980, 21020, 21050 } },
	{ 24000, 34000, { 28200, 28700, 29300, 29800 } },
};

static const char *const names[] = { "host", "guest" };

static struct dtc_headers make_headers(bool to_guest, guint number)
{
	uint32_t addresses[] = { 0x0a000001u, 0x0a000002u };
	uint16_t ports[] = { 1000, 80 };
	return story_headers(addresses[!to_guest], ports[!to_guest], addresses[to_guest], ports[to_guest],
			     101 + 50 * number, 1, DTC_TCP_ACK, 50, (uint16_t)number);
}

/* A packet that the guest takes or sends while its vCPU is in, as everything that the guest logs. */
static void add_packet(struct made_guest *guest, GArray *of_host, GArray *of_guest, bool to_guest, guint number)
{
	guint at = (guint)made_random(guest, guest->times[0]->len);
	int64_t guest_ns = g_array_index(guest->times[0], int64_t, at);
	int64_t way_ns = WAY_NS + made_random(guest, 300);
	struct made_event in_guest = { .time_ns = guest_ns,
				       .kind = to_guest ? DTC_EVENT_NET_RECEIVE : DTC_EVENT_NET_SEND,
				       .has_headers = true,
				       .headers = make_headers(to_guest, number) };
	struct made_event in_host = { .time_ns = to_guest ? guest_ns - way_ns : guest_ns + way_ns,
				      .cpu = 1,
				      .kind = to_guest ? DTC_EVENT_NET_SEND : DTC_EVENT_NET_RECEIVE,
				      .has_headers = true,
				      .headers = in_guest.headers };
	g_array_append_val(of_guest, in_guest);
	g_array_append_val(of_host, in_host);
}

/* Half of what is not known of the guest's clock in the middle of the recording; the truth must be in there. */
static int64_t measure(const DtcClocks *clocks)
{
	int64_t lo_ns, hi_ns;
	g_assert_true(dtc_clocks_get_difference(clocks, HOST, GUEST, (DtcClusterTime){ END_NS / 2 }, &lo_ns, &hi_ns));
	int64_t off_ns = dtc_clocks_to_cluster(clocks, GUEST, (DtcNodeTime){ SHIFT + END_NS / 2 }).ns - END_NS / 2;
	int64_t uncertainty_ns = dtc_clocks_get_uncertainty_ns(clocks, HOST, GUEST, (DtcClusterTime){ END_NS / 2 });
	g_assert_cmpint(ABS(off_ns), <=, uncertainty_ns);
	return uncertainty_ns;
}

/* What the packets alone say, and what one look at the stays adds to that. */
static void align_once(const struct dtc_recordings *recordings, int64_t *ret_packets_ns, int64_t *ret_once_ns)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_match_source sources[] = {
		{ .node = names[0], .kernel = dtc_history_get_packets(recordings->histories[0]) },
		{ .node = names[1], .kernel = dtc_history_get_packets(recordings->histories[1]) },
	};
	struct dtc_fit_options options = dtc_fit_options_default();
	options.reference = HOST;
	g_autoptr(DtcMatches) matches = dtc_match_packets(sources, 2, NULL, findings);
	g_autoptr(DtcSync) by_packets = dtc_fit_clocks(matches, &options, findings, &error);
	g_assert_no_error(error);
	*ret_packets_ns = measure(dtc_sync_get_clocks(by_packets));
	const struct dtc_guests_input input = { 2, names, (const DtcHistory *const *)recordings->histories,
						dtc_sync_get_clocks(by_packets), NULL };
	g_autoptr(DtcGuests) guests = dtc_guests_find(&input, findings);
	for (guint i = 0; i < dtc_findings_get_count(findings); i++)
		g_test_message("%s", dtc_findings_get(findings, i)->text);
	g_assert_true(dtc_guests_has_any(guests));
	g_autoptr(GArray) bounds = dtc_guests_list_bounds(guests, dtc_sync_get_clocks(by_packets), true);
	for (guint i = 0; i < bounds->len; i++) {
		const struct dtc_guest_bound *b = &g_array_index(bounds, struct dtc_guest_bound, i);
		dtc_matches_add_bound(matches, b->from, b->to, b->sent_ns, b->received_ns + options.min_delay_ns);
	}
	g_autoptr(DtcSync) once = dtc_fit_clocks(matches, &options, findings, &error);
	g_assert_no_error(error);
	*ret_once_ns = measure(dtc_sync_get_clocks(once));
}

/* What one look at the stays can tell is where the next one begins: all together tell far more than the first. */
static void test_rounds(void)
{
	struct made_guest guest = { .state = 1, .shift = SHIFT, .cpu_count = 1 };
	struct story host;
	const struct made_vcpu vcpus[] = { { 162, 160, "CPU 0/KVM", 0 } };
	g_autoptr(GArray) of_host = g_array_new(FALSE, FALSE, sizeof(struct made_event));
	guest.times[0] = g_array_new(FALSE, FALSE, sizeof(int64_t));
	guest.packets = g_array_new(FALSE, FALSE, sizeof(struct made_event));
	for (int64_t begin = WAY_NS * 2; begin < END_NS; begin += PERIOD_NS) {
		for (guint i = 0; i < G_N_ELEMENTS(stays); i++) {
			struct made_event in = { .time_ns = begin + stays[i].begin, .kind = DTC_EVENT_KVM_ENTRY };
			struct made_event out = { .time_ns = begin + stays[i].end, .kind = DTC_EVENT_KVM_EXIT };
			g_array_append_val(of_host, in);
			g_array_append_val(of_host, out);
			for (guint k = 0; k < G_N_ELEMENTS(stays[i].events); k++) {
				int64_t at = begin + stays[i].events[k];
				g_array_append_val(guest.times[0], at);
			}
		}
	}
	for (guint i = 0; i < 2 * PACKETS; i++)
		add_packet(&guest, of_host, guest.packets, i % 2, i / 2);
	DtcHistory *histories[] = { (DtcHistory *)made_tell_host(&host, vcpus, 1, of_host),
				    (DtcHistory *)made_tell_guest(&guest, names[1]) };
	DtcPackets *captures[] = { NULL, NULL };
	bool is_foreign[] = { false, false };
	struct dtc_recordings recordings = {
		.node_count = 2, .histories = histories, .captures = captures, .is_foreign = is_foreign
	};
	int64_t packets_ns, once_ns;
	align_once(&recordings, &packets_ns, &once_ns);
	const struct dtc_align_input input = { .recordings = &recordings, .names = names, .reference = HOST };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	struct dtc_alignment alignment;
	dtc_align(&alignment, &input, NULL, findings, &error);
	g_assert_no_error(error);
	int64_t end_ns = measure(dtc_alignment_get_clocks(&alignment));
	g_test_message("uncertainty: %d ns by packets, %d after one round, %d in the end", (int)packets_ns,
		       (int)once_ns, (int)end_ns);
	g_assert_cmpint(packets_ns, >=, WAY_NS);
	g_assert_cmpint(once_ns, <, 4500);
	g_assert_cmpint(once_ns, >, 4000);
	g_assert_cmpint(end_ns, <, 600);
	dtc_alignment_clear(&alignment);
	made_guest_clear(&guest);
	story_clear(&host);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/align/rounds", test_rounds);
	return g_test_run();
}
