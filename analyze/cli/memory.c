/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that gets no memory ends with a message. GLib's way is a signal, and on the way to it a recursion until the
 * stack is full, since it needs memory for its message; babeltrace2 goes on with NULL here and there. So the allocator
 * is asked here, in front of all libraries: glibc lets a program have a malloc of its own, and keeps its own under
 * another name. Not under sanitizers, which do the same. Costs a compare per request.
 */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_MALLOC 0
#elif defined(__GLIBC__)
#define HAS_OWN_MALLOC 1
#else
#define HAS_OWN_MALLOC 0
#endif

#if HAS_OWN_MALLOC

/* NOLINTBEGIN(bugprone-reserved-identifier): glibc's names */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
/* NOLINTEND(bugprone-reserved-identifier) */

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *old, size_t bytes);
int posix_memalign(void **ret_memory, size_t alignment, size_t bytes);

static void *check(void *memory)
{
	static const char text[] = "dtrace-chain: there is not enough memory\n"
				   "hint: ask for fewer nodes with --nodes, or raise the limit (ulimit -v); a damaged "
				   "trace may ask for any amount\n";
	if (__builtin_expect(memory != NULL, 1))
		return memory;
	ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)written;
	_exit(1);
}

void *malloc(size_t bytes)
{
	return check(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
	return check(__libc_calloc(count, bytes));
}

void *realloc(void *old, size_t bytes)
{
	void *memory = __libc_realloc(old, bytes);
	return bytes > 0 ? check(memory) : memory; /* glibc frees, and says NULL */
}

int posix_memalign(void **ret_memory, size_t alignment, size_t bytes)
{
	if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
		return EINVAL;
	*ret_memory = check(__libc_memalign(alignment, bytes));
	return 0;
}

#endif
