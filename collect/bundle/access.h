/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files and folders of recordings are opened here, so that what the machine refuses (no more open files, no memory, a
 * disk that fails, no right to read) is not taken for damage. Most that open are asked a question to which they can
 * only say no: is this a packet, how many are in this index? So the first refusal is kept for the thread, as errno is,
 * and whoever began the work asks at its end. That a file is not there, or no file, is no refusal.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* NULL if that cannot be. */
GMappedFile *dtc_access_map(const char *path);
/* The first bytes of a file, as many as there are, and its size; how many, -1 if that cannot be. */
int64_t dtc_access_read_head(const char *path, void *bytes, gsize count, guint64 *ret_size);
/* NULL if that cannot be. */
GDir *dtc_access_list(const char *path);
/* For libraries that open files and tell only in words: notes a refusal if the text has the words of one (strerror). */
void dtc_access_note_text(const char *text, const char *path);
/* Whether it has. */
bool dtc_access_is_refusal(const char *text);
/*
 * False if this thread was refused something since it was last asked: DTC_ERROR_LIMIT, DTC_ERROR_IO or, for lack of
 * rights, DTC_ERROR_UNREADABLE, with what can be done about it.
 */
bool dtc_access_check(GError **error);
/* The same for what may be left aside if it is somebody else's: lack of rights is no error, and forgotten. */
bool dtc_access_check_machine(GError **error);
