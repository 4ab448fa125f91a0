/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A machine that forgets what happened says of all that comes after it what one says that forgets nothing: on the
 * traces of clusters/demo, which have calls, connections, forks and disks, and at moments at which things are open.
 */
#include "analyze/state/machine.h"
#include "collect/read/reader.h"
#include "tests/support/story.h"

#include <string.h>

/* From one time to another, whatever stands for a time that is not known. */
static int64_t since(int64_t ns, int64_t from_ns)
{
	return (int64_t)((uint64_t)ns - (uint64_t)from_ns);
}

/* What two histories of one trace say alike, in words; threads have the same numbers in both. */
static void describe_wake(const DtcHistory *h, uint32_t number, int64_t from_ns, GString *to)
{
	struct dtc_wake place;
	if (number == DTC_NONE) {
		g_string_append(to, " none");
		return;
	}
	const struct dtc_wake *wake = dtc_history_get_wake(h, number, &place);
	g_string_append_printf(to, " woken %" G_GINT64_FORMAT "+%" G_GINT64_FORMAT " by %u %d on %u",
			       since(wake->waking_ns, from_ns), since(wake->wakeup_ns, wake->waking_ns), wake->thread,
			       wake->waker, wake->cpu);
	if (wake->waker == DTC_WAKER_BLOCK && wake->ref != DTC_NONE) {
		const struct dtc_block_request *block = dtc_history_get_block_request(h, wake->ref);
		g_string_append_printf(to, " of %" G_GINT64_FORMAT " at %" G_GINT64_FORMAT, block->sector,
				       since(block->insert_ns, from_ns));
	}
}

static void describe_call(const DtcHistory *h, uint32_t number, int64_t from_ns, GString *to)
{
	struct dtc_call place;
	if (number == DTC_NONE)
		return;
	const struct dtc_call *call = dtc_history_get_call(h, number, &place);
	g_string_append_printf(to, " %s %" G_GINT64_FORMAT "+%" G_GINT64_FORMAT " = %" G_GINT64_FORMAT " fd %d file %u",
			       dtc_history_get_string(h, call->name), since(call->begin_ns, from_ns),
			       since(call->end_ns, call->begin_ns), call->result, call->fd, call->file);
	if (call->kind != DTC_CALL_POLL)
		g_string_append_printf(to, " offset %" G_GUINT64_FORMAT, call->offset);
	if (call->file == DTC_NONE)
		return;
	const struct dtc_file *file = dtc_history_get_file(h, call->file);
	g_string_append_printf(to, " %s flow %u", dtc_history_get_string(h, file->name), file->flow_out);
	if (file->accept != DTC_NONE)
		g_string_append_printf(to, " accepted %" G_GINT64_FORMAT,
				       dtc_history_get_call_begin_ns(h, file->accept) - from_ns);
}

/* The intervals of a thread that end after from_ns; of the one that goes on then, only what it is. */
static void describe_thread(const DtcHistory *h, uint32_t thread, int64_t from_ns, GString *to)
{
	struct dtc_interval place;
	const struct dtc_interval *interval = dtc_history_get_interval_after(h, thread, from_ns, &place);
	for (; interval; interval = dtc_history_get_next_interval(h, &place)) {
		g_string_append_printf(to, "%u %s %s %" G_GINT64_FORMAT "+%" G_GINT64_FORMAT " on %u", thread,
				       dtc_history_get_comm(h, thread, interval->begin_ns),
				       dtc_state_to_string(interval->state), interval->begin_ns - from_ns,
				       interval->end_ns - interval->begin_ns, interval->cpu);
		describe_call(h, interval->call, from_ns, to);
		if (dtc_state_is_wait(interval->state))
			describe_wake(h, interval->ref, from_ns, to);
		else if (interval->state == DTC_STATE_IRQ)
			g_string_append_printf(to, " %s", dtc_history_get_string(h, interval->ref));
		g_string_append_c(to, '\n');
	}
}

static void describe_packets(const DtcHistory *h, int64_t from_ns, GString *to)
{
	const DtcPackets *packets = dtc_history_get_packets(h);
	for (uint32_t i = 0; i < dtc_packets_get_count(packets); i++) {
		const struct dtc_packet packet = dtc_packets_get(packets, i);
		const struct dtc_packet_context context = dtc_history_get_packet_context(h, i);
		if (packet.time_ns < from_ns)
			continue;
		g_string_append_printf(to, "packet %" G_GINT64_FORMAT " flow %u seq %u in %u", packet.time_ns - from_ns,
				       packet.flow, packet.seq, context.thread);
		describe_call(h, context.call, from_ns, to);
		g_string_append_c(to, '\n');
	}
}

