/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What runs in the handler allocates nothing and uses stdio as little as any other lock. */
#include "analyze/cli/lost_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 4352 /* of /proc/PID/maps: 73 before a path of at most PATH_MAX */

static void say(const char *text)
{
	ssize_t written = write(STDERR_FILENO, text, strlen(text));
	(void)written;
}

/* A name that somebody else chose: what could move the cursor or turn the line around is not printed. */
static void say_name(const char *name)
{
	for (; *name; name++) {
		const char shown[2] = { *name >= ' ' && *name <= '~' ? *name : '?', 0 };
		say(shown);
	}
}

static const char *parse_hex(const char *text, uintptr_t *ret_value)
{
	for (*ret_value = 0;; text++) {
		int digit = *text >= '0' && *text <= '9'   ? *text - '0'
			    : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10
							   : -1;
		if (digit < 0)
			return text;
		*ret_value = *ret_value << 4 | (uintptr_t)digit;
	}
}

/* The path in "55d0c8a4e000-55d0c8a50000 r--p 00000000 fe:00 1234   /a/file" if the address is in there, else NULL. */
static const char *find_path(const char *line, uintptr_t address)
{
	uintptr_t begin, end;
	const char *at = parse_hex(line, &begin);
	if (*at != '-')
		return NULL;
	parse_hex(at + 1, &end);
	return address >= begin && address < end ? strchr(line, '/') : NULL;
}

/* One line without its end; false after the last. */
static bool read_line(int fd, char *line)
{
	size_t bytes = 0;
	char byte;
	while (read(fd, &byte, 1) == 1) {
		if (byte == '\n') {
			line[bytes] = 0;
			return true;
		}
		if (bytes + 1 < LINE_BYTES)
			line[bytes++] = byte;
	}
	return false;
}

static void end_with_message(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	char line[LINE_BYTES];
	const char *path = NULL;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && !path && read_line(fd, line))
		path = find_path(line, (uintptr_t)info->si_addr);
	say("dtrace-chain: cannot read on in '");
	say_name(path ? path : "a file");
	say("': its disk fails, or it was made shorter meanwhile\n"
	    "hint: copy the recording from where it was made, once that has ended; see that TMPDIR has room\n");
	_exit(1);
}

void dtc_lost_file_catch(void)
{
	struct sigaction action = { .sa_sigaction = end_with_message, .sa_flags = SA_SIGINFO };
	sigemptyset(&action.sa_mask);
	(void)sigaction(SIGBUS, &action, NULL);
}
