/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* O_TMPFILE, memfd_create */
#include "analyze/ranks/keeper.h"

#include "analyze/cli/program.h"
#include "analyze/ranks/asker.h"
#include "analyze/ranks/letter.h"
#include "collect/bundle/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLS_MAX 1 /* of askers, after which another one is begun: who kills a second has a reason */

/* Standard output and error of an asker. */
struct held {
	int files[2];
};

static int open_held(void)
{
	int file = open(g_get_tmp_dir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return file >= 0 ? file : memfd_create("held", MFD_CLOEXEC);
}

static bool give_out(int from, int to)
{
	char data[65536];
	ssize_t count;

	if (lseek(from, 0, SEEK_SET) != 0)
		return false;
	while ((count = read(from, data, sizeof(data))) > 0)
		if (!dtc_output_write_all(to, data, (gsize)count))
			return false;
	return count == 0;
}

static void empty(const struct held *held)
{
	for (guint i = 0; i < G_N_ELEMENTS(held->files); i++)
		if (ftruncate(held->files[i], 0) != 0 || lseek(held->files[i], 0, SEEK_SET) != 0)
			return;
}

static int run_asker(int end, DtcLosses *losses, const struct held *held, int argc, char **argv)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(held->files[0], STDOUT_FILENO) < 0 || dup2(held->files[1], STDERR_FILENO) < 0)
		return 1;
	return dtc_cli_run(argc, argv, dtc_asker_new(end, losses));
}

/* How it ended, as of waitpid; -1: it could not be begun. */
static int wait_for_asker(int end, DtcLosses *losses, const struct held *held, int argc, char **argv)
{
	pid_t asker = fork();
	int status = -1;

	if (asker == 0)
		_exit(run_asker(end, losses, held, argc, argv));
	while (asker > 0 && waitpid(asker, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int report_killed(int status)
{
	fprintf(stderr,
		"dtrace-chain-mpi: the process that asks was ended by signal %d (%s)\n"
		"hint: if memory is short, ask for fewer nodes with --nodes\n",
		WTERMSIG(status), strsignal(WTERMSIG(status)));
	return 1;
}

int dtc_keeper_run(int end, int argc, char **argv)
{
	struct held held = { { open_held(), open_held() } };
	struct dtc_parcel hello;
	guint kills = 0;

	if (!dtc_letter_receive(end, &hello) || hello.letter.type != DTC_LETTER_HELLO)
		return -1;
	DtcLosses *losses = dtc_losses_new((guint)hello.letter.all);
	if (!losses || held.files[0] < 0 || held.files[1] < 0) {
		fprintf(stderr,
			"dtrace-chain-mpi: there is no place to hold the answer: %s\nhint: set TMPDIR to a folder with "
			"room\n",
			g_strerror(errno));
		return 1;
	}
	for (;; dtc_losses_begin_again(losses), empty(&held)) {
		int status = wait_for_asker(end, losses, &held, argc, argv);
		if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == DTC_ASKER_BEGIN_AGAIN)
			continue;
		if (status >= 0 && WIFSIGNALED(status) && kills++ < KILLS_MAX)
			continue;
		bool is_out = give_out(held.files[0], STDOUT_FILENO);
		(void)give_out(held.files[1], STDERR_FILENO);
		if (status < 0 || WIFSIGNALED(status))
			return status < 0 ? 1 : report_killed(status);
		if (is_out)
			return WEXITSTATUS(status);
		fprintf(stderr,
			"dtrace-chain-mpi: cannot write the output: %s\nhint: is the disk full, or standard output "
			"closed?\n",
			g_strerror(errno));
		return 1;
	}
}
