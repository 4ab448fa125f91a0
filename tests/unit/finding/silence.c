/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A machine that logs nothing while it should be interrupted by its timer. */
#include "analyze/finding/silence.h"
#include "analyze/finding/findings.h"
#include "analyze/path/path_build.h"
#include "sync/fit/clocks.h"

#include "tests/support/story.h"

#define RUN 0
#define MS 1000000

static void tick(struct story *s, int64_t t, uint32_t cpu)
{
	story_context(s, DTC_EVENT_VECTOR_ENTRY, t, cpu, DTC_VECTOR_LOCAL_TIMER, NULL);
	story_context(s, DTC_EVENT_VECTOR_EXIT, t + 1000, cpu, DTC_VECTOR_LOCAL_TIMER, NULL);
}

/* A thread that computes, interrupted every 4 ms but from 100 to 190 ms; CPU 1 idles, and logs at other_ms. */
static const DtcHistory *tell(struct story *s, int tid, bool with_ticks, int64_t other_ms)
{
	story_begin(s, "n");
	story_switch(s, 0, 0, tid ? 0 : 9, "swapper/0", RUN, tid, tid ? "job" : "swapper/0");
	story_switch(s, 1, 1, 8, "x", 1, 0, "swapper/1");
	for (int64_t ms = 4; ms < 300; ms += 4) {
		if (other_ms >= ms && other_ms < ms + 4)
			tick(s, other_ms * MS + 1, 1);
		if (with_ticks && (ms <= 100 || ms >= 190))
			tick(s, ms * MS, 0);
	}
	story_switch(s, 300 * MS, 0, tid, tid ? "job" : "swapper/0", RUN, 9, "other");
	return story_end(s);
}

static void test_silent(void)
{
	struct story s;
	struct dtc_silence silence;
	const DtcHistory *h = tell(&s, 10, true, 0);
	g_assert_true(dtc_silence_has_ticks(h));
	g_assert_true(dtc_silence_find(h, 110 * MS, 192 * MS + 500, &silence));
	g_assert_cmpuint(silence.cpu, ==, 0);
	g_assert_cmpint(dtc_history_get_thread(h, silence.thread)->tid, ==, 10);
	g_assert_cmpint(silence.begin_ns, ==, 100 * MS + 1000);
	g_assert_cmpint(silence.end_ns, ==, 192 * MS);
	g_assert_false(dtc_silence_find(h, 200 * MS, 250 * MS, &silence));
	g_assert_false(dtc_silence_find(h, 20 * MS, 110 * MS, &silence)); /* most of it was not silent */
	story_clear(&s);
}

/* Idle CPUs may be silent; traces without timer interrupts say nothing; an event elsewhere shows that it ran. */
static void test_not_silent(void)
{
	struct story s;
	struct dtc_silence silence;
	g_assert_false(dtc_silence_find(tell(&s, 0, true, 0), 110 * MS, 192 * MS, &silence));
	story_clear(&s);
	g_assert_false(dtc_silence_has_ticks(tell(&s, 10, false, 0)));
	story_clear(&s);
	g_assert_false(dtc_silence_find(tell(&s, 10, true, 150), 110 * MS, 192 * MS, &silence));
	story_clear(&s);
}

/* The same of a path on which a packet is on the wire to the node for so long, up to 192 ms. */
static guint count_findings(const DtcHistory *h, int64_t wire_ns, enum dtc_cause cause, char **ret_text)
{
	const char *name = "n";
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(1);
	g_autoptr(DtcLinks) links = dtc_links_new(1, &name, &h, clocks);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	int64_t begin_ns = 192 * MS - wire_ns;
	g_autoptr(DtcPath) path = dtc_path_new((DtcClusterTime){ begin_ns }, (DtcClusterTime){ 192 * MS });
	const struct dtc_segment segment = { .begin = { begin_ns },
					     .end = { 192 * MS },
					     .thread = DTC_NONE,
					     .cause = cause,
					     .comm = "",
					     .process = "kernel" };
	dtc_path_add_segment(path, &segment);
	dtc_path_finish(path);
	const struct dtc_finding_input input = { .path = path, .links = links };
	dtc_finding_add_all(&input, findings);
	guint count = dtc_findings_get_count(findings);
	if (count) {
		const struct dtc_finding *f = dtc_findings_get(findings, 0);
		g_assert_cmpstr(f->code, ==, DTC_FINDING_SILENCE);
		g_assert_cmpstr(f->node, ==, "n");
		g_assert_cmpstr(dtc_severity_to_string(f->severity), ==, "warning");
		*ret_text = g_strdup(f->text);
	}
	return count;
}

static void test_finding(void)
{
	struct story s;
	g_autofree char *text = NULL;
	const DtcHistory *h = tell(&s, 10, true, 0);
	g_assert_cmpuint(count_findings(h, 82 * MS, DTC_CAUSE_NETWORK_WIRE, &text), ==, 1);
	g_assert_cmpstr(
		text, ==,
		"silent for 91.999 ms while a packet was on the wire to it: CPU 0 ran job without a single timer "
		"interrupt; its host may not have let it run, and then the wire's time is the host's");
	g_assert_cmpuint(count_findings(h, DTC_SILENCE_NS - 1, DTC_CAUSE_NETWORK_WIRE, &text), ==, 0);
	g_assert_cmpuint(count_findings(h, 82 * MS, DTC_CAUSE_DISK, &text), ==, 0);
	story_clear(&s);
	g_assert_cmpuint(count_findings(tell(&s, 10, false, 0), 82 * MS, DTC_CAUSE_NETWORK_WIRE, &text), ==, 0);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/silence/silent", test_silent);
	g_test_add_func("/silence/not-silent", test_not_silent);
	g_test_add_func("/silence/finding", test_finding);
	return g_test_run();
}
