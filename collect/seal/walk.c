/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/walk.h"

#include "collect/bundle/access.h"

#include <string.h>

#define MAX_COLUMNS 16

/* The columns of a line; texts are copied when they are kept. */
struct line {
	char *columns[MAX_COLUMNS];
	guint count;
};

static void clear_interface(void *data)
{
	struct dtc_walk_interface *interface = data;
	g_strfreev(interface->addresses);
}

static DtcWalk *new_walk(void)
{
	DtcWalk *walk = g_new0(DtcWalk, 1);
	walk->processes = g_array_new(FALSE, FALSE, sizeof(struct dtc_walk_process));
	walk->threads = g_array_new(FALSE, FALSE, sizeof(struct dtc_walk_thread));
	walk->files = g_array_new(FALSE, FALSE, sizeof(struct dtc_walk_file));
	walk->sockets = g_array_new(FALSE, FALSE, sizeof(struct dtc_walk_socket));
	walk->interfaces = g_array_new(FALSE, FALSE, sizeof(struct dtc_walk_interface));
	g_array_set_clear_func(walk->interfaces, clear_interface);
	walk->irqs = g_array_new(FALSE, FALSE, sizeof(struct dtc_walk_irq));
	walk->disks = g_array_new(FALSE, FALSE, sizeof(struct dtc_walk_disk));
	walk->limits = g_array_new(FALSE, FALSE, sizeof(struct dtc_walk_limit));
	walk->held = g_array_new(FALSE, FALSE, sizeof(struct dtc_walk_held));
	walk->texts = g_string_chunk_new(4096);
	return walk;
}

void dtc_walk_free(DtcWalk *walk)
{
	if (!walk)
		return;
	g_array_unref(walk->processes);
	g_array_unref(walk->threads);
	g_array_unref(walk->files);
	g_array_unref(walk->sockets);
	g_array_unref(walk->interfaces);
	g_array_unref(walk->irqs);
	g_array_unref(walk->disks);
	g_array_unref(walk->limits);
	g_array_unref(walk->held);
	g_string_chunk_free(walk->texts);
	g_free(walk);
}

static int64_t get_number(const struct line *line, guint column)
{
	return column < line->count ? g_ascii_strtoll(line->columns[column], NULL, 10) : 0;
}

/* Unescaped, never NULL. */
static const char *get_text(DtcWalk *walk, const struct line *line, guint column)
{
	if (column >= line->count)
		return "";
	g_autofree char *text = g_strcompress(line->columns[column]);
	return g_string_chunk_insert_const(walk->texts, text);
}

static void add_process(DtcWalk *walk, const struct line *line)
{
	struct dtc_walk_process process = { .pid = (int32_t)get_number(line, 1),
					    .ppid = (int32_t)get_number(line, 2),
					    .program = get_text(walk, line, 4),
					    .cgroup = get_text(walk, line, 5) };
	for (guint i = 0; i < DTC_WALK_NAMESPACES; i++)
		process.namespaces[i] = (uint32_t)get_number(line, 6 + i);
	g_array_append_val(walk->processes, process);
}

static void add_thread(DtcWalk *walk, const struct line *line)
{
	struct dtc_walk_thread thread = { .tid = (int32_t)get_number(line, 1),
					  .pid = (int32_t)get_number(line, 2),
					  .name = get_text(walk, line, 3),
					  .state = line->count > 4 ? line->columns[4][0] : '\0',
					  .vtid = (int32_t)get_number(line, 5),
					  .is_kernel = get_number(line, 6) != 0,
					  .cpu = (uint32_t)get_number(line, 7) };
	g_array_append_val(walk->threads, thread);
}

static void add_file(DtcWalk *walk, const struct line *line)
{
	struct dtc_walk_file file = { .pid = (int32_t)get_number(line, 1),
				      .fd = (int32_t)get_number(line, 2),
				      .target = get_text(walk, line, 3) };
	g_array_append_val(walk->files, file);
}

static void add_socket(DtcWalk *walk, const struct line *line)
{
	struct dtc_walk_socket socket = { .netns = (uint32_t)get_number(line, 1),
					  .inode = (uint64_t)get_number(line, 2),
					  .protocol = get_text(walk, line, 3),
					  .local = get_text(walk, line, 4),
					  .local_port = (uint16_t)get_number(line, 5),
					  .remote = get_text(walk, line, 6),
					  .remote_port = (uint16_t)get_number(line, 7),
					  .state = (uint16_t)get_number(line, 8) };
	g_array_append_val(walk->sockets, socket);
}

