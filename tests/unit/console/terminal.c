/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each case asks from a child process whose stdout or stderr is what the case is about. */
#include "collect/console/terminal.h"

#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a process whose stdout is a terminal of so many columns is told. */
static struct dtc_terminal ask_on_terminal(unsigned short columns, const char *term, const char *no_color)
{
	const struct winsize size = { .ws_row = 24, .ws_col = columns };
	struct dtc_terminal terminal = { 0 };
	int answer[2], master, status;

	g_assert_cmpint(pipe(answer), ==, 0);
	pid_t child = forkpty(&master, NULL, NULL, &size);
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		g_setenv("TERM", term, TRUE);
		if (no_color)
			g_setenv("NO_COLOR", no_color, TRUE);
		else
			g_unsetenv("NO_COLOR");
		terminal = dtc_terminal_get(DTC_COLOR_AUTO, 0);
		_exit(write(answer[1], &terminal, sizeof(terminal)) != sizeof(terminal));
	}
	g_assert_cmpint(read(answer[0], &terminal, sizeof(terminal)), ==, sizeof(terminal));
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	close(master);
	close(answer[0]);
	close(answer[1]);
	return terminal;
}

static void test_terminal(void)
{
	struct dtc_terminal terminal = ask_on_terminal(132, "xterm", NULL);
	g_assert_true(terminal.is_terminal);
	g_assert_true(terminal.has_color);
	g_assert_cmpuint(terminal.width, ==, 132);

	g_assert_false(ask_on_terminal(132, "dumb", NULL).has_color);
	g_assert_false(ask_on_terminal(132, "", NULL).has_color);
	g_assert_false(ask_on_terminal(132, "xterm", "1").has_color);
	g_assert_true(ask_on_terminal(132, "xterm", "").has_color);
	g_assert_cmpuint(ask_on_terminal(0, "xterm", NULL).width, ==, 80); /* a serial line does not know */
	g_assert_cmpuint(ask_on_terminal(3, "xterm", NULL).width, ==, 40);
}

static struct dtc_terminal ask_on_file(const char *columns, const char *locale, guint width)
{
	int answer[2], status;
	struct dtc_terminal terminal;

	g_assert_cmpint(pipe(answer), ==, 0);
	pid_t child = fork();
	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		g_setenv("TERM", "xterm", TRUE);
		if (columns)
			g_setenv("COLUMNS", columns, TRUE);
		else
			g_unsetenv("COLUMNS");
		if (locale)
			g_setenv("LC_ALL", locale, TRUE);
		else
			g_unsetenv("LC_ALL");
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		terminal = dtc_terminal_get(DTC_COLOR_AUTO, width);
		_exit(write(answer[1], &terminal, sizeof(terminal)) != sizeof(terminal));
	}
	g_assert_cmpint(read(answer[0], &terminal, sizeof(terminal)), ==, sizeof(terminal));
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
	g_assert_false(terminal.is_terminal);
	g_assert_false(terminal.has_color);
	close(answer[0]);
	close(answer[1]);
	return terminal;
}

/* A file gets the same everywhere, but for what the user asks. */
static void test_file(void)
{
	g_assert_cmpuint(ask_on_file(NULL, NULL, 0).width, ==, 80);
	g_assert_true(ask_on_file(NULL, NULL, 0).has_utf8);
	g_assert_true(ask_on_file(NULL, "C.UTF-8", 0).has_utf8);
	g_assert_false(ask_on_file(NULL, "C", 0).has_utf8);
	g_assert_false(ask_on_file(NULL, "POSIX", 0).has_utf8);
	g_assert_cmpuint(ask_on_file("160", NULL, 0).width, ==, 160);
	g_assert_cmpuint(ask_on_file("33", NULL, 0).width, ==, 40);
	g_assert_cmpuint(ask_on_file("99999999999999999999", NULL, 0).width, ==, 1000);
	g_assert_cmpuint(ask_on_file("-5", NULL, 0).width, ==, 80);
	g_assert_cmpuint(ask_on_file("", NULL, 0).width, ==, 80);
	g_assert_cmpuint(ask_on_file("160", NULL, 120).width, ==, 120);
}

static void test_full_disk(void)
{
	int status;
	pid_t child = fork();

	g_assert_cmpint(child, >=, 0);
	if (child == 0) {
		GError *error = NULL;
		if (!freopen("/dev/full", "w", stdout))
			_exit(1);
		bool written = dtc_terminal_write("an answer that nobody gets\n", &error);
		_exit(written || !error ? 2 : 0);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	g_assert_cmpint(status, ==, 0);
}

static void test_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM };

	for (gsize i = 0; i < G_N_ELEMENTS(signals); i++) {
		int status;
		pid_t child = fork();
		g_assert_cmpint(child, >=, 0);
		if (child == 0) {
			dtc_terminal_handle_signals();
			raise(signals[i]);
			_exit(0);
		}
		g_assert_cmpint(waitpid(child, &status, 0), ==, child);
		g_assert_true(WIFEXITED(status));
		g_assert_cmpint(WEXITSTATUS(status), ==, 128 + signals[i]);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	int master, terminal;
	if (openpty(&master, &terminal, NULL, NULL, NULL) != 0) {
		g_printerr("skipped: no pseudo terminal to be had here (/dev/pts is not mounted)\n");
		return 77;
	}
	close(master);
	close(terminal);
	g_test_add_func("/console/terminal/terminal", test_terminal);
	g_test_add_func("/console/terminal/file", test_file);
	g_test_add_func("/console/terminal/full-disk", test_full_disk);
	g_test_add_func("/console/terminal/signals", test_signals);
	return g_test_run();
}
