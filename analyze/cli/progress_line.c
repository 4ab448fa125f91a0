/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/progress_line.h"

#include "collect/console/printable.h"
#include "collect/console/terminal.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_CHARACTERS 1000
#define REDRAW_US 100000
#define PATIENCE_US 500000 /* what takes less needs no progress line */

struct DtcProgressLine {
	bool is_shown;
	bool has_line;
	gint64 begin_us;
	gint64 drawn_us;
};

DtcProgressLine *dtc_progress_line_new(bool is_quiet)
{
	DtcProgressLine *line = g_new0(DtcProgressLine, 1);
	line->is_shown = !is_quiet && isatty(STDERR_FILENO) && !dtc_terminal_is_dumb();
	line->begin_us = g_get_monotonic_time();
	return line;
}

void dtc_progress_line_clear(DtcProgressLine *line)
{
	if (!line->has_line)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	line->has_line = false;
}

void dtc_progress_line_free(DtcProgressLine *line)
{
	if (!line)
		return;
	dtc_progress_line_clear(line);
	g_free(line);
}

bool dtc_progress_line_is_due(DtcProgressLine *line)
{
	gint64 now_us = g_get_monotonic_time();

	return line->is_shown && now_us - line->begin_us >= PATIENCE_US && now_us - line->drawn_us >= REDRAW_US;
}

char *dtc_progress_line_get_remaining(guint64 done, guint64 all, double seconds)
{
	if (done > all || done < all / 100 || done == 0 || seconds < 1)
		return g_strdup("");
	/* in steps that do not jump about: seconds up to a minute, then minutes */
	double left = ceil(seconds * (double)(all - done) / (double)done);
	if (left < 60)
		return g_strdup_printf(", %.0f s left", left);
	if (left < 3600)
		return g_strdup_printf(", %.0f min left", ceil(left / 60));
	return g_strdup_printf(", %.1f h left", left / 3600);
}

double dtc_progress_line_get_seconds(const DtcProgressLine *line)
{
	return (double)(g_get_monotonic_time() - line->begin_us) / 1e6;
}

void dtc_progress_line_show(DtcProgressLine *line, const char *format, ...)
{
	if (!line->is_shown || g_get_monotonic_time() - line->begin_us < PATIENCE_US)
		return;
	va_list args;
	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	g_autofree char *printable = dtc_printable(text, MAX_CHARACTERS);
	g_autofree char *fitted = dtc_printable_fit(printable, dtc_terminal_get_width(STDERR_FILENO) - 1);

	fprintf(stderr, "\r\033[K%s", fitted);
	fflush(stderr);
	line->has_line = true;
	line->drawn_us = g_get_monotonic_time();
}

char *dtc_progress_line_describe_reading(const struct dtc_progress *progress)
{
	GString *text = g_string_new("reading: ");
	g_autofree char *remaining = dtc_progress_line_get_remaining(progress->done, progress->all, progress->seconds);

	if (progress->done)
		g_string_append_printf(text, "%.0f %% of %.0f MB, ",
				       100.0 * (double)MIN(progress->done, progress->all) / (double)progress->all,
				       (double)progress->all / 1e6);
	g_string_append_printf(text, "%.1f M events", (double)progress->events / 1e6);
	if (progress->seconds > 0)
		g_string_append_printf(text, " at %.1f M/s", (double)progress->events / 1e6 / progress->seconds);
	g_string_append(text, remaining);
	return g_string_free(text, FALSE);
}

static void show_reading(DtcProgressLine *line, const struct dtc_progress *progress)
{
	if (!dtc_progress_line_is_due(line))
		return;
	g_autofree char *text = dtc_progress_line_describe_reading(progress);
	dtc_progress_line_show(line, "%s", text);
}

static void show_explaining(DtcProgressLine *line, const struct dtc_progress *progress)
{
	if (!dtc_progress_line_is_due(line))
		return;
	g_autofree char *remaining = dtc_progress_line_get_remaining(progress->done, progress->all, progress->seconds);
	dtc_progress_line_show(line, "explaining requests: %u of %u%s", (guint)progress->done, (guint)progress->all,
			       remaining);
}

/* Ctrl-C ends the program at once (terminal.h), so that nobody has to be asked to stop. */
static bool look(const struct dtc_progress *progress, void *data)
{
	DtcProgressLine *line = data;

	switch (progress->phase) {
	case DTC_PHASE_READ:
		show_reading(line, progress);
		break;
	case DTC_PHASE_ALIGN:
		dtc_progress_line_show(line, "aligning the clocks of %u nodes", (guint)progress->all);
		break;
	case DTC_PHASE_LINK:
		dtc_progress_line_show(line, "linking");
		break;
	case DTC_PHASE_PLACE:
		dtc_progress_line_show(line, "placing %u requests", (guint)progress->all);
		break;
	case DTC_PHASE_EXPLAIN:
		show_explaining(line, progress);
		break;
	}
	return true;
}

struct dtc_watch dtc_progress_line_get_watch(DtcProgressLine *line)
{
	return (struct dtc_watch){ look, line };
}
