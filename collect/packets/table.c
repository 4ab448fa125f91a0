/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* mremap */
#include "collect/packets/table.h"

#include <stdbool.h>
#include <sys/mman.h>

#define PART(table, index) (&g_array_index((table)->parts, struct dtc_part, (index)))
#define HEAP_BYTES ((gsize)64 * 1024) /* up to here a file would cost more than it saves */
/* What is filled and mapped at once: each page by itself costs the kernel two to three times as much. */
#define STEP_BYTES ((gsize)256 * 1024)

DtcTable *dtc_table_new(gsize record_size)
{
	DtcTable *table = g_new0(DtcTable, 1);
	table->size = record_size;
	table->heap = HEAP_BYTES;
	return table;
}

DtcTable *dtc_table_new_on_heap(gsize record_size, gsize heap_bytes)
{
	DtcTable *table = dtc_table_new(record_size);
	table->heap = heap_bytes;
	return table;
}

DtcTable *dtc_table_new_borrowed(gsize record_size, const void *records, guint count)
{
	DtcTable *table = dtc_table_new(record_size);
	table->data = (char *)records;
	table->len = table->capacity = count;
	table->is_borrowed = TRUE;
	return table;
}

void dtc_table_set_space(DtcTable *table, DtcSpace *space)
{
	g_assert(!table->space && !table->mapped && !table->is_borrowed);
	table->space = dtc_space_ref(space);
	table->is_shared = TRUE;
}

static void copy_records(char *to, const DtcTable *table)
{
	if (table->len) /* an empty table may have no address */
		memcpy(to, table->data, (gsize)table->len * table->size);
}

static void release(DtcTable *table)
{
	if (table->mapped)
		munmap(table->data, table->mapped);
	else if (!table->is_borrowed)
		g_free(table->data);
}

/* What it takes to have so many bytes in the space; false: there is no room. */
static bool take(DtcTable *table, gsize bytes)
{
	struct dtc_part part = { .bytes = bytes - (table->parts ? table->mapped : 0) };
	if (!table->space)
		table->space = dtc_space_new_scratch();
	if (!dtc_space_take(table->space, part.bytes, &part.offset))
		return false;
	if (!table->parts)
		table->parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_part));
	struct dtc_part *last = table->parts->len ? PART(table, table->parts->len - 1) : NULL;
	if (last && last->offset + last->bytes == part.offset)
		last->bytes += part.bytes;
	else
		g_array_append_val(table->parts, part);
	return true;
}

/* That many bytes of the parts have room; false: there is none. */
static bool fill(DtcTable *table, gsize end)
{
	gsize begin = 0; /* of the part */

	for (guint i = 0; i < table->parts->len && table->filled < end; i++) {
		const struct dtc_part *part = PART(table, i);
		gsize until = MIN(end, begin + part->bytes);
		if (table->filled < until) {
			if (!dtc_space_fill(table->space, part->offset + (table->filled - begin),
					    until - table->filled))
				return false;
			table->filled = until;
		}
		begin += part->bytes;
	}
	return true;
}

static gsize align(gsize bytes)
{
	return (bytes + DTC_PART_ALIGNMENT - 1) / DTC_PART_ALIGNMENT * DTC_PART_ALIGNMENT;
}

/* All parts in a row; MAP_FAILED if they cannot be mapped. */
static char *map_parts(const DtcTable *table, gsize bytes)
{
	char *data = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *at = data;
	for (guint i = 0; i < table->parts->len && at != MAP_FAILED; i++) {
		const struct dtc_part *part = PART(table, i);
		if (mmap(at, part->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			 dtc_space_get_file(table->space), (off_t)part->offset) == MAP_FAILED) {
			munmap(data, bytes);
			return MAP_FAILED;
		}
		at += part->bytes;
	}
	return data;
}

/* The records move to a longer mapping of the space; false if that cannot be had, and nothing has moved. */
static bool map_in_space(DtcTable *table, gsize bytes)
{
	bool was_there = table->parts != NULL;
	if (!take(table, bytes))
		return false;
	/* one part grows with its pages, which many would have to be given anew */
	bool can_grow = was_there && table->parts->len == 1;
	char *data = can_grow ? mremap(table->data, table->mapped, bytes, MREMAP_MAYMOVE) : map_parts(table, bytes);
	if (data == MAP_FAILED)
		return false;
	if (!was_there && !fill(table, align((gsize)table->len * table->size))) {
		munmap(data, bytes);
		return false;
	}
	if (!was_there)
		copy_records(data, table);
	if (!can_grow)
		release(table);
	table->data = data;
	return true;
}

static void leave_space(DtcTable *table)
{
	g_clear_pointer(&table->parts, g_array_unref);
	g_clear_pointer(&table->space, dtc_space_unref);
	table->is_shared = FALSE;
	table->filled = 0;
}

