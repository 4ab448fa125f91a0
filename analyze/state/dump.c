/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state dump at the trace's start: which threads live, and what files their processes have open. */
#include "analyze/state/machine_state.h"

#include <string.h>

/* status field of lttng_statedump_process_state (lttng-modules, lttng-statedump-impl.c) */
enum { STATUS_WAIT_CPU = 2, STATUS_EXIT = 3, STATUS_ZOMBIE = 4, STATUS_WAIT = 5, STATUS_DEAD = 7 };

#define KTHREADD 2 /* its thread, on every machine */

/*
 * The dump takes for a user's what has a user's memory, and a thread of vhost has that of the hypervisor that it works
 * for. It is a child of kthreadd even so, up to Linux 6.3 (drivers/vhost/vhost.c); since then it is a thread of the
 * hypervisor.
 */
static bool is_vhost(const struct dtc_event *event)
{
	return event->v[DTC_DUMP_PPID] == KTHREADD && event->text[0] && g_str_has_prefix(event->text[0], "vhost-");
}

static void apply_process(DtcMachine *m, const struct dtc_event *event)
{
	uint32_t thread = dtc_machine_get_thread(m, event->v[DTC_DUMP_TID], event->cpu);
	if (thread == DTC_NONE || DTC_THREAD(m, thread)->idle_cpu >= 0)
		return;
	if (DTC_TASK(m, thread)->name == DTC_NONE)
		dtc_machine_observe_name(m, thread, event->text[0], m->now_ns);
	dtc_machine_set_process(m, thread, event->v[DTC_DUMP_PID]);
	if (event->v[DTC_DUMP_TYPE] == 1 || is_vhost(event)) {
		DTC_THREAD(m, thread)->is_kernel = true;
		DTC_TASK(m, thread)->in_kernel = true;
	}
	if (DTC_THREAD(m, thread)->parent == DTC_NONE && event->v[DTC_DUMP_PPID] > 0 &&
	    event->v[DTC_DUMP_PPID] != event->v[DTC_DUMP_TID]) {
		uint32_t parent = dtc_machine_get_thread(m, event->v[DTC_DUMP_PPID], event->cpu); /* may move threads */
		DTC_THREAD(m, thread)->parent = parent;
	}
	if (DTC_TASK(m, thread)->state == DTC_STATE_UNKNOWN) {
		/* known from here on; what it was before stays unknown */
		int64_t status = event->v[DTC_DUMP_STATUS];
		if (status == STATUS_EXIT || status == STATUS_ZOMBIE || status == STATUS_DEAD)
			dtc_machine_set_state(m, thread, DTC_STATE_EXITED, m->now_ns, 0xffff, DTC_NONE);
		else if (status == STATUS_WAIT)
			dtc_machine_set_state(m, thread, DTC_STATE_WAIT, m->now_ns, 0xffff, DTC_NONE);
		else if (status == STATUS_WAIT_CPU)
			dtc_machine_set_state(m, thread, DTC_STATE_PREEMPTED, m->now_ns, 0xffff, DTC_NONE);
	}
	if (event->v[DTC_DUMP_FILES] != DTC_ABSENT && event->v[DTC_DUMP_PID] > 0) {
		int64_t *address = g_new(int64_t, 1);
		*address = event->v[DTC_DUMP_FILES];
		g_hash_table_replace(m->table_owners, address, GINT_TO_POINTER((int)event->v[DTC_DUMP_PID]));
	}
}

