/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection that a process was given over a Unix socket (SCM_RIGHTS) comes with a descriptor that no call of it
 * opened: what leaves on it tells which connection it is. It is the same open file as that of the process that gave it,
 * and goes on where that one's bytes end. dovecot's login process accepts, reads the user's name, and gives the
 * connection to another process, which counted its bytes from the connection's begin: what that read was taken for the
 * login's question, and 30 of 37 POP requests lost their way there.
 */
#include "analyze/state/machine_state.h"

static struct dtc_file *get_file(const DtcMachine *m, uint32_t file)
{
	return DTC_AT(m->history->files, struct dtc_file, file);
}

static struct dtc_call *get_call(const DtcMachine *m, uint32_t call)
{
	return DTC_AT(m->history->filling->calls, struct dtc_call, call);
}

/* No call, nor the state dump, says how it came to be. */
static bool is_of_unknown_origin(const struct dtc_file *file)
{
	return file->name == DTC_NONE && file->accept == DTC_NONE && !file->listens;
}

/* The file that had the flow first; DTC_NONE: none. */
static uint32_t find_owner(const DtcMachine *m, uint32_t flow_out)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(m->flow_owners, GUINT_TO_POINTER(flow_out + 1))) - 1;
}

void dtc_machine_set_flow(DtcMachine *m, uint32_t index, uint32_t flow_out)
{
	struct dtc_file *file = get_file(m, index);
	gpointer key = GUINT_TO_POINTER(flow_out + 1);
	file->kind = DTC_FILE_SOCKET;
	file->flow_out = flow_out;
	file->flow_in = dtc_packets_get_flow(m->history->packets, flow_out)->reverse;
	if (!g_hash_table_contains(m->flow_owners, key))
		g_hash_table_insert(m->flow_owners, key, GUINT_TO_POINTER(index + 1));
}

uint32_t dtc_machine_find_own_file(DtcMachine *m, uint32_t index, uint32_t flow_out)
{
	struct dtc_call *call = get_call(m, index);
	uint32_t owner = find_owner(m, flow_out);
	if (owner == DTC_NONE || owner == call->file || is_of_unknown_origin(get_file(m, call->file)))
		return call->file;
	/*
	 * The connection is another file's. What was known of the descriptor was closed, by an exec whose
	 * FD_CLOEXEC is from before the trace: postfix' smtpd gives its milter to a cleanup process, where that got the
	 * number of the socket with which all smtpd report to their master.
	 */
	const struct dtc_thread *thread = DTC_THREAD(m, call->thread);
	int32_t pid = thread->pid > 0 ? thread->pid : thread->tid;
	call->file = dtc_machine_add_file(m, DTC_FILE_SOCKET, DTC_NONE, pid);
	call->offset = 0;
	dtc_machine_set_file(m, pid, call->fd, call->file);
	return call->file;
}

/* For each file the one that it is, which is another one if it was passed on; NULL if none was. */
static GArray *find_passed(const DtcMachine *m)
{
	GArray *same = NULL;
	for (uint32_t i = 0; i < m->history->files->len; i++) {
		const struct dtc_file *file = get_file(m, i);
		uint32_t owner = file->flow_out == DTC_NONE ? DTC_NONE : find_owner(m, file->flow_out);
		if (owner == DTC_NONE || owner == i || !is_of_unknown_origin(file))
			continue;
		if (!same) {
			same = g_array_sized_new(FALSE, FALSE, sizeof(uint32_t), m->history->files->len);
			for (uint32_t k = 0; k < m->history->files->len; k++)
				g_array_append_val(same, k);
		}
		g_array_index(same, uint32_t, i) = owner;
	}
	return same;
}

static bool has_moved(const struct dtc_call *call)
{
	return call->kind != DTC_CALL_PEEK && call->result != DTC_ABSENT && call->result > 0 &&
	       call->end_ns != DTC_TIME_NONE;
}

/* When a call was given its place in the stream. */
static int64_t get_placed_ns(const struct dtc_call *call)
{
	return has_moved(call) ? call->end_ns : call->begin_ns;
}

static int compare_moves(gconstpointer a, gconstpointer b, gpointer machine)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct dtc_call *x = get_call(machine, i), *y = get_call(machine, k);
	bool writes = x->kind == DTC_CALL_WRITE;
	int64_t x_ns = get_placed_ns(x), y_ns = get_placed_ns(y);
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (writes != (y->kind == DTC_CALL_WRITE))
		return writes ? 1 : -1;
	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* Their places, from the end on: calls before a window were forgotten, what they moved is counted. */
static void place(const DtcMachine *m, const GArray *moves)
{
	uint64_t left = 0;
	for (guint i = moves->len; i-- > 0;) {
		struct dtc_call *call = get_call(m, g_array_index(moves, uint32_t, i));
		const struct dtc_call *behind =
			i + 1 < moves->len ? get_call(m, g_array_index(moves, uint32_t, i + 1)) : NULL;
		bool writes = call->kind == DTC_CALL_WRITE;
		const struct dtc_file *file = get_file(m, call->file);
		if (!behind || behind->file != call->file || writes != (behind->kind == DTC_CALL_WRITE))
			left = writes ? file->written_bytes : file->read_bytes;
		if (has_moved(call))
			left -= (uint64_t)call->result;
		call->offset = left;
	}
}

/* The file that was passed on has nothing of its own any more. */
static void join(const DtcMachine *m, uint32_t index, uint32_t into)
{
	struct dtc_file *file = get_file(m, index), *first = get_file(m, into);
	first->read_bytes += file->read_bytes;
	first->written_bytes += file->written_bytes;
	file->read_bytes = file->written_bytes = 0;
	file->flow_out = file->flow_in = DTC_NONE;
	file->has_base_out = false;
	file->kind = DTC_FILE_UNKNOWN;
}

void dtc_machine_join_passed_files(DtcMachine *m)
{
	g_autoptr(GArray) same = find_passed(m);
	if (!same)
		return;
	DtcHistory *h = m->history;
	g_autoptr(GArray) moves = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GHashTable) joined = g_hash_table_new(NULL, NULL); /* those that others became part of */
	const uint32_t *to = (const uint32_t *)same->data;
	for (uint32_t i = 0; i < same->len; i++) {
		if (to[i] == i)
			continue;
		join(m, i, to[i]);
		g_hash_table_add(joined, GUINT_TO_POINTER(to[i]));
	}
	for (uint32_t i = 0; i < h->filling->calls->len; i++) {
		struct dtc_call *call = get_call(m, i);
		bool has_other = call->kind == DTC_CALL_REGISTER && call->argument < same->len;
		if (has_other)
			call->argument = to[call->argument];
		if (call->file == DTC_NONE)
			continue;
		call->file = to[call->file];
		bool moves_bytes =
			call->kind == DTC_CALL_READ || call->kind == DTC_CALL_PEEK || call->kind == DTC_CALL_WRITE;
		if (moves_bytes && g_hash_table_contains(joined, GUINT_TO_POINTER(call->file)))
			g_array_append_val(moves, i);
	}
	for (uint32_t i = 0; i < h->ready->len; i++) {
		uint32_t *ready = DTC_AT(h->ready, uint32_t, i);
		if (*ready != DTC_NONE)
			*ready = to[*ready];
	}
	g_array_sort_with_data(moves, compare_moves, m);
	place(m, moves);
}
