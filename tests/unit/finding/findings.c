/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said of a path of a known shape, with which code, from which threshold on; and that the codes are documented.
 */
#include "analyze/finding/findings.h"
#include "analyze/path/path_build.h"
#include "sync/fit/clocks.h"
#include "tests/support/cluster.h"
#include "tests/support/story.h"

#include <string.h>

#define US INT64_C(1000)
#define MS (1000 * US)

static const char *const names[] = { "web", "guest" };
static const DtcHistory *const no_histories[] = { NULL, NULL };

struct piece {
	int64_t ns;
	guint node;
	int32_t tid;
	enum dtc_cause cause;
	const char *busy_with;
};

static const char *name_thread(int32_t tid)
{
	g_autofree char *name = g_strdup_printf("t%d", tid);
	return g_intern_string(name);
}

static DtcPath *make_path(const struct piece *pieces, guint count)
{
	int64_t at_ns = 0;
	for (guint i = 0; i < count; i++)
		at_ns += pieces[i].ns;
	DtcPath *path = dtc_path_new((DtcClusterTime){ 0 }, (DtcClusterTime){ at_ns });
	for (guint i = count; i-- > 0;) {
		const struct piece *p = &pieces[i];
		struct dtc_segment segment = { .begin = { at_ns - p->ns },
					       .end = { at_ns },
					       .node = p->node,
					       .thread = (uint32_t)p->tid,
					       .cause = p->cause,
					       .tid = p->tid,
					       .pid = p->tid,
					       .comm = name_thread(p->tid),
					       .process = "p",
					       .evidence = dtc_evidence_of(DTC_REASON_NONE),
					       .busy_with = p->busy_with };
		dtc_path_add_segment(path, &segment);
		at_ns -= p->ns;
	}
	return path;
}

/* All findings of a path. Caller owns. */
static DtcFindings *find_with(DtcPath *path, const DtcSync *sync, const DtcHistory *const *histories)
{
	DtcFindings *findings = dtc_findings_new();
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(2);
	g_autoptr(DtcLinks) links = dtc_links_new(2, names, histories, clocks);
	const struct dtc_finding_input input = { .path = path, .links = links, .sync = sync };
	dtc_path_finish(path);
	dtc_finding_add_all(&input, findings);
	g_assert_true(dtc_findings_get_complete(findings));
	return findings;
}

static DtcFindings *find(DtcPath *path, const DtcSync *sync)
{
	return find_with(path, sync, no_histories);
}

static DtcFindings *find_of(const struct piece *pieces, guint count)
{
	g_autoptr(DtcPath) path = make_path(pieces, count);
	return find(path, NULL);
}

static void assert_finding(const DtcFindings *findings, guint index, const char *code, enum dtc_severity severity,
			   const char *node, const char *text)
{
	g_assert_cmpuint(index, <, dtc_findings_get_count(findings));
	const struct dtc_finding *f = dtc_findings_get(findings, index);
	g_assert_cmpstr(f->code, ==, code);
	g_assert_cmpstr(dtc_severity_to_string(f->severity), ==, dtc_severity_to_string(severity));
	g_assert_cmpstr(f->node, ==, node);
	g_assert_cmpstr(f->text, ==, text);
}

/* Ten ms without a system call, whatever took the CPU from the thread in between, and a tenth of the whole. */
static void test_long_run(void)
{
	const struct piece run[] = {
		{ 40 * MS, 0, 7, DTC_CAUSE_DISK, NULL },
		{ 4 * MS, 0, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ MS, 0, 7, DTC_CAUSE_IRQ, NULL },
		{ 2 * MS, 0, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ 9 * MS, 0, 7, DTC_CAUSE_PREEMPTED, NULL },
		{ 3 * MS, 0, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ MS, 0, 7, DTC_CAUSE_RUNQUEUE, NULL },
		{ MS, 0, 7, DTC_CAUSE_SOFTIRQ, NULL },
		{ 1 * MS, 0, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ 38 * MS, 0, 7, DTC_CAUSE_DISK, NULL },
	};
	struct piece other[G_N_ELEMENTS(run)];
	g_autoptr(DtcFindings) found = find_of(run, G_N_ELEMENTS(run));
	g_assert_cmpuint(dtc_findings_get_count(found), ==, 1);
	assert_finding(
		found, 0, DTC_FINDING_LONG_RUN, DTC_SEVERITY_INFO, "web",
		"t7 (tid 7) ran 10.000 ms without a system call: it computes, or spins on memory; a kernel trace "
		"does not tell which");
	/* each change is one that makes it too short, too small a share, somebody else's, or no run in one go */
	for (guint change = 0; change < 5; change++) {
		memcpy(other, run, sizeof(run));
		if (change == 0)
			other[1].ns -= 1;
		else if (change == 1)
			other[0].ns += MS;
		else if (change == 2)
			other[3].cause = DTC_CAUSE_RUNNING_KERNEL;
		else if (change == 3)
			other[4].cause = DTC_CAUSE_LOCK;
		else
			other[5].tid = 8;
		g_autoptr(DtcFindings) none = find_of(other, G_N_ELEMENTS(other));
		g_assert_cmpuint(dtc_findings_get_count(none), ==, 0);
	}
}