static void apply_fd(DtcMachine *m, const struct dtc_event *event)
{
	int64_t pid = event->v[DTC_DUMP_FD_PID], address = event->v[DTC_DUMP_FD_FILES];
	if (address != DTC_ABSENT)
		pid = GPOINTER_TO_INT(g_hash_table_lookup(m->table_owners, &address));
	if (pid <= 0 || !event->text[0])
		return;
	const char *name = event->text[0];
	enum dtc_file_kind kind = strncmp(name, "socket:", 7) == 0	  ? DTC_FILE_SOCKET
				  : strncmp(name, "pipe:", 5) == 0	  ? DTC_FILE_PIPE
				  : strncmp(name, "anon_inode:", 11) == 0 ? DTC_FILE_EVENT
									  : DTC_FILE_PATH;
	uint32_t known = dtc_machine_find_file(m, (int32_t)pid, event->v[DTC_DUMP_FD_NUMBER]);
	uint32_t string = dtc_history_add_string(m->history, name);
	if (known != DTC_NONE) { /* used before its dump: only name it */
		struct dtc_file *file = DTC_AT(m->history->files, struct dtc_file, known);
		if (file->name == DTC_NONE) {
			file->name = string;
			if (file->kind == DTC_FILE_UNKNOWN)
				file->kind = (uint8_t)kind;
		}
		return;
	}
	/* the same socket inode in two tables is one socket, inherited or passed on */
	gpointer key = GUINT_TO_POINTER(string + 1);
	uint32_t file = kind == DTC_FILE_SOCKET ? GPOINTER_TO_UINT(g_hash_table_lookup(m->named_files, key)) : 0;
	if (!file) {
		file = dtc_machine_add_file(m, kind, string, (int32_t)pid) + 1;
		if (kind == DTC_FILE_SOCKET)
			g_hash_table_insert(m->named_files, key, GUINT_TO_POINTER(file));
	}
	dtc_machine_set_file(m, (int32_t)pid, event->v[DTC_DUMP_FD_NUMBER], file - 1);
}

static void apply_interrupt(DtcMachine *m, const struct dtc_event *event)
{
	int64_t irq = event->v[DTC_DUMP_IRQ];
	if (irq < 0 || irq > G_MAXINT || !event->text[0] || !*event->text[0])
		return;
	uint32_t name = dtc_history_add_string(m->history, event->text[0]);
	g_hash_table_insert(m->irq_names, GINT_TO_POINTER((int)irq), GUINT_TO_POINTER(name + 1));
}

static void apply_disk(DtcMachine *m, const struct dtc_event *event)
{
	struct dtc_device device = { (uint32_t)event->v[DTC_DUMP_DEVICE],
				     dtc_history_add_string(m->history, event->text[0]) };
	for (guint i = 0; i < m->history->devices->len; i++) /* dumped again by a second session */
		if (g_array_index(m->history->devices, struct dtc_device, i).device == device.device)
			return;
	if (event->text[0])
		g_array_append_val(m->history->devices, device);
}

static void apply_cpu_limit(DtcMachine *m, const struct dtc_event *event)
{
	int64_t pid = event->v[DTC_DUMP_LIMIT_PID], quota_us = event->v[DTC_DUMP_LIMIT_QUOTA];
	int64_t period_us = event->v[DTC_DUMP_LIMIT_PERIOD];
	int64_t throttled = event->v[DTC_DUMP_LIMIT_THROTTLED], us = event->v[DTC_DUMP_LIMIT_THROTTLED_US];

	if (pid <= 0 || pid > G_MAXINT32 || quota_us <= 0 || quota_us > G_MAXUINT32 || period_us <= 0 ||
	    period_us > DTC_PERIOD_MAX_US || !event->text[0])
		return;
	const struct dtc_cpu_limit limit = { .throttled_us = us < 0 ? -1 : us,
					     .throttled = throttled < 0 ? -1 : throttled,
					     .pid = (int32_t)pid,
					     .cgroup = dtc_history_add_string(m->history, event->text[0]),
					     .quota_us = (uint32_t)quota_us,
					     .period_us = (uint32_t)period_us };
	g_array_append_val(m->history->cpu_limits, limit);
	if (event->v[DTC_DUMP_LIMIT_TIMER] != DTC_ABSENT)
		m->period_function = event->v[DTC_DUMP_LIMIT_TIMER];
}

void dtc_machine_apply_dump(DtcMachine *m, const struct dtc_event *event)
{
	if (event->kind == DTC_EVENT_DUMP_PROCESS)
		apply_process(m, event);
	else if (event->kind == DTC_EVENT_DUMP_INTERRUPT)
		apply_interrupt(m, event);
	else if (event->kind == DTC_EVENT_DUMP_BLOCK)
		apply_disk(m, event);
	else if (event->kind == DTC_EVENT_DUMP_CPU_LIMIT)
		apply_cpu_limit(m, event);
	else
		apply_fd(m, event);
}
