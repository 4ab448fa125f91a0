/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/line_watch.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES ((gsize)64 << 10)
/* Of a longer line the begin is looked at. */
#define MAX_LINE_BYTES READ_BYTES
/* Whoever asks has other things to do: a log that is written faster is looked at later. */
#define MAX_POLL_BYTES ((gsize)4 << 20)

struct DtcLineWatch {
	char *path;
	GRegex *regex;
	int file;      /* -1: not there */
	GString *rest; /* what was read; the first of it was looked at */
	gsize looked_bytes;
	gboolean is_in_long_line;
};

static void open_file(DtcLineWatch *watch)
{
	watch->file = open(watch->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

DtcLineWatch *dtc_line_watch_new(const char *path, const char *expression, GError **error)
{
	g_autoptr(GError) reason = NULL;
	GRegex *regex = g_regex_new(expression, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, &reason);

	if (!regex) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "--until-line '%s': %s\na regular expression of "
			    "Perl's kind, for example 'took [0-9]{4,} ms'",
			    expression, reason->message);
		return NULL;
	}
	DtcLineWatch *watch = g_new0(DtcLineWatch, 1);
	watch->path = g_strdup(path);
	watch->regex = regex;
	watch->rest = g_string_new(NULL);
	open_file(watch);
	if (watch->file >= 0)
		lseek(watch->file, 0, SEEK_END);
	return watch;
}

void dtc_line_watch_free(DtcLineWatch *watch)
{
	if (!watch)
		return;
	if (watch->file >= 0)
		close(watch->file);
	g_regex_unref(watch->regex);
	g_string_free(watch->rest, TRUE);
	g_free(watch->path);
	g_free(watch);
}

static void forget_rest(DtcLineWatch *watch)
{
	g_string_truncate(watch->rest, 0);
	watch->looked_bytes = 0;
	watch->is_in_long_line = FALSE;
}

/* The next whole line of what was read; of one that is too long, its begin. NULL: there is none yet. Caller owns. */
static char *take_line(DtcLineWatch *watch)
{
	const char *begin = watch->rest->str + watch->looked_bytes;
	gsize left = watch->rest->len - watch->looked_bytes;
	const char *end = memchr(begin, '\n', left);
	gsize length = end ? (gsize)(end - begin) : left;

	if (!end && left < MAX_LINE_BYTES)
		return NULL;
	char *line = g_strndup(begin, watch->is_in_long_line ? 0 : length);
	watch->is_in_long_line = end == NULL;
	watch->looked_bytes += length + (end ? 1 : 0);
	return line;
}

static char *find_line(DtcLineWatch *watch)
{
	for (char *line; (line = take_line(watch)); g_free(line))
		if (*line && g_regex_match(watch->regex, line, 0, NULL))
			return line;
	return NULL;
}

/* How much; 0 when there is no more. */
static gsize read_more(DtcLineWatch *watch)
{
	g_autofree char *bytes = g_malloc(READ_BYTES);
	struct stat status;

	if (watch->file < 0)
		return 0;
	if (fstat(watch->file, &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_size < lseek(watch->file, 0, SEEK_CUR)) {
		lseek(watch->file, 0, SEEK_SET); /* it was truncated, and begins anew */
		forget_rest(watch);
	}
	ssize_t got = read(watch->file, bytes, READ_BYTES);
	if (got <= 0)
		return 0;
	g_string_erase(watch->rest, 0, (gssize)watch->looked_bytes);
	watch->looked_bytes = 0;
	g_string_append_len(watch->rest, bytes, got);
	return (gsize)got;
}

/* Another file has the name: a log was rotated. */
static gboolean is_replaced(const DtcLineWatch *watch)
{
	struct stat named, open;

	if (stat(watch->path, &named) != 0)
		return FALSE;
	return watch->file < 0 || fstat(watch->file, &open) != 0 || open.st_ino != named.st_ino ||
	       open.st_dev != named.st_dev;
}

char *dtc_line_watch_poll(DtcLineWatch *watch)
{
	for (gsize read_bytes = 0;;) {
		char *line = find_line(watch);
		if (line || read_bytes >= MAX_POLL_BYTES)
			return line;
		gsize got = read_more(watch);
		read_bytes += got;
		if (got > 0)
			continue;
		if (!is_replaced(watch))
			return NULL;
		if (watch->file >= 0)
			close(watch->file);
		forget_rest(watch);
		open_file(watch);
		if (watch->file < 0)
			return NULL;
	}
}
