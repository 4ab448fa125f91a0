/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The programs of a desktop's start, reduced to what the start waits for: one file, told apart by its name as busybox
 * is. xinit, Xorg, dbus-daemon, wm, panel: record.sh makes the links.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DISPLAY_PATH "/tmp/.X0"
#define CLIENTS_MAX 8

static void nap(int ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000L };
	nanosleep(&time, NULL);
}

static void read_file(const char *name)
{
	char buffer[65536];
	int fd = open(name, O_RDONLY);
	while (fd >= 0 && read(fd, buffer, sizeof(buffer)) > 0)
		;
	if (fd >= 0)
		close(fd);
}

static void work(int ms)
{
	struct timespec now, begin;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static struct sockaddr_un get_address(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	strcpy(address.sun_path, DISPLAY_PATH);
	return address;
}

static int call_x(char what)
{
	struct sockaddr_un address = get_address();
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) || write(fd, &what, 1) != 1 ||
	    read(fd, &what, 1) != 1)
		return 1;
	return 0;
}

/* A server: it reads its configuration, waits for its hardware, tells its parent, and answers. */
static void answer(int fd)
{
	char what;
	if (read(fd, &what, 1) != 1) {
		close(fd);
		return;
	}
	if (what == 'w') /* a window: its font is read */
		read_file("desktop/fonts/fixed.pcf");
	if (what == 'p') /* a mode is set, and the screen settles */
		nap(40);
	write(fd, &what, 1);
}

static int serve(void)
{
	struct sockaddr_un address = get_address();
	struct pollfd files[CLIENTS_MAX];
	int count = 1;

	read_file("desktop/xorg.conf");
	work(15);
	nap(120); /* probing outputs */
	read_file("desktop/keymap.xkb");
	unlink(DISPLAY_PATH);
	files[0] = (struct pollfd){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), .events = POLLIN };
	if (bind(files[0].fd, (struct sockaddr *)&address, sizeof(address)) || listen(files[0].fd, CLIENTS_MAX))
		return 1;
	if (signal(SIGUSR1, SIG_IGN) == SIG_IGN) /* whoever starts X so wants to be told (Xserver(1)) */
		kill(getppid(), SIGUSR1);
	for (;;) {
		poll(files, (nfds_t)count, -1);
		for (int i = 1; i < count; i++)
			if (files[i].revents)
				answer(files[i].fd);
		if (files[0].revents && count < CLIENTS_MAX)
			files[count++] = (struct pollfd){ .fd = accept(files[0].fd, NULL, NULL), .events = POLLIN };
	}
}

static void ignore(int number)
{
	(void)number;
}

/* xinit(1): the server is started, and the session once the server is ready. */
static int start(void)
{
	sigset_t set, old;
	signal(SIGUSR1, ignore);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	pid_t server = fork();
	if (server == 0) {
		signal(SIGUSR1, SIG_IGN);
		sigprocmask(SIG_SETMASK, &old, NULL);
		execl("./Xorg", "Xorg", NULL);
		_exit(127);
	}
	sigsuspend(&old);
	pid_t session = fork();
	if (session == 0) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		execl("./session", "session", NULL);
		_exit(127);
	}
	waitpid(session, NULL, 0);
	kill(server, SIGTERM);
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	(void)argc;
	name = name ? name + 1 : argv[0];
	if (strcmp(name, "Xorg") == 0)
		return serve();
	if (strcmp(name, "xinit") == 0)
		return start();
	if (strcmp(name, "dbus-daemon") == 0) {
		read_file("desktop/session.conf");
		if (fork())
			_exit(0); /* the parent returns when it can be asked */
		nap(3000);
	} else if (strcmp(name, "wm") == 0) {
		work(10);
		if (call_x('w') || fork())
			_exit(0);
		nap(3000);
	} else if (strcmp(name, "panel") == 0) {
		read_file("desktop/panel.desktop");
		work(20);
		return call_x('w') || call_x('p');
	}
	return 0;
}
