/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time on a clock says nothing on a busy machine; that a process is neither running nor waiting for a disk does. A
 * child has nothing else to wait for but us, and we are reading.
 */
#define _GNU_SOURCE /* fopencookie */
#include "collect/read/child/watch.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct watch {
	int fd;
	pid_t pid;
	bool *is_stuck;
};

/* proc(5): the state stands behind the name, which is in parentheses and may hold some. */
static char get_state(pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid), *text = NULL;
	const char *close = g_file_get_contents(path, &text, NULL, NULL) ? strrchr(text, ')') : NULL;
	return close && close[1] == ' ' ? close[2] : '?';
}

static bool is_at_work(pid_t pid)
{
	return strchr("RD?", get_state(pid)) != NULL;
}

/* True once there is something to read, or the end. */
static bool wait_for_bytes(const struct watch *watch)
{
	struct pollfd from = { .fd = watch->fd, .events = POLLIN };
	for (guint idle = 0; idle < 2;) {
		int ready = poll(&from, 1, DTC_CHILD_PATIENCE_S * 1000);
		if (ready > 0 || (ready < 0 && errno != EINTR))
			return true;
		idle = ready < 0 || is_at_work(watch->pid) ? 0 : idle + 1;
	}
	return false;
}

static ssize_t read_pipe(void *cookie, char *to, size_t bytes)
{
	struct watch *watch = cookie;
	ssize_t count;
	if (!wait_for_bytes(watch)) {
		*watch->is_stuck = true;
		kill(watch->pid, SIGKILL);
		return 0;
	}
	while ((count = read(watch->fd, to, bytes)) < 0 && errno == EINTR)
		;
	return count;
}

static int close_pipe(void *cookie)
{
	struct watch *watch = cookie;
	int result = close(watch->fd);
	g_free(watch);
	return result;
}

FILE *dtc_child_watch(int fd, pid_t pid, bool *ret_is_stuck)
{
	struct watch *watch = g_new0(struct watch, 1);
	*watch = (struct watch){ fd, pid, ret_is_stuck };
	FILE *from = fopencookie(watch, "r", (cookie_io_functions_t){ .read = read_pipe, .close = close_pipe });
	if (!from) {
		g_free(watch);
		return NULL;
	}
	setvbuf(from, NULL, _IOFBF, 1 << 16);
	return from;
}
