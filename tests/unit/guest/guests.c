/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose vCPUs are whose, and what their stays say of the clocks. */
#include "analyze/guest/guests.h"

#include "collect/bundle/scratch.h"
#include "tests/support/made_guest.h"

#define SHIFT_A 5000000
#define SHIFT_B (-7000000)
#define GARBAGE 40148048

struct world {
	struct story host;
	struct made_guest a, b; /* two CPUs, one CPU */
	const DtcHistory *histories[3];
	DtcClocks *clocks;
	DtcFindings *findings;
};

static const char *const names[] = { "host", "a", "b" };
static const int64_t shifts[] = { 0, SHIFT_A, SHIFT_B };

/* Three vCPUs on three CPUs: those of a in the order of vcpus, then that of b. */
static void make_world(struct world *w, const struct made_vcpu vcpus[3], int64_t in_ns, int64_t half_width)
{
	*w = (struct world){
		.a = { .state = 1, .shift = SHIFT_A, .cpu_count = 2 },
		.b = { .state = 99, .shift = SHIFT_B, .cpu_count = 1 },
	};
	g_autoptr(GArray) events = g_array_new(FALSE, FALSE, sizeof(struct made_event));
	made_stays(&w->a, 0, 0, in_ns, events);
	made_stays(&w->a, 1, 1, in_ns, events);
	made_stays(&w->b, 0, 2, in_ns, events);
	w->histories[0] = made_tell_host(&w->host, vcpus, 3, events);
	w->histories[1] = made_tell_guest(&w->a, "a");
	w->histories[2] = made_tell_guest(&w->b, "b");
	w->clocks = made_guest_clocks(shifts, 3, half_width);
	w->findings = dtc_findings_new();
}

static void world_clear(struct world *w)
{
	story_clear(&w->host);
	made_guest_clear(&w->a);
	made_guest_clear(&w->b);
	dtc_clocks_free(w->clocks);
	dtc_findings_free(w->findings);
}

static DtcGuests *find(struct world *w, const DtcCluster *cluster)
{
	const struct dtc_guests_input input = { 3, names, w->histories, w->clocks, cluster };
	return dtc_guests_find(&input, w->findings);
}

/* tid 0: not known */
static void assert_carried(const struct world *w, const DtcGuests *guests, guint node, uint32_t cpu, int tid,
			   bool is_verified)
{
	struct dtc_guest_cpu mapped;
	bool found = dtc_guests_get_cpu(guests, node, cpu, &mapped);
	g_assert_cmpint(found, ==, tid != 0);
	if (!tid)
		return;
	g_assert_cmpuint(mapped.host, ==, 0);
	g_assert_cmpint(dtc_history_get_thread(w->histories[0], mapped.thread)->tid, ==, tid);
	g_assert_cmpint(mapped.is_verified, ==, is_verified);
}

static bool has_finding(const struct world *w, const char *part)
{
	for (guint i = 0; i < dtc_findings_get_count(w->findings); i++)
		if (strstr(dtc_findings_get(w->findings, i)->text, part))
			return true;
	return false;
}

/* Numbers of the trace, then QEMU's names where the numbers are garbage, then the order of the threads. */
static void test_two_guests(void)
{
	static const struct made_vcpu worlds[][3] = {
		{ { 32, 30, "qemu", 0 }, { 31, 30, "qemu", 1 }, { 41, 40, "qemu", 0 } },
		{ { 32, 30, "CPU 0/KVM", GARBAGE },
		  { 31, 30, "CPU 1/KVM", GARBAGE },
		  { 41, 40, "CPU 0/KVM", GARBAGE } },
		{ { 32, 30, "vcpu", GARBAGE }, { 33, 30, "vcpu", GARBAGE }, { 41, 40, "vcpu", GARBAGE } },
		{ { 33, 30, "vcpu", GARBAGE }, { 32, 30, "vcpu", GARBAGE }, { 41, 40, "vcpu", GARBAGE } },
	};
	for (guint i = 0; i < G_N_ELEMENTS(worlds); i++) {
		struct world w;
		make_world(&w, worlds[i], 500, 10);
		g_autoptr(DtcGuests) guests = find(&w, NULL);
		assert_carried(&w, guests, 1, 0, worlds[i][0].tid, true);
		assert_carried(&w, guests, 1, 1, worlds[i][1].tid, true);
		assert_carried(&w, guests, 2, 0, worlds[i][2].tid, true);
		assert_carried(&w, guests, 0, 0, 0, false); /* the host is nobody's guest */
		g_assert_true(has_finding(&w, "runs in a virtual machine on 'host'"));
		for (guint node = 1; node < 3; node++) {
			struct dtc_guest_fit fit = dtc_guests_check(guests, node, w.clocks);
			g_assert_cmpuint(fit.event_count, >, 500);
			g_assert_cmpuint(fit.outside_count, ==, 0);
		}
		world_clear(&w);
	}
}