/* Nobody has those parts mapped any more. */
static void give_back(DtcSpace *space, const GArray *parts)
{
	for (guint i = parts ? parts->len : 0; i-- > 0;) {
		const struct dtc_part *part = &g_array_index(parts, struct dtc_part, i);
		dtc_space_give_back(space, part->offset, part->bytes);
	}
}

void dtc_table_free(DtcTable *table)
{
	if (!table)
		return;
	release(table);
	if (table->is_shared)
		give_back(table->space, table->parts);
	leave_space(table);
	g_free(table);
}

/* The disk is full: from a space to $TMPDIR, which may not be, and from there to memory. */
static void move(DtcTable *table, gsize bytes)
{
	g_autoptr(DtcSpace) left = table->space ? dtc_space_ref(table->space) : NULL;
	g_autoptr(GArray) parts = table->parts ? g_array_ref(table->parts) : NULL;
	bool was_shared = table->is_shared;

	leave_space(table);
	if (!was_shared || !map_in_space(table, bytes)) {
		char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (data == MAP_FAILED)
			g_error("out of memory: %" G_GSIZE_FORMAT " bytes for records", bytes);
		copy_records(data, table);
		release(table);
		leave_space(table);
		table->data = data;
	}
	table->mapped = bytes;
	if (was_shared)
		give_back(left, parts);
}

/* The records move to a mapping of that many bytes. */
static void map(DtcTable *table, gsize bytes)
{
	if (!map_in_space(table, bytes))
		move(table, bytes);
	table->mapped = bytes;
}

/* What is behind the records goes back to the space. */
static void trim(DtcTable *table)
{
	gsize used = MAX(align((gsize)table->len * table->size), DTC_PART_ALIGNMENT);
	if (used >= table->mapped)
		return;
	munmap(table->data + used, table->mapped - used);
	for (gsize excess = table->mapped - used; excess;) {
		struct dtc_part *last = PART(table, table->parts->len - 1);
		gsize bytes = MIN(excess, last->bytes);
		last->bytes -= bytes;
		dtc_space_give_back(table->space, last->offset + last->bytes, bytes);
		if (!last->bytes)
			g_array_set_size(table->parts, table->parts->len - 1);
		excess -= bytes;
	}
	table->mapped = used;
	table->filled = MIN(table->filled, used);
	table->capacity = (guint)MIN(table->capacity, used / table->size);
}

/* What is behind the records, which may have no room, is not there any more. */
static void unmap_rest(DtcTable *table)
{
	gsize used = MIN(MAX(align((gsize)table->len * table->size), DTC_PART_ALIGNMENT), table->filled);

	if (used < table->mapped)
		munmap(table->data + used, table->mapped - used);
	table->mapped = used;
	table->capacity = (guint)MIN(table->capacity, used / table->size);
}

void dtc_table_settle(DtcTable *table)
{
	bool is_kept = table->is_shared && !dtc_space_is_scratch(table->space);

	if (is_kept && table->parts)
		trim(table);
	else if (table->parts)
		unmap_rest(table);
	if (!is_kept)
		leave_space(table);
}

void dtc_table_save(const DtcTable *table, DtcImageWriter *writer, const char *name)
{
	bool is_placed = table->parts != NULL && table->is_shared;
	dtc_image_add_placed(writer, name, table->size, table->data, table->len, is_placed ? table->space : NULL,
			     is_placed ? PART(table, 0) : NULL);
}

/* Up to there records can be, and a bit more; false: the space has no room. */
static bool touch(DtcTable *table, guint count)
{
	gsize begin = table->parts ? table->filled : (gsize)table->capacity * table->size / 4096 * 4096;
	gsize end = MIN(align(MAX((gsize)count * table->size, begin + STEP_BYTES)), table->mapped);

	if (table->parts && !fill(table, end))
		return false;
#ifdef MADV_POPULATE_WRITE /* kernels before 5.14 do not know it */
	(void)madvise(table->data + begin, end - begin, MADV_POPULATE_WRITE);
#endif
	table->capacity = (guint)MIN(end / table->size, G_MAXUINT);
	return true;
}

void dtc_table_reserve(DtcTable *table, guint count)
{
	if (count <= table->capacity)
		return;
	g_assert(!table->is_borrowed);
	gsize bytes = MAX((gsize)count * table->size, 4096);
	if (MAX(bytes, (gsize)table->capacity * table->size * 2) <= table->heap && !table->mapped) {
		bytes = MAX(bytes, (gsize)table->capacity * table->size * 2);
		table->data = g_realloc(table->data, bytes);
		table->capacity = (guint)MIN(bytes / table->size, G_MAXUINT);
		return;
	}
	if (bytes > table->mapped) {
		gsize twice = table->mapped ? table->mapped * 2 : table->heap * 2;
		map(table, align(MAX(bytes, twice)));
	}
	while (!touch(table, count))
		move(table, table->mapped);
}

void dtc_table_set_length(DtcTable *table, guint length)
{
	dtc_table_reserve(table, length);
	if (length > table->len)
		memset(table->data + (gsize)table->len * table->size, 0, (gsize)(length - table->len) * table->size);
	table->len = length;
}
