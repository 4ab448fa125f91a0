/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/convert.h"

#include "collect/packets/packets.h"
#include "collect/seal/running.h"

#include <string.h>

#define COMM_BYTES 16

/* Where sched_switch has what; all 0: it has another form, or was not recorded. */
struct switch_layout {
	const struct dtc_event_type *type;
	uint32_t prev_comm;
	uint32_t prev_pid;
	uint32_t prev_prio;
	uint32_t next_comm;
	uint32_t next_pid;
	uint32_t next_prio;
	uint16_t number;
};

struct conversion {
	const struct dtc_convert_input *input;
	struct dtc_convert_cpu *cpu;
	DtcCtfWriter *writer;
	struct switch_layout layout;
	struct dtc_running running;
	char comm[COMM_BYTES]; /* of who runs */
	int32_t prio;
	uint32_t nets; /* so far */
	uint32_t forks;
	uint32_t opens;
	guint next_loss;
	bool is_in_loss;
};

static int32_t get_i32(const uint8_t *at)
{
	int32_t value;
	memcpy(&value, at, sizeof value);
	return value;
}

/* ---- switches ---- */

static bool find_place(const struct dtc_raw_format *format, const char *name, uint32_t bytes, uint32_t *ret_offset)
{
	const struct dtc_raw_field *field = dtc_raw_format_find(format, name);
	if (!field || field->size != bytes || field->shape == DTC_RAW_STRING)
		return false;
	*ret_offset = field->offset;
	return true;
}

static void find_switch_layout(const DtcFormats *formats, const DtcClasses *classes, struct switch_layout *layout)
{
	for (guint i = 0; i < dtc_formats_get_count(formats); i++) {
		const struct dtc_raw_format *format = dtc_formats_get(formats, i);
		const struct dtc_event_type *type = dtc_classes_find(classes, format->id);
		if (type->role != DTC_CLASS_SWITCH || !format->pid_offset)
			continue;
		struct switch_layout found = { .type = type, .number = format->id };
		if (find_place(format, "prev_comm", COMM_BYTES, &found.prev_comm) &&
		    find_place(format, "prev_pid", 4, &found.prev_pid) &&
		    find_place(format, "prev_prio", 4, &found.prev_prio) &&
		    find_place(format, "next_comm", COMM_BYTES, &found.next_comm) &&
		    find_place(format, "next_pid", 4, &found.next_pid) &&
		    find_place(format, "next_prio", 4, &found.next_prio))
			*layout = found;
	}
}

/* A thread's name from the walk, padded with zeros; all zero: not known. */
static void find_comm(const DtcWalk *walk, int32_t tid, char comm[COMM_BYTES])
{
	memset(comm, 0, COMM_BYTES);
	for (guint i = 0; i < walk->threads->len; i++) {
		const struct dtc_walk_thread *thread = &g_array_index(walk->threads, struct dtc_walk_thread, i);
		if (thread->tid == tid) {
			g_strlcpy(comm, thread->name, COMM_BYTES);
			return;
		}
	}
	if (tid == 0)
		g_strlcpy(comm, "swapper", COMM_BYTES);
}

/* Puts in a switch from who ran to tid, just before the event that shows it. */
static void put_switch(struct conversion *c, int64_t time_ns, int32_t old_tid, int32_t tid)
{
	const struct switch_layout *layout = &c->layout;
	const struct dtc_event_class *class = &layout->type->informed;
	static const struct dtc_event_facts none;
	uint32_t bytes = layout->type->format->fixed_bytes;
	g_autofree uint8_t *data = g_malloc0(bytes);
	char comm[COMM_BYTES];

	find_comm(c->input->names, tid, comm);
	memcpy(data + layout->prev_comm, c->comm, COMM_BYTES);
	memcpy(data + layout->prev_pid, &old_tid, sizeof old_tid);
	memcpy(data + layout->prev_prio, &c->prio, sizeof c->prio);
	memcpy(data + layout->next_comm, comm, COMM_BYTES);
	memcpy(data + layout->next_pid, &tid, sizeof tid);
	size_t room = dtc_event_class_get_max_bytes(class, bytes, &none);
	uint8_t *to = dtc_ctf_writer_begin_event(c->writer, class->id, time_ns, room);
	dtc_ctf_writer_end_event(c->writer, dtc_event_class_encode(class, data, bytes, &none, to));
	memcpy(c->comm, comm, COMM_BYTES);
	c->prio = 0;
	c->cpu->repaired_switches++;
}

/* In whose context an event was logged, against who should run. */
static void check_context(struct conversion *c, const struct dtc_raw_event *event, const struct dtc_raw_format *format,
			  bool is_switch)
{
	int32_t tid = get_i32(event->data + format->pid_offset), old_tid = c->running.tid;
	if (c->running.is_known && tid == old_tid) {
		c->running.is_settled = true;
		return;
	}
	if (c->running.is_known && dtc_tasks_is_same(c->input->tasks, old_tid, tid)) {
		c->running.tid = tid;
		return;
	}
	if (dtc_running_check(&c->running, event->time_ns, tid, is_switch))
		put_switch(c, event->time_ns, old_tid, tid);
	else if (c->running.tid == tid)
		find_comm(c->input->names, tid, c->comm);
}

static void follow_switch(struct conversion *c, const struct dtc_raw_event *event)
{
	dtc_running_switch(&c->running, event->time_ns, get_i32(event->data + c->layout.prev_pid),
			   get_i32(event->data + c->layout.next_pid));
	memcpy(c->comm, event->data + c->layout.next_comm, COMM_BYTES);
	c->prio = get_i32(event->data + c->layout.next_prio);
}

