/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a node is put together, and how it takes its place: everything is written in NODE/.sealing, made durable, and
 * renamed; then raw/ goes. What a crash leaves of .sealing the next sealing removes.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Makes NODE/.sealing/kernel, empty; the path of .sealing, which the caller frees. NULL: an error. */
char *dtc_places_begin(const char *node_folder, GError **error);
/* A new file in it, with all of its bytes durable. */
bool dtc_places_write(const char *part, const char *name, const void *data, gsize bytes, GError **error);
/* Everything to its place; a kernel/ of an earlier sealing that was interrupted is replaced. */
bool dtc_places_publish(const char *node_folder, const char *part, GError **error);
/* A folder with all that is in it, but what is mounted there; links are removed and not followed. */
void dtc_places_remove(const char *folder);
/* raw/, if nothing is in it but what a recorder puts there; else what it put there. */
void dtc_places_remove_raw(const char *node_folder);
