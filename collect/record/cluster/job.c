/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/job.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_EXECUTE 127

struct pipes {
	int in[2], out[2], err[2];
};

static bool open_pipes(struct pipes *pipes, enum dtc_job_ends ends)
{
	*pipes = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (ends == DTC_JOB_OUTPUT) {
		pipes->in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return pipes->in[0] >= 0 && pipe2(pipes->out, O_CLOEXEC) == 0;
	}
	return pipe2(pipes->in, O_CLOEXEC) == 0 && pipe2(pipes->out, O_CLOEXEC) == 0 &&
	       pipe2(pipes->err, O_CLOEXEC) == 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_pipes(struct pipes *pipes)
{
	int *fds[] = { &pipes->in[0], &pipes->in[1], &pipes->out[0], &pipes->out[1], &pipes->err[0], &pipes->err[1] };

	for (gsize i = 0; i < G_N_ELEMENTS(fds); i++)
		close_fd(fds[i]);
}

static void run(const struct pipes *pipes, enum dtc_job_ends ends, char *const *argv, int kept_fd, pid_t parent)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(CANNOT_EXECUTE);
	if (ends == DTC_JOB_ALL)
		setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL); /* that ends a recorder; a shell has it ignored in what it starts in the background */
	dup2(pipes->in[0], STDIN_FILENO);
	dup2(pipes->out[1], STDOUT_FILENO);
	dup2(ends == DTC_JOB_ALL ? pipes->err[1] : pipes->out[1], STDERR_FILENO);
	if (kept_fd >= 0)
		fcntl(kept_fd, F_SETFD, 0);
	execvp(argv[0], argv);
	fprintf(stderr, "dtrace-collect: cannot run '%s': %s\n", argv[0], strerror(errno));
	_exit(CANNOT_EXECUTE);
}

bool dtc_job_start(struct dtc_job *job, enum dtc_job_ends ends, char *const *argv, int kept_fd, GError **error)
{
	struct pipes pipes;
	pid_t parent = getpid();

	*job = (struct dtc_job){ .in_fd = -1, .out_fd = -1, .err_fd = -1 };
	bool is_made = open_pipes(&pipes, ends) && (job->pid = fork()) >= 0;
	if (is_made && job->pid == 0)
		run(&pipes, ends, argv, kept_fd, parent);
	if (!is_made) {
		job->pid = 0;
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_LIMIT,
			    "cannot start a process: %s\nare there too many already?", g_strerror(errno));
	} else {
		job->in_fd = pipes.in[1];
		job->out_fd = pipes.out[0];
		job->err_fd = pipes.err[0];
		pipes.in[1] = pipes.out[0] = pipes.err[0] = -1;
	}
	close_pipes(&pipes);
	return is_made;
}

bool dtc_job_is_ended(struct dtc_job *job)
{
	if (job->pid > 0 && !job->is_ended)
		job->is_ended = waitpid(job->pid, &job->status, WNOHANG) == job->pid;
	return job->is_ended;
}

int dtc_job_get_code(const struct dtc_job *job)
{
	return WIFSIGNALED(job->status) ? 128 + WTERMSIG(job->status) : WEXITSTATUS(job->status);
}

void dtc_job_signal(const struct dtc_job *job, int number)
{
	if (job->pid > 0 && !job->is_ended)
		kill(job->pid, number);
}

void dtc_job_close(struct dtc_job *job)
{
	close_fd(&job->in_fd);
	close_fd(&job->out_fd);
	close_fd(&job->err_fd);
}
