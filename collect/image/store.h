/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cache: a folder of images, each named by its key. Whatever happens to it, answers stay what they are: an image is
 * looked up by the identity of what it was made of, written under another name and renamed when it is whole, checked
 * when it is mapped, and made again if anything about it is wrong. Runs share the folder without asking each other: two
 * that make the same image make the same bytes, one that is removed stays there for whoever has it mapped, and what a
 * killed run left behind is removed by the next one that writes. The folder is looked at when there is something to
 * keep, then for each quarter more of what it held, and at the end: two runs at a time may be too much until then.
 *
 * A store may be used from several threads. It is only for its user: a folder or file of somebody else, or one that
 * others may write, is not looked at.
 */
#pragma once

#include "collect/image/image.h"

#include <glib.h>
#include <stdbool.h>

#define DTC_STORE_DEFAULT_BYTES ((guint64)4 << 30)

typedef struct DtcStore DtcStore;

/*
 * max_bytes: of all images together; 0: the default. The folder is made when there is something to write. Never fails:
 * a folder that cannot be used finds nothing and keeps nothing. Caller owns.
 */
DtcStore *dtc_store_new(const char *directory, guint64 max_bytes);
void dtc_store_free(DtcStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcStore, dtc_store_free)
const char *dtc_store_get_directory(const DtcStore *store);
guint64 dtc_store_get_max_bytes(const DtcStore *store);

/* The image of that key, which is used now; NULL: there is none, or none that can be believed. Caller owns. */
DtcImage *dtc_store_find(DtcStore *store, const struct dtc_image_key *key);
/*
 * A space in the folder, for what may be kept: a file without a name, which goes with the last who holds it unless it
 * is. NULL: there can be none, since the file system has no such files or cannot reserve space. Caller owns.
 */
DtcSpace *dtc_store_open_space(DtcStore *store);
/*
 * Keeps an image; those that were used longest ago go if there are too many. False with an error that says why it could
 * not be kept, which is nobody's problem: the next run makes it again. With a space of the store's, which becomes the
 * image, what is in it is not written once more; NULL: there is none.
 */
bool dtc_store_put(DtcStore *store, const struct dtc_image_key *key, const DtcImageWriter *writer, DtcSpace *space,
		   GError **error);

struct dtc_store_entry {
	char *file; /* owned */
	guint64 bytes;
	gint64 used_us; /* wall clock */
};

/* struct dtc_store_entry, that used last first. Free with g_array_unref. */
GArray *dtc_store_list(const DtcStore *store);
/* An entry's image as dtc_store_find has it; NULL: none that can be believed. Caller owns. */
DtcImage *dtc_store_open_entry(const DtcStore *store, const struct dtc_store_entry *entry);
/* Removes all that is in it; how many images those were, and how large. False if one cannot be removed. */
bool dtc_store_clear(DtcStore *store, guint *ret_count, guint64 *ret_bytes, GError **error);