/* Machines beside the host, whose events have nothing to do with its vCPUs. */
static void test_strangers(void)
{
	static const struct made_vcpu vcpus[] = { { 31, 30, "CPU 0/KVM", 0 },
						  { 32, 30, "CPU 1/KVM", 1 },
						  { 41, 40, "CPU 0/KVM", 0 } };
	struct world w, other;
	make_world(&w, vcpus, 500, 10);
	make_world(&other, vcpus, 500, 10);
	made_guest_clear(&other.a);
	made_guest_clear(&other.b);
	g_autoptr(GArray) unused = g_array_new(FALSE, FALSE, sizeof(struct made_event));
	other.a = (struct made_guest){ .state = 7, .shift = SHIFT_A, .cpu_count = 2 };
	other.b = (struct made_guest){ .state = 8, .shift = SHIFT_B, .cpu_count = 1 };
	made_stays(&other.a, 0, 0, 500, unused);
	made_stays(&other.a, 1, 1, 500, unused);
	made_stays(&other.b, 0, 2, 500, unused);
	w.histories[1] = made_tell_guest(&other.a, "a");
	w.histories[2] = made_tell_guest(&other.b, "b");
	g_autoptr(DtcGuests) guests = find(&w, NULL);
	g_assert_false(dtc_guests_has_any(guests));
	g_assert_cmpuint(dtc_findings_get_count(w.findings), ==, 0);
	world_clear(&w);
	world_clear(&other);
}

static DtcCluster *read_cluster(const char *text)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *path = g_build_filename(dtc_scratch_get_path(scratch), "test.conf", NULL);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	DtcCluster *cluster = dtc_cluster_read(path, NULL);
	g_assert_nonnull(cluster);
	return cluster;
}

/* Clocks known to a millisecond tell nothing; what somebody says counts then, and says that it was not verified. */
static void test_told(void)
{
	static const struct made_vcpu vcpus[] = { { 31, 30, "CPU 0/KVM", 0 },
						  { 32, 30, "CPU 1/KVM", 1 },
						  { 41, 40, "CPU 0/KVM", 0 } };
	struct world w;
	make_world(&w, vcpus, 500, 20000);
	g_autoptr(DtcGuests) nobody = find(&w, NULL);
	g_assert_false(dtc_guests_has_any(nobody));
	g_autoptr(DtcCluster) cluster = read_cluster("[node host]\nrole=host\n[node a]\nrole=guest\nhost=host\n"
						     "vcpu-threads=31;32\n[node b]\nrole=guest\nhost=host\n");
	g_autoptr(DtcGuests) guests = find(&w, cluster);
	assert_carried(&w, guests, 1, 0, 31, false);
	assert_carried(&w, guests, 1, 1, 32, false);
	assert_carried(&w, guests, 2, 0, 0, false); /* two processes are possible */
	g_assert_true(has_finding(&w, "2 processes of traced hosts may be the virtual machine"));
	g_autoptr(GArray) bounds = dtc_guests_list_bounds(guests, w.clocks, true);
	g_assert_cmpuint(bounds->len, ==, 0); /* no bound rests on what was not verified */
	world_clear(&w);
}

