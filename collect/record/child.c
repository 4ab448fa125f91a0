/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/child.h"

#include "collect/record/privileges.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GO 'g'
#define CANNOT_EXECUTE 127 /* as a shell says it */

/* Files and groups as after a login; HOME and the rest sudo has set as it was told to. */
static bool become_user(void)
{
	uid_t uid;
	gid_t gid;

	if (!dtc_privileges_get_sudo_user(&uid, &gid))
		return true;
	const struct passwd *user = getpwuid(uid);
	bool has_groups = user ? initgroups(user->pw_name, gid) == 0 : setgroups(0, NULL) == 0;
	return has_groups && setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0;
}

static void run(int gate, char *const *argv)
{
	char word = 0;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	while (read(gate, &word, 1) < 0 && errno == EINTR)
		;
	if (word != GO)
		_exit(0);
	if (become_user())
		execvp(argv[0], argv);
	fprintf(stderr, "dtrace-collect: cannot run '%s': %s\n", argv[0], strerror(errno));
	_exit(CANNOT_EXECUTE);
}

char **dtc_child_split_command(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++)
		if (strcmp(argv[i], "--") == 0) {
			argv[i] = NULL;
			*argc = i;
			return argv + i + 1;
		}
	return NULL;
}

bool dtc_child_prepare(struct dtc_child *child, char *const *argv, GError **error)
{
	int gate[2];

	if (pipe2(gate, O_CLOEXEC) != 0 || (child->pid = fork()) < 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_LIMIT,
			    "cannot start a process: %s\nare there too many already?", g_strerror(errno));
		return false;
	}
	if (child->pid == 0) {
		close(gate[1]);
		run(gate[0], argv);
	}
	close(gate[0]);
	child->gate = gate[1];
	return true;
}

void dtc_child_go(struct dtc_child *child)
{
	const char word = GO;

	if (child->pid <= 0)
		return;
	ssize_t written = write(child->gate, &word, 1);
	(void)written; /* it has gone: then it has ended */
	close(child->gate);
	child->gate = -1;
}

bool dtc_child_is_ended(struct dtc_child *child)
{
	if (child->pid > 0 && !child->has_ended)
		child->has_ended = waitpid(child->pid, &child->status, WNOHANG) == child->pid;
	return child->has_ended;
}

char *dtc_child_describe(const struct dtc_child *child)
{
	if (!child->has_ended)
		return g_strdup("is still running");
	if (WIFSIGNALED(child->status))
		return g_strdup_printf("was ended by signal %d", WTERMSIG(child->status));
	return g_strdup_printf("ended with %d", WEXITSTATUS(child->status));
}

void dtc_child_abandon(struct dtc_child *child)
{
	if (child->pid <= 0 || child->gate < 0)
		return;
	close(child->gate);
	child->gate = -1;
	waitpid(child->pid, &child->status, 0);
}
