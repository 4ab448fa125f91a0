/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A growing array of fixed-size records that can be far larger than memory: small ones live on the heap, larger ones in
 * an unlinked temporary file (in $TMPDIR) that is mapped, so that their pages can be written out and anonymous memory
 * stays small whatever the trace's length. Records are reached by index; a pointer is valid until the next append.
 * When no temporary file can be had, the records stay in memory. A table may also show records that are somebody
 * else's, of a mapped image: it is never added to.
 */
#pragma once

#include "collect/image/image.h"
#include "collect/image/space.h"

#include <glib.h>
#include <string.h>

typedef struct DtcTable {
	char *data; /* borrowed: len records */
	guint len;
	guint capacity;	 /* records that fit into what is touched; private from here on */
	gsize size;	 /* of a record */
	gsize heap;	 /* bytes up to which it stays there */
	gsize mapped;	 /* bytes; 0: on the heap, or borrowed */
	gsize reserved;	 /* bytes of addresses, of which the first are mapped */
	gsize filled;	 /* bytes of these that have room in the space */
	DtcSpace *space; /* where it grows; NULL: that is not known yet, or it has settled */
	GArray *parts;	 /* struct dtc_part of the space, all of it; NULL: it is elsewhere */
	gboolean is_borrowed;
} DtcTable;

DtcTable *dtc_table_new(gsize record_size);
/*
 * One that stays on the heap up to so many bytes, instead of 64 KiB: where one is made for each of thousands of
 * answers, most of them not much larger than that, files would cost more than they save.
 */
DtcTable *dtc_table_new_on_heap(gsize record_size, gsize heap_bytes);
/* The same, and what outgrows the heap grows in that space (dtc_table_set_space). */
DtcTable *dtc_table_new_in(gsize record_size, gsize heap_bytes, DtcSpace *space);
/* As much on the heap as another one, and then in its space. */
DtcTable *dtc_table_new_beside(const DtcTable *other, gsize record_size);
/* Shows records that stay where they are, and must outlive it. */
DtcTable *dtc_table_new_borrowed(gsize record_size, const void *records, guint count);
void dtc_table_free(DtcTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcTable, dtc_table_free)

/*
 * What outgrows the heap grows in that space, and not in a file of its own: a node has a dozen tables, and 1,800 files
 * of 200 nodes were a twentieth of the CPU time of all that was asked of them. NULL: in its own. While it has no
 * records.
 */
void dtc_table_set_space(DtcTable *table, DtcSpace *space);
/* A section of an image, which borrows the records; those in a space need not be written if that becomes the image. */
void dtc_table_save(const DtcTable *table, DtcImageWriter *writer, const char *name);

/* Makes room for count records in all. Aborts like g_malloc when there is neither disk nor memory. */
void dtc_table_reserve(DtcTable *table, guint count);
/* New records are zeroed. */
void dtc_table_set_length(DtcTable *table, guint length);
/*
 * No more is to come: what it has too much is given back, and unless it is to be kept, the file's descriptor, too.
 * Pointers are valid no longer. One that grows all the same moves to another file.
 */
void dtc_table_settle(DtcTable *table);

/* So many more records, which the caller sets: they are not zeroed. */
static inline void dtc_table_extend(DtcTable *table, guint count)
{
	if (G_UNLIKELY(count > table->capacity - table->len))
		dtc_table_reserve(table, table->len + count);
	table->len += count;
}

/*
 * One more record, of the table's type: how many bytes that has is known where this is compiled, and a call of memcpy
 * for a few of them takes longer than the rest. A macro, as g_array_append_val.
 */
#define dtc_table_append(table, record) dtc_table_append_bytes(table, record, sizeof(*(record)))

static inline void dtc_table_append_bytes(DtcTable *table, const void *record, gsize size)
{
	g_assert(size == table->size);
	if (G_UNLIKELY(table->len == table->capacity))
		dtc_table_reserve(table, table->len + 1);
	memcpy(table->data + (gsize)table->len * size, record, size);
	table->len++;
}

/* The address of a record. */
#define DTC_AT(table, type, index) (&((type *)(void *)(table)->data)[index])