/* A name that only begins as QEMU's has no number: the order of the threads counts, where events cannot tell. */
static void test_names(void)
{
	static const struct {
		struct made_vcpu vcpus[3];
		int first_tid;
	} cases[] = {
		{ { { 31, 30, "CPU 2/KVM", GARBAGE },
		    { 32, 30, "CPU 1/KVM", GARBAGE },
		    { 33, 30, "CPU 0/KVM", GARBAGE } },
		  33 },
		{ { { 31, 30, "CPU 2/KVMs", GARBAGE },
		    { 32, 30, "CPU 1/KVMs", GARBAGE },
		    { 33, 30, "CPU 0/KVMs", GARBAGE } },
		  31 },
		{ { { 31, 30, "CPU 2/", GARBAGE }, { 32, 30, "CPU 1/", GARBAGE }, { 33, 30, "CPU 0/", GARBAGE } }, 31 },
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct world w;
		make_world(&w, cases[i].vcpus, 500, 20000);
		g_autoptr(DtcCluster) cluster =
			read_cluster("[node host]\nrole=host\n[node a]\nrole=guest\nhost=host\n");
		g_autoptr(DtcGuests) guests = find(&w, cluster);
		assert_carried(&w, guests, 1, 0, cases[i].first_tid, false);
		assert_carried(&w, guests, 1, 1, 32, false);
		world_clear(&w);
	}
}

/* Somebody is wrong. */
static void test_told_wrong(void)
{
	static const struct made_vcpu vcpus[] = { { 31, 30, "CPU 0/KVM", 0 },
						  { 32, 30, "CPU 1/KVM", 1 },
						  { 41, 40, "CPU 0/KVM", 0 } };
	struct world w;
	make_world(&w, vcpus, 500, 10);
	g_autoptr(DtcCluster) cluster =
		read_cluster("[node host]\nrole=host\n[node a]\nrole=guest\nhost=host\nvcpu-threads=41;41\n"
			     "[node b]\nrole=guest\nhost=host\nvcpu-threads=77\n");
	g_autoptr(DtcGuests) guests = find(&w, cluster);
	assert_carried(&w, guests, 1, 0, 0, false);
	assert_carried(&w, guests, 2, 0, 41, true); /* no thread 77 entered a guest: looked for as without */
	g_assert_true(has_finding(&w, "they are not its vCPUs"));
	g_assert_true(has_finding(&w, "never entered a guest"));
	world_clear(&w);
}

/* Lost events of the host: what happened in the gap proves nothing, neither for nor against. */
static void test_lost_events(void)
{
	struct made_guest guest = { .state = 3, .shift = SHIFT_A, .cpu_count = 1 };
	struct story host;
	g_autoptr(GArray) events = g_array_new(FALSE, FALSE, sizeof(struct made_event));
	made_stays(&guest, 0, 0, 500, events);
	g_array_sort(events, made_compare);
	story_begin(&host, "host");
	made_process(&host, 31, 30, "CPU 0/KVM");
	story_switch(&host, 1, 0, 0, "swapper", 0, 31, "CPU 0/KVM");
	bool lost = false;
	for (guint i = 0; i < events->len; i++) {
		const struct made_event *e = &g_array_index(events, struct made_event, i);
		if (e->time_ns > 100000 && e->time_ns < 200000)
			continue;
		if (e->time_ns >= 200000 && !lost) {
			lost = true;
			story_lost(&host, 100000, 200000, 0);
			story_switch(&host, 200001, 0, 5, "other", 0, 31, "CPU 0/KVM");
		}
		story_vm(&host, e->kind, e->time_ns, 0, 0);
	}
	const DtcHistory *histories[] = { story_end(&host), made_tell_guest(&guest, "a") };
	g_autoptr(DtcClocks) clocks = made_guest_clocks(shifts, 2, 10);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const struct dtc_guests_input input = { 2, names, histories, clocks, NULL };
	g_autoptr(DtcGuests) guests = dtc_guests_find(&input, findings);
	struct dtc_guest_fit fit = dtc_guests_check(guests, 1, clocks);
	g_assert_cmpuint(fit.event_count, >, 500);
	g_assert_cmpuint(fit.event_count, <, guest.times[0]->len * 4 / 5);
	g_assert_cmpuint(fit.outside_count, ==, 0);
	story_clear(&host);
	made_guest_clear(&guest);
}

