/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/convert.h"

#include "collect/packets/packets.h"
#include "collect/seal/running.h"

#include <string.h>

struct conversion {
	const struct dtc_convert_input *input;
	struct dtc_convert_cpu *cpu;
	DtcCtfWriter *writer;
	const struct dtc_switch_layout *layout;
	const struct dtc_event_class *repaired; /* of a switch that is put in */
	struct dtc_running running;
	char comm[DTC_COMM_BYTES]; /* of who runs */
	int32_t prio;
	uint32_t nets; /* so far */
	uint32_t forks;
	uint32_t opens;
	guint next_repair;
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

/* A thread's name from the walk, padded with zeros; all zero: not known. */
static void find_comm(const DtcWalk *walk, int32_t tid, char comm[DTC_COMM_BYTES])
{
	memset(comm, 0, DTC_COMM_BYTES);
	for (guint i = 0; i < walk->threads->len; i++) {
		const struct dtc_walk_thread *thread = &g_array_index(walk->threads, struct dtc_walk_thread, i);
		if (thread->tid == tid) {
			g_strlcpy(comm, thread->name, DTC_COMM_BYTES);
			return;
		}
	}
	if (tid == 0)
		g_strlcpy(comm, "swapper", DTC_COMM_BYTES);
}

/* Puts in a switch that is missing. */
static void put_switch(struct conversion *c, const struct dtc_repair *repair)
{
	const struct dtc_switch_layout *layout = c->layout;
	static const struct dtc_event_facts none;
	uint32_t bytes = layout->format->fixed_bytes;
	g_autofree uint8_t *data = g_malloc0(bytes);

	memcpy(data + layout->prev_comm, c->comm, DTC_COMM_BYTES);
	memcpy(data + layout->prev_pid, &repair->from, sizeof repair->from);
	memcpy(data + layout->prev_prio, &c->prio, sizeof c->prio);
	memcpy(data + layout->next_comm, repair->comm, DTC_COMM_BYTES);
	memcpy(data + layout->next_pid, &repair->to, sizeof repair->to);
	size_t room = dtc_event_class_get_max_bytes(c->repaired, bytes, &none);
	uint8_t *to = dtc_ctf_writer_begin_event(c->writer, c->repaired->id, repair->time_ns, room);
	dtc_ctf_writer_end_event(c->writer, dtc_event_class_encode(c->repaired, data, bytes, &none, to));
	c->cpu->repaired_switches++;
}

/*
 * In whose context an event was logged, against who should run. The scan found the same switches missing, and knows
 * when they were; that a thread becomes another by executing a program only all CPUs together tell.
 */
static void check_context(struct conversion *c, const struct dtc_raw_event *event, const struct dtc_raw_format *format,
			  bool is_switch)
{
	int32_t tid = get_i32(event->data + format->pid_offset);
	bool was_known = c->running.is_known;
	struct dtc_repair found = { 0 };
	bool is_missing = dtc_running_check(&c->running, event, tid, is_switch, &found);

	if (!is_missing && was_known)
		return;
	if (is_missing && c->next_repair < c->cpu->repairs->len)
		found = g_array_index(c->cpu->repairs, struct dtc_repair, c->next_repair++);
	if (is_switch)
		memcpy(found.comm, event->data + c->layout->prev_comm, DTC_COMM_BYTES);
	else if (!found.comm[0])
		find_comm(c->input->names, tid, found.comm);
	if (is_missing && !dtc_tasks_is_same(c->input->tasks, found.from, found.to))
		put_switch(c, &found);
	memcpy(c->comm, found.comm, DTC_COMM_BYTES);
	c->prio = 0;
}

static void follow_switch(struct conversion *c, const struct dtc_raw_event *event)
{
	dtc_running_switch(&c->running, c->layout, event);
	memcpy(c->comm, event->data + c->layout->next_comm, DTC_COMM_BYTES);
	c->prio = get_i32(event->data + c->layout->next_prio);
}

/* ---- losses ---- */

static void lose(struct conversion *c, uint64_t count, int64_t before_ns)
{
	count = count == DTC_LOST_UNKNOWN ? c->cpu->unknown_lost : count;
	dtc_ctf_writer_lose(c->writer, count, before_ns);
	c->cpu->lost_events += count;
}

/* Packets begin and end where a loss without a mark does, for it is said of that time only; none after all events. */
static void pass_losses(struct conversion *c, int64_t time_ns)
{
	while (c->next_loss < c->cpu->losses->len) {
		const struct dtc_loss *loss = &g_array_index(c->cpu->losses, struct dtc_loss, c->next_loss);
		if (!c->is_in_loss && time_ns >= loss->begin_ns)
			dtc_ctf_writer_end_packet(c->writer);
		c->is_in_loss = time_ns >= loss->begin_ns;
		if (time_ns < loss->end_ns)
			return;
		dtc_ctf_writer_lose_within(c->writer, loss->count, MIN(loss->end_ns, c->input->end_ns));
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
	bool is_switch = type->format == c->layout->format;
	if (c->layout->format && type->format->pid_offset && type->format->pid_offset <= G_MAXUINT8)
		check_context(c, event, type->format, is_switch);
	write_event(c, type, event);
	if (is_switch)
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
	c.layout = dtc_subjects_get_switch(input->subjects);
	if (c.layout->format)
		c.repaired = &dtc_classes_find(input->classes, c.layout->format->id)->informed;
	while (dtc_pages_next(pages, &event)) {
		convert_event(&c, &event);
		last_ns = event.time_ns;
	}
	pass_losses(&c, INT64_MAX);
	if (dtc_pages_get_lost_at_end(pages))
		lose(&c, dtc_pages_get_lost_at_end(pages), last_ns);
	return dtc_pages_finish(pages, &summary, error) && dtc_ctf_writer_finish(writer, &cpu->bytes, error);
}
