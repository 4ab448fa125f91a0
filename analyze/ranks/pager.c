/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* MAP_ANONYMOUS, O_TMPFILE */
#include "analyze/ranks/pager.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1 /* Linux 5.11 */
#endif

#define PAGE ((guint64)4096) /* in which files are asked for; a multiple of it where pages are larger */
#define ROW_MAX 256	     /* pages that are asked for at once, where all before was */
#define EVENTS_MAX 64
#define BUDGET_SHARE 4 /* of the machine's memory, for what has come of files */
#define BUDGET_LEAST ((guint64)8 << 20)
#define BUDGET_VARIABLE "DTRACE_CHAIN_MPI_MIB"

struct dtc_pager_file {
	DtcPager *pager;
	struct dtc_pager_name name;
	char *data;
	gsize mapped;	 /* bytes: whole pages */
	guint64 bytes;	 /* of the file */
	guint64 *asked;	 /* a bit for each page that is here or on its way */
	guint64 *kept;	 /* likewise: that is in the pager's file */
	guint64 kept_at; /* its first page there */
	guint64 missing; /* bytes, of one that comes whole */
	guint64 held;	 /* bytes that have come and were not dropped */
};

/* What came at once, and can be dropped. */
struct arrival {
	guint file;
	guint64 at;
	guint64 bytes;
};

struct DtcPager {
	int events; /* userfaultfd; -1: files come whole */
	guint64 page;
	DtcPagerFetch fetch;
	void *data;
	GMutex lock;
	GCond changed;
	GPtrArray *files;      /* struct dtc_pager_file, by address */
	GHashTable *by_number; /* of files -> struct dtc_pager_file */
	guint next;	       /* number of a file */
	guint64 budget, held;  /* bytes */
	int kept;	       /* file of what was dropped; -1: there is none */
	guint64 kept_end;      /* of all files' places in it, of which most are holes */
	GQueue arrivals;       /* struct arrival, of files that may be nobody's any more */
};

static int open_events(void)
{
	int file = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API };

	if (file >= 0 && ioctl(file, UFFDIO_API, &api) != 0) {
		close(file);
		return -1;
	}
	return file;
}

static guint64 get_budget(void)
{
	const char *mib = g_getenv(BUDGET_VARIABLE);
	guint64 all = (guint64)sysconf(_SC_PHYS_PAGES) * (guint64)sysconf(_SC_PAGESIZE);

	return MAX(mib ? g_ascii_strtoull(mib, NULL, 10) << 20 : all / BUDGET_SHARE, BUDGET_LEAST);
}

