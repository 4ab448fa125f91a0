/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* pid_t of syscalls */
#include "analyze/ranks/launcher.h"

#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE_MS 10000 /* it ends all within five seconds where it reaches them, as measured on a loaded machine */

/* False also if it is srun, or a daemon of mpirun's on a machine where that is not. */
static bool is_launcher(pid_t process)
{
	static const char *const names[] = { "mpirun\n", "mpiexec\n", "orterun\n" };
	g_autofree char *path = g_strdup_printf("/proc/%d/comm", (int)process);
	g_autofree char *name = NULL;

	if (!g_file_get_contents(path, &name, NULL, NULL))
		return false;
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int open_output(pid_t process, int number)
{
	char path[64];

	(void)g_snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)process, number);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Who reads its output is slower: some of it may not be written yet. */
static bool has_output(pid_t process)
{
	struct pollfd file = { open_output(process, STDOUT_FILENO), POLLOUT, 0 };
	bool is_full = file.fd >= 0 && poll(&file, 1, 0) == 0;

	if (file.fd >= 0)
		close(file.fd);
	return is_full;
}

static void tell(pid_t process, int code)
{
	char text[256];
	int file = open_output(process, STDERR_FILENO);

	(void)g_snprintf(text, sizeof(text),
			 "dtrace-chain-mpi: mpirun waits for a machine that does not answer, and is ended; the exit "
			 "code of the answer is %d\nhint: the findings say which nodes are missing\n",
			 code);
	ssize_t written = file >= 0 ? write(file, text, strlen(text)) : 0;
	(void)written;
}

void dtc_launcher_end_later(int code)
{
	pid_t launcher = getppid();
	int process = is_launcher(launcher) ? (int)syscall(SYS_pidfd_open, launcher, 0) : -1;

	pid_t last = process >= 0 && getppid() == launcher ? fork() : -1;

	if (last > 0)
		(void)setpgid(last, last); /* mpirun ends the group of this one, perhaps before the other has a turn */
	if (last != 0)
		return;
	(void)setpgid(0, 0);
	/* nor does it keep anything that mpirun waits for */
	(void)prctl(PR_SET_PDEATHSIG, 0);
	(void)prctl(PR_SET_NAME, "dtrace-last");
	if (process > 0)
		(void)syscall(SYS_close_range, 0, process - 1, 0);
	(void)syscall(SYS_close_range, process + 1, ~0U, 0);
	struct pollfd end = { process, POLLIN, 0 };
	int ended;
	do {
		ended = poll(&end, 1, PATIENCE_MS);
	} while (ended == 0 && has_output(launcher));
	if (ended == 0) {
		tell(launcher, code);
		(void)syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0);
	}
	_exit(0);
}