static void set_interval(DtcPath *path, guint index, const struct dtc_interval *interval)
{
	struct dtc_segment *segment = (struct dtc_segment *)(void *)dtc_path_get_segment(path, index);
	segment->evidence = dtc_evidence_of_interval(0, interval);
	segment->evidence.reason = DTC_REASON_HOST_PREEMPTED;
}

/* A guest's CPU that was ready: from a hundredth on, and from a tenth on it is a warning. */
static void test_vm_preempted(void)
{
	/* the vCPU's thread of the host is preempted by one and then by the other */
	struct story host;
	story_begin(&host, "web");
	story_switch(&host, 0, 0, 0, "swapper/0", 1, 20, "vcpu");
	story_switch(&host, 10, 0, 20, "vcpu", 0, 30, "hog");
	story_switch(&host, 20, 0, 30, "hog", 1, 20, "vcpu");
	story_switch(&host, 30, 0, 20, "vcpu", 0, 31, "other");
	story_switch(&host, 40, 0, 31, "other", 1, 20, "vcpu");
	story_switch(&host, 50, 0, 20, "vcpu", 1, 0, "swapper/0");
	const DtcHistory *const histories[] = { story_end(&host), NULL };
	const struct dtc_interval *by_hog = story_interval(&host, 20, 15), *by_other = story_interval(&host, 20, 35);
	const struct piece pieces[] = {
		{ 2 * MS, 1, 5, DTC_CAUSE_VM_PREEMPTED, NULL },	   { 3 * MS, 1, 5, DTC_CAUSE_VM_PREEMPTED, NULL },
		{ 10 * MS, 1, 5, DTC_CAUSE_RUNNING_KERNEL, NULL }, { 4 * MS, 1, 5, DTC_CAUSE_VM_PREEMPTED, NULL },
		{ 1 * MS, 1, 5, DTC_CAUSE_VM_EXIT, NULL },	   { 70 * MS, 0, 1, DTC_CAUSE_DISK, NULL },
	};
	static const struct {
		int64_t rest_ns;
		bool is_found;
		enum dtc_severity severity;
	} cases[] = { { 70 * MS, true, DTC_SEVERITY_WARNING },
		      { 71 * MS, true, DTC_SEVERITY_INFO },
		      { 880 * MS, true, DTC_SEVERITY_INFO },
		      { 881 * MS, false, 0 } };
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct piece now[G_N_ELEMENTS(pieces)];
		memcpy(now, pieces, sizeof(pieces));
		now[5].ns = cases[i].rest_ns;
		g_autoptr(DtcPath) path = make_path(now, G_N_ELEMENTS(now));
		/* from the latest to the earliest, as they were added */
		set_interval(path, 5, by_hog);
		set_interval(path, 4, by_other);
		set_interval(path, 2, by_hog);
		g_autoptr(DtcFindings) found = find_with(path, NULL, histories);
		g_assert_cmpuint(dtc_findings_get_count(found), ==, cases[i].is_found);
		if (cases[i].is_found)
			assert_finding(
				found, 0, DTC_FINDING_VM_PREEMPTED, cases[i].severity, "guest",
				"its virtual CPU was ready and did not run for 9.000 ms of this (at most 5.000 ms "
				"at once), most of it by hog (tid 30) on web");
	}
	story_clear(&host);
}

/* What a limit held is told for each process, from a hundredth of the whole on. */
static void test_cpu_limit(void)
{
	static const struct {
		int64_t held_ns, rest_ns;
		bool is_found;
		enum dtc_severity severity;
	} cases[] = {
		{ 30 * MS, 20 * MS, true, DTC_SEVERITY_WARNING },
		{ 5 * MS, 90 * MS, true, DTC_SEVERITY_WARNING },
		{ 5 * MS, 91 * MS, true, DTC_SEVERITY_INFO },
		{ 5 * MS, 990 * MS, true, DTC_SEVERITY_INFO },
		{ 5 * MS, 991 * MS, false, 0 },
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct piece pieces[] = {
			{ cases[i].held_ns, 0, 1, DTC_CAUSE_CPU_LIMIT, NULL },
			{ cases[i].rest_ns, 0, 1, DTC_CAUSE_RUNNING_KERNEL, NULL },
			{ cases[i].held_ns, 0, 2, DTC_CAUSE_CPU_LIMIT, NULL },
		};
		g_autoptr(DtcFindings) found = find_of(pieces, G_N_ELEMENTS(pieces));
		g_autofree char *text = g_strdup_printf(
			"p was ready and not let run for %.3f ms of this, while its CPU was idle: as the limit of its "
			"cgroup or container (cpu.max) does, of which the trace has no event",
			(double)(2 * cases[i].held_ns) / 1e6);
		g_assert_cmpuint(dtc_findings_get_count(found), ==, cases[i].is_found);
		if (cases[i].is_found)
			assert_finding(found, 0, DTC_FINDING_CPU_LIMIT, cases[i].severity, "web", text);
	}
}

