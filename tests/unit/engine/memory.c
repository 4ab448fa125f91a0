/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory over time, of a trace with the events of it (as LTTng writes them, and rss_stat), and of one without. */
#include "analyze/engine/memory.h"

#include "analyze/engine/engine.h"
#include "tests/support/made_trace.h"

#include <string.h>

enum { SWITCH, ALLOC, FREE, RSS, SOFTIRQ_ENTRY, SOFTIRQ_EXIT };

/* clang-format off */
static const char memory_events[] =
	MADE_EVENT(0, "sched_switch", MADE_COMM("prev_comm") MADE_SIGNED(32, "prev_tid") MADE_SIGNED(64, "prev_state")
		   MADE_COMM("next_comm") MADE_SIGNED(32, "next_tid"))
	MADE_EVENT(1, "kmem_mm_page_alloc", MADE_INT(64, "page") MADE_SIGNED(64, "pfn") MADE_INT(32, "order")
		   MADE_INT(32, "gfp_flags") MADE_SIGNED(32, "migratetype"))
	MADE_EVENT(2, "kmem_mm_page_free", MADE_INT(64, "page") MADE_INT(64, "pfn") MADE_INT(32, "order"))
	MADE_EVENT(3, "kmem_rss_stat", MADE_INT(32, "mm_id") MADE_INT(32, "curr") MADE_SIGNED(32, "member")
		   MADE_SIGNED(64, "size"))
	MADE_EVENT(4, "irq_softirq_entry", MADE_INT(32, "vec"))
	MADE_EVENT(5, "irq_softirq_exit", MADE_INT(32, "vec"));
/* clang-format on */

static void add_switch(struct made_bytes *to, guint64 t, const char *prev, guint prev_tid, const char *next,
		       guint next_tid)
{
	made_begin_event(to, SWITCH, t);
	made_put_comm(to, prev);
	made_put(to, prev_tid, 4);
	made_put(to, 0, 8);
	made_put_comm(to, next);
	made_put(to, next_tid, 4);
}

static void add_page(struct made_bytes *to, guint64 t, bool is_alloc, guint64 frame, guint order)
{
	made_begin_event(to, is_alloc ? ALLOC : FREE, t);
	made_put(to, 0xffff0000, 8);
	made_put(to, frame, 8);
	made_put(to, order, 4);
	if (is_alloc)
		made_put(to, 0, 8);
}

static void add_rss(struct made_bytes *to, guint64 t, guint space, bool is_own, guint member, gint64 bytes)
{
	made_begin_event(to, RSS, t);
	made_put(to, space, 4);
	made_put(to, is_own, 4);
	made_put(to, member, 4);
	made_put(to, (guint64)bytes, 8);
}

static void add_softirq(struct made_bytes *to, guint64 t, bool is_entry)
{
	made_begin_event(to, is_entry ? SOFTIRQ_ENTRY : SOFTIRQ_EXIT, t);
	made_put(to, 3, 4);
}

/* 1000 ns in steps of 100: one runs to 500, then two. */
static void tell(struct made_bytes *to)
{
	add_switch(to, 0, "swapper/0", 0, "one", 10);
	add_rss(to, 110, 1, true, 1, 8192);  /* one: 8 KiB of its own */
	add_rss(to, 120, 1, true, 0, 4096);  /* and 4 of files */
	add_rss(to, 130, 1, true, 2, 40960); /* in swap: not in memory */
	add_page(to, 140, true, 7, 2);	     /* 16 KiB */
	add_page(to, 150, true, -1, 5);	     /* there was none */
	add_rss(to, 250, 2, false, 1, 4096); /* of a fork that has not run */
	add_page(to, 260, false, 7, 0);
	add_softirq(to, 300, true);
	add_page(to, 310, true, 9, 0); /* a packet's: one is just there */
	add_softirq(to, 320, false);
	add_rss(to, 350, 1, true, 1, 12288);
	add_switch(to, 500, "one", 10, "two", 20);
	add_rss(to, 610, 2, true, 0, 4096); /* two: and what was said of it before */
	add_rss(to, 710, 1, false, 1, 0);   /* one is torn down by another */
	add_rss(to, 720, 1, false, 0, 0);
	add_switch(to, 1000, "two", 20, "swapper/0", 0);
}

static char *make_trace(const char *events, void (*tell_events)(struct made_bytes *))
{
	const struct made_metadata metadata = { .events = events };
	const struct made_packet packet = { .begin = 0, .end = 1000 };
	char *path = made_directory(&metadata);
	struct made_bytes told = made_bytes_new(false), stream = made_bytes_new(false);

	tell_events(&told);
	made_add_packet(&stream, &packet, &told);
	made_write(path, "stream0", stream.bytes->data, stream.bytes->len);
	made_bytes_clear(&told);
	made_bytes_clear(&stream);
	return path;
}

struct fixture {
	char *path;
	DtcBundle *bundle;
	DtcFindings *findings;
	DtcEngine *engine;
	DtcUsage *usage;
	GPtrArray *memories;
};

