/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the progress line says of the rest, nothing of it that is not known, and that it leaves no trace of itself. */
#include "analyze/cli/progress_line.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_remaining(void)
{
	static const struct {
		guint64 done, all;
		double seconds;
		const char *text;
	} cases[] = {
		{ 50, 100, 12, ", 12 s left" },
		{ 99, 100, 10, ", 1 s left" },
		{ 100, 100, 10, ", 0 s left" },
		{ 25, 100, 30, ", 2 min left" },
		{ 10, 100, 1000, ", 2.5 h left" },
		{ 50, 100, 0.9, "" }, /* too early to tell */
		{ 1, 1000, 100, "" },
		{ 0, 100, 100, "" },
		{ 10, 0, 100, "" }, /* all is not known */
		{ G_MAXUINT64 / 2, G_MAXUINT64, 3, ", 3 s left" },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = dtc_progress_line_get_remaining(cases[i].done, cases[i].all, cases[i].seconds);
		g_assert_cmpstr(text, ==, cases[i].text);
	}
}

static char *describe(guint64 events, guint64 done, guint64 all, double seconds)
{
	const struct dtc_progress progress = { DTC_PHASE_READ, done, all, events, seconds };

	return dtc_progress_line_describe_reading(&progress);
}

static void test_describe(void)
{
	g_autofree char *known = describe(2100000, 114000000, 300000000, 8);
	g_autofree char *unknown = describe(2100000, 0, 300000000, 8);
	g_autofree char *first = describe(4096, 1000, 300000000, 0);

	g_assert_cmpstr(known, ==, "reading: 38 % of 300 MB, 2.1 M events at 0.3 M/s, 14 s left");
	g_assert_cmpstr(unknown, ==, "reading: 2.1 M events at 0.3 M/s");
	g_assert_cmpstr(first, ==, "reading: 0 % of 300 MB, 0.0 M events");
}

/* What a child that draws progress for a while leaves on its stderr, which is a terminal. */
static char *draw(bool is_quiet, bool is_long)
{
	char *seen = g_malloc0(4096);
	gsize used = 0;
	int master, status;
	ssize_t got;
	pid_t child = forkpty(&master, NULL, NULL, NULL);

	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		g_setenv("TERM", "xterm", TRUE);
		g_autoptr(DtcProgressLine) line = dtc_progress_line_new(is_quiet);
		if (is_long)
			g_usleep(600000);
		dtc_progress_line_show(line, "reading \033[2J");
		dtc_progress_line_clear(line);
		_exit(0);
	}
	while (used < 4095 && (got = read(master, seen + used, 4095 - used)) > 0)
		used += (gsize)got;
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	close(master);
	return seen;
}

static void test_drawn(void)
{
	int primary, secondary;

	if (openpty(&primary, &secondary, NULL, NULL, NULL) != 0) {
		g_test_skip("no pseudo terminal to be had here (/dev/pts is not mounted)");
		return;
	}
	close(primary);
	close(secondary);
	g_autofree char *quiet = draw(true, true), *brief = draw(false, false), *seen = draw(false, true);

	g_assert_cmpstr(quiet, ==, "");
	g_assert_cmpstr(brief, ==, "");
	g_assert_cmpstr(seen, ==, "\r\033[Kreading \\x1b[2J\r\033[K");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/progress-line/remaining", test_remaining);
	g_test_add_func("/cli/progress-line/describe", test_describe);
	g_test_add_func("/cli/progress-line/drawn", test_drawn);
	return g_test_run();
}
