/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/scan.h"

#include "collect/seal/raw.h"

#include <string.h>

#define MAX_TYPES 65536u
#define MAX_DEVICES 60000u /* an index has 16 bits */
/* Net events that another one on this CPU can come between it and its bytes: of interrupts in interrupts. */
#define NET_BACK 8
/* From a reception to the wake of who waits for it: a few us. */
#define WOKEN_NS 20000
/* TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ and TRACE_FLAG_NMI (include/linux/trace_events.h) of common_flags */
#define INTERRUPTED (0x08 | 0x10 | 0x40)

enum {
	SUBJECT_NONE,
	SUBJECT_NET = 1,   /* plus enum dtc_join_kind */
	SUBJECT_NOTE = 16, /* plus enum dtc_note_kind */
	SUBJECT_WAKE = 32,
	SUBJECT_WAKING, /* a wake, too: of who runs */
	SUBJECT_BYTES,
};

/* Where the numbers of a note, or the parts of a net event are. */
struct subject {
	uint8_t kind;
	uint8_t pid_offset;
	uint8_t flags_offset; /* 0: none */
	uint16_t a;
	uint16_t b;
	uint16_t length;
	uint16_t header_offset; /* of network_offset; 0: none */
	uint32_t fixed_bytes;
	uint32_t bytes; /* of SUBJECT_BYTES: index in layouts */
};

/* Bytes of a packet that were written before their net event. */
struct waiting_bytes {
	bool is_there;
	bool is_received;
	uint64_t buffer;
	struct dtc_wire_headers headers;
};

struct DtcSubjects {
	struct subject *types;
	GArray *layouts; /* struct dtc_packet_bytes_layout */
	struct dtc_switch_layout layout;
};

static const struct {
	const char *system;
	const char *name;
	enum dtc_note_kind kind;
	const char *a; /* fields; NULL: none */
	const char *b;
} noted[] = {
	{ "task", "task_newtask", DTC_NOTE_NEW_TASK, "pid", "clone_flags" },
	{ "sched", "sched_process_fork", DTC_NOTE_FORK, "child_pid", NULL },
	{ "sched", "sched_process_exec", DTC_NOTE_EXEC, "pid", "old_pid" },
	{ "syscalls", "sys_enter_open", DTC_NOTE_OPEN, NULL, NULL },
	{ "syscalls", "sys_enter_openat", DTC_NOTE_OPEN, NULL, NULL },
	{ "syscalls", "sys_enter_openat2", DTC_NOTE_OPEN, NULL, NULL },
	{ "syscalls", "sys_exit_open", DTC_NOTE_OPENED, "ret", NULL },
	{ "syscalls", "sys_exit_openat", DTC_NOTE_OPENED, "ret", NULL },
	{ "syscalls", "sys_exit_openat2", DTC_NOTE_OPENED, "ret", NULL },
	{ "syscalls", "sys_enter_close", DTC_NOTE_CLOSE, "fd", NULL },
	{ "syscalls", "sys_enter_dup2", DTC_NOTE_CLOSE, "newfd", NULL },
	{ "syscalls", "sys_enter_dup3", DTC_NOTE_CLOSE, "newfd", NULL },
	{ "syscalls", "sys_enter_close_range", DTC_NOTE_CLOSE_MANY, NULL, NULL },
};

/* After these a thread may be switched to. */
static const char *const wakes[] = { "sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_migrate_task" };

static const struct {
	const char *name;
	enum dtc_join_kind kind;
} net_events[] = {
	{ "net_dev_queue", DTC_JOIN_QUEUE },
	{ "net_dev_start_xmit", DTC_JOIN_START_XMIT },
	{ "netif_receive_skb", DTC_JOIN_RECEIVE },
};

/* 0 if it has none such, of at least that many bytes. */
static uint16_t find_offset(const struct dtc_raw_format *format, const char *name, uint32_t bytes)
{
	const struct dtc_raw_field *field = name ? dtc_raw_format_find(format, name) : NULL;
	return field && field->size >= bytes ? (uint16_t)MIN(field->offset, G_MAXUINT16) : 0;
}

