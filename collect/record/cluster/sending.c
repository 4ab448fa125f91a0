/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/sending.h"

#include "collect/bundle/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PORTION_BYTES ((gsize)256 * 1024)

struct wanted {
	char *path; /* where it lies; NULL: it may not be asked for */
	guint64 offset;
};

struct DtcSending {
	GQueue wanted; /* struct wanted */
	int fd;	       /* of the first one; -1: it is not open */
	char *portion;
};

static void wanted_free(void *data)
{
	struct wanted *wanted = data;

	g_free(wanted->path);
	g_free(wanted);
}

DtcSending *dtc_sending_new(void)
{
	DtcSending *sending = g_new0(DtcSending, 1);

	g_queue_init(&sending->wanted);
	sending->fd = -1;
	sending->portion = g_malloc(PORTION_BYTES);
	return sending;
}

void dtc_sending_free(DtcSending *sending)
{
	if (!sending)
		return;
	g_queue_clear_full(&sending->wanted, wanted_free);
	if (sending->fd >= 0)
		close(sending->fd);
	g_free(sending->portion);
	g_free(sending);
}

void dtc_sending_add(DtcSending *sending, const char *folder, const char *path, guint64 offset)
{
	struct wanted *wanted = g_new0(struct wanted, 1);

	wanted->path = dtc_bundle_path_check(path) ? g_build_filename(folder, path, NULL) : NULL;
	wanted->offset = offset;
	g_queue_push_tail(&sending->wanted, wanted);
}

static void end_first(DtcSending *sending)
{
	if (sending->fd >= 0)
		close(sending->fd);
	sending->fd = -1;
	wanted_free(g_queue_pop_head(&sending->wanted));
}

static bool open_first(DtcSending *sending, const struct wanted *wanted)
{
	struct stat status;

	errno = EINVAL;
	if (sending->fd < 0 && wanted->path)
		sending->fd = open(wanted->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (sending->fd < 0)
		return false;
	errno = EINVAL;
	return fstat(sending->fd, &status) == 0 && S_ISREG(status.st_mode);
}

static void send_portion(DtcSending *sending, DtcChannel *channel, struct wanted *wanted)
{
	ssize_t got = open_first(sending, wanted)
			      ? pread(sending->fd, sending->portion, PORTION_BYTES, (off_t)wanted->offset)
			      : -1;

	if (got > 0) {
		g_autofree char *bytes = g_strdup_printf("%zd", got);
		dtc_channel_send(channel, "data", bytes, NULL);
		dtc_channel_send_bytes(channel, sending->portion, (gsize)got);
		wanted->offset += (guint64)got;
		return;
	}
	if (got == 0)
		dtc_channel_send(channel, "whole", NULL);
	else
		dtc_channel_send(channel, "unreadable", g_strerror(errno), NULL);
	end_first(sending);
}

void dtc_sending_go_on(DtcSending *sending, DtcChannel *channel)
{
	while (!g_queue_is_empty(&sending->wanted) && dtc_channel_get_waiting(channel) < PORTION_BYTES)
		send_portion(sending, channel, g_queue_peek_head(&sending->wanted));
}
