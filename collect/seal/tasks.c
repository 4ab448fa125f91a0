/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/tasks.h"

#include <dtrace-chain/hash.h>

#include <string.h>

#define CLONE_THREAD 0x10000

/* The open that a descriptor comes from, or that a thread is in. */
struct open {
	uint16_t scan;
	uint32_t index;
};

struct DtcTasks {
	GPtrArray *forks;  /* per scan a GArray of struct dtc_fork_fact */
	GPtrArray *names;  /* per scan a GHashTable from the open's index to its name, which is ours */
	GHashTable *execs; /* "old new" as 64 bits */
	guint named_count;
};

/* While the notes are gone through in the order of time. */
struct state {
	DtcTasks *tasks;
	const DtcWalk *end;
	GHashTable *processes; /* of a thread */
	GHashTable *flags;     /* of a thread that was made: its clone flags, plus 1 << 32 */
	GHashTable *opening;   /* of a thread: struct open */
	GHashTable *opened;    /* of process and descriptor, as 64 bits: struct open */
};

static void add_threads(GHashTable *processes, const DtcWalk *walk)
{
	for (guint i = 0; i < walk->threads->len; i++) {
		const struct dtc_walk_thread *thread = &g_array_index(walk->threads, struct dtc_walk_thread, i);
		gpointer key = GINT_TO_POINTER(thread->tid);
		if (!g_hash_table_contains(processes, key))
			g_hash_table_insert(processes, key, GINT_TO_POINTER(thread->pid));
	}
}

static int32_t find_process(const struct state *state, int32_t tid)
{
	return GPOINTER_TO_INT(g_hash_table_lookup(state->processes, GINT_TO_POINTER(tid)));
}

static uint64_t *make_key(int32_t high, int32_t low)
{
	uint64_t *key = g_new(uint64_t, 1);
	*key = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
	return key;
}

/* A process is made by itself, a thread belongs to its maker's process. */
static void make_task(struct state *state, const struct dtc_note *note)
{
	int32_t parent = find_process(state, note->tid);
	int32_t child = note->b & CLONE_THREAD ? parent : note->a;
	if (child)
		g_hash_table_insert(state->processes, GINT_TO_POINTER(note->a), GINT_TO_POINTER(child));
	else
		g_hash_table_remove(state->processes, GINT_TO_POINTER(note->a));
	g_hash_table_add(state->flags, GINT_TO_POINTER(note->a));
}

static void tell_fork(struct state *state, guint scan, const struct dtc_note *note)
{
	GArray *forks = g_ptr_array_index(state->tasks->forks, scan);
	struct dtc_fork_fact fact = { .parent_pid = find_process(state, note->tid) };
	/* without its flags only the last walk can tell, and a number may have been given twice by then */
	if (g_hash_table_remove(state->flags, GINT_TO_POINTER(note->a)))
		fact.child_pid = find_process(state, note->a);
	if (note->index >= forks->len)
		g_array_set_size(forks, note->index + 1);
	g_array_index(forks, struct dtc_fork_fact, note->index) = fact;
}

static gboolean is_of_process(gpointer key, gpointer value, gpointer data)
{
	(void)value;
	return (int32_t)(*(const uint64_t *)key >> 32) == *(const int32_t *)data;
}

static void close_all(struct state *state, int32_t tid)
{
	int32_t process = find_process(state, tid);
	g_hash_table_foreach_remove(state->opened, is_of_process, &process);
}

static void close_one(struct state *state, const struct dtc_note *note)
{
	g_autofree uint64_t *key = make_key(find_process(state, note->tid), note->a);
	g_hash_table_remove(state->opened, key);
}

static void begin_open(struct state *state, guint scan, const struct dtc_note *note)
{
	struct open *open = g_new0(struct open, 1);
	*open = (struct open){ (uint16_t)scan, note->index };
	g_hash_table_insert(state->opening, GINT_TO_POINTER(note->tid), open);
}

/* Behind the last walk's begin nobody knows whether it saw this one. */
static void end_open(struct state *state, const struct dtc_note *note)
{
	gpointer open, tid = GINT_TO_POINTER(note->tid);
	int32_t process = find_process(state, note->tid);
	if (!g_hash_table_steal_extended(state->opening, tid, NULL, &open))
		return;
	if (note->a < 0 || !process || note->time_ns >= state->end->begin_ns)
		g_free(open);
	else
		g_hash_table_insert(state->opened, make_key(process, note->a), open);
}

static void exec(struct state *state, const struct dtc_note *note)
{
	close_all(state, note->a);
	if (note->a != note->b)
		g_hash_table_add(state->tasks->execs, make_key(note->b, note->a));
}