static void add_net(struct subject *subject, const struct dtc_raw_format *format, enum dtc_join_kind kind)
{
	const struct dtc_raw_field *name = dtc_raw_format_find(format, "name");
	subject->a = find_offset(format, "skbaddr", 8);
	subject->b = find_offset(format, "name", 4);
	subject->length = find_offset(format, "len", 4);
	subject->header_offset = find_offset(format, "network_offset", 4);
	if (subject->a && subject->b && subject->length && name->shape == DTC_RAW_STRING && !name->is_relative)
		subject->kind = (uint8_t)(SUBJECT_NET + kind);
}

static void add_wake(struct subject *subject, const struct dtc_raw_format *format)
{
	const struct dtc_raw_field *comm = dtc_raw_format_find(format, "comm");
	subject->a = find_offset(format, "pid", 4);
	if (comm && comm->shape == DTC_RAW_CHARS && comm->size == DTC_COMM_BYTES)
		subject->b = (uint16_t)comm->offset;
	for (gsize i = 0; subject->a && i < G_N_ELEMENTS(wakes); i++)
		if (strcmp(format->name, wakes[i]) == 0)
			subject->kind = i == 0 ? SUBJECT_WAKING : SUBJECT_WAKE;
}

static void add_bytes(DtcSubjects *subjects, struct subject *subject, const struct dtc_raw_format *format)
{
	struct dtc_packet_bytes_layout layout;

	if (!dtc_packet_bytes_find(format, &layout))
		return;
	subject->kind = SUBJECT_BYTES;
	subject->bytes = subjects->layouts->len;
	g_array_append_val(subjects->layouts, layout);
}

static void add_subject(struct subject *subject, const struct dtc_raw_format *format)
{
	subject->fixed_bytes = format->fixed_bytes;
	subject->pid_offset = (uint8_t)MIN(format->pid_offset, G_MAXUINT8);
	subject->flags_offset = (uint8_t)(format->flags_offset > G_MAXUINT8 ? 0 : format->flags_offset);
	if (format->pid_offset == 0 || format->pid_offset > G_MAXUINT8)
		return;
	if (strcmp(format->system, "sched") == 0)
		add_wake(subject, format);
	for (gsize i = 0; i < G_N_ELEMENTS(net_events); i++)
		if (strcmp(format->system, "net") == 0 && strcmp(format->name, net_events[i].name) == 0)
			add_net(subject, format, net_events[i].kind);
	for (gsize i = 0; i < G_N_ELEMENTS(noted); i++) {
		if (strcmp(format->system, noted[i].system) != 0 || strcmp(format->name, noted[i].name) != 0)
			continue;
		subject->a = find_offset(format, noted[i].a, 4);
		subject->b = find_offset(format, noted[i].b, 4);
		if ((noted[i].a && !subject->a) || (noted[i].b && !subject->b))
			continue;
		subject->kind = (uint8_t)(SUBJECT_NOTE + noted[i].kind);
	}
}

DtcSubjects *dtc_subjects_new(const DtcFormats *formats)
{
	DtcSubjects *subjects = g_new0(DtcSubjects, 1);
	subjects->types = g_new0(struct subject, MAX_TYPES);
	subjects->layouts = g_array_new(FALSE, FALSE, sizeof(struct dtc_packet_bytes_layout));
	for (guint i = 0; i < dtc_formats_get_count(formats); i++) {
		const struct dtc_raw_format *format = dtc_formats_get(formats, i);
		add_subject(&subjects->types[format->id], format);
		add_bytes(subjects, &subjects->types[format->id], format);
	}
	dtc_switch_layout_find(formats, &subjects->layout);
	return subjects;
}

void dtc_subjects_free(DtcSubjects *subjects)
{
	if (!subjects)
		return;
	g_array_unref(subjects->layouts);
	g_free(subjects->types);
	g_free(subjects);
}

const struct dtc_switch_layout *dtc_subjects_get_switch(const DtcSubjects *subjects)
{
	return &subjects->layout;
}

