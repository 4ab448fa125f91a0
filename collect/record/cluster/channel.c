/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define PORTION_BYTES ((gsize)64 * 1024)
#define MAX_LINE_BYTES ((gsize)1024 * 1024)
#define MAX_IN_BYTES ((gsize)4 * 1024 * 1024) /* beyond that the other side waits */

struct DtcChannel {
	int in_fd, out_fd;
	GString *in;
	gsize in_taken; /* of what has come, from its begin */
	GString *out;
	gsize out_written;
	bool is_ended;
};

static void set_unblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

DtcChannel *dtc_channel_new(int in_fd, int out_fd)
{
	DtcChannel *channel = g_new0(DtcChannel, 1);

	channel->in_fd = in_fd;
	channel->out_fd = out_fd;
	channel->in = g_string_new(NULL);
	channel->out = g_string_new(NULL);
	set_unblocking(in_fd);
	set_unblocking(out_fd);
	return channel;
}

void dtc_channel_close_output(DtcChannel *channel)
{
	if (channel->out_fd >= 0 && channel->out_fd != channel->in_fd)
		close(channel->out_fd);
	channel->out_fd = -1;
}

void dtc_channel_free(DtcChannel *channel)
{
	if (!channel)
		return;
	dtc_channel_close_output(channel);
	close(channel->in_fd);
	g_string_free(channel->in, TRUE);
	g_string_free(channel->out, TRUE);
	g_free(channel);
}

void dtc_channel_fill_poll(const DtcChannel *channel, struct pollfd ret_fds[2])
{
	bool is_full = channel->in->len - channel->in_taken >= MAX_IN_BYTES;

	ret_fds[0] = (struct pollfd){ .fd = channel->is_ended || is_full ? -1 : channel->in_fd, .events = POLLIN };
	ret_fds[1] =
		(struct pollfd){ .fd = dtc_channel_get_waiting(channel) ? channel->out_fd : -1, .events = POLLOUT };
}

/* ---- reading ---- */

static void drop_taken(DtcChannel *channel)
{
	g_string_erase(channel->in, 0, (gssize)channel->in_taken);
	channel->in_taken = 0;
}

static void read_in(DtcChannel *channel)
{
	char bytes[PORTION_BYTES];

	if (channel->in_taken > channel->in->len / 2)
		drop_taken(channel);
	while (!channel->is_ended && channel->in->len - channel->in_taken < MAX_IN_BYTES) {
		ssize_t got = read(channel->in_fd, bytes, sizeof(bytes));
		if (got > 0)
			g_string_append_len(channel->in, bytes, got);
		else if (got < 0 && errno == EINTR)
			continue;
		else if (got < 0 && errno == EAGAIN)
			return;
		else
			channel->is_ended = true;
	}
}

const char *dtc_channel_peek(const DtcChannel *channel, gsize *ret_bytes)
{
	*ret_bytes = channel->in->len - channel->in_taken;
	return channel->in->str + channel->in_taken;
}

void dtc_channel_skip(DtcChannel *channel, gsize bytes)
{
	channel->in_taken += MIN(bytes, channel->in->len - channel->in_taken);
}

/* A word that is not escaped as it should be stays as it is: what a login shell prints is no message of ours. */
static char **parse(const char *line)
{
	char **words = g_strsplit(line, " ", -1);

	for (char **word = words; *word; word++) {
		char *plain = g_uri_unescape_string(*word, NULL);
		if (!plain)
			continue;
		g_free(*word);
		*word = plain;
	}
	return words;
}

char **dtc_channel_next(DtcChannel *channel)
{
	gsize bytes;
	const char *text = dtc_channel_peek(channel, &bytes);
	const char *end = memchr(text, '\n', bytes);

	if (!end && bytes > MAX_LINE_BYTES) {
		channel->is_ended = true; /* whoever that is, it speaks another language */
		dtc_channel_skip(channel, bytes);
	}
	if (!end)
		return NULL;
	g_autofree char *line = g_strndup(text, (gsize)(end - text));
	g_strchomp(line);
	dtc_channel_skip(channel, (gsize)(end - text) + 1);
	return parse(line);
}

/* ---- writing ---- */

static void write_out(DtcChannel *channel)
{
	while (channel->out_fd >= 0 && channel->out_written < channel->out->len) {
		ssize_t written = write(channel->out_fd, channel->out->str + channel->out_written,
					MIN(channel->out->len - channel->out_written, PORTION_BYTES));
		if (written > 0)
			channel->out_written += (gsize)written;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			dtc_channel_close_output(channel);
	}
	if (channel->out_written == channel->out->len || channel->out_fd < 0) {
		g_string_truncate(channel->out, 0);
		channel->out_written = 0;
	}
}

bool dtc_channel_move(DtcChannel *channel)
{
	write_out(channel);
	read_in(channel);
	return !channel->is_ended;
}

gsize dtc_channel_get_waiting(const DtcChannel *channel)
{
	return channel->out->len - channel->out_written;
}

void dtc_channel_send_bytes(DtcChannel *channel, const void *bytes, gsize count)
{
	g_string_append_len(channel->out, bytes, (gssize)count);
}

static void append_word(GString *out, const char *word)
{
	g_string_append_uri_escaped(out, word, "/:=,@+*", FALSE);
}

void dtc_channel_send_words(DtcChannel *channel, char *const *words)
{
	for (char *const *word = words; *word; word++) {
		if (word != words)
			g_string_append_c(channel->out, ' ');
		append_word(channel->out, *word);
	}
	g_string_append_c(channel->out, '\n');
}

void dtc_channel_send(DtcChannel *channel, const char *word, ...)
{
	va_list words;

	append_word(channel->out, word);
	va_start(words, word);
	while ((word = va_arg(words, const char *))) {
		g_string_append_c(channel->out, ' ');
		append_word(channel->out, word);
	}
	va_end(words);
	g_string_append_c(channel->out, '\n');
}
