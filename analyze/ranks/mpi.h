/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The only place that knows MPI. The process that mpirun started carries letters and does nothing else: between its own
 * owner and asker (sockets) and those of other ranks. It is small, so that nobody has a reason to end it: where a
 * process of MPI is killed, mpirun ends all of them (Open MPI 4.1 with its defaults), and no rank can do anything
 * about it.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

struct dtc_mpi_ends {
	int owner;	/* socket of this rank's owner */
	pid_t owner_id; /* its process, which is ended when there is nothing more to be done */
	int asker; /* socket of the asker, and a pipe that gives an int, the exit code, when it has ended: they are used
		    */
	int asker_result; /* in the first rank and closed in the others */
	pid_t asker_id;
};

/* Returns the exit code of this process when all is done. argc and argv as of main. */
int dtc_mpi_carry(const struct dtc_mpi_ends *ends, int *argc, char ***argv);
