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

/* What is asked, and of whom. */
struct errand {
	int argc;
	char **argv;
	DtcLosses *losses;
	const bool *helps; /* by rank */
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

static int run_asker(const struct dtc_asker_input *input, const struct held *held, const struct errand *errand)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(held->files[0], STDOUT_FILENO) < 0 || dup2(held->files[1], STDERR_FILENO) < 0)
		return 1;
	return dtc_cli_run(errand->argc, errand->argv, dtc_asker_new(input));
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
static enum asker_end ask(int end, const struct held *held, const struct errand *errand, int *ret_number)
{
	int pulses[2], status = 0;

	*ret_number = 0;
	if (pipe2(pulses, O_CLOEXEC | O_NONBLOCK) != 0)
		return ASKER_NONE;
	pid_t asker = fork();
	if (asker == 0) {
		close(pulses[0]);
		_exit(run_asker(
			&(struct dtc_asker_input){ end, pulses[1], errand->losses, errand->argv, errand->helps, NULL },
			held, errand));
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

/* ---- a helper ---- */

static void run_helper(int end, guint generation, GVariant *asked)
{
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	const struct held held = { { nowhere, nowhere } };
	g_autofree const char **losses = NULL;
	g_autoptr(GVariant) owners = NULL;
	char **argv;

	g_variant_get(asked, "(^aay^a&ay@a(ayu)@*@*)", &argv, &losses, &owners, NULL, NULL);
	guint rank_count = g_strv_length((char **)losses);
	g_autofree bool *helps = g_new0(bool, rank_count + 1);
	const struct errand errand = { (int)g_strv_length(argv), argv, dtc_losses_new(rank_count), helps };
	if (!errand.losses)
		_exit(1);
	dtc_losses_set_generation(errand.losses, generation);
	dtc_losses_set_owners(errand.losses, 0, owners);
	for (guint rank = 0; rank < rank_count; rank++)
		if (*losses[rank])
			dtc_losses_set(errand.losses, rank, losses[rank]);
	_exit(run_asker(&(struct dtc_asker_input){ end, -1, errand.losses, argv, helps, asked }, &held, &errand));
}

/* Whoever asks for help has it as long as it asks; what becomes of a helper is nobody's concern. */
static void keep_helpers(int end, struct dtc_parcel *parcel)
{
	g_autoptr(DtcAssembly) assembly = dtc_assembly_new();

	do {
		g_autoptr(GBytes) message = parcel->letter.type == DTC_LETTER_HELP && dtc_letter_unsqueeze(parcel)
						    ? dtc_assembly_add(assembly, parcel)
						    : NULL;
		g_autoptr(GVariant) asked = message ? dtc_letter_get_variant(message, DTC_LETTER_HELP_TYPE) : NULL;
		pid_t helper = asked ? fork() : -1;
		if (helper == 0)
			run_helper(end, parcel->letter.generation, asked);
		while (helper > 0 && waitpid(helper, NULL, 0) < 0 && errno == EINTR)
			;
	} while (dtc_letter_receive(end, parcel));
}

/* ---- all of it ---- */

int dtc_keeper_run(int end, int argc, char **argv)
{
	struct held held = { { open_output(), open_errors() } };
	struct dtc_parcel hello;
	guint kills = 0;

	if (!dtc_letter_receive(end, &hello))
		return -1;
	if (hello.letter.type != DTC_LETTER_HELLO) {
		keep_helpers(end, &hello);
		return -1;
	}
	DtcLosses *losses = dtc_losses_new((guint)hello.letter.all);
	g_autofree bool *helps = g_new0(bool, hello.letter.all + 1);
	for (uint32_t rank = 0; rank < hello.letter.bytes; rank++)
		helps[rank] = hello.data[rank] != 0;
	const struct errand errand = { argc, argv, losses, helps };
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
		enum asker_end how = ask(end, &held, &errand, &number);
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
