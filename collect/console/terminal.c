/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/console/terminal.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIPE_WIDTH 80

guint dtc_terminal_get_width(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return PIPE_WIDTH;
	return CLAMP(size.ws_col, DTC_WIDTH_MIN, DTC_WIDTH_MAX);
}

bool dtc_terminal_is_dumb(void)
{
	const char *term = g_getenv("TERM");
	return !term || !*term || strcmp(term, "dumb") == 0;
}

/* What COLUMNS says, as an interactive shell exports it; 0: nothing that is a width. */
static guint get_exported_width(void)
{
	const char *columns = g_getenv("COLUMNS");
	guint64 width = columns && g_ascii_isdigit(*columns) ? g_ascii_strtoull(columns, NULL, 10) : 0;
	return width ? (guint)CLAMP(width, DTC_WIDTH_MIN, DTC_WIDTH_MAX) : 0;
}

/* Whether somebody asked for ASCII; that no locale is set at all, as in a service, says nothing. */
bool dtc_terminal_is_ascii(void)
{
	const char *locale = g_getenv("LC_ALL");
	return locale && (strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0);
}

struct dtc_terminal dtc_terminal_get(enum dtc_color color, guint width)
{
	guint exported = get_exported_width();
	struct dtc_terminal terminal = {
		.width = width	    ? width
			 : exported ? exported
				    : PIPE_WIDTH,
		.has_utf8 = !dtc_terminal_is_ascii(),
		.has_color = color == DTC_COLOR_ALWAYS,
	};
	const char *no_color = g_getenv("NO_COLOR");

	if (!isatty(STDOUT_FILENO))
		return terminal;
	terminal.is_terminal = true;
	if (!width)
		terminal.width = dtc_terminal_get_width(STDOUT_FILENO);
	if (color == DTC_COLOR_AUTO) /* no-color.org: any value but an empty one */
		terminal.has_color = !dtc_terminal_is_dumb() && !(no_color && *no_color);
	terminal.has_utf8 = g_get_charset(NULL);
	return terminal;
}

guint dtc_terminal_get_help_width(void)
{
	return MIN(dtc_terminal_get(DTC_COLOR_NEVER, 0).width, PIPE_WIDTH);
}

void dtc_terminal_wrap(GString *out, const char *text, guint column, guint indent, guint width)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	guint at = column;

	for (char **word = words; *word; word++) {
		guint length = (guint)g_utf8_strlen(*word, -1);
		if (at > indent && at + 1 + length > width) {
			g_string_append_printf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (word != words) {
			g_string_append_c(out, ' ');
			at++;
		}
		g_string_append(out, *word);
		at += length;
	}
	g_string_append_c(out, '\n');
}

bool dtc_terminal_write(const char *text, GError **error)
{
	gsize length = strlen(text);

	if (fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0)
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE, "cannot write the output: %s", g_strerror(errno));
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

	action.sa_handler = isatty(STDERR_FILENO) && !dtc_terminal_is_dumb() ? end_on_terminal : end_quietly;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}
