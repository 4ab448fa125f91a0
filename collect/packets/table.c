/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* O_TMPFILE, mremap */
#include "collect/packets/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAP_BYTES ((gsize)64 * 1024) /* up to here a file would cost more than it saves */
/* Pages of a file that are asked for at once: each by itself costs the kernel two to three times as much. */
#define STEP_BYTES ((gsize)256 * 1024)

DtcTable *dtc_table_new(gsize record_size)
{
	DtcTable *table = g_new0(DtcTable, 1);
	table->size = record_size;
	table->heap = HEAP_BYTES;
	table->file = -1;
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

void dtc_table_free(DtcTable *table)
{
	if (!table)
		return;
	if (table->mapped)
		munmap(table->data, table->mapped);
	else if (!table->is_borrowed)
		g_free(table->data);
	dtc_table_settle(table);
	g_free(table);
}

static int open_unlinked(void)
{
	int file = open(g_get_tmp_dir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file >= 0)
		return file;
	g_autofree char *name = g_build_filename(g_get_tmp_dir(), "dtrace-chain-XXXXXX", NULL);
	file = g_mkstemp_full(name, O_RDWR | O_CLOEXEC, 0600);
	if (file >= 0)
		unlink(name);
	return file;
}

static void copy_records(char *to, const DtcTable *table)
{
	if (table->len) /* an empty table may have no address */
		memcpy(to, table->data, (gsize)table->len * table->size);
}

/* A mapping of the table's file, of that many bytes; MAP_FAILED if the file cannot grow. */
static char *map_file(const DtcTable *table, bool is_new, gsize bytes)
{
	/* reserved, not sparse: a full disk must show here and not as SIGBUS at some later write */
	if (table->file < 0 || posix_fallocate(table->file, 0, (off_t)bytes) != 0)
		return MAP_FAILED;
	if (is_new)
		return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, table->file, 0);
	return mremap(table->data, table->mapped, bytes, MREMAP_MAYMOVE);
}

/* The records move to a mapping of that many bytes: of the file, of a new one, or anonymous if none can be had. */
static void map(DtcTable *table, gsize bytes)
{
	bool is_new = table->file < 0;
	if (is_new)
		table->file = open_unlinked();
	char *data = map_file(table, is_new, bytes);
	if (data == MAP_FAILED) {
		data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (data == MAP_FAILED)
			g_error("out of memory: %" G_GSIZE_FORMAT " bytes for records", bytes);
		dtc_table_settle(table);
		is_new = true;
	}
	if (is_new) {
		copy_records(data, table);
		if (table->mapped)
			munmap(table->data, table->mapped);
		else
			g_free(table->data);
	}
	table->data = data;
	table->mapped = bytes;
}

void dtc_table_settle(DtcTable *table)
{
	if (table->file >= 0)
		close(table->file);
	table->file = -1;
}

/* Pages up to there are made; those that the records will not need are left alone. Kernels before 5.14 do not know. */
static void touch(DtcTable *table, guint count)
{
	gsize page = 4096, begin = (gsize)table->capacity * table->size / page * page;
	gsize end = MAX((gsize)count * table->size, begin + STEP_BYTES);
	end = MIN((end + page - 1) / page * page, table->mapped);
#ifdef MADV_POPULATE_WRITE
	(void)madvise(table->data + begin, end - begin, MADV_POPULATE_WRITE);
#endif
	table->capacity = (guint)MIN(end / table->size, G_MAXUINT);
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
		gsize page = 4096, twice = table->mapped ? table->mapped * 2 : table->heap * 2;
		map(table, (MAX(bytes, twice) + page - 1) / page * page);
	}
	touch(table, count);
}

void dtc_table_set_length(DtcTable *table, guint length)
{
	dtc_table_reserve(table, length);
	if (length > table->len)
		memset(table->data + (gsize)table->len * table->size, 0, (gsize)(length - table->len) * table->size);
	table->len = length;
}
