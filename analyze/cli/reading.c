/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/reading.h"

#include "collect/read/extent.h"

guint64 dtc_reading_measure(const struct dtc_bundle_node *node, bool is_capture)
{
	if (is_capture)
		return dtc_extent_of_files((const char *const *)node->pcap_paths);
	return dtc_extent_of_trace(node->kernel_path).bytes;
}

void dtc_reading_note(struct dtc_reading *reading, guint64 done_bytes)
{
	g_atomic_int_inc(&reading->steps);
	g_atomic_int_set(&reading->kib, (gint)MIN(done_bytes >> 10, G_MAXINT));
}

void dtc_reading_end(struct dtc_reading *reading)
{
	g_atomic_int_set(&reading->kib, (gint)MIN(reading->all_bytes >> 10, G_MAXINT));
}

char *dtc_reading_describe(guint64 events, guint64 done_bytes, guint64 all_bytes, double seconds)
{
	GString *text = g_string_new("reading: ");
	g_autofree char *remaining = dtc_progress_get_remaining(done_bytes, all_bytes, seconds);

	if (done_bytes)
		g_string_append_printf(text, "%.0f %% of %.0f MB, ",
				       100.0 * (double)MIN(done_bytes, all_bytes) / (double)all_bytes,
				       (double)all_bytes / 1e6);
	g_string_append_printf(text, "%.1f M events", (double)events / 1e6);
	if (seconds > 0)
		g_string_append_printf(text, " at %.1f M/s", (double)events / 1e6 / seconds);
	g_string_append(text, remaining);
	return g_string_free(text, FALSE);
}

void dtc_reading_show(const struct dtc_reading *first, gsize stride_bytes, guint count, gint64 begin_us,
		      DtcProgress *progress)
{
	guint64 steps = 0, done_bytes = 0, all_bytes = 0;

	if (!dtc_progress_is_due(progress))
		return;
	for (guint i = 0; i < count; i++) {
		const struct dtc_reading *reading = (const void *)((const char *)first + i * stride_bytes);
		steps += (guint64)g_atomic_int_get(&reading->steps);
		done_bytes += (guint64)g_atomic_int_get(&reading->kib) << 10;
		all_bytes += reading->all_bytes;
	}
	double seconds = (double)(g_get_monotonic_time() - begin_us) / 1e6;
	g_autofree char *text = dtc_reading_describe(steps * DTC_READING_STEP, done_bytes, all_bytes, seconds);
	dtc_progress_show(progress, "%s", text);
}