static void fixture_open(struct fixture *f, const char *events, void (*tell_events)(struct made_bytes *),
			 const struct dtc_usage_span *span)
{
	const struct dtc_engine_options options = { 0 };
	const struct dtc_usage_options usage_options = { .interval_ns = 100, .spans = span };
	g_autoptr(GError) error = NULL;

	f->path = make_trace(events, tell_events);
	f->bundle = dtc_bundle_open(NULL, NULL);
	dtc_bundle_add_node(f->bundle, "n", f->path, &error);
	g_assert_no_error(error);
	f->findings = dtc_findings_new();
	f->engine = dtc_engine_new(f->bundle, &options, NULL, f->findings, &error);
	g_assert_no_error(error);
	f->usage = dtc_usage_new(dtc_engine_get_links(f->engine), &usage_options, &error);
	g_assert_no_error(error);
	f->memories =
		dtc_memories_new(f->bundle, f->usage, dtc_engine_get_clocks(f->engine), NULL, f->findings, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(f->memories->len, ==, 1);
}

static void fixture_close(struct fixture *f)
{
	g_ptr_array_unref(f->memories);
	dtc_usage_free(f->usage);
	dtc_engine_free(f->engine);
	dtc_findings_free(f->findings);
	dtc_bundle_free(f->bundle);
	made_remove(f->path);
	g_free(f->path);
}

/* By name; NULL: interrupts. */
static const struct dtc_memory_row *find_row(const struct dtc_memory *memory, const char *name)
{
	for (guint i = 0; i < memory->rows->len; i++) {
		const struct dtc_memory_row *row = &g_array_index(memory->rows, struct dtc_memory_row, i);
		if (name ? g_strcmp0(row->name, name) == 0 : row->is_interrupts)
			return row;
	}
	g_assert_not_reached();
}

static void assert_resident(const struct dtc_memory *memory, const char *name, const int64_t *kib)
{
	const struct dtc_memory_row *row = find_row(memory, name);

	for (guint i = 0; i < memory->axis->interval_count; i++)
		g_assert_cmpint(row->resident[i], ==, kib[i] < 0 ? DTC_MEMORY_UNKNOWN : kib[i] * 1024);
}

static void test_told(void)
{
	struct fixture f;

	fixture_open(&f, memory_events, tell, NULL);
	const struct dtc_memory *memory = f.memories->pdata[0];
	g_assert_true(memory->is_told && memory->has_resident && memory->has_pages);
	g_assert_cmpuint(memory->axis->interval_count, ==, 10);
	assert_resident(memory, "one", (const int64_t[]){ -1, 12, 12, 16, 16, 16, 16, 0, 0, 0 });
	assert_resident(memory, "two", (const int64_t[]){ -1, -1, -1, -1, -1, -1, 8, 8, 8, 8 });
	const struct dtc_memory_row *one = find_row(memory, "one"), *interrupts = find_row(memory, NULL);
	g_assert_cmpint(one->most_bytes, ==, 16384);
	g_assert_cmpint(one->last_bytes, ==, 0);
	g_assert_cmpuint(one->allocated_bytes, ==, 16384); /* what failed is none */
	g_assert_cmpuint(one->freed_bytes, ==, 4096);
	g_assert_cmpuint(interrupts->allocated_bytes, ==, 4096);
	g_assert_false(interrupts->has_resident);
	g_assert_cmpuint(memory->allocated_bytes, ==, 16384 + 4096);
	g_assert_cmpuint(memory->freed_bytes, ==, 4096);
	g_assert_cmpint(memory->change[1], ==, 16384);
	g_assert_cmpint(memory->change[2], ==, -4096);
	g_assert_cmpint(memory->change[3], ==, 4096);
	fixture_close(&f);
}

/* What was before the span is known in it, and not counted. */
static void test_span(void)
{
	const struct dtc_usage_span span = { { MADE_OFFSET_NS + 200 }, { MADE_OFFSET_NS + 300 } };
	struct fixture f;

	fixture_open(&f, memory_events, tell, &span);
	const struct dtc_memory *memory = f.memories->pdata[0];
	const struct dtc_memory_row *one = find_row(memory, "one");
	g_assert_cmpuint(memory->axis->interval_count, ==, 1);
	assert_resident(memory, "one", (const int64_t[]){ 12 });
	g_assert_cmpint(one->most_bytes, ==, 12288);
	g_assert_cmpuint(one->allocated_bytes, ==, 0);
	g_assert_cmpuint(one->freed_bytes, ==, 4096);
	g_assert_cmpuint(memory->allocated_bytes, ==, 0);
	fixture_close(&f);
}

static void tell_switches(struct made_bytes *to)
{
	add_switch(to, 0, "swapper/0", 0, "one", 10);
	add_switch(to, 1000, "one", 10, "swapper/0", 0);
}

static void test_missing(void)
{
	struct fixture f;

	fixture_open(&f, NULL, tell_switches, NULL);
	const struct dtc_memory *memory = f.memories->pdata[0];
	g_assert_false(memory->is_told || memory->has_resident || memory->has_pages);
	fixture_close(&f);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/memory/told", test_told);
	g_test_add_func("/memory/span", test_span);
	g_test_add_func("/memory/missing", test_missing);
	return g_test_run();
}
