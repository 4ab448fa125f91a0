/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An image: what was read of one recording, as one file that is self-contained and mapped instead of read. It consists
 * of sections, each a flat array of records of one size under a name; records hold no pointers, and strings are found
 * by their offsets. What the sections mean is known to those who give and take them (collect/packets, analyze/history,
 * analyze/engine); this is the container alone, and indifferent to them.
 *
 * An image is what its maker meant or it is refused: order of bytes, version, length, the places of all sections, and a
 * hash of the bytes of each are looked at before the first record is given. Hashes find what a disk, a crash or a
 * careless hand did. They are no seal: whoever can write the file can write them, so that of images from elsewhere the
 * takers look at every index, too.
 */
#pragma once

#include "collect/image/space.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Of the container and of all that is in it: a record that means something else is another version. */
#define DTC_IMAGE_VERSION 16
#define DTC_IMAGE_SUFFIX ".dtci"
#define DTC_IMAGE_NAME_BYTES 24 /* of a section's name, with its NUL */

/* Of what an image was made; the SHA-256 of a text (fingerprint.h). */
struct dtc_image_key {
	uint8_t bytes[32];
};

/* A fast hash of 64 bits, for what nobody forges. */
uint64_t dtc_image_hash(const void *data, gsize bytes);

/* ---- writing ---- */

typedef struct DtcImageWriter DtcImageWriter;

DtcImageWriter *dtc_image_writer_new(void);
void dtc_image_writer_free(DtcImageWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcImageWriter, dtc_image_writer_free)

/* One more section; the records are borrowed until the image is written, the name for ever. */
void dtc_image_add(DtcImageWriter *writer, const char *name, gsize record_bytes, const void *records, gsize count);
/*
 * The same; the records are in those parts of the space, one behind the other, which are borrowed, too. They are not
 * written if that space becomes the image.
 */
void dtc_image_add_placed(DtcImageWriter *writer, const char *name, gsize record_bytes, const void *records,
			  gsize count, const DtcSpace *space, const struct dtc_part *parts);
/* Like dtc_image_add; the records are copied. */
void dtc_image_add_copy(DtcImageWriter *writer, const char *name, gsize record_bytes, const void *records, gsize count);
/* Strings of an array, one after the other, each with its NUL; copied. */
void dtc_image_add_strings(DtcImageWriter *writer, const char *name, const char *const *strings, gsize count);
/* How long the file will be; one that a space becomes has gaps besides, which take no room. */
guint64 dtc_image_writer_measure(const DtcImageWriter *writer);
/* Writes it to an empty file from its begin. False with an error (LIMIT: the disk is full) leaves part of it there. */
bool dtc_image_write(const DtcImageWriter *writer, int file, const struct dtc_image_key *key, GError **error);

/* Makes an image of the space's file, which is frozen; begins at DTC_SPACE_HEAD. Errors as above. */
bool dtc_image_complete(const DtcImageWriter *writer, DtcSpace *space, const struct dtc_image_key *key, GError **error);

/* ---- reading ---- */

typedef struct DtcImage DtcImage;

/*
 * Maps an open file, which may be closed then; name is how errors call it. With a key, that it was made of something
 * else is an error, too. DAMAGED for all that is not as it was written, or was by another version. Caller owns.
 */
DtcImage *dtc_image_map(int file, const char *name, const struct dtc_image_key *key, GError **error);
DtcImage *dtc_image_open(const char *path, GError **error);
/* What was taken out of it points into it, and holds it. */
DtcImage *dtc_image_ref(DtcImage *image);
void dtc_image_unref(DtcImage *image);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcImage, dtc_image_unref)

/*
 * The records of a section; never NULL without an error, which says that there is no such section, or one of records of
 * another size. Borrowed of the image.
 */
const void *dtc_image_get(const DtcImage *image, const char *name, gsize record_bytes, gsize *ret_count,
			  GError **error);
/* The only record of a section. */
const void *dtc_image_get_one(const DtcImage *image, const char *name, gsize record_bytes, GError **error);
/* The strings of a section, NULL-terminated; the array is the caller's (g_free), the strings are borrowed. */
const char **dtc_image_get_strings(const DtcImage *image, const char *name, gsize *ret_count, GError **error);
/* As dtc_image_writer_measure had it. */
guint64 dtc_image_get_bytes(const DtcImage *image);
/* False with DAMAGED: what is said of the image, for those who look into its records. */
bool dtc_image_refuse(const DtcImage *image, GError **error, const char *what);

/* ---- elsewhere ---- */

/*
 * A file that is the same image, whatever it is now, but for the sections' hashes: so it is shown to another process,
 * which takes its begin, with the small sections, and of the rest what it looks at.
 */
gsize dtc_image_get_begin_bytes(const DtcImage *image);
/* The file's length. */
guint64 dtc_image_get_shown_bytes(const DtcImage *image);
/* So many bytes of it from there, which lie in it. */
void dtc_image_copy_file(const DtcImage *image, guint64 offset, gsize bytes, void *to);
/*
 * An image whose bytes come when they are touched: of its file's length, at a multiple of 64, of which the begin is
 * there. Whoever has the file has looked at the sections' hashes. With release(owner) the memory is given back, once:
 * also by an error. Caller owns.
 */
DtcImage *dtc_image_take(const void *data, gsize bytes, const char *name, GDestroyNotify release, void *owner,
			 GError **error);
/* It is such a one: what is not looked at does not come, and who has it has judged its records. */
bool dtc_image_is_far(const DtcImage *image);
/* A small one in memory, copied. */
DtcImage *dtc_image_from_bytes(const void *data, gsize bytes, const char *name, GError **error);
GBytes *dtc_image_to_bytes(const DtcImageWriter *writer, GError **error);
