/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* O_TMPFILE, memfd_create */
#include "analyze/ranks/keeper.h"

#include "analyze/cli/program.h"
#include "analyze/ranks/asker.h"
#include "analyze/ranks/pulse.h"
#include "collect/bundle/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

/* What is said stays in memory: the disk may be what it is about. */
static int open_errors(void)
{
	return memfd_create("errors", MFD_CLOEXEC);
}

static int open_output(void)
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

static int run_asker(int end, int pulses, DtcLosses *losses, const struct held *held, int argc, char **argv)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(held->files[0], STDOUT_FILENO) < 0 || dup2(held->files[1], STDERR_FILENO) < 0)
		return 1;
	return dtc_cli_run(argc, argv, dtc_asker_new(end, pulses, losses));
}

/* True at the end of the process, whose pipe closes then; false: it is silent. */
static bool watch_asker(int pulses)
{
	struct pollfd file = { pulses, POLLIN, 0 };
	struct dtc_pulse_clock clock;
	struct dtc_pulse_heard heard = { 0 };
	char data[64];

	dtc_pulse_clock_begin(&clock);
	while (!dtc_pulse_is_silent(&heard, &clock)) {
		int count = poll(&file, 1, (int)(clock.interval_us / 1000));
		(void)dtc_pulse_clock_tick(&clock);
		if (count > 0 && read(pulses, data, sizeof(data)) == 0)
			return true;
		if (count > 0)
			heard.at_us = clock.now_us;
	}
	return false;
}

enum asker_end {
	ASKER_EXITED, /* with a code */
	ASKER_KILLED, /* by a signal */
	ASKER_SILENT, /* and then killed */
	ASKER_NONE,   /* it could not be begun */
};

/* What ended it, and its exit code or signal. */
static enum asker_end ask(int end, DtcLosses *losses, const struct held *held, int argc, char **argv, int *ret_number)
{
	int pulses[2], status = 0;

	*ret_number = 0;
	if (pipe2(pulses, O_CLOEXEC | O_NONBLOCK) != 0)
		return ASKER_NONE;
	pid_t asker = fork();
	if (asker == 0) {
		close(pulses[0]);
		_exit(run_asker(end, pulses[1], losses, held, argc, argv));
	}
	close(pulses[1]);
	bool has_ended = asker < 0 || watch_asker(pulses[0]);
	close(pulses[0]);
	if (asker < 0)
		return ASKER_NONE;
	while (has_ended && waitpid(asker, &status, 0) < 0 && errno == EINTR)
		;
	if (!has_ended)
		(void)dtc_pulse_end_child(asker, &status);
	*ret_number = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
	if (!has_ended)
		return ASKER_SILENT;
	return WIFEXITED(status) ? ASKER_EXITED : ASKER_KILLED;
}

static int report_end(enum asker_end how, int number)
{
	if (how == ASKER_NONE)
		fprintf(stderr,
			"dtrace-chain-mpi: the process that asks cannot be started: %s\n"
			"hint: raise the limits (ulimit -u, ulimit -n)\n",
			g_strerror(errno));
	else if (how == ASKER_SILENT)
		fprintf(stderr, "dtrace-chain-mpi: the process that asks is stopped, or hangs\n"
				"hint: whoever stops it must let it go on within " DTC_PULSE_VARIABLE " seconds\n");
	else
		fprintf(stderr,
			"dtrace-chain-mpi: the process that asks was ended by signal %d (%s)\n"
			"hint: if memory is short, ask for fewer nodes with --nodes\n",
			number, strsignal(number));
	return 1;
}

int dtc_keeper_run(int end, int argc, char **argv)
{
	struct held held = { { open_output(), open_errors() } };
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
	dtc_pulse_begin(end, NULL);
	for (;; dtc_losses_begin_again(losses), empty(&held)) {
		int number;
		enum asker_end how = ask(end, losses, &held, argc, argv, &number);
		if (how == ASKER_EXITED && number == DTC_ASKER_BEGIN_AGAIN)
			continue;
		if ((how == ASKER_KILLED || how == ASKER_SILENT) && kills++ < KILLS_MAX)
			continue;
		bool is_out = give_out(held.files[0], STDOUT_FILENO);
		(void)give_out(held.files[1], STDERR_FILENO);
		if (how != ASKER_EXITED)
			return report_end(how, number);
		if (is_out)
			return number;
		fprintf(stderr,
			"dtrace-chain-mpi: cannot write the output: %s\nhint: is the disk full, or standard output "
			"closed?\n",
			g_strerror(errno));
		return 1;
	}
}
