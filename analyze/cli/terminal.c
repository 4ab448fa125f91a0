/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/terminal.h"

#include "analyze/cli/command.h"
#include "analyze/report/printable.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIPE_WIDTH 80
#define MIN_WIDTH 40
#define MAX_WIDTH 1000
#define REDRAW_US 100000
#define PATIENCE_US 500000 /* what takes less needs no progress line */

static guint get_width(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return PIPE_WIDTH;
	return CLAMP(size.ws_col, MIN_WIDTH, MAX_WIDTH);
}

static bool is_dumb(void)
{
	const char *term = g_getenv("TERM");
	return !term || !*term || strcmp(term, "dumb") == 0;
}

struct dtc_terminal dtc_terminal_get(enum dtc_color color)
{
	struct dtc_terminal terminal = {
		.width = PIPE_WIDTH,
		.has_utf8 = true,
		.has_color = color == DTC_COLOR_ALWAYS,
	};
	const char *no_color = g_getenv("NO_COLOR");

	if (!isatty(STDOUT_FILENO))
		return terminal;
	terminal.is_terminal = true;
	terminal.width = get_width(STDOUT_FILENO);
	if (color == DTC_COLOR_AUTO) /* no-color.org: any value but an empty one */
		terminal.has_color = !is_dumb() && !(no_color && *no_color);
	terminal.has_utf8 = g_get_charset(NULL);
	return terminal;
}

bool dtc_terminal_write(const char *text, GError **error)
{
	gsize length = strlen(text);

	if (fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0)
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_UNREADABLE, "cannot write the output: %s", g_strerror(errno));
	return false;
}

static void end_quietly(int signal_number)
{
	_exit(128 + signal_number);
}

static void end_on_terminal(int signal_number)
{
	/* The progress line is still there; what the shell prints next must not be glued to it. */
	static const char newline[] = "\r\033[K";
	ssize_t written = write(STDERR_FILENO, newline, sizeof(newline) - 1);
	(void)written;
	_exit(128 + signal_number);
}

void dtc_terminal_handle_signals(void)
{
	struct sigaction action = { 0 };

	action.sa_handler = isatty(STDERR_FILENO) && !is_dumb() ? end_on_terminal : end_quietly;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

struct DtcProgress {
	bool is_shown;
	bool has_line;
	gint64 begin_us;
	gint64 drawn_us;
};

DtcProgress *dtc_progress_new(bool is_quiet)
{
	DtcProgress *progress = g_new0(DtcProgress, 1);
	progress->is_shown = !is_quiet && isatty(STDERR_FILENO) && !is_dumb();
	progress->begin_us = g_get_monotonic_time();
	return progress;
}

void dtc_progress_clear(DtcProgress *progress)
{
	if (!progress->has_line)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress->has_line = false;
}

void dtc_progress_free(DtcProgress *progress)
{
	if (!progress)
		return;
	dtc_progress_clear(progress);
	g_free(progress);
}

bool dtc_progress_is_due(DtcProgress *progress)
{
	gint64 now_us = g_get_monotonic_time();

	return progress->is_shown && now_us - progress->begin_us >= PATIENCE_US &&
	       now_us - progress->drawn_us >= REDRAW_US;
}

char *dtc_progress_get_remaining(guint64 done, guint64 all, double seconds)
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

double dtc_progress_get_seconds(const DtcProgress *progress)
{
	return (double)(g_get_monotonic_time() - progress->begin_us) / 1e6;
}

void dtc_progress_show(DtcProgress *progress, const char *format, ...)
{
	if (!progress->is_shown || g_get_monotonic_time() - progress->begin_us < PATIENCE_US)
		return;
	va_list args;
	va_start(args, format);
	g_autofree char *text = g_strdup_vprintf(format, args);
	va_end(args);
	g_autofree char *printable = dtc_printable(text, MAX_WIDTH);
	g_autofree char *line = dtc_printable_fit(printable, get_width(STDERR_FILENO) - 1);

	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
	progress->has_line = true;
	progress->drawn_us = g_get_monotonic_time();
}

/* The first line is the message, the rest the hint; what names from a trace bring along is made harmless. */
int dtc_cli_report_error(const GError *error)
{
	g_auto(GStrv) parts = g_strsplit(error->message, "\n", 2);
	g_autofree char *message = dtc_printable(parts[0], 2000);
	bool is_usage = error->domain == G_OPTION_ERROR;

	if (is_usage && g_ascii_isupper(message[0]) && !g_ascii_isupper(message[1]))
		message[0] = g_ascii_tolower(message[0]); /* GLib writes sentences */
	fprintf(stderr, "dtrace-chain: %s\n", message);
	if (parts[0] && parts[1]) {
		g_auto(GStrv) lines = g_strsplit(parts[1], "\n", -1);
		for (guint i = 0; lines[i]; i++) {
			bool has_prefix = g_str_has_prefix(lines[i], "hint: ");
			g_autofree char *line = dtc_printable(lines[i] + (has_prefix ? strlen("hint: ") : 0), 2000);
			fprintf(stderr, "%s%s\n", i == 0 ? "hint: " : "      ", line);
		}
	} else if (is_usage) {
		fputs("hint: `dtrace-chain --help` lists the commands and options\n", stderr);
	}
	if (error->code == DTC_ERROR_USAGE && (error->domain == DTC_COLLECT_ERROR || error->domain == DTC_SYNC_ERROR ||
					       error->domain == DTC_ANALYZE_ERROR))
		is_usage = true;
	return is_usage ? 2 : 1;
}
