/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over a guest and its host: what the host did with the vCPU is in them, as it is on the path. */
#include "analyze/profile/blocked.h"
#include "analyze/profile/profile.h"
#include "analyze/profile/profile_states.h"
#include "analyze/profile/share_check.h"
#include "analyze/profile/usage.h"
#include "tests/support/host_story.h"

static void begin(struct host_story *p)
{
	host_story_begin(p);
	host_story_tell_host(&p->host);
	host_story_tell_guest(&p->guest);
	host_story_end(p, "20");
}

static const struct dtc_profile_row *find_row(const struct host_story *p, const GArray *rows, guint node, int tid)
{
	uint32_t thread = dtc_history_find_thread(p->histories[node], tid, DTC_TIME_NONE);

	for (guint i = 0; i < rows->len; i++) {
		const struct dtc_profile_row *row = &g_array_index(rows, struct dtc_profile_row, i);
		if (row->thread == thread)
			return row;
	}
	g_assert_not_reached();
}

static GArray *profile(const struct host_story *p, const DtcLinks *links, guint node, int64_t from_ns, int64_t to_ns)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_profile_row));

	dtc_profile_add_threads(rows, links, node, p->histories[node], (DtcNodeTime){ from_ns },
				(DtcNodeTime){ to_ns });
	return rows;
}

static void test_guest(void)
{
	struct host_story p;
	begin(&p);
	g_autoptr(GArray) rows = profile(&p, p.links, GUEST, SHIFT + 20, SHIFT + 480);
	const int64_t *job = find_row(&p, rows, GUEST, 7)->value;

	g_assert_cmpint(job[DTC_PROFILE_USER], ==, 80 + 80 + 10 + 70 + 20);
	g_assert_cmpint(job[DTC_PROFILE_VM_PREEMPTED], ==, 95);
	g_assert_cmpint(job[DTC_PROFILE_VM_EXIT], ==, 20 + 5 + 10 + 60);
	g_assert_cmpint(job[DTC_PROFILE_PREEMPTED], ==, 10);
	g_assert_cmpint(job[DTC_PROFILE_CPU], ==, 260);
	g_assert_cmpint(job[DTC_PROFILE_LIFE], ==, 460);

	/* what waited for the guest's CPU did so for its vCPU, too */
	const int64_t *other = find_row(&p, rows, GUEST, 9)->value;
	g_assert_cmpint(other[DTC_PROFILE_VM_PREEMPTED], ==, 95);

	/* nobody knows its host: as it seems to the guest */
	g_autoptr(GArray) alone = profile(&p, NULL, GUEST, SHIFT + 20, SHIFT + 480);
	job = find_row(&p, alone, GUEST, 7)->value;
	g_assert_cmpint(job[DTC_PROFILE_USER], ==, 450);
	g_assert_cmpint(job[DTC_PROFILE_VM_PREEMPTED], ==, 0);
	host_story_clear(&p);
}

static void test_host(void)
{
	struct host_story p;
	begin(&p);
	g_autoptr(GArray) rows = profile(&p, p.links, HOST, 0, 500);
	const int64_t *vcpu = find_row(&p, rows, HOST, 20)->value;

	/* up to the exit, or to what shows before that the CPU is back */
	g_assert_cmpint(vcpu[DTC_PROFILE_GUEST], ==, 90 + 80 + 90 + 40);
	g_assert_cmpint(vcpu[DTC_PROFILE_USER], ==, 5 + 10 + 10);
	g_assert_cmpint(vcpu[DTC_PROFILE_SYSTEM], ==, 5 + 20 + 5 + 10 + 10 + 20 + 10);
	g_assert_cmpint(vcpu[DTC_PROFILE_PREEMPTED], ==, 95);
	struct dtc_profile_cpu cpu =
		dtc_profile_get_cpu(p.links, HOST, p.histories[HOST], 0, (DtcNodeTime){ 0 }, (DtcNodeTime){ 500 });
	g_assert_cmpint(cpu.guest_ns, ==, vcpu[DTC_PROFILE_GUEST]);
	g_assert_cmpint(cpu.system_ns, ==, vcpu[DTC_PROFILE_SYSTEM]);
	host_story_clear(&p);
}

static void test_states(void)
{
	struct host_story p;
	begin(&p);
	static const struct {
		int64_t begin_ns, end_ns;
		enum dtc_state state;
	} wants[] = {
		{ 200, 205, DTC_STATE_VM_EXIT }, { 205, 300, DTC_STATE_VM_PREEMPTED }, { 300, 310, DTC_STATE_VM_EXIT },
		{ 310, 320, DTC_STATE_USER },	 { 320, 330, DTC_STATE_PREEMPTED },
	};
	struct dtc_spells spells;
	struct dtc_interval spell;
	dtc_spells_begin(&spells, p.links, GUEST, p.histories[GUEST],
			 dtc_history_find_thread(p.histories[GUEST], 7, DTC_TIME_NONE), (DtcNodeTime){ SHIFT + 200 },
			 (DtcNodeTime){ SHIFT + 330 });
	for (gsize i = 0; i < G_N_ELEMENTS(wants); i++) {
		g_assert_true(dtc_spells_next(&spells, &spell));
		g_assert_cmpint(spell.begin_ns - SHIFT, ==, wants[i].begin_ns);
		g_assert_cmpint(spell.end_ns - SHIFT, ==, wants[i].end_ns);
		g_assert_cmpstr(dtc_state_to_string(spell.state), ==, dtc_state_to_string(wants[i].state));
		bool is_working = dtc_state_class_get(&spell) == DTC_CLASS_WORKING;
		g_assert_true(is_working == (wants[i].state == DTC_STATE_USER));
	}
	g_assert_false(dtc_spells_next(&spells, &spell));
	dtc_spells_end(&spells);
	host_story_clear(&p);
}

