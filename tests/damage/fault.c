/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded, it lets the machine fail: of the accesses to files whose path has FAULT_IN in it, the one numbered
 * FAULT_AT (from 1; with FAULT_STAYS all from there on) fails with the error FAULT_ERRNO. FAULT_WHAT: "open" (files and
 * folders; the default), "read" (what is read with stdio fails after FAULT_AT bytes) or "map" (the pages of a mapped
 * file cannot be had, as when the disk fails or somebody cuts the file). FAULT_LOG gets a line per access.
 */
#define _GNU_SOURCE /* RTLD_NEXT, fopencookie, memfd_create */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_BYTES 4096

static atomic_long access_count;

static long get_number(const char *name)
{
	const char *text = getenv(name);
	return text ? strtol(text, NULL, 10) : 0;
}

static bool is_what(const char *what)
{
	const char *wanted = getenv("FAULT_WHAT");
	return strcmp(wanted ? wanted : "open", what) == 0;
}

static bool is_watched(const char *path)
{
	const char *in = getenv("FAULT_IN");
	return path && in && strstr(path, in);
}

static void note(const char *path)
{
	const char *log = getenv("FAULT_LOG");
	int fd = log ? (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
	if (fd < 0)
		return;
	dprintf(fd, "%s\n", path);
	close(fd);
}

/* Whether this access fails; errno is set then. */
static bool fails(const char *path, const char *what)
{
	if (!is_what(what) || !is_watched(path))
		return false;
	long number = atomic_fetch_add(&access_count, 1) + 1, at = get_number("FAULT_AT");
	note(path);
	if (number != at && (number < at || !getenv("FAULT_STAYS")))
		return false;
	errno = (int)get_number("FAULT_ERRNO");
	return true;
}

static int open_next(const char *name, const char *path, int flags, mode_t mode)
{
	int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
	return fails(path, "open") ? -1 : next(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	mode_t mode = va_arg(args, mode_t); /* of no meaning unless the flags say so */
	va_end(args);
	return open_next("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	mode_t mode = va_arg(args, mode_t);
	va_end(args);
	return open_next("open64", path, flags, mode);
}

DIR *opendir(const char *path)
{
	DIR *(*next)(const char *) = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
	return fails(path, "open") ? NULL : next(path);
}

struct broken {
	FILE *file;
	long left;
};

static ssize_t read_broken(void *data, char *to, size_t size)
{
	struct broken *broken = data;
	if (broken->left == 0) {
		errno = (int)get_number("FAULT_ERRNO");
		return -1;
	}
	size_t wanted = size < (size_t)broken->left ? size : (size_t)broken->left;
	size_t got = fread(to, 1, wanted, broken->file);
	broken->left -= (long)got;
	return (ssize_t)got;
}

static int seek_broken(void *data, off64_t *offset, int whence)
{
	struct broken *broken = data;
	if (fseeko(broken->file, *offset, whence) != 0)
		return -1;
	*offset = ftello(broken->file);
	return 0;
}

static int close_broken(void *data)
{
	struct broken *broken = data;
	int result = fclose(broken->file);
	free(broken);
	return result;
}

static FILE *fopen_next(const char *name, const char *path, const char *mode)
{
	FILE *(*next)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, name);
	if (fails(path, "open"))
		return NULL;
	FILE *file = next(path, mode);
	if (!file || !is_what("read") || !is_watched(path))
		return file;
	struct broken *broken = malloc(sizeof(*broken));
	*broken = (struct broken){ file, get_number("FAULT_AT") };
	return fopencookie(broken, mode, (cookie_io_functions_t){ read_broken, NULL, seek_broken, close_broken });
}

FILE *fopen(const char *path, const char *mode)
{
	return fopen_next("fopen", path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	return fopen_next("fopen64", path, mode);
}

/* Pages beyond the end of the file that is mapped in its place. */
static void *map_nothing(size_t size, int protection)
{
	int fd = memfd_create("nothing", MFD_CLOEXEC);
	void *(*next)(void *, size_t, int, int, int, off_t) =
		(void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
	void *memory = next(NULL, size, protection, MAP_PRIVATE, fd, 0);
	close(fd);
	return memory;
}

static void *mmap_next(const char *name, void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *(*next)(void *, size_t, int, int, int, off_t) =
		(void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, name);
	char link[64], path[PATH_BYTES] = "";
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd >= 0 && readlink(link, path, sizeof(path) - 1) > 0 && fails(path, "map"))
		return map_nothing(size, protection);
	return next(at, size, protection, flags, fd, offset);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return mmap_next("mmap", at, size, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
	return mmap_next("mmap64", at, size, protection, flags, fd, offset);
}