/* Every bound is true in true time, and the bounds narrow the window down to what the stays allow. */
static void test_bounds(void)
{
	static const struct made_vcpu vcpus[] = { { 31, 30, "CPU 0/KVM", 0 },
						  { 32, 30, "CPU 1/KVM", 1 },
						  { 41, 40, "CPU 0/KVM", 0 } };
	for (int64_t half_width = 10; half_width <= 1000; half_width *= 10) {
		struct world w;
		make_world(&w, vcpus, 300, half_width);
		g_autoptr(DtcGuests) guests = find(&w, NULL);
		g_assert_true(dtc_guests_has_any(guests));
		g_autoptr(GArray) bounds = dtc_guests_list_bounds(guests, w.clocks, true);
		int64_t tightest[2] = { INT64_MAX, INT64_MAX };
		for (guint i = 0; i < bounds->len; i++) {
			const struct dtc_guest_bound *b = &g_array_index(bounds, struct dtc_guest_bound, i);
			int64_t slack = (b->received_ns - shifts[b->to]) - (b->sent_ns - shifts[b->from]);
			g_assert_cmpint(slack, >=, 0);
			g_assert_true((b->from == 0) != (b->to == 0));
			tightest[b->from == 0] = MIN(tightest[b->from == 0], slack);
		}
		g_assert_cmpuint(bounds->len, >, 100);
		g_assert_cmpint(tightest[0], <, half_width);
		g_assert_cmpint(tightest[1], <, half_width);
		world_clear(&w);
	}
}

/*
 * Clocks known to several stays: an event by itself excludes little. All of them together fit no other place than the
 * true one, and say so with one bound each way.
 */
static void test_together(void)
{
	static const struct made_vcpu vcpus[] = { { 31, 30, "CPU 0/KVM", 0 },
						  { 32, 30, "CPU 1/KVM", 1 },
						  { 41, 40, "CPU 0/KVM", 0 } };
	struct world w;
	make_world(&w, vcpus, 300, 1000);
	g_autoptr(DtcGuests) guests = find(&w, NULL);
	g_autoptr(GArray) alone = dtc_guests_list_bounds(guests, w.clocks, false);
	g_autoptr(GArray) bounds = dtc_guests_list_bounds(guests, w.clocks, true);
	guint seen = 0, more[2] = { 0 };
	for (guint i = 0; i < bounds->len; i++) {
		const struct dtc_guest_bound *b = &g_array_index(bounds, struct dtc_guest_bound, i);
		int64_t slack = (b->received_ns - shifts[b->to]) - (b->sent_ns - shifts[b->from]);
		g_assert_cmpint(slack, >=, 0);
		if (seen < alone->len &&
		    memcmp(b, &g_array_index(alone, struct dtc_guest_bound, seen), sizeof(*b)) == 0) {
			seen++;
			continue;
		}
		g_assert_cmpint(slack, <, 200);
		more[b->from == 0]++;
	}
	g_assert_cmpuint(seen, ==, alone->len);
	g_assert_cmpuint(more[0], >=, 3);
	g_assert_cmpuint(more[1], >=, 3);
	world_clear(&w);
}

/* A clock that is wrong by more than it admits: events lie outside, and that is counted. */
static void test_check_counts(void)
{
	static const struct made_vcpu vcpus[] = { { 31, 30, "CPU 0/KVM", 0 },
						  { 32, 30, "CPU 1/KVM", 1 },
						  { 41, 40, "CPU 0/KVM", 0 } };
	static const int64_t wrong[] = { 0, SHIFT_A + 400, SHIFT_B };
	struct world w;
	make_world(&w, vcpus, 500, 10);
	g_autoptr(DtcGuests) guests = find(&w, NULL);
	g_autoptr(DtcClocks) clocks = made_guest_clocks(wrong, 3, 10);
	struct dtc_guest_fit fit = dtc_guests_check(guests, 1, clocks);
	g_assert_cmpuint(fit.outside_count, >, 100);
	g_assert_cmpuint(dtc_guests_check(guests, 2, clocks).outside_count, ==, 0);
	g_assert_cmpuint(dtc_guests_check(guests, 0, clocks).event_count, ==, 0);
	world_clear(&w);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/guests/two-guests", test_two_guests);
	g_test_add_func("/guests/strangers", test_strangers);
	g_test_add_func("/guests/told", test_told);
	g_test_add_func("/guests/names", test_names);
	g_test_add_func("/guests/told-wrong", test_told_wrong);
	g_test_add_func("/guests/lost-events", test_lost_events);
	g_test_add_func("/guests/bounds", test_bounds);
	g_test_add_func("/guests/together", test_together);
	g_test_add_func("/guests/check-counts", test_check_counts);
	return g_test_run();
}
