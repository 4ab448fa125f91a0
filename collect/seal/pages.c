/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/pages.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMIT_MASK 0x07ffffffu
#define LOST_FLAG 0x80000000u
#define LOST_COUNT_FLAG 0x40000000u
#define CHUNK_BYTES ((size_t)1 << 20)
#define TIME_STAMP_BITS 59 /* of an absolute time; the rest is the time's before */
/* Times of nested events may be that much out of order on old kernels; they are moved, more is damage. */
#define REVERSAL_NS 1000000

enum { TYPE_PADDING = 29, TYPE_TIME_EXTEND, TYPE_TIME_STAMP };

struct DtcPages {
	char *path;
	int fd;
	struct dtc_page_layout layout;
	uint32_t page_bytes;
	int64_t begin_ns;
	int64_t end_ns;
	int64_t from_ns; /* what is before is left out; INT64_MIN: nothing is */
	bool has_told;
	uint8_t *chunk; /* whole pages, and one more, which is looked ahead at */
	size_t chunk_pages;
	size_t filled_pages;
	size_t next_page; /* in the chunk */
	bool is_file_end;
	int read_errno;
	/* of the page that is read */
	const uint8_t *at;
	const uint8_t *end;
	int64_t time_ns;  /* of the event before, as the page counts */
	int64_t limit_ns; /* the next page's time */
	int64_t last_ns;  /* as told */
	uint64_t lost;	  /* before the next event */
	struct dtc_pages_summary summary;
};

DtcPages *dtc_pages_open(const char *path, const struct dtc_page_layout *layout, uint32_t page_bytes, int64_t begin_ns,
			 int64_t end_ns, GError **error)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
		g_set_error(error, DTC_COLLECT_ERROR, fd < 0 && errno == ENOENT ? DTC_ERROR_NOT_FOUND : DTC_ERROR_IO,
			    "cannot read '%s': %s", path, fd < 0 ? g_strerror(errno) : "it is not a file");
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	DtcPages *pages = g_new0(DtcPages, 1);
	pages->path = g_strdup(path);
	pages->fd = fd;
	pages->layout = *layout;
	pages->page_bytes = page_bytes;
	pages->begin_ns = begin_ns;
	pages->end_ns = end_ns;
	pages->last_ns = begin_ns;
	pages->from_ns = INT64_MIN;
	pages->chunk_pages = MAX(CHUNK_BYTES / page_bytes, 2);
	pages->chunk = g_malloc(pages->chunk_pages * page_bytes);
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return pages;
}

void dtc_pages_skip_until(DtcPages *pages, int64_t from_ns)
{
	pages->from_ns = from_ns;
}

void dtc_pages_free(DtcPages *pages)
{
	if (!pages)
		return;
	close(pages->fd);
	g_free(pages->chunk);
	g_free(pages->path);
	g_free(pages);
}

static uint32_t get_u32(const uint8_t *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof value);
	return value;
}

static uint64_t get_u64(const uint8_t *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof value);
	return value;
}

