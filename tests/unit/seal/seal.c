/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Raw recordings made by hand, sealed, and read as the analysis reads them. */
#include "tests/support/made_raw.h"

#include "collect/read/reader.h"
#include "dtrace-chain/error.h"
#include "dtrace-chain/manifest.h"

#include <unistd.h>

#define CLONE_THREAD 0x10000
#define SLEEP 1

/* The events of the sealed trace but most of the state dump's, copied; texts are gone. */
static GArray *seal_and_read(struct made_raw *raw, struct dtc_seal_summary *ret_summary)
{
	struct dtc_seal_options options = { .creator = "dtrace-collect 0.1.0" };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	g_autofree char *kernel = g_build_filename(raw->folder, DTC_SEALED_KERNEL, NULL);
	g_autofree char *left = g_build_filename(raw->folder, DTC_RAW_FOLDER, NULL);
	GArray *events = g_array_new(FALSE, FALSE, sizeof(struct dtc_event));
	const struct dtc_event *event;

	g_assert_true(dtc_seal_node(raw->folder, &options, findings, ret_summary, &error));
	g_assert_no_error(error);
	g_assert_false(g_file_test(left, G_FILE_TEST_EXISTS));
	g_autoptr(DtcReader) reader = dtc_reader_open("node", kernel, &error);
	g_assert_no_error(error);
	while ((event = dtc_reader_next(reader)))
		if (event->kind < DTC_EVENT_DUMP_PROCESS || event->kind == DTC_EVENT_LOST ||
		    event->kind == DTC_EVENT_DUMP_CPU_LIMIT)
			g_array_append_val(events, *event);
	g_assert_true(dtc_reader_finish(reader, findings, &error));
	g_assert_no_error(error);
	return events;
}

static const struct dtc_event *find(const GArray *events, enum dtc_event_kind kind, guint nth)
{
	for (guint i = 0; i < events->len; i++) {
		const struct dtc_event *event = &g_array_index(events, struct dtc_event, i);
		if (event->kind == kind && nth-- == 0)
			return event;
	}
	return NULL;
}

static void assert_switch(const struct dtc_event *event, int64_t t, int64_t prev, int64_t next, bool is_repaired)
{
	g_assert_nonnull(event);
	g_assert_cmpint(event->time_ns, ==, MADE_RAW_BEGIN + t);
	g_assert_cmpint(event->v[DTC_SWITCH_PREV_TID], ==, prev);
	g_assert_cmpint(event->v[DTC_SWITCH_NEXT_TID], ==, next);
	g_assert_cmpint(event->v[DTC_SWITCH_REPAIRED], ==, is_repaired ? 1 : DTC_ABSENT);
}

/* The switch from idle is missing: it was when the other CPU woke the thread, not when that first shows itself. */
static void test_missing_from_idle(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	made_raw_switch(&raw, 0, 100, 0, 0, 7);
	made_raw_switch(&raw, 1, 200, 20, SLEEP, 0);
	made_raw_waking(&raw, 0, 5000, 7, 20);
	made_raw_call(&raw, 1, 90000, MADE_CLOSE, 20, 3);
	made_raw_end(&raw, 0);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	assert_switch(find(events, DTC_EVENT_SCHED_SWITCH, 2), 5001, 0, 20, true);
	g_assert_cmpuint(summary.repaired_switches, ==, 1);
	g_assert_null(find(events, DTC_EVENT_SCHED_SWITCH, 3));
	made_raw_clear(&raw);
}

/* From a thread that worked nobody knows when: it is put before the event that shows the next one. */
static void test_missing_from_thread(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	made_raw_switch(&raw, 1, 200, 0, 0, 20);
	made_raw_call(&raw, 1, 300, MADE_CLOSE, 20, 3);
	made_raw_waking(&raw, 0, 5000, 7, 30);
	made_raw_call(&raw, 1, 90000, MADE_CLOSE, 30, 3);
	made_raw_switch(&raw, 1, 95000, 30, SLEEP, 0);
	made_raw_end(&raw, 0);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	assert_switch(find(events, DTC_EVENT_SCHED_SWITCH, 1), 90000, 20, 30, true);
	assert_switch(find(events, DTC_EVENT_SCHED_SWITCH, 2), 95000, 30, 0, false);
	made_raw_clear(&raw);
}