/* What a process used is what it got; what was taken from it is nobody's, and the sums still are the CPU's. */
static void test_usage(void)
{
	struct host_story p;
	begin(&p);
	const struct dtc_usage_options options = { .interval_ns = 1000 };
	GError *error = NULL;
	g_autoptr(DtcUsage) usage = dtc_usage_new(p.links, &options, &error);
	g_assert_no_error(error);
	g_assert_true(dtc_usage_check(usage, &error));
	g_assert_no_error(error);
	g_assert_cmpint(usage->nodes[GUEST].away_ns, >, 95);
	for (guint i = 0; i < usage->processes->len; i++) {
		const struct dtc_usage_process *process = &g_array_index(usage->processes, struct dtc_usage_process, i);
		if (strcmp(process->name, "CPU 0/KVM") == 0)
			g_assert_cmpint(process->guest_ns, ==, 90 + 80 + 90 + 40 + 60 + 170);
		else
			g_assert_cmpint(process->guest_ns, ==, 0);
	}
	host_story_clear(&p);
}

/* States, path and tree agree on both. */
static void test_check(void)
{
	struct host_story p;
	begin(&p);
	for (guint node = 0; node < 2; node++) {
		struct dtc_check check = dtc_share_check_run(p.links, node);
		g_assert_cmpstr(check.detail, ==, NULL);
		g_assert_cmpuint(check.count, >, 0);
		g_assert_cmpuint(check.wrong_count, ==, 0);
	}
	host_story_clear(&p);
}

static void begin_late(struct host_story *p)
{
	host_story_begin(p);
	host_story_tell_late_timer(p);
	host_story_end(p, "20");
}

/* What was to end a wait was there, and the vCPU away: that is stolen here, too, and the wait is the rest. */
static void test_late_wait(void)
{
	struct host_story p;
	begin_late(&p);
	g_autoptr(GArray) rows = profile(&p, p.links, GUEST, SHIFT + 80, SHIFT + 700);
	const int64_t *job = find_row(&p, rows, GUEST, 7)->value;
	g_assert_cmpint(job[DTC_PROFILE_VM_PREEMPTED], ==, 200);
	g_assert_cmpint(job[DTC_PROFILE_VM_EXIT], ==, 10);
	g_assert_cmpint(job[DTC_PROFILE_TIMER], ==, (400 - 90) + (630 - 610));
	g_assert_cmpint(job[DTC_PROFILE_BLOCKED], ==, job[DTC_PROFILE_TIMER]);

	/* the end of the span cuts it: what ends it comes later */
	g_autoptr(GArray) cut = profile(&p, p.links, GUEST, SHIFT + 80, SHIFT + 615);
	job = find_row(&p, cut, GUEST, 7)->value;
	g_assert_cmpint(job[DTC_PROFILE_VM_PREEMPTED], ==, 0);
	g_assert_cmpint(job[DTC_PROFILE_TIMER], ==, 615 - 90);

	/* the begin does: what of it is in the span */
	g_autoptr(GArray) late = profile(&p, p.links, GUEST, SHIFT + 500, SHIFT + 700);
	job = find_row(&p, late, GUEST, 7)->value;
	g_assert_cmpint(job[DTC_PROFILE_VM_PREEMPTED], ==, 100);
	g_assert_cmpint(job[DTC_PROFILE_TIMER], ==, 20);
	struct dtc_check check = dtc_share_check_run(p.links, GUEST);
	g_assert_cmpstr(check.detail, ==, NULL);
	host_story_clear(&p);
}

/* Blockings keep the wait whole, and tell how much of it that is. */
static void test_late_blocking(void)
{
	struct host_story p;
	begin_late(&p);
	const struct dtc_blocked_part parts[] = {
		{ { 0 }, { 0 }, NULL },
		{ { SHIFT + 80 }, { SHIFT + 700 }, NULL },
	};
	const struct dtc_blocked_options options = { .parts = parts };
	g_autoptr(DtcEdges) edges = dtc_edges_new(p.links);
	g_autoptr(DtcBlocked) blocked = dtc_blocked_new(edges, &options);
	g_assert_cmpuint(dtc_blocked_get_count(blocked), ==, 1);
	const struct dtc_blocked_row *row = dtc_blocked_get_row(blocked, 0);
	g_assert_cmpint(row->total_ns, ==, 630 - 90);
	g_assert_cmpint(row->away_ns, ==, 210);
	host_story_clear(&p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/machines/guest", test_guest);
	g_test_add_func("/machines/host", test_host);
	g_test_add_func("/machines/states", test_states);
	g_test_add_func("/machines/usage", test_usage);
	g_test_add_func("/machines/check", test_check);
	g_test_add_func("/machines/late-wait", test_late_wait);
	g_test_add_func("/machines/late-blocking", test_late_blocking);
	return g_test_run();
}