static void describe_runs(const DtcHistory *h, int64_t from_ns, GString *to)
{
	for (guint cpu = 0; cpu < dtc_history_get_cpu_count(h); cpu++)
		for (uint32_t i = dtc_history_find_run_after(h, cpu, from_ns); i < dtc_history_get_run_count(h, cpu);
		     i++) {
			const struct dtc_run run = dtc_history_get_run(h, cpu, i);
			g_string_append_printf(to, "cpu %u %" G_GINT64_FORMAT " %u\n", cpu, run.begin_ns - from_ns,
					       run.thread);
		}
}

static char *describe(const DtcHistory *h, int64_t from_ns)
{
	GString *text = g_string_new(NULL);
	for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++)
		describe_thread(h, i, from_ns, text);
	describe_packets(h, from_ns, text);
	describe_runs(h, from_ns, text);
	return g_string_free(text, FALSE);
}

/* The history of a trace that forgets once, with the first event at or after a time, and every so many events before.
 */
static DtcHistory *read_trace(const char *path, int64_t forget_ns, guint often)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcReader) reader = dtc_reader_open("node", path, &error);
	g_assert_no_error(error);
	g_autoptr(DtcMachine) machine = dtc_machine_new("node", reader);
	const struct dtc_event *event;
	bool is_before = true;
	guint count = 0;
	while ((event = dtc_reader_next(reader))) {
		bool is_first = is_before && event->time_ns >= forget_ns;
		if (is_before && (is_first || (often && ++count % often == 0)))
			dtc_machine_forget(machine);
		is_before = is_before && !is_first;
		dtc_machine_apply(machine, event);
	}
	return dtc_machine_finish(machine, findings);
}

static void check_node(const char *node)
{
	static const double parts[] = { 0.05, 0.3, 0.5, 0.71, 0.95 };
	g_autofree char *path = g_build_filename(g_getenv("DTC_SOURCE_DIR"), "clusters", "demo", node, "kernel", NULL);
	g_autoptr(DtcHistory) whole = read_trace(path, INT64_MAX, 0);
	int64_t begin_ns = dtc_history_get_begin_ns(whole), length_ns = dtc_history_get_end_ns(whole) - begin_ns;

	for (gsize i = 0; i < 2 * G_N_ELEMENTS(parts); i++) {
		int64_t from_ns = begin_ns + (int64_t)((double)length_ns * parts[i / 2]);
		g_autoptr(DtcHistory) late = read_trace(path, from_ns, i % 2 ? 1009 : 0);
		g_autofree char *expected = describe(whole, from_ns), *found = describe(late, from_ns);
		g_autoptr(GError) error = NULL;
		(void)dtc_history_check(late, &error);
		g_assert_no_error(error);
		g_assert_cmpint(dtc_history_get_begin_ns(late), ==, begin_ns);
		g_assert_cmpstr(found, ==, expected);
		g_assert_cmpuint(strlen(found), >, 1000);
	}
}

static void test_demo(void)
{
	static const char *const nodes[] = { "backend", "client", "web" };
	for (gsize i = 0; i < G_N_ELEMENTS(nodes); i++)
		check_node(nodes[i]);
}

/* The wakeup of a thread is lost, and who was about to wake it has left its CPU long ago: who had that is forgotten. */
static void test_old_wake(void)
{
	struct story s;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", 0, 10, "waker");
	story_switch(&s, 5, 1, 20, "sleeper", 1, 0, "swapper/1");
	story_task(&s, DTC_EVENT_SCHED_WAKING, 10, 0, 20, "sleeper", 1);
	story_switch(&s, 20, 0, 10, "waker", 1, 30, "other");
	dtc_machine_forget(s.machine);
	story_switch(&s, 40, 1, 0, "swapper/1", 0, 20, "sleeper");
	story_switch(&s, 50, 1, 20, "sleeper", 1, 0, "swapper/1");
	story_end(&s); /* checks it */
	g_assert_cmpuint(dtc_history_get_wake_count(s.history), >, 0);
	story_clear(&s);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/forget/demo", test_demo);
	g_test_add_func("/forget/old-wake", test_old_wake);
	return g_test_run();
}