/* Only the tracer's part of a wait counts, and only what of it lies in the segment. */
static void test_tracer(void)
{
	static const struct {
		int64_t preempted_ns, whole_ns;
		const char *text; /* NULL: not worth saying */
		enum dtc_severity severity;
	} cases[] = {
		{ 100 * MS, 1000 * MS, "60.000 ms (6 %): tcpdump on web 60.000 ms", DTC_SEVERITY_INFO },
		{ 30 * MS, 1000 * MS, "30.000 ms (3 %): tcpdump on web 30.000 ms", DTC_SEVERITY_INFO },
		{ 100 * MS, 600 * MS, "60.000 ms (10 %): tcpdump on web 60.000 ms", DTC_SEVERITY_WARNING },
		{ 10 * MS, 1001 * MS, NULL, DTC_SEVERITY_INFO },
	};
	struct story web;
	story_begin(&web, "web");
	story_switch(&web, 0, 0, 0, "swapper/0", 1, 20, "server");
	story_switch(&web, 100 * MS, 0, 20, "server", 0, 30, "tcpdump");
	story_switch(&web, 160 * MS, 0, 30, "tcpdump", 1, 31, "hog");
	story_switch(&web, 200 * MS, 0, 31, "hog", 1, 20, "server");
	story_switch(&web, 2000 * MS, 0, 20, "server", 1, 0, "swapper/0");
	const DtcHistory *const histories[] = { story_end(&web), NULL };
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		int64_t rest_ns = cases[i].whole_ns - 100 * MS - cases[i].preempted_ns;
		/* of a thread that the history has: pieces bear its index */
		const struct piece pieces[] = {
			{ 100 * MS, 0, 1, DTC_CAUSE_RUNNING_KERNEL, NULL },
			{ cases[i].preempted_ns, 0, 1, DTC_CAUSE_PREEMPTED, NULL },
			{ rest_ns, 0, 1, DTC_CAUSE_DISK, NULL },
		};
		g_autoptr(DtcPath) path = make_path(pieces, G_N_ELEMENTS(pieces));
		set_interval(path, 1, story_interval(&web, 20, 150 * MS));
		g_autoptr(DtcFindings) found = find_with(path, NULL, histories);
		g_assert_cmpuint(dtc_findings_get_count(found), ==, cases[i].text != NULL);
		g_autofree char *text =
			g_strconcat("the recording itself had a CPU that this waited for, for ", cases[i].text, NULL);
		if (cases[i].text)
			assert_finding(found, 0, DTC_FINDING_TRACER, cases[i].severity, NULL, text);
	}
	story_clear(&web);
}

static void test_reversals(void)
{
	const struct piece piece = { MS, 0, 1, DTC_CAUSE_DISK, NULL };
	static const struct dtc_reversal reversals[] = { { 0, 1, 40, 100 }, { 1, 0, 100, 100 }, { 1, 0, 101, 100 } };
	for (guint count = 0; count <= 3; count++) {
		g_autoptr(DtcPath) path = make_path(&piece, 1);
		for (guint i = 0; i < count; i++)
			dtc_path_add_reversal(path, &reversals[i]);
		g_autoptr(DtcFindings) found = find(path, NULL);
		g_assert_cmpuint(dtc_findings_get_count(found), ==, (count > 0) + (count == 3));
		if (count == 3)
			assert_finding(found, 0, DTC_FINDING_CONTRADICTION, DTC_SEVERITY_WARNING, "web",
				       "a message from guest arrives 101 ns before it was sent, more than the clocks' "
				       "uncertainty of 100 ns: clocks or match are wrong");
		if (count)
			assert_finding(found, count == 3, DTC_FINDING_REVERSAL, DTC_SEVERITY_INFO, NULL,
				       count == 1
					       ? "1 messages on the path seem to arrive up to 40 ns before they were "
						 "sent, within the clocks' uncertainty: their time on the wire counts "
						 "as nothing"
					       : "2 messages on the path seem to arrive up to 100 ns before they were "
						 "sent, within the clocks' uncertainty: their time on the wire counts "
						 "as nothing");
	}
}

