/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* fallocate, pwrite */
#include "collect/image/space.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct DtcSpace {
	gint references; /* atomic */
	int file;	 /* owned; -1: of a scratch space of which nothing was taken */
	guint64 end;
	bool is_frozen;
	bool is_scratch;
};

DtcSpace *dtc_space_new(int file, guint64 begin)
{
	DtcSpace *space = g_new0(DtcSpace, 1);

	space->references = 1;
	space->file = file;
	space->end = begin;
	return space;
}

static int open_nameless(void)
{
	int file = open(g_get_tmp_dir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file >= 0)
		return file;
	g_autofree char *name = g_build_filename(g_get_tmp_dir(), "dtrace-chain-XXXXXX", NULL);
	file = g_mkstemp_full(name, O_RDWR | O_CLOEXEC, 0600);
	if (file >= 0)
		unlink(name);
	return file;
}

DtcSpace *dtc_space_new_scratch(void)
{
	DtcSpace *space = dtc_space_new(-1, 0);

	space->is_scratch = true;
	return space;
}

bool dtc_space_is_scratch(const DtcSpace *space)
{
	return space->is_scratch;
}

DtcSpace *dtc_space_ref(DtcSpace *space)
{
	g_atomic_int_inc(&space->references);
	return space;
}

void dtc_space_unref(DtcSpace *space)
{
	if (!space || !g_atomic_int_dec_and_test(&space->references))
		return;
	if (space->file >= 0)
		close(space->file);
	g_free(space);
}

int dtc_space_get_file(const DtcSpace *space)
{
	return space->file;
}

guint64 dtc_space_get_end(const DtcSpace *space)
{
	return space->end;
}

bool dtc_space_take(DtcSpace *space, guint64 bytes, guint64 *ret_offset)
{
	if (space->is_scratch && space->file < 0)
		space->file = open_nameless();
	if (space->file < 0 || space->is_frozen || bytes > G_MAXINT64 - space->end ||
	    ftruncate(space->file, (off_t)(space->end + bytes)) != 0)
		return false;
	*ret_offset = space->end;
	space->end += bytes;
	return true;
}

bool dtc_space_fill(DtcSpace *space, guint64 offset, guint64 bytes)
{
	static const char zeros[256 * 1024];

	while (bytes && !space->is_frozen) {
		gssize done = pwrite(space->file, zeros, MIN(bytes, sizeof(zeros)), (off_t)offset);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		offset += (guint64)done;
		bytes -= (guint64)done;
	}
	return !bytes;
}

void dtc_space_give_back(DtcSpace *space, guint64 offset, guint64 bytes)
{
	if (space->is_frozen || !bytes)
		return;
	(void)fallocate(space->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
	if (offset + bytes == space->end)
		space->end = offset;
}

void dtc_space_freeze(DtcSpace *space)
{
	space->is_frozen = true;
}