/* Right behind a switch the kernel still logs in the name of the thread before; later it cannot. */
static void test_late_events(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	made_raw_switch(&raw, 0, 200, 7, SLEEP, 20);
	made_raw_waking(&raw, 0, 900, 7, 30);
	made_raw_call(&raw, 0, 2000, MADE_CLOSE, 20, 3);
	made_raw_call(&raw, 0, 2100, MADE_CLOSE, 7, 3);
	made_raw_end(&raw, 0);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	g_assert_cmpuint(summary.repaired_switches, ==, 1);
	assert_switch(find(events, DTC_EVENT_SCHED_SWITCH, 1), 2100, 20, 7, true);
	made_raw_clear(&raw);
}

/* A thread belongs to its maker's process, which the walk knows; a process is its own. */
static void test_forks(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	g_string_append(raw.begin, "p\t7\t1\t0\t/x\t/\t1\t2\t3\t4\t5\t6\t7\nt\t8\t7\tw\tS\t8\t0\t0\n");
	made_raw_fork(&raw, 0, 100, 8, 50, CLONE_THREAD);
	made_raw_fork(&raw, 1, 200, 50, 60, 0);
	made_raw_fork(&raw, 0, 300, 99, 70, CLONE_THREAD);
	made_raw_end(&raw, 0);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	const struct dtc_event *thread = find(events, DTC_EVENT_SCHED_FORK, 0);
	g_assert_cmpint(thread->v[DTC_FORK_PARENT_TID], ==, 8);
	g_assert_cmpint(thread->v[DTC_FORK_PARENT_PID], ==, 7);
	g_assert_cmpint(thread->v[DTC_FORK_CHILD_TID], ==, 50);
	g_assert_cmpint(thread->v[DTC_FORK_CHILD_PID], ==, 7);
	const struct dtc_event *process = find(events, DTC_EVENT_SCHED_FORK, 1);
	g_assert_cmpint(process->v[DTC_FORK_PARENT_PID], ==, 7);
	g_assert_cmpint(process->v[DTC_FORK_CHILD_PID], ==, 60);
	const struct dtc_event *unknown = find(events, DTC_EVENT_SCHED_FORK, 2);
	g_assert_cmpint(unknown->v[DTC_FORK_CHILD_TID], ==, 70);
	g_assert_cmpint(unknown->v[DTC_FORK_CHILD_PID], ==, DTC_ABSENT);
	made_raw_clear(&raw);
}

/* A file that was opened and is open at the end has that name, unless it was closed and is another since. */
static void test_file_names(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	g_string_append(raw.begin, "p\t7\t1\t0\t/x\t/\t1\t2\t3\t4\t5\t6\t7\nt\t7\t7\tw\tS\t7\t0\t0\n");
	g_string_append(raw.end, "f\t7\t4\t/tmp/four\nf\t7\t5\t/tmp/five\nf\t7\t6\t/tmp/six (deleted)\n");
	for (gint fd = 4; fd < 7; fd++) {
		made_raw_call(&raw, 0, (guint64)fd * 1000, MADE_OPEN, 7, 0);
		made_raw_call(&raw, 0, (guint64)fd * 1000 + 10, MADE_OPENED, 7, fd);
	}
	made_raw_call(&raw, 0, 9000, MADE_CLOSE, 7, 5);
	made_raw_end(&raw, 0);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	g_assert_nonnull(find(events, DTC_EVENT_SYSCALL_ENTRY, 0)->text[0]);
	g_assert_null(find(events, DTC_EVENT_SYSCALL_ENTRY, 1)->text[0]);
	g_assert_null(find(events, DTC_EVENT_SYSCALL_ENTRY, 2)->text[0]);
	made_raw_clear(&raw);
}

/* What the page counts as lost is lost before its first event; what only the counters know, in their second. */
static void test_losses(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	made_raw_switch(&raw, 0, 500, 0, 0, 7);
	made_raw_call(&raw, 0, 5000, MADE_CLOSE, 7, 3);
	made_raw_call(&raw, 0, 9000, MADE_CLOSE, 7, 3);
	g_string_append(raw.drops, "1000001000 0 0 0 0 0 0 0\n1000008000 0 0 0 0 0 3 0\n");
	made_raw_end(&raw, 0xc0000000u);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	g_assert_cmpuint(summary.lost_events, ==, 13); /* 5 of each page */
	const struct dtc_event *gap = find(events, DTC_EVENT_LOST, 0);
	g_assert_cmpint(gap->v[DTC_LOST_COUNT], ==, 5);
	g_assert_cmpint(gap->time_ns, <=, MADE_RAW_BEGIN + 500);
	bool is_counted = false;
	for (guint i = 1; (gap = find(events, DTC_EVENT_LOST, i)); i++)
		if (gap->v[DTC_LOST_COUNT] == 3) {
			is_counted = true;
			g_assert_cmpint(gap->v[DTC_LOST_BEGIN], >=, MADE_RAW_BEGIN + 500);
			g_assert_cmpint(gap->time_ns, <=, MADE_RAW_BEGIN + 9000);
		}
	g_assert_true(is_counted);
	made_raw_clear(&raw);
}

