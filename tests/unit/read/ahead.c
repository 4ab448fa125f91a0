/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a thread finds ahead is, batch for batch, what is found without one; damaged streams, too. */
#include "collect/read/fast/ahead.h"
#include "collect/read/ctf/clock_class.h"

#include <glib/gstdio.h>

#define BATCH 16

struct trace {
	struct dtc_trace_declaration *declaration;
	struct dtc_trace_layout *layout;
	DtcInventory *inventory;
	DtcFindings *findings;
	DtcChains *chains;
	struct dtc_spans spans;
	guint count;
	struct dtc_cursor *cursors;
};

static void open_trace(struct trace *trace, const char *path)
{
	g_autoptr(GError) error = NULL;
	GString *text = dtc_metadata_read_text(path);
	trace->declaration = dtc_declaration_parse(text->str, text->len, &error);
	g_assert_no_error(error);
	g_string_free(text, TRUE);
	trace->layout = dtc_layout_compile(trace->declaration, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(trace->layout->stream_count, ==, 1);
	trace->inventory = dtc_inventory_new(path);
	trace->findings = dtc_findings_new();
	trace->chains = dtc_chains_new(path, trace->layout, trace->inventory, NULL, "node", trace->findings);
	trace->count = dtc_chains_get_count(trace->chains);
	dtc_spans_init(&trace->spans, &trace->layout->streams[0]);
	gsize bytes = sizeof(*trace->cursors) * trace->count;
	trace->cursors = memset(aligned_alloc(64, bytes), 0, bytes);
	for (guint i = 0; i < trace->count; i++) {
		dtc_cursor_init(&trace->cursors[i], trace->layout, dtc_chains_get(trace->chains, i), &trace->spans,
				"node", INT64_C(1) << 27, BATCH);
		dtc_cursor_advance(&trace->cursors[i]);
	}
}

static void close_trace(struct trace *trace)
{
	for (guint i = 0; i < trace->count; i++)
		dtc_cursor_clear(&trace->cursors[i]);
	free(trace->cursors);
	dtc_spans_clear(&trace->spans);
	dtc_chains_free(trace->chains);
	dtc_inventory_free(trace->inventory);
	dtc_findings_free(trace->findings);
	dtc_trace_layout_free(trace->layout);
	dtc_trace_declaration_free(trace->declaration);
}

/* All but the form: the first event of a class in any stream is found without one. */
static void compare(const struct dtc_stream *ours, const struct dtc_stream *theirs)
{
	g_assert_true(ours->has_item == theirs->has_item && ours->is_gap == theirs->is_gap);
	g_assert_cmpint(ours->last_ns, ==, theirs->last_ns);
	g_assert_cmpuint(ours->event_count, ==, theirs->event_count);
	g_assert_cmpuint(ours->item_count, ==, theirs->item_count);
	for (guint i = 0; i < ours->item_count; i++) {
		const struct dtc_item *a = &ours->items[i], *b = &theirs->items[i];
		g_assert_true(a->time_ns == b->time_ns && a->at == b->at && a->class == b->class);
	}
	if (ours->is_gap)
		g_assert_true(ours->gap.begin_ns == theirs->gap.begin_ns && ours->gap.end_ns == theirs->gap.end_ns &&
			      ours->gap.count == theirs->gap.count && ours->gap.is_damage == theirs->gap.is_damage);
}

/* Up to so many batches, of one stream and another. */
static void tell(const char *path, guint limit, guint seed)
{
	struct trace alone, trace;
	gint spare = 0;
	open_trace(&alone, path);
	open_trace(&trace, path);
	g_autofree uint64_t *slots = g_new0(uint64_t, trace.layout->slot_count + 1);
	DtcAhead *ahead = dtc_ahead_new(trace.cursors, trace.count, slots, &spare);
	g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
	guint left = trace.count, since = 0;
	g_assert_nonnull(ahead);
	for (guint batches = 0; left > 0 && batches < limit; batches++) {
		guint stream = (guint)g_rand_int_range(rand, 0, (gint)trace.count);
		struct dtc_cursor *cursor = &alone.cursors[stream];
		if (!cursor->stream.has_item)
			continue;
		dtc_cursor_advance(cursor);
		const struct dtc_ahead_batch *batch = dtc_ahead_take(ahead, stream);
		compare(&batch->stream, &cursor->stream);
		g_assert_true(batch->packet.at == cursor->decoder.at && batch->done_bytes == cursor->done_bytes);
		g_assert_true(batch->packet.slots == slots);
		g_assert_cmpstr(batch->stream.error, ==, cursor->stream.error);
		left -= !cursor->stream.has_item;
		if (++since % 1000 == 0)
			g_usleep(1000); /* so that it is ahead */
	}
	dtc_ahead_free(ahead);
	g_assert_cmpint(spare, ==, 1);
	for (guint i = 0; left == 0 && i < trace.count; i++) {
		const struct dtc_stream *a = &trace.cursors[i].stream, *b = &alone.cursors[i].stream;
		g_assert_cmpuint(a->findings ? dtc_findings_get_count(a->findings) : 0, ==,
				 b->findings ? dtc_findings_get_count(b->findings) : 0);
	}
	close_trace(&alone);
	close_trace(&trace);
}

static char *get_demo(void)
{
	return g_build_filename(g_getenv("DTC_SOURCE_DIR"), "clusters", "demo", "backend", "kernel", NULL);
}

static void test_same(void)
{
	g_autofree char *path = get_demo();
	for (guint seed = 0; seed < 5; seed++)
		tell(path, G_MAXUINT, seed);
}

/* Whoever has enough stops while the thread is at work. */
static void test_stop(void)
{
	g_autofree char *path = get_demo();
	for (guint limit = 0; limit < 200; limit += 20)
		tell(path, limit, limit);
}

static void copy_file(const char *from, const char *to, const char *name, gsize broken)
{
	g_autofree char *source = g_build_filename(from, name, NULL), *target = g_build_filename(to, name, NULL);
	g_autofree char *bytes = NULL;
	gsize size;
	g_assert_true(g_file_get_contents(source, &bytes, &size, NULL));
	for (gsize at = broken; broken && at < size; at += 100003)
		memset(bytes + at, 0xff, MIN(16, size - at));
	g_assert_true(g_file_set_contents(target, bytes, (gssize)size, NULL));
}

static void test_damage(void)
{
	static const char *const names[] = { "metadata", "ch0_0", "ch0_1" };
	g_autofree char *path = get_demo(), *folder = g_dir_make_tmp("dtc-ahead-XXXXXX", NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		copy_file(path, folder, names[i], i == 0 ? 0 : 5000 * i);
	tell(folder, G_MAXUINT, 1);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *file = g_build_filename(folder, names[i], NULL);
		g_unlink(file);
	}
	g_rmdir(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/read/ahead/same", test_same);
	g_test_add_func("/read/ahead/stop", test_stop);
	g_test_add_func("/read/ahead/damage", test_damage);
	return g_test_run();
}
