/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/console/process.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* As coreutils does: opened the wrong way around, so that who uses it gets an error. */
static void open_standard_files(void)
{
	static const int modes[] = { O_WRONLY, O_RDONLY, O_RDONLY };

	for (int fd = 0; fd < (int)G_N_ELEMENTS(modes); fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
			_exit(1);
}

static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* glibc gives each thread an arena of 64 MiB of address space; where that is limited (ulimit -v), all share one. */
static void share_memory(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		(void)mallopt(M_ARENA_MAX, 1);
}

void dtc_process_prepare(void)
{
	open_standard_files();
	(void)signal(SIGCHLD, SIG_DFL);
	raise_file_limit();
	share_memory();
}

int dtc_process_finish(const char *program, int code)
{
	bool is_written = !ferror(stdout);

	errno = 0;
	if (fclose(stdout) == 0 && is_written)
		return code;
	if (code == 0 || code == 3) /* else there was a message already */
		fprintf(stderr,
			"%s: cannot write the output: %s\nhint: is the disk full, or standard output "
			"closed?\n",
			program, g_strerror(errno ? errno : EIO));
	return code == 0 || code == 3 ? 1 : code;
}