/*
 * A flight recorder's buffers grow from 5.5 to 6.5 us. Of that time events are said to be lost, and of all of it, with
 * and without an event in it: it was the whole packet after it, and the time up to the last event in it.
 */
static void test_loss_of_a_time(void)
{
	for (int has_event = 0; has_event <= 1; has_event++) {
		struct made_raw raw;
		struct dtc_seal_summary summary;
		made_raw_begin(&raw);
		made_raw_switch(&raw, 0, 500, 0, 0, 7);
		made_raw_call(&raw, 0, 5000, MADE_CLOSE, 7, 3);
		if (has_event)
			made_raw_call(&raw, 0, 5600, MADE_CLOSE, 7, 3);
		made_raw_call(&raw, 0, 9000, MADE_CLOSE, 7, 3);
		made_raw_call(&raw, 0, 20000, MADE_CLOSE, 7, 3);
		g_string_append(raw.drops, "1000001000 0 0 0 0 0 0 0\n1000005500 0 0 0 0 0 0 0\n"
					   "1000006500 0 0 0 0 0 1 0\n1000030000 0 0 0 0 0 1 0\n");
		made_raw_end(&raw, 0);
		g_autoptr(GArray) events = seal_and_read(&raw, &summary);
		g_assert_cmpuint(summary.lost_events, ==, 1);
		const struct dtc_event *gap = find(events, DTC_EVENT_LOST, 0);
		g_assert_cmpint(gap->v[DTC_LOST_COUNT], ==, 1);
		g_assert_cmpint(gap->v[DTC_LOST_BEGIN], ==, MADE_RAW_BEGIN + 5000);
		g_assert_cmpint(gap->time_ns, ==, MADE_RAW_BEGIN + 6500);
		g_assert_null(find(events, DTC_EVENT_LOST, 1));
		made_raw_clear(&raw);
	}
}

/* What was lost behind a CPU's last event is, too, as far as others have events; there was no packet to say it. */
static void test_loss_at_the_end(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	made_raw_switch(&raw, 0, 500, 0, 0, 7);
	made_raw_call(&raw, 1, 20000, MADE_CLOSE, 8, 3);
	g_string_append(raw.drops, "1000001000 0 0 0 0 0 0 0\n1000030000 0 0 0 0 0 1 0\n");
	made_raw_end(&raw, 0);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	g_assert_cmpuint(summary.lost_events, ==, 1);
	const struct dtc_event *gap = find(events, DTC_EVENT_LOST, 0);
	g_assert_cmpint(gap->v[DTC_LOST_BEGIN], ==, MADE_RAW_BEGIN + 500);
	g_assert_cmpint(gap->time_ns, ==, MADE_RAW_BEGIN + 20000);
	made_raw_clear(&raw);
}

/* A flight recorder's buffer overwrites itself: what is before from-ns is left out, and nothing of it was lost. */
static void test_flight(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	raw.more = "from-ns=1000004000\ntrigger=slow\n";
	made_raw_switch(&raw, 0, 500, 0, 0, 7);
	made_raw_call(&raw, 0, 5000, MADE_CLOSE, 7, 3);
	made_raw_call(&raw, 0, 9000, MADE_CLOSE, 7, 3);
	made_raw_call(&raw, 1, 4000, MADE_CLOSE, 8, 3); /* the other CPU's buffer reaches no further back */
	g_string_append(raw.drops, "1000001000 0 0 70 0 0 0 0\n1000004500 0 0 90 0 0 4 0\n1000008000 0 0 99 0 0 7 0\n"
				   "1000005000 1 0 0 0 0 9 0\n");
	made_raw_end(&raw, 0xc0000000u);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	g_assert_cmpuint(summary.lost_events, ==, 4 + 3); /* as counted from one sample to the next */
	g_assert_cmpuint(summary.events, ==, 3);
	g_assert_cmpint(summary.begin_ns, ==, MADE_RAW_BEGIN + 4000);
	g_assert_null(find(events, DTC_EVENT_SCHED_SWITCH, 0));
	made_raw_clear(&raw);
}

