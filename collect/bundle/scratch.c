/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* pipe2, POSIX_SPAWN_SETSID, closefrom */
#include "collect/bundle/scratch.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct DtcScratch {
	char *path;
	int pipe_fd; /* the shell removes the folder when this end is closed, by us or by our death */
	pid_t shell;
};

static bool set_failed(GError **error, const char *path, int reason)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot make a private folder below '%s': %s\nset TMPDIR to a folder with room", path,
		    g_strerror(reason));
	return false;
}

/*
 * Not fork(): a program with threads may only exec afterwards, and posix_spawn does just that. The shell has a session
 * of its own, so that the terminal's Ctrl-C does not end it before its work, and none of our files, so that a pipe
 * that we write to ends with us.
 */
static bool spawn_remover(DtcScratch *scratch, int read_fd, GError **error)
{
	char *arguments[] = { (char *)"sh", (char *)"-c",
			      (char *)"IFS= read -r folder; read -r _; test -z \"$folder\" || rm -rf -- \"$folder\"",
			      (char *)"dtrace-chain-remove", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, usual;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, read_fd, STDIN_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	posix_spawnattr_init(&attributes);
	sigemptyset(&none);
	sigfillset(&usual);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &usual);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int reason = posix_spawn(&scratch->shell, "/bin/sh", &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (reason == 0)
		return true;
	scratch->shell = 0;
	return set_failed(error, g_get_tmp_dir(), reason);
}

/* To be called at once after the folder was made: up to here a kill would leave it. */
static bool tell_remover(const DtcScratch *scratch)
{
	g_autofree char *line = g_strconcat(scratch->path, "\n", NULL);
	size_t length = strlen(line);
	/* shorter than what a pipe takes in one piece; the shell reads lines */
	return strchr(scratch->path, '\n') == NULL && write(scratch->pipe_fd, line, length) == (ssize_t)length;
}

DtcScratch *dtc_scratch_new(GError **error)
{
	g_autoptr(DtcScratch) scratch = g_new0(DtcScratch, 1);
	int ends[2];

	scratch->pipe_fd = -1;
	scratch->path = g_build_filename(g_get_tmp_dir(), "dtrace-chain-XXXXXX", NULL);
	if (pipe2(ends, O_CLOEXEC) != 0) {
		g_clear_pointer(&scratch->path, g_free);
		set_failed(error, g_get_tmp_dir(), errno);
		return NULL;
	}
	scratch->pipe_fd = ends[1];
	bool is_spawned = spawn_remover(scratch, ends[0], error);
	close(ends[0]);
	if (!is_spawned || !g_mkdtemp(scratch->path)) { /* mode 0700 */
		int reason = errno;
		g_clear_pointer(&scratch->path, g_free);
		if (is_spawned)
			set_failed(error, g_get_tmp_dir(), reason);
		return NULL;
	}
	if (tell_remover(scratch))
		return g_steal_pointer(&scratch);
	set_failed(error, scratch->path, errno);
	g_rmdir(scratch->path);
	return NULL;
}

void dtc_scratch_free(DtcScratch *scratch)
{
	if (!scratch)
		return;
	if (scratch->pipe_fd >= 0)
		close(scratch->pipe_fd);
	if (scratch->shell > 0)
		while (waitpid(scratch->shell, NULL, 0) < 0 && errno == EINTR)
			;
	g_free(scratch->path);
	g_free(scratch);
}

const char *dtc_scratch_get_path(const DtcScratch *scratch)
{
	return scratch->path;
}
