/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key by which all nodes of a cluster redact, so that ids and addresses agree. It goes over the connections, on no
 * command line, and is a file in the private folders that go at the end: of each node's agent, and of who records.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Of a file of the user's, or (NULL) drawn; in hexadecimal. Caller frees; NULL: an error. */
char *dtc_shared_key_make(const char *path, GError **error);
/* Into the folder, where there is none yet. False: it cannot be written, or is none. */
bool dtc_shared_key_write(const char *folder, const char *key);
/* "--redact-key=FILE", if there is one in the folder, else NULL. Caller frees. */
char *dtc_shared_key_get_option(const char *folder);
void dtc_shared_key_remove(const char *folder);