bool dtc_subjects_is_net(const DtcSubjects *subjects, uint16_t type, uint32_t event_bytes)
{
	const struct subject *subject = &subjects->types[type];
	return subject->kind >= SUBJECT_NET && subject->kind < SUBJECT_NOTE && event_bytes >= subject->fixed_bytes;
}

bool dtc_subjects_is_kind(const DtcSubjects *subjects, uint16_t type, uint32_t event_bytes, enum dtc_note_kind kind)
{
	const struct subject *subject = &subjects->types[type];
	return subject->kind == SUBJECT_NOTE + kind && event_bytes >= subject->fixed_bytes;
}

static int32_t get_i32(const uint8_t *at)
{
	int32_t value;
	memcpy(&value, at, sizeof value);
	return value;
}

/* A device's name to its index; the last one is asked for first. */
static uint16_t find_device(struct dtc_scan *scan, const char *name, gsize length)
{
	for (guint i = scan->devices->len; i-- > 0;) {
		const char *device = g_ptr_array_index(scan->devices, i);
		if (strncmp(device, name, length) == 0 && device[length] == '\0')
			return (uint16_t)i;
	}
	if (scan->devices->len < MAX_DEVICES)
		g_ptr_array_add(scan->devices, g_strndup(name, length));
	return (uint16_t)(scan->devices->len - 1);
}

static void give_bytes(struct dtc_scan *scan, guint net, const struct dtc_wire_headers *headers)
{
	const struct dtc_net_bytes bytes = { net, *headers };

	dtc_table_append(scan->bytes, &bytes);
}

static enum dtc_join_context get_context(const struct subject *subject, const struct dtc_raw_event *event)
{
	if (subject->flags_offset == 0)
		return DTC_JOIN_CONTEXT_UNKNOWN;
	return event->data[subject->flags_offset] & INTERRUPTED ? DTC_JOIN_CONTEXT_INTERRUPT : DTC_JOIN_CONTEXT_THREAD;
}

static void add_net_event(struct dtc_scan *scan, const struct subject *subject, const struct dtc_raw_event *event,
			  struct waiting_bytes *waiting)
{
	struct dtc_join_event net = { .time_ns = event->time_ns, .cpu = (uint16_t)scan->cpu };
	uint32_t place = (uint32_t)get_i32(event->data + subject->b), at = place & 0xffff, count = place >> 16;

	memcpy(&net.skb, event->data + subject->a, sizeof net.skb);
	net.length = (uint32_t)get_i32(event->data + subject->length);
	net.tid = get_i32(event->data + subject->pid_offset);
	net.kind = (uint8_t)(subject->kind - SUBJECT_NET);
	net.context = (uint8_t)get_context(subject, event);
	if (net.kind == DTC_JOIN_START_XMIT && subject->header_offset) {
		int32_t header = get_i32(event->data + subject->header_offset);
		net.length -= header > 0 && (uint32_t)header < net.length ? (uint32_t)header : 0;
	}
	if (at >= event->bytes || count > event->bytes - at)
		count = 0;
	const char *name = (const char *)event->data + (count ? at : 0);
	net.device = find_device(scan, name, strnlen(name, count));
	g_array_append_val(scan->net, net);
	if (waiting->is_there && waiting->buffer == net.skb && waiting->is_received == (net.kind == DTC_JOIN_RECEIVE) &&
	    net.kind != DTC_JOIN_START_XMIT) {
		give_bytes(scan, scan->net->len - 1, &waiting->headers);
		waiting->is_there = false;
	}
}

/* The thread that waits for what was just received is woken in the same interrupt (sock_def_readable; net/core/sock.c).
 */