DtcPager *dtc_pager_new(DtcPagerFetch fetch, void *data)
{
	DtcPager *pager = g_new0(DtcPager, 1);

	pager->budget = get_budget();
	g_queue_init(&pager->arrivals);
	pager->kept = open(g_get_tmp_dir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	pager->page = MAX(PAGE, (guint64)sysconf(_SC_PAGESIZE));
	pager->events = g_getenv("DTRACE_CHAIN_WHOLE_IMAGES") ? -1 : open_events();
	pager->fetch = fetch;
	pager->data = data;
	g_mutex_init(&pager->lock);
	g_cond_init(&pager->changed);
	pager->files = g_ptr_array_new();
	pager->by_number = g_hash_table_new(g_direct_hash, g_direct_equal);
	return pager;
}

void dtc_pager_free(DtcPager *pager)
{
	if (!pager)
		return;
	if (pager->events >= 0)
		close(pager->events);
	if (pager->kept >= 0)
		close(pager->kept);
	g_queue_clear_full(&pager->arrivals, g_free);
	g_ptr_array_unref(pager->files);
	g_hash_table_unref(pager->by_number);
	g_mutex_clear(&pager->lock);
	g_cond_clear(&pager->changed);
	g_free(pager);
}

int dtc_pager_get_file(const DtcPager *pager)
{
	return pager->events;
}

static bool has_page(const guint64 *pages, guint64 page)
{
	return pages[page / 64] >> (page % 64) & 1;
}

/* The index of the first file that begins behind that address. */
static guint find_behind(const DtcPager *pager, uintptr_t address)
{
	guint low = 0, high = pager->files->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;
		const struct dtc_pager_file *file = pager->files->pdata[middle];
		if ((uintptr_t)file->data > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static struct dtc_pager_file *find_file(const DtcPager *pager, uintptr_t address)
{
	guint behind = find_behind(pager, address);
	struct dtc_pager_file *file = behind ? pager->files->pdata[behind - 1] : NULL;

	return file && address < (uintptr_t)file->data + file->mapped ? file : NULL;
}

static void mark(const DtcPager *pager, guint64 *pages, guint64 at, guint64 bytes, bool is_one)
{
	for (guint64 page = at / pager->page; page < (at + bytes) / pager->page; page++) {
		guint64 bit = (guint64)1 << (page % 64);
		if (is_one)
			pages[page / 64] |= bit;
		else
			pages[page / 64] &= ~bit;
	}
}

/* ---- faults ---- */

static void wake(const DtcPager *pager, char *begin, guint64 bytes)
{
	struct uffdio_range range = { (uintptr_t)begin, bytes };

	(void)ioctl(pager->events, UFFDIO_WAKE, &range);
}

/* One page, or several; what is there stays. */
static void copy_pages(const DtcPager *pager, char *to, const char *from, guint64 bytes)
{
	for (guint64 done = 0; done < bytes;) {
		struct uffdio_copy copy = { .dst = (uintptr_t)(to + done),
					    .src = (uintptr_t)(from + done),
					    .len = bytes - done };
		if (ioctl(pager->events, UFFDIO_COPY, &copy) == 0)
			return;
		if (copy.copy > 0)
			done += (guint64)copy.copy;
		else if (errno == EEXIST)
			done += pager->page;
		else if (errno != EAGAIN)
			return; /* it is not mapped any more */
	}
}

/* What never changes is written once. */
static void keep(const DtcPager *pager, struct dtc_pager_file *file, const struct arrival *arrival)
{
	off_t to = (off_t)(file->kept_at + arrival->at);

	if (has_page(file->kept, arrival->at / pager->page))
		return;
	if (pwrite(pager->kept, file->data + arrival->at, arrival->bytes, to) == (ssize_t)arrival->bytes)
		mark(pager, file->kept, arrival->at, arrival->bytes, true);
}

/* What came first goes first; whoever is still at it gets it again. */
static void drop(DtcPager *pager)
{
	g_autofree struct arrival *arrival = g_queue_pop_head(&pager->arrivals);
	struct dtc_pager_file *file = g_hash_table_lookup(pager->by_number, GUINT_TO_POINTER(arrival->file));

	if (!file)
		return;
	keep(pager, file, arrival);
	if (madvise(file->data + arrival->at, arrival->bytes, MADV_DONTNEED) != 0)
		return;
	mark(pager, file->asked, arrival->at, arrival->bytes, false);
	file->held -= arrival->bytes;
	pager->held -= arrival->bytes;
}

static void note_arrival(DtcPager *pager, struct dtc_pager_file *file, guint64 at, guint64 bytes)
{
	const struct arrival arrival = { file->name.file, at, bytes };

	g_queue_push_tail(&pager->arrivals, g_memdup2(&arrival, sizeof(arrival)));
	file->held += bytes;
	pager->held += bytes;
	while (pager->held > pager->budget && pager->arrivals.length > 1)
		drop(pager);
}

/* Pages that are here, of bytes that were read into memory of theirs. */
static void give_pages(DtcPager *pager, struct dtc_pager_file *file, guint64 at, const char *data, guint64 bytes)
{
	mark(pager, file->asked, at, bytes, true);
	copy_pages(pager, file->data + at, data, bytes);
	wake(pager, file->data + at, bytes);
	if (bytes)
		note_arrival(pager, file, at, bytes);
}

/* False: it cannot be read. */
static bool give_kept(DtcPager *pager, struct dtc_pager_file *file, guint64 at, guint64 bytes)
{
	g_autofree char *data = g_malloc(bytes);

	if (pread(pager->kept, data, bytes, (off_t)(file->kept_at + at)) != (ssize_t)bytes)
		return false;
	give_pages(pager, file, at, data, bytes);
	return true;
}

/* How many pages in a row have been asked for, from that one on upward or downward. */
static guint64 count_asked(const struct dtc_pager_file *file, guint64 page, guint64 page_count, int step)
{
	guint64 count = 0;

	/* below 0 is far above page_count */
	for (; count < ROW_MAX && page < page_count && has_page(file->asked, page); page += (guint64)(gint64)step)
		count++;
	return count;
}

/* Whether it is wanted with that one: neither is here, and both are kept or neither. */
static bool is_like(const struct dtc_pager_file *file, guint64 page, guint64 other)
{
	return !has_page(file->asked, other) && has_page(file->kept, other) == has_page(file->kept, page);
}

/* Gets the page, and what a reader that comes from before it, or from behind, will want next. */
static void get(DtcPager *pager, struct dtc_pager_file *file, guint64 page)
{
	guint64 page_count = file->mapped / pager->page, begin = page, end = page + 1;
	guint64 below = count_asked(file, page - 1, page_count, -1);
	guint64 above = count_asked(file, page + 1, page_count, 1);

	while (end - page < below && end < page_count && is_like(file, page, end))
		end++;
	while (!below && page + 1 - begin < above && begin > 0 && is_like(file, page, begin - 1))
		begin--;
	guint64 at = begin * pager->page, bytes = (end - begin) * pager->page;
	if (has_page(file->kept, page) && give_kept(pager, file, at, bytes))
		return;
	mark(pager, file->asked, at, bytes, true);
	pager->fetch(pager->data, &file->name, at, MIN(bytes, file->bytes - at));
}

static void answer(DtcPager *pager, uintptr_t address)
{
	struct dtc_pager_file *file = find_file(pager, address);

	if (!file)
		return;
	guint64 page = (address - (uintptr_t)file->data) / pager->page;
	if (!has_page(file->asked, page))
		get(pager, file, page);
	/* else it is on its way, or came before this was read, and who waited goes on */
}

void dtc_pager_answer(DtcPager *pager)
{
	struct uffd_msg messages[EVENTS_MAX];
	ssize_t bytes = read(pager->events, messages, sizeof(messages));

	g_mutex_lock(&pager->lock);
	for (gsize i = 0; bytes > 0 && i < (gsize)bytes / sizeof(*messages); i++) {
		uintptr_t address = (uintptr_t)messages[i].arg.pagefault.address;
		if (messages[i].event == UFFD_EVENT_PAGEFAULT)
			answer(pager, address);
	}
	g_mutex_unlock(&pager->lock);
}

/* ---- files ---- */

static bool begin_faults(const struct dtc_pager_file *file)
{
	struct uffdio_register what = { .range = { (uintptr_t)file->data, file->mapped },
					.mode = UFFDIO_REGISTER_MODE_MISSING };

	return ioctl(file->pager->events, UFFDIO_REGISTER, &what) == 0;
}

static void wait_for_all(DtcPager *pager, struct dtc_pager_file *file)
{
	pager->fetch(pager->data, &file->name, 0, file->bytes);
	g_mutex_lock(&pager->lock);
	while (file->missing)
		g_cond_wait(&pager->changed, &pager->lock);
	g_mutex_unlock(&pager->lock);
}

struct dtc_pager_file *dtc_pager_add(DtcPager *pager, guint rank, guint image, guint64 bytes, GBytes *begin,
				     GError **error)
{
	struct dtc_pager_file *file = g_new0(struct dtc_pager_file, 1);
	gsize begin_bytes;
	const void *begin_data = g_bytes_get_data(begin, &begin_bytes);

	*file = (struct dtc_pager_file){ .pager = pager, .name = { rank, image, 0 }, .bytes = bytes, .missing = bytes };
	file->mapped = (bytes + pager->page - 1) / pager->page * pager->page;
	file->data =
		mmap(NULL, file->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	file->asked = g_new0(guint64, file->mapped / pager->page / 64 + 1);
	file->kept = g_new0(guint64, file->mapped / pager->page / 64 + 1);
	if (file->data == MAP_FAILED || (pager->events >= 0 && !begin_faults(file))) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_LIMIT,
			    "no memory can be had for what another rank has read: %s\nraise the limits (ulimit -v), or "
			    "ask for fewer nodes with --nodes",
			    g_strerror(errno));
		if (file->data != MAP_FAILED)
			munmap(file->data, file->mapped);
		g_free(file->asked);
		g_free(file->kept);
		g_free(file);
		return NULL;
	}
	(void)madvise(file->data, file->mapped, MADV_DONTFORK); /* a child that touched it would wait for ever */
	(void)madvise(file->data, file->mapped, MADV_NOHUGEPAGE);
	g_mutex_lock(&pager->lock);
	g_ptr_array_insert(pager->files, (gint)find_behind(pager, (uintptr_t)file->data), file);
	file->name.file = ++pager->next;
	file->kept_at = pager->kept_end;
	pager->kept_end += file->mapped;
	g_hash_table_insert(pager->by_number, GUINT_TO_POINTER(file->name.file), file);
	g_mutex_unlock(&pager->lock);
	if (pager->events < 0)
		wait_for_all(pager, file);
	else
		dtc_pager_put(pager, file->name.file, 0, begin_data, begin_bytes);
	return file;
}

const void *dtc_pager_get_data(const struct dtc_pager_file *file)
{
	return file->data;
}

static void put_pages(DtcPager *pager, struct dtc_pager_file *file, guint64 at, const void *data, gsize bytes)
{
	guint64 whole = bytes / pager->page * pager->page;

	if (at % pager->page != 0)
		return;
	if (at + bytes == file->bytes)
		whole = file->mapped - at;
	g_autofree char *copy = g_malloc0(whole + 1);
	memcpy(copy, data, MIN(whole, bytes));
	give_pages(pager, file, at, copy, whole);
}

void dtc_pager_put(DtcPager *pager, guint number, guint64 at, const void *data, gsize bytes)
{
	g_mutex_lock(&pager->lock);
	struct dtc_pager_file *file = g_hash_table_lookup(pager->by_number, GUINT_TO_POINTER(number));
	if (file && at <= file->bytes && bytes <= file->bytes - at) {
		if (pager->events >= 0) {
			put_pages(pager, file, at, data, bytes);
		} else {
			memcpy(file->data + at, data, bytes);
			file->missing -= MIN(file->missing, bytes);
			g_cond_broadcast(&pager->changed);
		}
	}
	g_mutex_unlock(&pager->lock);
}

void dtc_pager_release(void *data)
{
	struct dtc_pager_file *file = data;
	DtcPager *pager = file->pager;

	g_mutex_lock(&pager->lock);
	g_ptr_array_remove(pager->files, file);
	g_hash_table_remove(pager->by_number, GUINT_TO_POINTER(file->name.file));
	pager->held -= file->held;
	munmap(file->data, file->mapped);
	g_mutex_unlock(&pager->lock);
	g_free(file->asked);
	g_free(file->kept);
	g_free(file);
}
