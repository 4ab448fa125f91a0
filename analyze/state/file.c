/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Open files by process and descriptor, and where a socket's bytes lie in its flows' sequence space. */
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
				 .pid = pid };
	g_array_append_val(m->history->files, file);
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

/*
 * A connection that was open before the trace: its SYN was not seen. Its first written byte is the first byte of the
 * first segment that left inside a write; its first read byte follows from what had arrived when the first read
 * returned, taking that the reader had drained the socket before (it waited for that segment).
 */
static void place_open_socket(DtcMachine *m, struct dtc_file *file, const struct dtc_call *first_read,
			      const uint32_t *first_sent, const struct dtc_call *first_write)
{
	const DtcPackets *packets = m->history->packets;
	if (!file->has_base_out && first_sent && first_write) {
		file->base_out = dtc_packets_get(packets, *first_sent)->seq - (uint32_t)first_write->offset;
		file->has_base_out = true;
	}
	if (file->has_base_in || !first_read)
		return;
	const struct dtc_flow *flow = dtc_packets_get_flow(packets, file->flow_in);
	const uint32_t *ids = dtc_packets_get_flow_packets(packets, file->flow_in);
	uint32_t end_seq = 0;
	bool any = false;
	for (uint32_t i = 0; i < flow->packet_count; i++) {
		const struct dtc_packet *p = dtc_packets_get(packets, ids[i]);
		if (p->time_ns > first_read->end_ns)
			break;
		if (p->direction != DTC_RECEIVED || !p->payload_bytes)
			continue;
		uint32_t end = p->seq + p->payload_bytes;
		if (!any || dtc_seq_distance(end_seq, end) > 0)
			end_seq = end;
		any = true;
	}
	if (any) {
		file->base_in = end_seq - (uint32_t)first_read->result - (uint32_t)first_read->offset;
		file->has_base_in = true;
	}
}

void dtc_machine_place_sockets(DtcMachine *m)
{
	DtcHistory *h = m->history;
	const DtcPackets *packets = h->packets;
	uint32_t flow_count = dtc_packets_get_flow_count(packets), file_count = h->files->len;
	g_array_set_size(h->flow_files, flow_count);
	if (flow_count)
		memset(h->flow_files->data, 0xff, flow_count * sizeof(uint32_t));

	/* the first read with data, and the first segment sent inside a write, of every socket whose SYN was not seen
	 */
	g_autofree uint32_t *first_read = g_new(uint32_t, file_count + 1),
			    *first_sent = g_new(uint32_t, file_count + 1);
	memset(first_read, 0xff, file_count * sizeof(uint32_t));
	memset(first_sent, 0xff, file_count * sizeof(uint32_t));
	for (uint32_t i = 0; i < h->calls->len; i++) {
		const struct dtc_call *call = DTC_AT(h->calls, struct dtc_call, i);
		if (call->file != DTC_NONE && call->kind == DTC_CALL_READ && call->result > 0 &&
		    first_read[call->file] == DTC_NONE)
			first_read[call->file] = i;
	}
	for (uint32_t i = 0; i < h->contexts->len; i++) {
		const struct dtc_packet_context *context = DTC_AT(h->contexts, struct dtc_packet_context, i);
		const struct dtc_packet *p = dtc_packets_get(packets, i);
		if (context->call == DTC_NONE || p->direction != DTC_SENT || !p->payload_bytes)
			continue;
		const struct dtc_call *call = DTC_AT(h->calls, struct dtc_call, context->call);
		if (call->kind == DTC_CALL_WRITE && call->file != DTC_NONE && first_sent[call->file] == DTC_NONE &&
		    g_array_index(h->files, struct dtc_file, call->file).flow_out == p->flow)
			first_sent[call->file] = i;
	}
	for (uint32_t i = 0; i < file_count; i++) {
		struct dtc_file *file = &g_array_index(h->files, struct dtc_file, i);
		if (file->flow_out == DTC_NONE)
			continue;
		g_array_index(h->flow_files, uint32_t, file->flow_out) = i;
		const struct dtc_flow *out = dtc_packets_get_flow(packets, file->flow_out);
		const struct dtc_flow *in = dtc_packets_get_flow(packets, file->flow_in);
		if (out->protocol != 6)
			continue;
		if (out->has_isn) {
			file->base_out = out->isn + 1;
			file->has_base_out = true;
		}
		if (in->has_isn) {
			file->base_in = in->isn + 1;
			file->has_base_in = true;
		}
		const struct dtc_call *read = NULL, *write = NULL;
		if (first_read[i] != DTC_NONE)
			read = DTC_AT(h->calls, struct dtc_call, first_read[i]);
		const uint32_t *sent = first_sent[i] != DTC_NONE ? &first_sent[i] : NULL;
		if (sent) {
			uint32_t call = DTC_AT(h->contexts, struct dtc_packet_context, *sent)->call;
			write = DTC_AT(h->calls, struct dtc_call, call);
		}
		place_open_socket(m, file, read, sent, write);
	}
}
