/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dtrace-chain-mpi: dtrace-chain as many processes, started by mpirun. Each is three: one that carries letters and
 * knows MPI, one that owns nodes, and one that keeps an asker, which is used in the first rank alone. They part before
 * there is MPI, which does not like to be forked, and before there are threads.
 */
#define _GNU_SOURCE /* pipe2 */
#include "analyze/engine/open.h"
#include "analyze/ranks/keeper.h"
#include "analyze/ranks/letter.h"
#include "analyze/ranks/mpi.h"
#include "analyze/ranks/owner.h"
#include "collect/console/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int fail(void)
{
	fprintf(stderr,
		"dtrace-chain-mpi: no process can be started: %s\nhint: raise the limits (ulimit -u, ulimit -n)\n",
		strerror(errno));
	return 1;
}

static void run_owner(int end)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "dtrace-owner");
	dtc_owner_serve(end, "/proc/self/exe");
}

static void run_keeper(int end, int result, int argc, char **argv)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "dtrace-asker");
	int code = dtc_keeper_run(end, argc, argv);
	if (code >= 0 && write(result, &code, sizeof(code)) != (ssize_t)sizeof(code))
		_exit(1);
}

int main(int argc, char **argv)
{
	struct dtc_mpi_ends ends;
	int owner[2], asker[2], result[2];

	if (dtc_open_is_child(argc, argv))
		return dtc_open_serve(argv);
	dtc_process_prepare();
	if (!dtc_letter_open_pair(owner))
		return fail();
	ends.owner_id = fork();
	if (ends.owner_id < 0)
		return fail();
	if (ends.owner_id == 0) {
		close(owner[0]);
		run_owner(owner[1]);
		_exit(0);
	}
	close(owner[1]);
	if (!dtc_letter_open_pair(asker) || pipe2(result, O_CLOEXEC) != 0)
		return fail();
	ends.asker_id = fork();
	if (ends.asker_id < 0)
		return fail();
	if (ends.asker_id == 0) {
		close(owner[0]);
		close(asker[0]);
		close(result[0]);
		run_keeper(asker[1], result[1], argc, argv);
		_exit(0);
	}
	close(asker[1]);
	close(result[1]);
	ends.owner = owner[0];
	ends.asker = asker[0];
	ends.asker_result = result[0];
	return dtc_mpi_carry(&ends, &argc, &argv);
}