/* ---- losses ---- */

static void lose(struct conversion *c, uint64_t count, int64_t before_ns)
{
	count = count == DTC_LOST_UNKNOWN ? c->cpu->unknown_lost : count;
	dtc_ctf_writer_lose(c->writer, count, before_ns);
	c->cpu->lost_events += count;
}

/* Packets begin and end where a loss without a mark does, so that it is said of that time only. */
static void pass_losses(struct conversion *c, int64_t time_ns)
{
	while (c->next_loss < c->cpu->losses->len) {
		const struct dtc_loss *loss = &g_array_index(c->cpu->losses, struct dtc_loss, c->next_loss);
		if (!c->is_in_loss && time_ns >= loss->begin_ns)
			dtc_ctf_writer_end_packet(c->writer);
		c->is_in_loss = time_ns >= loss->begin_ns;
		if (time_ns < loss->end_ns)
			return;
		dtc_ctf_writer_add_lost(c->writer, loss->count);
		dtc_ctf_writer_end_packet(c->writer);
		c->cpu->lost_events += loss->count;
		c->is_in_loss = false;
		c->next_loss++;
	}
}

/* ---- events ---- */

/* What else is known of this event; the class that holds it. */
static const struct dtc_event_class *choose_class(struct conversion *c, const struct dtc_event_type *type,
						  const struct dtc_raw_event *event, struct dtc_event_facts *facts)
{
	uint16_t number = type->format->id;
	uint32_t net = c->nets;
	if (dtc_subjects_is_net(c->input->subjects, number, event->bytes)) {
		c->nets++;
		if (type->role == DTC_CLASS_NET && c->cpu->first_net != DTC_NONE)
			facts->source = dtc_join_get(c->input->join, c->cpu->first_net + net, &facts->headers);
	} else if (dtc_subjects_is_kind(c->input->subjects, number, event->bytes, DTC_NOTE_FORK)) {
		struct dtc_fork_fact fork = dtc_tasks_get_fork(c->input->tasks, c->cpu->scan, c->forks++);
		facts->parent_pid = fork.parent_pid;
		facts->child_pid = fork.child_pid;
		if (fork.parent_pid && fork.child_pid && type->role == DTC_CLASS_FORK)
			return &type->informed;
	} else if (dtc_subjects_is_kind(c->input->subjects, number, event->bytes, DTC_NOTE_OPEN)) {
		const char *name = dtc_tasks_get_file_name(c->input->tasks, c->cpu->scan, c->opens++);
		if (name && type->role == DTC_CLASS_OPEN) {
			facts->file_name = name;
			return &type->informed;
		}
	}
	return &type->plain;
}

static void write_event(struct conversion *c, const struct dtc_event_type *type, const struct dtc_raw_event *event)
{
	struct dtc_event_facts facts;
	facts.file_name = NULL;
	facts.source = DTC_HEADER_NONE;
	const struct dtc_event_class *class = choose_class(c, type, event, &facts);
	size_t room = dtc_event_class_get_max_bytes(class, event->bytes, &facts);
	uint8_t *to = dtc_ctf_writer_begin_event(c->writer, class->id, event->time_ns, room);
	dtc_ctf_writer_end_event(c->writer, dtc_event_class_encode(class, event->data, event->bytes, &facts, to));
	c->cpu->events++;
}

static void convert_event(struct conversion *c, const struct dtc_raw_event *event)
{
	uint16_t number = 0;
	if (event->bytes >= sizeof number)
		memcpy(&number, event->data, sizeof number);
	const struct dtc_event_type *type = dtc_classes_find(c->input->classes, number);
	if (event->lost)
		lose(c, event->lost, event->time_ns);
	if (c->next_loss < c->cpu->losses->len)
		pass_losses(c, event->time_ns);
	if (!type || event->bytes < type->format->fixed_bytes)
		return;
	bool is_switch = number == c->layout.number;
	if (c->layout.type && type->format->pid_offset)
		check_context(c, event, type->format, is_switch);
	write_event(c, type, event);
	if (is_switch && c->layout.type)
		follow_switch(c, event);
}

static DtcCtfWriter *create_stream(const struct dtc_convert_input *input, uint32_t cpu, GError **error)
{
	g_autofree char *path = g_strdup_printf("%s/cpu%u", input->folder, cpu);
	return dtc_ctf_writer_new(path, input->uuid, cpu, cpu, input->begin_ns, error);
}

bool dtc_convert_cpu(const struct dtc_convert_input *input, struct dtc_convert_cpu *cpu, GError **error)
{
	struct dtc_pages_summary summary;
	struct dtc_raw_event event;
	g_autoptr(DtcPages) pages = dtc_scan_open(input->recording, cpu->cpu, error);
	g_autoptr(DtcCtfWriter) writer = pages ? create_stream(input, cpu->cpu, error) : NULL;
	struct conversion c = { .input = input, .cpu = cpu, .writer = writer };
	int64_t last_ns = input->begin_ns;

	if (!writer)
		return false;
	find_switch_layout(input->recording->formats, input->classes, &c.layout);
	while (dtc_pages_next(pages, &event)) {
		convert_event(&c, &event);
		last_ns = event.time_ns;
	}
	pass_losses(&c, INT64_MAX);
	if (dtc_pages_get_lost_at_end(pages))
		lose(&c, dtc_pages_get_lost_at_end(pages), last_ns);
	return dtc_pages_finish(pages, &summary, error) && dtc_ctf_writer_finish(writer, &cpu->bytes, error);
}