static void add_woken(struct dtc_scan *scan, const struct subject *subject, const struct dtc_raw_event *event)
{
	if (scan->net->len == 0 || get_context(subject, event) != DTC_JOIN_CONTEXT_INTERRUPT)
		return;
	const struct dtc_net_woken woken = { scan->net->len - 1, get_i32(event->data + subject->a) };
	const struct dtc_join_event *net = &g_array_index(scan->net, struct dtc_join_event, woken.net);
	bool is_first = scan->woken->len == 0 ||
			DTC_AT(scan->woken, struct dtc_net_woken, scan->woken->len - 1)->net != woken.net;

	if (is_first && net->kind == DTC_JOIN_RECEIVE && net->context == DTC_JOIN_CONTEXT_INTERRUPT &&
	    net->tid == get_i32(event->data + subject->pid_offset) && event->time_ns - net->time_ns <= WOKEN_NS)
		dtc_table_append(scan->woken, &woken);
}

/* The trigger writes them while the net event is written: behind it, or before if that is held in a page of its own. */
static void add_packet_bytes(struct dtc_scan *scan, const struct dtc_packet_bytes_layout *layout,
			     const struct dtc_raw_event *event, struct waiting_bytes *waiting)
{
	uint64_t buffer = dtc_packet_bytes_get_buffer(layout, event);
	guint end = scan->net->len > NET_BACK ? scan->net->len - NET_BACK : 0;
	uint32_t given = scan->bytes->len ? DTC_AT(scan->bytes, struct dtc_net_bytes, scan->bytes->len - 1)->net : 0;
	struct dtc_wire_headers headers;

	waiting->is_there = false;
	if (!dtc_packet_bytes_read(layout, event, &headers))
		return;
	for (guint i = scan->net->len; i-- > end;) {
		const struct dtc_join_event *net = &g_array_index(scan->net, struct dtc_join_event, i);
		if (net->skb != buffer || net->kind == DTC_JOIN_START_XMIT ||
		    layout->is_received != (net->kind == DTC_JOIN_RECEIVE))
			continue;
		if (scan->bytes->len && given == i) /* they are the next one's */
			break;
		give_bytes(scan, i, &headers);
		return;
	}
	*waiting = (struct waiting_bytes){ true, layout->is_received, buffer, headers };
}

static void add_note(struct dtc_scan *scan, const struct subject *subject, const struct dtc_raw_event *event,
		     uint32_t *indices)
{
	uint8_t kind = (uint8_t)(subject->kind - SUBJECT_NOTE);
	struct dtc_note note = { .time_ns = event->time_ns,
				 .tid = get_i32(event->data + subject->pid_offset),
				 .index = indices[kind]++,
				 .cpu = (uint16_t)scan->cpu,
				 .kind = kind };
	note.a = subject->a ? get_i32(event->data + subject->a) : 0;
	note.b = subject->b ? get_i32(event->data + subject->b) : 0;
	g_array_append_val(scan->notes, note);
}

static void note_lost(struct dtc_scan *scan, int64_t time_ns)
{
	struct dtc_note note = { .time_ns = time_ns, .cpu = (uint16_t)scan->cpu, .kind = DTC_NOTE_LOST };
	g_array_append_val(scan->notes, note);
}

static uint16_t get_type(const struct dtc_raw_event *event)
{
	uint16_t type = 0;
	if (event->bytes >= sizeof type)
		memcpy(&type, event->data, sizeof type);
	return type;
}

static void follow(struct dtc_scan *scan, const DtcSubjects *subjects, const struct dtc_raw_event *event,
		   struct dtc_running *running)
{
	const struct dtc_switch_layout *layout = &subjects->layout;
	uint16_t type = get_type(event);
	bool is_switch = type == layout->format->id;
	struct dtc_repair repair;
	if (dtc_running_check(running, event, get_i32(event->data + subjects->types[type].pid_offset), is_switch,
			      &repair))
		g_array_append_val(scan->repairs, repair);
	if (is_switch)
		dtc_running_switch(running, layout, event);
}