/* lttng-modules: WRITE 1, DISCARD 2, READ 4, RAHEAD 8, SYNC 32, META 64, SECURE 128, FLUSH 256, FUA 512, PREFLUSH 1024
 */
static void test_block_flags(void)
{
	static const struct {
		const char *letters;
		int64_t flags;
	} rows[] = { { "W", 1 },
		     { "R", 4 },
		     { "RA", 12 },
		     { "WS", 33 },
		     { "WSM", 97 },
		     { "FF", 1024 | 256 },
		     { "F", 256 },
		     { "D", 2 },
		     { "DE", 130 },
		     { "FWFS", 1024 | 1 | 512 | 32 },
		     { "WFS", 1 | 512 | 32 },
		     { "N", 0 },
		     { "", 0 } };
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
		made_raw_block(&raw, 0, 100UL * (i + 1), 7, rows[i].letters);
	made_raw_end(&raw, 0);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct dtc_event *event = find(events, DTC_EVENT_BLOCK_ISSUE, i);
		g_assert_cmpint(event->v[DTC_BLOCK_FLAGS], ==, rows[i].flags);
		g_assert_cmpint(event->v[DTC_BLOCK_TID], ==, 7);
	}
	made_raw_clear(&raw);
}

/* Records that are no events, and an event that does not fit: what comes before it counts, the rest is lost. */
static void test_records(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	made_raw_word(&raw, 0, 30 | 5u << 5); /* 2 << 27 and 5 ns later */
	made_raw_word(&raw, 0, 2);
	made_raw_word(&raw, 0, 29 | 7u << 5); /* 7 ns later nothing, of 8 bytes */
	made_raw_word(&raw, 0, 8);
	made_raw_word(&raw, 0, 0);
	made_raw_call(&raw, 0, 10, MADE_CLOSE, 7, 3);
	made_raw_word(&raw, 0, 28); /* 112 bytes, that are not there */
	made_raw_word(&raw, 0, 0);
	made_raw_end(&raw, 0);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	g_assert_cmpint(find(events, DTC_EVENT_SYSCALL_ENTRY, 0)->time_ns, ==, MADE_RAW_BEGIN + (2 << 27) + 5 + 7 + 10);
	g_assert_null(find(events, DTC_EVENT_SYSCALL_ENTRY, 1));
	g_assert_cmpuint(summary.lost_events, ==, 1);
	made_raw_clear(&raw);
}

/* A manifest has its files in order, however the captures were found; one whose file is gone is not in it. */
static void test_manifest(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	g_autoptr(GError) error = NULL;
	made_raw_begin(&raw);
	made_raw_call(&raw, 0, 10, MADE_CLOSE, 7, 3);
	made_raw_end(&raw, 0);
	made_raw_write(&raw, DTC_RAW_CAPTURES, "packets-9.pcap 9\na-gone.pcap 3\npackets-10.pcap 10\n", -1);
	made_raw_write(&raw, "../packets-9.pcap", "nine", 4);
	made_raw_write(&raw, "../packets-10.pcap", "ten", 3);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	g_autoptr(DtcManifest) manifest = dtc_manifest_read(raw.folder, &error);
	g_assert_no_error(error);
	g_assert_nonnull(dtc_manifest_find_file(manifest, "packets-9.pcap"));
	g_assert_nonnull(dtc_manifest_find_file(manifest, "packets-10.pcap"));
	g_assert_null(dtc_manifest_find_file(manifest, "a-gone.pcap"));
	g_assert_nonnull(dtc_manifest_find_file(manifest, "kernel/metadata"));
	g_autofree char *path = g_build_filename(raw.folder, DTC_SEALED_ENVIRONMENT, NULL);
	g_autofree char *environment = NULL;
	g_assert_true(g_file_get_contents(path, &environment, NULL, NULL));
	g_assert_null(strstr(environment, "a-gone"));
	made_raw_clear(&raw);
}

static void assert_kept(const struct made_raw *raw, enum dtc_error code)
{
	struct dtc_seal_options options = { .creator = "dtrace-collect 0.1.0" };
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	struct dtc_seal_summary summary;
	g_autofree char *part = g_build_filename(raw->folder, ".sealing", NULL);
	g_assert_false(dtc_seal_node(raw->folder, &options, findings, &summary, &error));
	g_assert_error(error, DTC_COLLECT_ERROR, (gint)code);
	g_assert_false(g_file_test(part, G_FILE_TEST_IS_DIR));
}

