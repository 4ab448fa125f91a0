/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Open files by process and descriptor. */
#include "analyze/state/machine_state.h"

#include <string.h>

#define FD_LIMIT (1 << 20) /* NR_OPEN of the kernel */

uint32_t dtc_machine_add_file(DtcMachine *m, enum dtc_file_kind kind, uint32_t name, int32_t pid)
{
	struct dtc_file file = { .name = name,
				 .flow_out = DTC_NONE,
				 .flow_in = DTC_NONE,
				 .kind = (uint8_t)kind,
				 .begin_ns = m->now_ns,
				 .peer = DTC_NONE,
				 .accept = DTC_NONE,
				 .pid = pid };
	dtc_table_append(m->history->files, &file);
	return m->history->files->len - 1;
}

static struct dtc_fd_table *get_table(DtcMachine *m, int32_t pid)
{
	struct dtc_fd_table *table = g_hash_table_lookup(m->fd_tables, GINT_TO_POINTER(pid));
	if (!table) {
		table = g_new0(struct dtc_fd_table, 1);
		table->fds = g_array_new(FALSE, FALSE, sizeof(struct dtc_fd));
		table->users = 1;
		g_hash_table_insert(m->fd_tables, GINT_TO_POINTER(pid), table);
	}
	return table;
}

static struct dtc_fd *find_fd(DtcMachine *m, int32_t pid, int64_t fd)
{
	struct dtc_fd_table *table = g_hash_table_lookup(m->fd_tables, GINT_TO_POINTER(pid));
	return table && fd >= 0 && fd < table->fds->len ? &g_array_index(table->fds, struct dtc_fd, fd) : NULL;
}

uint32_t dtc_machine_find_file(DtcMachine *m, int32_t pid, int64_t fd)
{
	const struct dtc_fd *found = find_fd(m, pid, fd);
	return found ? found->file : DTC_NONE;
}

void dtc_machine_set_file(DtcMachine *m, int32_t pid, int64_t fd, uint32_t file)
{
	if (fd < 0 || fd >= FD_LIMIT)
		return;
	struct dtc_fd_table *table = get_table(m, pid);
	const struct dtc_fd none = { DTC_NONE, false };
	while (fd >= table->fds->len)
		g_array_append_val(table->fds, none);
	g_array_index(table->fds, struct dtc_fd, fd) = (struct dtc_fd){ file, false };
}

void dtc_machine_set_close_on_exec(DtcMachine *m, int32_t pid, int64_t fd, bool closes)
{
	struct dtc_fd *found = find_fd(m, pid, fd);
	if (found)
		found->closes_on_exec = closes;
}

uint32_t dtc_machine_get_file(DtcMachine *m, uint32_t thread, int64_t fd)
{
	const struct dtc_thread *t = DTC_THREAD(m, thread);
	int32_t pid = t->pid > 0 ? t->pid : t->tid;
	uint32_t file = dtc_machine_find_file(m, pid, fd);
	if (file == DTC_NONE) { /* opened before the trace, or by a call that was not traced */
		file = dtc_machine_add_file(m, DTC_FILE_UNKNOWN, DTC_NONE, pid);
		dtc_machine_set_file(m, pid, fd, file);
	}
	return file;
}

void dtc_machine_copy_files(DtcMachine *m, int32_t from_pid, int32_t to_pid, bool shares)
{
	dtc_machine_drop_files(m, to_pid); /* of an earlier process with this pid */
	struct dtc_fd_table *from = g_hash_table_lookup(m->fd_tables, GINT_TO_POINTER(from_pid));
	if (shares) {
		from = get_table(m, from_pid);
		from->users++;
		g_hash_table_insert(m->fd_tables, GINT_TO_POINTER(to_pid), from);
		return;
	}
	if (!from)
		return;
	struct dtc_fd_table *to = get_table(m, to_pid);
	g_array_append_vals(to->fds, from->fds->data, from->fds->len);
}

void dtc_machine_drop_files(DtcMachine *m, int32_t pid)
{
	struct dtc_fd_table *table = g_hash_table_lookup(m->fd_tables, GINT_TO_POINTER(pid));
	if (!table)
		return;
	if (--table->users == 0) {
		g_array_unref(table->fds);
		g_free(table);
	}
	g_hash_table_remove(m->fd_tables, GINT_TO_POINTER(pid));
}

void dtc_machine_exec_files(DtcMachine *m, int32_t pid)
{
	struct dtc_fd_table *table = g_hash_table_lookup(m->fd_tables, GINT_TO_POINTER(pid));
	if (!table)
		return;
	if (table->users > 1) {
		GArray *shared = table->fds;
		table->users--;
		g_hash_table_remove(m->fd_tables, GINT_TO_POINTER(pid));
		table = get_table(m, pid);
		g_array_append_vals(table->fds, shared->data, shared->len);
	}
	for (guint i = 0; i < table->fds->len; i++) {
		struct dtc_fd *fd = &g_array_index(table->fds, struct dtc_fd, i);
		if (fd->closes_on_exec)
			*fd = (struct dtc_fd){ DTC_NONE, false };
	}
}
