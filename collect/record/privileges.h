/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What this program may do, and giving it up. Rights are a thread's: each gives up what it needs no more as soon as it
 * has its files open, and what it starts has no more than it.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* A capability of linux/capability.h is effective in this thread. */
bool dtc_privileges_has(int capability);
/*
 * Of what it has, this thread keeps what opening the sockets of new network namespaces, walking /proc and giving the
 * files to their user take: CAP_SYS_ADMIN, CAP_NET_RAW, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHOWN, CAP_SETUID,
 * CAP_SETGID. Who begins another recording after this one makes its folder in a user's, and its threads hurry:
 * CAP_DAC_OVERRIDE, CAP_SYS_NICE. Nothing that is executed from now on gets more.
 */
void dtc_privileges_keep_watching(bool begins_again);
/* Keeps CAP_DAC_READ_SEARCH: the folder's way may lead through a home that is closed to others. */
void dtc_privileges_keep_sealing(void);
/*
 * This thread is let on a CPU before others: a buffer overflows while who empties it waits for one. Before rights are
 * dropped.
 */
void dtc_privileges_hurry(void);
/* Keeps none. */
void dtc_privileges_drop_all(void);
/* The whole process becomes the user; there is one thread. False: it stays who it was. */
bool dtc_privileges_become(uid_t uid, gid_t gid);
/* Who started this by sudo, from its environment; false if nobody did, or this is not root. */
bool dtc_privileges_get_sudo_user(uid_t *ret_uid, gid_t *ret_gid);
