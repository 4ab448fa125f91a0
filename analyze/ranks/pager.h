/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files of other processes as memory, of which a page comes when it is first touched: userfaultfd tells who touched
 * what, the owner of the file is asked for it, and whoever waits goes on when it has come. Where the kernel has no
 * userfaultfd for us (Linux before 5.11, a sandbox), a file comes whole.
 *
 * Faults are told for code of the process alone: a system call that is given such memory before it has been touched
 * fails with EFAULT.
 *
 * Reads that go on where others were come in larger and larger parts: as much again as there is in a row before the
 * page that is touched, or behind it for who reads backward, up to a limit.
 *
 * Beyond a quarter of the machine's memory, or as many MiB as DTRACE_CHAIN_MPI_MIB has, what came first is put into a
 * file without a name in $TMPDIR, and comes from there for who touches it again; from its owner, where that had no
 * room.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct DtcPager DtcPager;

/* What a file is to its owner. */
struct dtc_pager_name {
	guint rank;
	guint image;
	guint file; /* its number here */
};

/* Asks for bytes of a file: pages, but for its end. Called in the thread of dtc_pager_answer, or of dtc_pager_add. */
typedef void (*DtcPagerFetch)(void *data, const struct dtc_pager_name *name, guint64 at, gsize bytes);

DtcPager *dtc_pager_new(DtcPagerFetch fetch, void *data);
/* When all its files are released, and nobody answers any more. */
void dtc_pager_free(DtcPager *pager);
/* What is readable when dtc_pager_answer has something to do; -1: it never has. */
int dtc_pager_get_file(const DtcPager *pager);
void dtc_pager_answer(DtcPager *pager);

/* A file of so many bytes, of which these are there already. NULL with an error: there is no room for it. */
struct dtc_pager_file;
struct dtc_pager_file *dtc_pager_add(DtcPager *pager, guint rank, guint image, guint64 bytes, GBytes *begin,
				     GError **error);
const void *dtc_pager_get_data(const struct dtc_pager_file *file);
/* What has come of the file of that number; what is not a whole page, nor the end, is passed over. */
void dtc_pager_put(DtcPager *pager, guint file, guint64 at, const void *data, gsize bytes);
/* The memory is nobody's any more; a GDestroyNotify. */
void dtc_pager_release(void *file);