static void take_note(struct state *state, guint scan, const struct dtc_note *note)
{
	switch ((enum dtc_note_kind)note->kind) {
	case DTC_NOTE_NEW_TASK:
		make_task(state, note);
		break;
	case DTC_NOTE_FORK:
		tell_fork(state, scan, note);
		break;
	case DTC_NOTE_EXEC:
		exec(state, note);
		break;
	case DTC_NOTE_OPEN:
		begin_open(state, scan, note);
		break;
	case DTC_NOTE_OPENED:
		end_open(state, note);
		break;
	case DTC_NOTE_CLOSE:
		close_one(state, note);
		break;
	case DTC_NOTE_CLOSE_MANY:
		close_all(state, note->tid);
		break;
	case DTC_NOTE_LOST:
		g_hash_table_remove_all(state->opened);
		g_hash_table_remove_all(state->opening);
		break;
	}
}

/* Names of files, that is: not of sockets or pipes, and not of files that are gone, whose name may be another's. */
static void name_files(struct state *state)
{
	for (guint i = 0; i < state->end->files->len; i++) {
		const struct dtc_walk_file *file = &g_array_index(state->end->files, struct dtc_walk_file, i);
		g_autofree uint64_t *key = make_key(file->pid, file->fd);
		const struct open *open = g_hash_table_lookup(state->opened, key);
		if (!open || file->target[0] != '/' || g_str_has_suffix(file->target, " (deleted)"))
			continue;
		g_hash_table_insert(g_ptr_array_index(state->tasks->names, open->scan), GUINT_TO_POINTER(open->index),
				    g_strdup(file->target));
		state->tasks->named_count++;
	}
}

static int compare_notes(gconstpointer a, gconstpointer b)
{
	const struct dtc_note *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* cpu becomes the scan's index. */
static GArray *gather_notes(const struct dtc_scan *scans, guint scan_count)
{
	GArray *notes = g_array_new(FALSE, FALSE, sizeof(struct dtc_note));
	for (guint i = 0; i < scan_count; i++) {
		guint before = notes->len;
		if (scans[i].notes)
			g_array_append_vals(notes, scans[i].notes->data, scans[i].notes->len);
		for (guint k = before; k < notes->len; k++)
			g_array_index(notes, struct dtc_note, k).cpu = (uint16_t)i;
	}
	g_array_sort(notes, compare_notes);
	return notes;
}

DtcTasks *dtc_tasks_new(const struct dtc_scan *scans, guint scan_count, const DtcWalk *begin, const DtcWalk *end)
{
	DtcTasks *tasks = g_new0(DtcTasks, 1);
	struct state state = { .tasks = tasks, .end = end };
	g_autoptr(GArray) notes = gather_notes(scans, scan_count);

	tasks->forks = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	tasks->names = g_ptr_array_new_with_free_func((GDestroyNotify)g_hash_table_unref);
	tasks->execs = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, NULL);
	for (guint i = 0; i < scan_count; i++) {
		g_ptr_array_add(tasks->forks, g_array_new(FALSE, TRUE, sizeof(struct dtc_fork_fact)));
		g_ptr_array_add(tasks->names, g_hash_table_new_full(NULL, NULL, NULL, g_free));
	}
	state.processes = g_hash_table_new(NULL, NULL);
	state.flags = g_hash_table_new(NULL, NULL);
	state.opening = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	state.opened = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, g_free);
	add_threads(state.processes, begin);
	for (guint i = 0; i < notes->len; i++) {
		const struct dtc_note *note = &g_array_index(notes, struct dtc_note, i);
		take_note(&state, note->cpu, note);
	}
	name_files(&state);
	g_hash_table_unref(state.processes);
	g_hash_table_unref(state.flags);
	g_hash_table_unref(state.opening);
	g_hash_table_unref(state.opened);
	return tasks;
}

void dtc_tasks_free(DtcTasks *tasks)
{
	if (!tasks)
		return;
	g_ptr_array_unref(tasks->forks);
	g_ptr_array_unref(tasks->names);
	g_hash_table_unref(tasks->execs);
	g_free(tasks);
}

struct dtc_fork_fact dtc_tasks_get_fork(const DtcTasks *tasks, guint scan, uint32_t index)
{
	const GArray *forks = g_ptr_array_index(tasks->forks, scan);
	struct dtc_fork_fact none = { 0, 0 };
	return index < forks->len ? g_array_index(forks, struct dtc_fork_fact, index) : none;
}

const char *dtc_tasks_get_file_name(const DtcTasks *tasks, guint scan, uint32_t index)
{
	return g_hash_table_lookup(g_ptr_array_index(tasks->names, scan), GUINT_TO_POINTER(index));
}

bool dtc_tasks_is_same(const DtcTasks *tasks, int32_t old_tid, int32_t tid)
{
	g_autofree uint64_t *key = make_key(old_tid, tid);
	return g_hash_table_contains(tasks->execs, key);
}

guint dtc_tasks_get_named_count(const DtcTasks *tasks)
{
	return tasks->named_count;
}