/* What cannot be sealed stays as it is, and nothing else is left; afterwards it can still be sealed. */
static void test_kept(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	assert_kept(&raw, DTC_ERROR_NOT_FOUND);
	made_raw_call(&raw, 0, 10, MADE_CLOSE, 7, 3);
	made_raw_end(&raw, 0);
	g_autofree char *environment = g_build_filename(raw.folder, DTC_SEALED_ENVIRONMENT, NULL);
	g_assert_cmpint(g_mkdir(environment, 0700), ==, 0); /* in the way */
	assert_kept(&raw, DTC_ERROR_IO);
	g_assert_cmpint(g_rmdir(environment), ==, 0);
	made_raw_write(&raw, DTC_RAW_FORMATS, "", 0);
	assert_kept(&raw, DTC_ERROR_DAMAGED);
	made_raw_end(&raw, 0);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	g_assert_nonnull(find(events, DTC_EVENT_SYSCALL_ENTRY, 0));
	made_raw_clear(&raw);
}

static void assert_limit(const struct dtc_event *event, int64_t pid, int64_t quota_us, int64_t throttled,
			 int64_t throttled_us)
{
	g_assert_nonnull(event);
	g_assert_cmpint(event->v[DTC_DUMP_LIMIT_PID], ==, pid);
	g_assert_cmpint(event->v[DTC_DUMP_LIMIT_QUOTA], ==, quota_us);
	g_assert_cmpint(event->v[DTC_DUMP_LIMIT_PERIOD], ==, 100000);
	g_assert_cmpint(event->v[DTC_DUMP_LIMIT_THROTTLED], ==, throttled);
	g_assert_cmpint(event->v[DTC_DUMP_LIMIT_THROTTLED_US], ==, throttled_us);
	g_assert_cmpint(event->v[DTC_DUMP_LIMIT_TIMER], ==, 77);
}

/* Of processes of both walks, with what cpu.stat rose by; a cgroup that is in one of them has no such difference. */
static void test_cpu_limits(void)
{
	struct made_raw raw;
	struct dtc_seal_summary summary;
	made_raw_begin(&raw);
	g_string_append(raw.begin, "t\t20\t20\tserver\tS\t20\t0\t0\n"
				   "g\t/web\t20000\t100000\t4\t5000\t77\nl\t20\t/web\n"
				   "g\t/gone\t30000\t100000\t1\t2\t77\nl\t25\t/gone\n");
	g_string_append(raw.end, "g\t/web\t20000\t100000\t16\t602000\t77\nl\t20\t/web\nl\t30\t/web\n"
				 "g\t/new\t50000\t100000\t2\t9\t77\nl\t40\t/new\n");
	made_raw_switch(&raw, 0, 100, 0, 0, 7);
	made_raw_end(&raw, 0);
	g_autoptr(GArray) events = seal_and_read(&raw, &summary);
	assert_limit(find(events, DTC_EVENT_DUMP_CPU_LIMIT, 0), 20, 20000, 12, 597000);
	assert_limit(find(events, DTC_EVENT_DUMP_CPU_LIMIT, 1), 25, 30000, -1, -1);
	assert_limit(find(events, DTC_EVENT_DUMP_CPU_LIMIT, 2), 30, 20000, 12, 597000);
	assert_limit(find(events, DTC_EVENT_DUMP_CPU_LIMIT, 3), 40, 50000, -1, -1);
	g_assert_null(find(events, DTC_EVENT_DUMP_CPU_LIMIT, 4));
	made_raw_clear(&raw);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/seal/missing-from-idle", test_missing_from_idle);
	g_test_add_func("/seal/missing-from-thread", test_missing_from_thread);
	g_test_add_func("/seal/late-events", test_late_events);
	g_test_add_func("/seal/forks", test_forks);
	g_test_add_func("/seal/file-names", test_file_names);
	g_test_add_func("/seal/losses", test_losses);
	g_test_add_func("/seal/loss-of-a-time", test_loss_of_a_time);
	g_test_add_func("/seal/loss-at-the-end", test_loss_at_the_end);
	g_test_add_func("/seal/flight", test_flight);
	g_test_add_func("/seal/block-flags", test_block_flags);
	g_test_add_func("/seal/records", test_records);
	g_test_add_func("/seal/manifest", test_manifest);
	g_test_add_func("/seal/kept", test_kept);
	g_test_add_func("/seal/cpu-limits", test_cpu_limits);
	return g_test_run();
}