/* The longest five that are a hundredth of the whole, the longest first; one thread and request are one. */
static void test_busy(void)
{
	const struct piece pieces[] = {
		{ 15 * MS, 0, 1, DTC_CAUSE_DISK, "b" },	   { 10 * MS, 0, 1, DTC_CAUSE_LOCK, "a" },
		{ 30 * MS, 0, 1, DTC_CAUSE_DISK, NULL },   { 10 * MS, 0, 1, DTC_CAUSE_LOCK, "a" },
		{ 13 * MS, 1, 2, DTC_CAUSE_DISK, "a" },	   { 12 * MS, 0, 2, DTC_CAUSE_DISK, "a" },
		{ 11 * MS, 0, 3, DTC_CAUSE_DISK, "a" },	   { 10 * MS, 0, 4, DTC_CAUSE_DISK, "left out" },
		{ 9 * MS, 0, 5, DTC_CAUSE_DISK, "small" },
	};
	g_autoptr(DtcFindings) found = find_of(pieces, G_N_ELEMENTS(pieces));
	g_assert_cmpuint(dtc_findings_get_count(found), ==, 5);
	assert_finding(found, 0, DTC_FINDING_BUSY, DTC_SEVERITY_INFO, "web",
		       "t1 (tid 1) worked 20.000 ms for request a while this one waited");
	assert_finding(found, 1, DTC_FINDING_BUSY, DTC_SEVERITY_INFO, "web",
		       "t1 (tid 1) worked 15.000 ms for request b while this one waited");
	assert_finding(found, 2, DTC_FINDING_BUSY, DTC_SEVERITY_INFO, "guest",
		       "t2 (tid 2) worked 13.000 ms for request a while this one waited");
	const struct piece small[] = { { MS - 1, 0, 1, DTC_CAUSE_DISK, "a" },
				       { 99 * MS + 1, 0, 1, DTC_CAUSE_DISK, NULL } };
	g_autoptr(DtcFindings) none = find_of(small, G_N_ELEMENTS(small));
	g_assert_cmpuint(dtc_findings_get_count(none), ==, 0);
}

static void test_unmatched(void)
{
	const struct piece piece = { MS, 0, 1, DTC_CAUSE_DISK, NULL };
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcFindings) unwanted = dtc_findings_new();
	for (guint lost = 0; lost < 2; lost++) {
		struct cluster cluster;
		cluster_init(&cluster, 1, 2);
		g_autoptr(DtcMatches) matches = cluster_new_matches(&cluster);
		for (guint i = 0; i < 50; i++)
			cluster_send(&cluster, matches, i % 2, !(i % 2), 0);
		dtc_matches_add_unmatched(matches, 0, 1, lost);
		dtc_matches_add_unmatched(matches, 1, 0, lost * 2);
		g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, NULL, unwanted, &error);
		g_assert_no_error(error);
		g_autoptr(DtcPath) path = make_path(&piece, 1);
		g_autoptr(DtcFindings) found = find(path, sync);
		g_assert_cmpuint(dtc_findings_get_count(found), ==, lost);
		if (lost)
			assert_finding(
				found, 0, DTC_FINDING_UNMATCHED, DTC_SEVERITY_INFO, NULL,
				"3 of 53 packets between web and guest have no match on the other side (lost, or "
				"not recorded)");
	}
}

static void test_documented(void)
{
	static const char *const codes[] = { DTC_FINDING_BUSY,	    DTC_FINDING_REVERSAL,     DTC_FINDING_CONTRADICTION,
					     DTC_FINDING_UNMATCHED, DTC_FINDING_LONG_RUN,     DTC_FINDING_POLLING,
					     DTC_FINDING_SILENCE,   DTC_FINDING_VM_PREEMPTED, DTC_FINDING_NOT_SEEN,
					     DTC_FINDING_TRACER };
	g_autoptr(GError) error = NULL;
	g_autofree char *path = g_build_filename(g_getenv("DTC_SOURCE_DIR"), "docs", "formats.md", NULL);
	g_autofree char *text = NULL;
	g_file_get_contents(path, &text, NULL, &error);
	g_assert_no_error(error);
	for (guint i = 0; i < G_N_ELEMENTS(codes); i++) {
		g_autofree char *row = g_strdup_printf("\n| `%s` | ", codes[i]);
		if (!strstr(text, row))
			g_error("docs/formats.md has no row of '%s'", codes[i]);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/finding/long-run", test_long_run);
	g_test_add_func("/finding/vm-preempted", test_vm_preempted);
	g_test_add_func("/finding/cpu-limit", test_cpu_limit);
	g_test_add_func("/finding/tracer", test_tracer);
	g_test_add_func("/finding/reversals", test_reversals);
	g_test_add_func("/finding/busy", test_busy);
	g_test_add_func("/finding/unmatched", test_unmatched);
	g_test_add_func("/finding/documented", test_documented);
	return g_test_run();
}
