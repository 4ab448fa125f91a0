/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* fallocate, pwrite */
#include "collect/image/space.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define SPARE(space, index) (&g_array_index((space)->spare, struct dtc_part, (index)))
#define SPARE_MAX 4096 /* parts: more are not looked through for each that is taken */
#define PIECES 8       /* into which what is taken falls at most, since each is a mapping of its own */

struct DtcSpace {
	gint references; /* atomic */
	int file;	 /* owned; -1: of a scratch space of which nothing was taken */
	guint64 end;
	bool is_frozen;
	GArray *spare; /* struct dtc_part; NULL: it is no scratch space */
	GMutex lock;   /* of a scratch space: its file, its end and what is spare */
};

DtcSpace *dtc_space_new(int file, guint64 begin)
{
	DtcSpace *space = g_new0(DtcSpace, 1);

	space->references = 1;
	g_mutex_init(&space->lock);
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

	space->spare = g_array_new(FALSE, FALSE, sizeof(struct dtc_part));
	return space;
}

bool dtc_space_is_scratch(const DtcSpace *space)
{
	return space->spare != NULL;
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
	g_clear_pointer(&space->spare, g_array_unref);
	g_mutex_clear(&space->lock);
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

/* The smallest spare part that is enough, or else the largest; spare->len: none is as long as that. */
static guint find_spare(const DtcSpace *space, guint64 least, guint64 enough)
{
	guint found = space->spare->len;
	guint64 best = 0;

	for (guint i = 0; i < space->spare->len; i++) {
		guint64 bytes = SPARE(space, i)->bytes;
		if (bytes < least || (best >= enough ? bytes < enough || bytes >= best : bytes <= best))
			continue;
		best = bytes;
		found = i;
	}
	return found;
}

static bool take_of_scratch(DtcSpace *space, guint64 bytes, struct dtc_part *ret_part, bool *ret_has_room)
{
	g_mutex_lock(&space->lock);
	bool is_taken = true;
	guint at = find_spare(space, bytes / PIECES, bytes);
	*ret_has_room = at < space->spare->len;
	if (*ret_has_room) {
		struct dtc_part *spare = SPARE(space, at);
		*ret_part = (struct dtc_part){ spare->offset, MIN(spare->bytes, bytes) };
		*spare = (struct dtc_part){ spare->offset + ret_part->bytes, spare->bytes - ret_part->bytes };
		if (!spare->bytes)
			g_array_remove_index_fast(space->spare, at);
	} else {
		if (space->file < 0)
			space->file = open_nameless();
		is_taken = space->file >= 0 && bytes <= G_MAXINT64 - space->end;
		*ret_part = (struct dtc_part){ space->end, bytes };
		space->end += is_taken ? bytes : 0;
	}
	g_mutex_unlock(&space->lock);
	return is_taken;
}

bool dtc_space_take(DtcSpace *space, guint64 bytes, struct dtc_part *ret_part, bool *ret_has_room)
{
	if (dtc_space_is_scratch(space))
		return take_of_scratch(space, bytes, ret_part, ret_has_room);
	*ret_part = (struct dtc_part){ space->end, bytes };
	*ret_has_room = false;
	if (space->is_frozen || bytes > G_MAXINT64 - space->end ||
	    ftruncate(space->file, (off_t)(space->end + bytes)) != 0)
		return false;
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

/* False: there are too many already. */
static bool keep_spare(DtcSpace *space, struct dtc_part part)
{
	g_mutex_lock(&space->lock);
	for (guint i = space->spare->len; i-- > 0;) {
		const struct dtc_part *other = SPARE(space, i);
		if (other->offset + other->bytes != part.offset && part.offset + part.bytes != other->offset)
			continue;
		part = (struct dtc_part){ MIN(part.offset, other->offset), part.bytes + other->bytes };
		g_array_remove_index_fast(space->spare, i);
	}
	bool has_place = space->spare->len < SPARE_MAX;
	if (has_place)
		g_array_append_val(space->spare, part);
	g_mutex_unlock(&space->lock);
	return has_place;
}

void dtc_space_give_back(DtcSpace *space, guint64 offset, guint64 bytes)
{
	bool is_scratch = dtc_space_is_scratch(space);

	if (space->is_frozen || !bytes || (is_scratch && keep_spare(space, (struct dtc_part){ offset, bytes })))
		return;
	(void)fallocate(space->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
	if (!is_scratch && offset + bytes == space->end)
		space->end = offset;
}

void dtc_space_freeze(DtcSpace *space)
{
	space->is_frozen = true;
}