static void add_interface(DtcWalk *walk, const struct line *line)
{
	struct dtc_walk_interface interface = { .netns = (uint32_t)get_number(line, 1),
						.index = (uint32_t)get_number(line, 2),
						.name = get_text(walk, line, 3) };
	GPtrArray *addresses = g_ptr_array_new();
	for (guint i = 4; i < line->count; i++)
		if (line->columns[i][0])
			g_ptr_array_add(addresses, g_strdup(line->columns[i]));
	g_ptr_array_add(addresses, NULL);
	interface.addresses = (char **)g_ptr_array_free(addresses, FALSE);
	g_array_append_val(walk->interfaces, interface);
}

static void add_irq(DtcWalk *walk, const struct line *line)
{
	struct dtc_walk_irq irq = { .irq = (uint32_t)get_number(line, 1), .actions = get_text(walk, line, 2) };
	g_array_append_val(walk->irqs, irq);
}

static void add_disk(DtcWalk *walk, const struct line *line)
{
	struct dtc_walk_disk disk = { .major = (uint32_t)get_number(line, 1),
				      .minor = (uint32_t)get_number(line, 2),
				      .name = get_text(walk, line, 3) };
	g_array_append_val(walk->disks, disk);
}

static void add_limit(DtcWalk *walk, const struct line *line)
{
	struct dtc_walk_limit limit = { .cgroup = get_text(walk, line, 1),
					.quota_us = (uint32_t)get_number(line, 2),
					.period_us = (uint32_t)get_number(line, 3),
					.throttled = get_number(line, 4),
					.throttled_us = get_number(line, 5),
					.timer = line->count > 6 ? g_ascii_strtoull(line->columns[6], NULL, 10) : 0 };
	g_array_append_val(walk->limits, limit);
}

static void add_held(DtcWalk *walk, const struct line *line)
{
	struct dtc_walk_held held = { .pid = (int32_t)get_number(line, 1), .cgroup = get_text(walk, line, 2) };
	g_array_append_val(walk->held, held);
}

static const struct {
	const char *letter;
	guint columns; /* at least, with the letter */
	void (*add)(DtcWalk *walk, const struct line *line);
} records[] = {
	{ "p", 3, add_process }, { "t", 4, add_thread },    { "f", 4, add_file },
	{ "s", 9, add_socket },	 { "i", 4, add_interface }, { "q", 3, add_irq },
	{ "b", 4, add_disk },	 { "g", 6, add_limit },	    { "l", 3, add_held },
};

static void parse_line(DtcWalk *walk, char *text)
{
	struct line line = { .count = 0 };
	for (char *rest = text; rest && line.count < MAX_COLUMNS;) {
		line.columns[line.count++] = rest;
		rest = strchr(rest, '\t');
		if (rest)
			*rest++ = '\0';
	}
	const char *letter = line.count ? line.columns[0] : "";
	if (strcmp(letter, "T") == 0 && line.count >= 3) {
		walk->begin_ns = get_number(&line, 1);
		walk->end_ns = get_number(&line, 2);
		return;
	}
	for (gsize i = 0; i < G_N_ELEMENTS(records); i++)
		if (strcmp(records[i].letter, letter) == 0 && line.count >= records[i].columns) {
			records[i].add(walk, &line);
			return;
		}
	walk->skipped_lines++;
}

static int compare_processes(gconstpointer a, gconstpointer b)
{
	const struct dtc_walk_process *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

DtcWalk *dtc_walk_read(const char *path, bool *ret_is_there)
{
	DtcWalk *walk = new_walk();
	g_autoptr(GMappedFile) file = dtc_access_map(path);
	const char *text = file ? g_mapped_file_get_contents(file) : NULL;
	const char *end = text ? text + g_mapped_file_get_length(file) : NULL;

	*ret_is_there = file;
	while (text < end) {
		const char *stop = memchr(text, '\n', (gsize)(end - text));
		g_autofree char *line = g_strndup(text, (gsize)((stop ? stop : end) - text));
		parse_line(walk, line);
		text = stop ? stop + 1 : end;
	}
	g_array_sort(walk->processes, compare_processes);
	return walk;
}

const struct dtc_walk_limit *dtc_walk_find_limit(const DtcWalk *walk, const char *cgroup)
{
	for (guint i = 0; i < walk->limits->len; i++) {
		const struct dtc_walk_limit *limit = &g_array_index(walk->limits, struct dtc_walk_limit, i);
		if (strcmp(limit->cgroup, cgroup) == 0)
			return limit;
	}
	return NULL;
}

const struct dtc_walk_process *dtc_walk_find_process(const DtcWalk *walk, int32_t pid)
{
	struct dtc_walk_process wanted = { .pid = pid };
	guint index;
	if (!g_array_binary_search(walk->processes, &wanted, compare_processes, &index))
		return NULL;
	return &g_array_index(walk->processes, struct dtc_walk_process, index);
}
