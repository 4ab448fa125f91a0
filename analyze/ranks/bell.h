/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Wakes who carries for another rank on the same machine, who would have to look for letters again and again: MPI can
 * wait for nothing but itself. A bell is a socket that has no name in a file system, is known by a number, and carries
 * nothing.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* What others know a bell by. Plain bytes, to be sent. */
struct dtc_bell_name {
	char machine[96]; /* and its network name space: where it can be heard; empty: nowhere */
	char socket[16];
	guint64 socket_bytes;
};

typedef struct DtcBell DtcBell;
/* One that cannot be had is heard by nobody. Caller owns. */
DtcBell *dtc_bell_new(struct dtc_bell_name *ret_name);
void dtc_bell_free(DtcBell *bell);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcBell, dtc_bell_free)
/* Readable when it was rung; -1: it never is. */
int dtc_bell_get_file(const DtcBell *bell);
/* It is to be rung again. */
void dtc_bell_hush(DtcBell *bell);
/* Whether two of them are on one machine; where that cannot be told they are not. */
bool dtc_bell_share_machine(const struct dtc_bell_name *a, const struct dtc_bell_name *b);
/* Whether the other is heard where this one is. */
bool dtc_bell_is_near(const DtcBell *bell, const struct dtc_bell_name *other);
/* Does not wait; one that was rung already rings. */
void dtc_bell_ring(const DtcBell *bell, const struct dtc_bell_name *other);