/* As many bytes as there are, up to count. */
static size_t read_fully(DtcPages *pages, uint8_t *to, size_t count)
{
	size_t done = 0;
	while (done < count) {
		ssize_t got = read(pages->fd, to + done, count - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			pages->read_errno = errno;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

/* Makes sure that the next page and, where the file has one, the one behind it are in the chunk. */
static bool fill_chunk(DtcPages *pages)
{
	size_t left = pages->filled_pages - pages->next_page, bytes = pages->page_bytes;
	if (left >= 2 || pages->is_file_end)
		return left > 0;
	memmove(pages->chunk, pages->chunk + pages->next_page * bytes, left * bytes);
	size_t wanted = (pages->chunk_pages - left) * bytes;
	size_t got = read_fully(pages, pages->chunk + left * bytes, wanted);
	pages->is_file_end = got < wanted;
	pages->summary.is_cut |= got % bytes != 0;
	pages->filled_pages = left + got / bytes;
	pages->next_page = 0;
	return pages->filled_pages > 0;
}

static bool is_in_span(const DtcPages *pages, int64_t time_ns)
{
	return time_ns >= pages->begin_ns && time_ns <= pages->end_ns;
}

static void note_lost(DtcPages *pages, uint64_t count)
{
	if (count == DTC_LOST_UNKNOWN)
		pages->summary.uncounted++;
	else
		pages->summary.lost += count;
	/* a gap that is counted in part is not counted */
	bool is_unknown = count == DTC_LOST_UNKNOWN || pages->lost == DTC_LOST_UNKNOWN;
	pages->lost = is_unknown ? DTC_LOST_UNKNOWN : pages->lost + count;
}

static void note_damage(DtcPages *pages)
{
	pages->summary.damaged_pages++;
	note_lost(pages, DTC_LOST_UNKNOWN);
	pages->at = pages->end;
}

/* The time of the page behind the next one, if it can be; else the end of all. */
static int64_t peek_time(const DtcPages *pages)
{
	if (pages->next_page + 1 >= pages->filled_pages)
		return pages->end_ns;
	int64_t time_ns = (int64_t)get_u64(pages->chunk + (pages->next_page + 1) * pages->page_bytes);
	return is_in_span(pages, time_ns) && time_ns >= pages->last_ns ? time_ns : pages->end_ns;
}

static void note_lost_before(DtcPages *pages, const uint8_t *page, uint32_t commit)
{
	uint32_t used = commit & COMMIT_MASK, room = pages->page_bytes - pages->layout.data_offset;
	uint64_t count = DTC_LOST_UNKNOWN;
	if (!(commit & LOST_FLAG))
		return;
	if (commit & LOST_COUNT_FLAG && used + 8 <= room)
		count = get_u64(page + pages->layout.data_offset + used);
	/* nobody loses more than a petabyte of events */
	note_lost(pages, count == 0 || count >> 50 ? DTC_LOST_UNKNOWN : count);
}

static bool begin_page(DtcPages *pages)
{
	if (!fill_chunk(pages))
		return false;
	const uint8_t *page = pages->chunk + pages->next_page * pages->page_bytes;
	uint32_t commit = get_u32(page + pages->layout.commit_offset), used = commit & COMMIT_MASK;
	int64_t time_ns = (int64_t)get_u64(page);

	pages->limit_ns = peek_time(pages);
	pages->next_page++;
	pages->summary.pages++;
	pages->at = page + pages->layout.data_offset;
	pages->end = pages->at;
	if (used == 0 && !(commit & LOST_FLAG))
		return true;
	if (used > pages->page_bytes - pages->layout.data_offset || !is_in_span(pages, time_ns) ||
	    time_ns + REVERSAL_NS < pages->last_ns || time_ns > pages->limit_ns) {
		note_damage(pages);
		return true;
	}
	note_lost_before(pages, page, commit);
	pages->end = pages->at + used;
	pages->time_ns = time_ns;
	return true;
}

/* Where an absolute time says only its lower bits. */
static int64_t extend_stamp(const DtcPages *pages, uint64_t stamp)
{
	uint64_t mask = ((uint64_t)1 << TIME_STAMP_BITS) - 1;
	return (int64_t)(((uint64_t)pages->time_ns & ~mask) | (stamp & mask));
}

/* A record that is no event: false if it breaks the page. */
static bool skip_record(DtcPages *pages, uint32_t type, uint32_t delta, size_t left)
{
	if (type == TYPE_PADDING && delta == 0) {
		pages->at = pages->end;
		return true;
	}
	if (left < 8)
		return false;
	uint32_t word = get_u32(pages->at + 4);
	if (type == TYPE_PADDING) {
		/* a discarded event: its time counts, but for the 1 that only tells it from the end of a page */
		pages->time_ns += delta == 1 ? 0 : delta;
		if (word < 4 || word > left - 4)
			return false;
		pages->at += 4 + (size_t)word;
		return true;
	}
	uint64_t time = (uint64_t)word << 27 | delta;
	pages->time_ns = type == TYPE_TIME_EXTEND ? pages->time_ns + (int64_t)time : extend_stamp(pages, time);
	pages->at += 8;
	return true;
}

/* An event's data; false if it does not fit. */
static bool take_data(DtcPages *pages, uint32_t type, size_t left, struct dtc_raw_event *event)
{
	size_t head = 4, bytes = (size_t)type * 4;
	if (type == 0) {
		if (left < 8)
			return false;
		uint32_t length = get_u32(pages->at + 4);
		if (length < 4)
			return false;
		head = 8;
		bytes = (((size_t)length + 3) & ~(size_t)3) - 4;
	}
	if (bytes > left - head)
		return false;
	event->data = pages->at + head;
	event->bytes = (uint32_t)bytes;
	pages->at += head + bytes;
	return true;
}

static void tell(DtcPages *pages, struct dtc_raw_event *event)
{
	pages->last_ns = MAX(pages->last_ns, pages->time_ns);
	event->time_ns = pages->last_ns;
	event->lost = pages->lost;
	pages->lost = 0;
}

static void forget_losses(DtcPages *pages, struct dtc_raw_event *event)
{
	event->lost = 0;
	pages->summary.lost = 0;
	pages->summary.uncounted = 0;
}

/* Whether it is to be left out. Where the buffer begins within what is wanted, nothing is said to be lost before. */
static bool is_too_early(DtcPages *pages, struct dtc_raw_event *event)
{
	if (pages->from_ns == INT64_MIN)
		return false;
	bool is_early = event->time_ns < pages->from_ns;
	if (is_early || !pages->has_told)
		forget_losses(pages, event);
	pages->has_told = true;
	return is_early;
}

bool dtc_pages_next(DtcPages *pages, struct dtc_raw_event *ret_event)
{
	for (;;) {
		if (pages->at >= pages->end) {
			if (!begin_page(pages))
				return false;
			continue;
		}
		size_t left = (size_t)(pages->end - pages->at);
		uint32_t word = left >= 4 ? get_u32(pages->at) : 0, type = word & 31, delta = word >> 5;
		if (left < 4) {
			note_damage(pages);
		} else if (type >= TYPE_PADDING) {
			if (!skip_record(pages, type, delta, left) || pages->time_ns > pages->end_ns)
				note_damage(pages);
		} else {
			pages->time_ns += delta;
			bool is_in_time = pages->time_ns + REVERSAL_NS >= pages->last_ns &&
					  pages->time_ns <= pages->limit_ns + REVERSAL_NS &&
					  pages->time_ns <= pages->end_ns;
			if (is_in_time && take_data(pages, type, left, ret_event)) {
				tell(pages, ret_event);
				if (is_too_early(pages, ret_event))
					continue;
				return true;
			}
			note_damage(pages);
		}
	}
}

uint64_t dtc_pages_get_lost_at_end(const DtcPages *pages)
{
	return pages->lost;
}

bool dtc_pages_finish(DtcPages *pages, struct dtc_pages_summary *ret_summary, GError **error)
{
	if (pages->read_errno) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO, "cannot read '%s': %s", pages->path,
			    g_strerror(pages->read_errno));
		return false;
	}
	*ret_summary = pages->summary;
	return true;
}
