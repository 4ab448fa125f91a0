/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file in which tables of records grow (collect/packets/table.h) and that can become an image as it is (image.h), so
 * that nothing is written twice. Tables take parts of it, one after the other as they need them; what an image has
 * beside tables is written behind, and its header where the space begins.
 *
 * A part has room on the disk when zeros have been written to it (dtc_space_fill): a full disk shows there, and not as
 * SIGBUS at some later write to a mapping. It is filled as it is needed, by 256 KiB or so. To reserve it by fallocate
 * when it is taken costs three times as much CPU on ext4 (1.1 s for a GiB, 0.4 s so; Linux 6.18): each page of a
 * reserved extent that is touched is read, zeroed and given its block by itself, while a long write takes large folios.
 * Used by one thread at a time, but for its references and a scratch space.
 *
 * A scratch space becomes no image: it is one file for all that is not kept, of all threads. What is given back to it
 * is spare: it has room already, holds whatever was in it, and is taken again before the file grows. So the chains that
 * a history is laid in a row from become the lists by which its packets are matched, and their pages are made, and
 * written to the disk, once.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Parts begin at multiples of this, and are as long: of the largest page there is, so that they can be mapped. */
#define DTC_PART_ALIGNMENT ((gsize)64 * 1024)
/* What is left free for the header of an image and its tables. */
#define DTC_SPACE_HEAD ((gsize)64 * 1024)

struct dtc_part {
	uint64_t offset;
	uint64_t bytes;
};
_Static_assert(sizeof(struct dtc_part) == 16, "as docs/formats.md has it");

typedef struct DtcSpace DtcSpace;

/* Takes an empty file. Parts begin there. */
DtcSpace *dtc_space_new(int file, guint64 begin);
/* A file without a name in $TMPDIR, once something is taken of it. */
DtcSpace *dtc_space_new_scratch(void);
bool dtc_space_is_scratch(const DtcSpace *space);
DtcSpace *dtc_space_ref(DtcSpace *space);
void dtc_space_unref(DtcSpace *space);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcSpace, dtc_space_unref)

/* Borrowed. -1: there is none yet. */
int dtc_space_get_file(const DtcSpace *space);
/* Behind all parts. */
guint64 dtc_space_get_end(const DtcSpace *space);
/*
 * A part of so many bytes, a multiple of DTC_PART_ALIGNMENT; of a scratch space of as many or fewer, which may be
 * spare: they have room. False: a file may not be so long, there is none, or the space is frozen.
 */
bool dtc_space_take(DtcSpace *space, guint64 bytes, struct dtc_part *ret_part, bool *ret_has_room);
/* Makes room for that much of a part, which is zeros then. False: there is none; the part is as good as not taken. */
bool dtc_space_fill(DtcSpace *space, guint64 offset, guint64 bytes);
/*
 * Gives the end of a part back, and what was in it is gone: to the disk, if the file system can do that; of a scratch
 * space, where it must have room, to whoever takes next.
 */
void dtc_space_give_back(DtcSpace *space, guint64 offset, guint64 bytes);
/* It is an image now: nothing is taken nor given back. */
void dtc_space_freeze(DtcSpace *space);
