/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* mremap */
#include "collect/packets/table.h"

#include <stdbool.h>
#include <sys/mman.h>

#define PART(table, index) (&g_array_index((table)->parts, struct dtc_part, (index)))
#define HEAP_BYTES ((gsize)64 * 1024) /* up to here a file would cost more than it saves */
/* What is filled and mapped at once: each page by itself costs the kernel two to three times as much. */
#define STEP_BYTES ((gsize)256 * 1024)
/* So many times what is mapped has addresses: what grows seldom moves, of which all threads' CPUs have to be told. */
#define RESERVED_TIMES 16

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

DtcTable *dtc_table_new_in(gsize record_size, gsize heap_bytes, DtcSpace *space)
{
	DtcTable *table = dtc_table_new_on_heap(record_size, heap_bytes);
	dtc_table_set_space(table, space);
	return table;
}

DtcTable *dtc_table_new_beside(const DtcTable *other, gsize record_size)
{
	DtcTable *table = dtc_table_new_on_heap(record_size, other->heap);
	dtc_table_set_space(table, other->space);
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
	table->space = space ? dtc_space_ref(space) : NULL;
}

static void copy_records(char *to, const DtcTable *table)
{
	if (table->len) /* an empty table may have no address */
		memcpy(to, table->data, (gsize)table->len * table->size);
}

static void release(DtcTable *table)
{
	if (table->mapped)
		munmap(table->data, table->reserved);
	else if (!table->is_borrowed)
		g_free(table->data);
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

static void add_part(DtcTable *table, const struct dtc_part *part)
{
	struct dtc_part *last = table->parts->len ? PART(table, table->parts->len - 1) : NULL;

	if (last && last->offset + last->bytes == part->offset)
		last->bytes += part->bytes;
	else
		g_array_append_val(table->parts, *part);
}

/* What it takes to have so many bytes in the space; false: there is no room. */
static bool take(DtcTable *table, gsize bytes)
{
	gsize taken = table->parts ? table->mapped : 0;
	struct dtc_part part;
	bool has_room;

	if (!table->space)
		table->space = dtc_space_new_scratch();
	if (!table->parts)
		table->parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_part));
	for (; taken < bytes; taken += part.bytes) {
		if (!dtc_space_take(table->space, bytes - taken, &part, &has_room))
			return false;
		add_part(table, &part);
		if (!has_room)
			continue;
		if (!fill(table, taken)) /* what has room is in front */
			return false;
		table->filled += part.bytes;
	}
	return true;
}

static gsize align(gsize bytes)
{
	return (bytes + DTC_PART_ALIGNMENT - 1) / DTC_PART_ALIGNMENT * DTC_PART_ALIGNMENT;
}

static bool map_part(const DtcTable *table, char *at, guint64 offset, gsize bytes)
{
	return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, dtc_space_get_file(table->space),
		    (off_t)offset) != MAP_FAILED;
}