static void take_event(struct dtc_scan *scan, const DtcSubjects *subjects, const struct dtc_raw_event *event,
		       struct dtc_running *running, uint32_t *indices, struct waiting_bytes *waiting)
{
	const struct subject *subject = &subjects->types[get_type(event)];
	scan->events++;
	if (event->lost)
		note_lost(scan, event->time_ns);
	if (subject->fixed_bytes == 0 || event->bytes < subject->fixed_bytes) {
		scan->unknown_events++;
		return;
	}
	if (subject->pid_offset && subjects->layout.format)
		follow(scan, subjects, event, running);
	if (subject->kind >= SUBJECT_NOTE && subject->kind < SUBJECT_WAKE)
		add_note(scan, subject, event, indices);
	else if (subject->kind != SUBJECT_NONE && subject->kind < SUBJECT_NOTE)
		add_net_event(scan, subject, event, waiting);
	else if (subject->kind == SUBJECT_WAKING)
		add_woken(scan, subject, event);
	else if (subject->kind == SUBJECT_BYTES)
		add_packet_bytes(scan,
				 &g_array_index(subjects->layouts, struct dtc_packet_bytes_layout, subject->bytes),
				 event, waiting);
}

DtcPages *dtc_scan_open(const DtcRecording *recording, uint32_t cpu, GError **error)
{
	g_autofree char *path = g_strdup_printf("%s/" DTC_RAW_CPU "%u", recording->folder, cpu);
	DtcPages *pages = dtc_pages_open(path, &recording->layout, recording->page_bytes, recording->begin_ns,
					 recording->end_ns, error);
	if (pages && recording->from_ns > 0)
		dtc_pages_skip_until(pages, recording->from_ns);
	return pages;
}

bool dtc_scan_cpu(const DtcRecording *recording, const DtcSubjects *subjects, uint32_t cpu, struct dtc_scan *scan,
		  GError **error)
{
	uint32_t indices[DTC_NOTE_LOST + 1] = { 0 };
	struct dtc_running running = { 0 };
	struct waiting_bytes waiting = { 0 };
	struct dtc_raw_event event;

	*scan = (struct dtc_scan){ .cpu = cpu };
	scan->net = g_array_new(FALSE, FALSE, sizeof(struct dtc_join_event));
	scan->bytes = dtc_table_new(sizeof(struct dtc_net_bytes));
	scan->woken = dtc_table_new(sizeof(struct dtc_net_woken));
	scan->notes = g_array_new(FALSE, FALSE, sizeof(struct dtc_note));
	scan->repairs = g_array_new(FALSE, FALSE, sizeof(struct dtc_repair));
	scan->devices = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(DtcPages) pages = dtc_scan_open(recording, cpu, error);
	if (!pages)
		return false;
	while (dtc_pages_next(pages, &event)) {
		if (scan->events == 0)
			scan->first_ns = event.time_ns;
		scan->last_ns = event.time_ns;
		take_event(scan, subjects, &event, &running, indices, &waiting);
	}
	if (dtc_pages_get_lost_at_end(pages))
		note_lost(scan, scan->last_ns);
	return dtc_pages_finish(pages, &scan->pages, error);
}

bool dtc_scan_wakes(const DtcRecording *recording, const DtcSubjects *subjects, uint32_t cpu, DtcRepairs *repairs,
		    GError **error)
{
	struct dtc_pages_summary summary;
	struct dtc_raw_event event;
	g_autoptr(DtcPages) pages = dtc_scan_open(recording, cpu, error);
	if (!pages)
		return false;
	while (dtc_pages_next(pages, &event)) {
		const struct subject *subject = &subjects->types[get_type(&event)];
		if ((subject->kind == SUBJECT_WAKE || subject->kind == SUBJECT_WAKING) &&
		    event.bytes >= subject->fixed_bytes)
			dtc_repairs_note_wake(repairs, get_i32(event.data + subject->a),
					      subject->b ? event.data + subject->b : NULL, event.time_ns);
	}
	return dtc_pages_finish(pages, &summary, error);
}

void dtc_scan_clear(struct dtc_scan *scan)
{
	if (scan->repairs)
		g_array_unref(scan->repairs);
	if (scan->net)
		g_array_unref(scan->net);
	dtc_table_free(scan->bytes);
	dtc_table_free(scan->woken);
	if (scan->notes)
		g_array_unref(scan->notes);
	if (scan->devices)
		g_ptr_array_unref(scan->devices);
	*scan = (struct dtc_scan){ 0 };
}
