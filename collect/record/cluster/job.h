/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process that works for another and does not outlive it: whatever ends its parent, it is told to end (SIGTERM). What
 * it prints comes through a pipe. What recorded on a node, and ssh, are such.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

struct dtc_job {
	pid_t pid;  /* 0: there is none */
	int in_fd;  /* its standard input; -1: it has none */
	int out_fd; /* its standard output, and its standard error, too, if there is no err_fd; the owner's to close */
	int err_fd; /* or -1 */
	int status; /* as waitpid gives it, when it has ended */
	bool is_ended; /* nothing runs any more */
};

enum dtc_job_ends {
	DTC_JOB_OUTPUT, /* input is /dev/null, output and error are one pipe */
	DTC_JOB_ALL,	/* a pipe each; it is in a session of its own, where no terminal's Ctrl-C reaches it */
};

/* kept_fd is open in it, too; -1: none. */
bool dtc_job_start(struct dtc_job *job, enum dtc_job_ends ends, char *const *argv, int kept_fd, GError **error);
/* Whether it has ended; does not wait. */
bool dtc_job_is_ended(struct dtc_job *job);
/* 0 to 127 as it exited, 128 + N for a signal. */
int dtc_job_get_code(const struct dtc_job *job);
/* Sends the signal, if it still runs. */
void dtc_job_signal(const struct dtc_job *job, int number);
/* Closes the descriptors that are still open. */
void dtc_job_close(struct dtc_job *job);
