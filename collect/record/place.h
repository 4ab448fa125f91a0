/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The folder that a recording is written to, and the only place where the recorder writes. It is held open and all in
 * it is reached from there, so that nobody can put a link in the way: folders are 0700, files 0600, each is created
 * anew, links are never followed.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct DtcPlace DtcPlace;

enum dtc_place_part {
	DTC_PLACE_NODE, /* what stays */
	DTC_PLACE_RAW,	/* what sealing takes */
};

/* Creates the folder, or takes an empty one; what is no folder, a link, or not empty is refused. Caller owns. */
DtcPlace *dtc_place_create(const char *node_folder, GError **error);
void dtc_place_free(DtcPlace *place);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcPlace, dtc_place_free)
/* As it was given. */
const char *dtc_place_get_path(const DtcPlace *place);

/* A new file, for writing; the caller closes it. -1 on error. */
int dtc_place_create_file(const DtcPlace *place, enum dtc_place_part part, const char *name, GError **error);
/* The whole of a file, in the place of what was there. */
bool dtc_place_write(const DtcPlace *place, enum dtc_place_part part, const char *name, const char *text,
		     GError **error);
void dtc_place_remove_file(const DtcPlace *place, enum dtc_place_part part, const char *name);
/* Bytes that can still be written; G_MAXUINT64 if nobody knows. */
guint64 dtc_place_get_free_bytes(const DtcPlace *place);
/* Of the folder in which a folder would be: the same, before it is created. */
guint64 dtc_place_guess_free_bytes(const char *node_folder);
/* Takes the whole away, if nothing but empty folders and files of its own are in it. After a start that failed. */
void dtc_place_abandon(DtcPlace *place);
/* Gives the folder and all in it to a user. */
bool dtc_place_give_away(const DtcPlace *place, uid_t uid, gid_t gid, GError **error);