/* Addresses for that many bytes, and more if they can be had; NULL if not even these. */
static char *reserve(gsize bytes, gsize *ret_reserved)
{
	for (gsize times = RESERVED_TIMES; times; times /= RESERVED_TIMES) {
		char *data = mmap(NULL, bytes * times, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		*ret_reserved = bytes * times;
		if (data != MAP_FAILED)
			return data;
	}
	return NULL;
}

/* All parts in a row, but for the first bytes of them; false if they cannot be mapped. */
static bool map_new_parts(const DtcTable *table, gsize old, char *data)
{
	gsize begin = 0; /* of the part */

	for (guint i = 0; i < table->parts->len; i++) {
		const struct dtc_part *part = PART(table, i);
		gsize there = CLAMP(old, begin, begin + part->bytes) - begin;
		if (there < part->bytes &&
		    !map_part(table, data + begin + there, part->offset + there, part->bytes - there))
			return false;
		begin += part->bytes;
	}
	return true;
}

/* Mappings of the parts go there with their pages, which would have to be given anew one by one. */
static void move_old_parts(const DtcTable *table, gsize old, char *data)
{
	gsize begin = 0; /* of the part */

	for (guint i = 0; begin < old; i++) {
		const struct dtc_part *part = PART(table, i);
		gsize bytes = MIN(part->bytes, old - begin);
		char *from = table->data + begin, *to = data + begin;
		begin += part->bytes;
		if (mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
			continue;
		if (!map_part(table, to, part->offset, bytes)) /* it was mapped piece by piece */
			g_error("out of memory: %" G_GSIZE_FORMAT " bytes of records cannot be mapped", bytes);
		munmap(from, bytes);
	}
	if (old < table->reserved) /* in front of that other threads may have mapped something by now */
		munmap(table->data + old, table->reserved - old);
}

/* The records are in a longer mapping of the space; false if that cannot be had, and nothing has moved. */
static bool map_in_space(DtcTable *table, gsize bytes)
{
	gsize old = table->parts ? table->mapped : 0, reserved = table->reserved;
	bool was_there = table->parts != NULL, moves = !was_there || bytes > reserved;
	if (!take(table, bytes))
		return false;
	char *data = moves ? reserve(bytes, &reserved) : table->data;
	if (!data)
		return false;
	if (!map_new_parts(table, old, data) || (!was_there && !fill(table, align((gsize)table->len * table->size)))) {
		if (moves)
			munmap(data, reserved);
		return false;
	}
	if (!was_there) {
		copy_records(data, table);
		release(table);
	} else if (moves) {
		move_old_parts(table, old, data);
	}
	table->data = data;
	table->reserved = reserved;
	return true;
}

static void leave_space(DtcTable *table)
{
	g_clear_pointer(&table->parts, g_array_unref);
	g_clear_pointer(&table->space, dtc_space_unref);
	table->filled = 0;
}

/* What is behind the first left bytes of parts, of which the first filled have room; nobody has it mapped any more. */
static void give_back(DtcSpace *space, GArray *parts, gsize filled, gsize left)
{
	gsize end = 0; /* of the last part */

	for (guint i = 0; i < parts->len; i++)
		end += g_array_index(parts, struct dtc_part, i).bytes;
	while (end > left) {
		struct dtc_part *last = &g_array_index(parts, struct dtc_part, parts->len - 1);
		gsize bytes = MIN(end - left, last->bytes);
		end -= bytes;
		last->bytes -= bytes;
		gsize has_room = CLAMP(filled, end, end + bytes) - end;
		dtc_space_give_back(space, last->offset + last->bytes, dtc_space_is_scratch(space) ? has_room : bytes);
		if (!last->bytes)
			g_array_set_size(parts, parts->len - 1);
	}
}

void dtc_table_free(DtcTable *table)
{
	if (!table)
		return;
	release(table);
	if (table->parts)
		give_back(table->space, table->parts, table->filled, 0);
	leave_space(table);
	g_free(table);
}

/* The disk is full: from a space to $TMPDIR, which may not be, and from there to memory. */
static void move(DtcTable *table, gsize bytes)
{
	g_autoptr(DtcSpace) left = table->space ? dtc_space_ref(table->space) : NULL;
	g_autoptr(GArray) parts = table->parts ? g_array_ref(table->parts) : NULL;
	bool was_kept = table->space && !dtc_space_is_scratch(table->space);
	gsize filled = table->filled;

	leave_space(table);
	if (!was_kept || !map_in_space(table, bytes)) {
		char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (data == MAP_FAILED)
			g_error("out of memory: %" G_GSIZE_FORMAT " bytes for records", bytes);
		copy_records(data, table);
		release(table);
		leave_space(table);
		table->data = data;
		table->reserved = bytes;
	}
	table->mapped = bytes;
	if (parts)
		give_back(left, parts, filled, 0);
}

/* The records move to a mapping of that many bytes. */
static void map(DtcTable *table, gsize bytes)
{
	if (!map_in_space(table, bytes))
		move(table, bytes);
	table->mapped = bytes;
}

/* What is behind the records, some of which may have no room, goes back to the space. */
static void trim(DtcTable *table)
{
	gsize used = MAX(align((gsize)table->len * table->size), DTC_PART_ALIGNMENT);
	if (dtc_space_is_scratch(table->space))
		used = MIN(used, table->filled);
	if (used >= table->reserved)
		return;
	munmap(table->data + used, table->reserved - used);
	table->reserved = used;
	give_back(table->space, table->parts, table->filled, used);
	table->mapped = used;
	table->filled = MIN(table->filled, used);
	table->capacity = (guint)MIN(table->capacity, used / table->size);
}

/* On the heap they grew by doubling: of a dozen tables of each of many nodes that is a lot of nothing. */
static void shrink(DtcTable *table)
{
	table->data = g_realloc(table->data, (gsize)table->len * table->size);
	table->capacity = table->len;
}

void dtc_table_settle(DtcTable *table)
{
	if (table->parts)
		trim(table);
	else if (!table->mapped && !table->is_borrowed)
		shrink(table);
	if (!table->space || dtc_space_is_scratch(table->space))
		leave_space(table);
}

void dtc_table_save(const DtcTable *table, DtcImageWriter *writer, const char *name)
{
	bool is_placed = table->parts != NULL;
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
