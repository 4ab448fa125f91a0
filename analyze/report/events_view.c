/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/events_view.h"

#include "analyze/path/explain.h"
#include "analyze/report/json_object.h"
#include "analyze/report/printable.h"

#include <inttypes.h>
#include <string.h>

#define NS_PER_S 1000000000

enum field_form {
	FORM_NUMBER,
	FORM_UNSIGNED, /* 64 bits without a sign */
	FORM_ADDRESS,  /* in hexadecimal; in JSON as text, since 64 bits do not fit every reader's numbers */
	FORM_TID,
	FORM_TEXT, /* slot: of text[] */
};

struct field {
	const char *name; /* NULL ends a list */
	uint8_t form;
	uint8_t slot;
};

#define NUMBER(name, slot)                                                                                             \
	{                                                                                                              \
		name, FORM_NUMBER, slot                                                                                \
	}
#define UNSIGNED(name, slot)                                                                                           \
	{                                                                                                              \
		name, FORM_UNSIGNED, slot                                                                              \
	}
#define ADDRESS(name, slot)                                                                                            \
	{                                                                                                              \
		name, FORM_ADDRESS, slot                                                                               \
	}
#define TID(name, slot)                                                                                                \
	{                                                                                                              \
		name, FORM_TID, slot                                                                                   \
	}
#define TEXT(name, slot)                                                                                               \
	{                                                                                                              \
		name, FORM_TEXT, slot                                                                                  \
	}
#define END                                                                                                            \
	{                                                                                                              \
		NULL, 0, 0                                                                                             \
	}

/* The slots of collect/read/event.h by kind, under the names that LTTng gives them. */
static const struct field no_fields[] = { END };
static const struct field switch_fields[] = {
	TEXT("prev_comm", 0),
	TID("prev_tid", DTC_SWITCH_PREV_TID),
	NUMBER("prev_prio", DTC_SWITCH_PREV_PRIO),
	NUMBER("prev_state", DTC_SWITCH_PREV_STATE),
	TEXT("next_comm", 1),
	TID("next_tid", DTC_SWITCH_NEXT_TID),
	NUMBER("next_prio", DTC_SWITCH_NEXT_PRIO),
	END,
};
static const struct field task_fields[] = {
	TEXT("comm", 0),
	TID("tid", DTC_TASK_TID),
	NUMBER("prio", DTC_TASK_PRIO),
	NUMBER("target_cpu", DTC_TASK_TARGET_CPU),
	END,
};
static const struct field exec_fields[] = {
	TEXT("filename", 0),
	TID("tid", DTC_TASK_TID),
	TID("old_tid", DTC_TASK_OLD_TID),
	END,
};
static const struct field fork_fields[] = {
	TEXT("parent_comm", 0),
	TID("parent_tid", DTC_FORK_PARENT_TID),
	NUMBER("parent_pid", DTC_FORK_PARENT_PID),
	TEXT("child_comm", 1),
	TID("child_tid", DTC_FORK_CHILD_TID),
	NUMBER("child_pid", DTC_FORK_CHILD_PID),
	END,
};
static const struct field irq_fields[] = {
	NUMBER("irq", DTC_IRQ_NUMBER),
	TEXT("name", 0),
	NUMBER("ret", DTC_IRQ_RESULT),
	END,
};
static const struct field softirq_fields[] = { NUMBER("vec", DTC_SOFTIRQ_VECTOR), END };
static const struct field timer_fields[] = {
	ADDRESS("timer", DTC_TIMER_ADDRESS),
	ADDRESS("function", DTC_TIMER_FUNCTION),
	END,
};
static const struct field fault_fields[] = {
	ADDRESS("address", DTC_FAULT_ADDRESS),
	ADDRESS("ip", DTC_FAULT_IP),
	NUMBER("error_code", DTC_FAULT_ERROR),
	END,
};
static const struct field vector_fields[] = { NUMBER("vector", DTC_VECTOR_NUMBER), END };
static const struct field call_fields[] = {
	NUMBER("number", DTC_CALL_NUMBER),
	NUMBER("ret", DTC_CALL_RET),
	NUMBER("fd", DTC_CALL_FD),
	NUMBER("fd2", DTC_CALL_FD2),
	TEXT("path", 0),
	NUMBER("length", DTC_CALL_LENGTH),
	ADDRESS("uaddr", DTC_CALL_UADDR),
	NUMBER("op", DTC_CALL_OP),
	ADDRESS("flags", DTC_CALL_FLAGS),
	NUMBER("value", DTC_CALL_VALUE),
	NUMBER("timeout", DTC_CALL_TIMEOUT),
	NUMBER("pid", DTC_CALL_PID),
	NUMBER("family", DTC_CALL_FAMILY),
	NUMBER("port", DTC_CALL_PORT),
	END,
};
static const struct field net_fields[] = {
	TEXT("interface", 0),
	ADDRESS("skbaddr", DTC_NET_SKB),
	NUMBER("len", DTC_NET_LENGTH),
	NUMBER("rc", DTC_NET_RESULT),
	END,
};
static const struct field inet_fields[] = { ADDRESS("sk", DTC_NET_SKB), END };
static const struct field block_fields[] = {
	NUMBER("dev", DTC_BLOCK_DEVICE),
	UNSIGNED("sector", DTC_BLOCK_SECTOR),
	NUMBER("nr_sector", DTC_BLOCK_SECTORS),
	NUMBER("rwbs", DTC_BLOCK_FLAGS),
	TEXT("comm", 0),
	TID("tid", DTC_BLOCK_TID),
	NUMBER("error", DTC_BLOCK_ERROR),
	END,
};
static const struct field work_fields[] = {
	ADDRESS("work", DTC_WORK_ADDRESS),
	ADDRESS("function", DTC_WORK_FUNCTION),
	END,
};
static const struct field signal_fields[] = {
	NUMBER("sig", DTC_SIGNAL_NUMBER),
	TEXT("comm", 0),
	TID("tid", DTC_SIGNAL_TID),
	END,
};
static const struct field ipi_fields[] = { NUMBER("cpu", DTC_IPI_CPU), ADDRESS("target_cpus", DTC_IPI_MASK), END };
static const struct field idle_fields[] = { NUMBER("state", DTC_IDLE_STATE), END };
static const struct field logger_fields[] = { TEXT("msg", 0), END };
static const struct field dump_process_fields[] = {
	TEXT("name", 0),
	TID("tid", DTC_DUMP_TID),
	NUMBER("pid", DTC_DUMP_PID),
	NUMBER("ppid", DTC_DUMP_PPID),
	NUMBER("type", DTC_DUMP_TYPE),
	NUMBER("status", DTC_DUMP_STATUS),
	NUMBER("cpu", DTC_DUMP_CPU),
	ADDRESS("file_table_address", DTC_DUMP_FILES),
	END,
};
static const struct field dump_fd_fields[] = {
	ADDRESS("file_table_address", DTC_DUMP_FD_FILES),
	NUMBER("pid", DTC_DUMP_FD_PID),
	NUMBER("fd", DTC_DUMP_FD_NUMBER),
	TEXT("filename", 0),
	END,
};
static const struct field dump_interface_fields[] = { TEXT("name", 0), ADDRESS("address_ipv4", DTC_DUMP_ADDRESS), END };
static const struct field dump_interrupt_fields[] = {
	NUMBER("irq", DTC_DUMP_IRQ),
	TEXT("action", 0),
	TEXT("name", 1),
	END,
};
static const struct field dump_block_fields[] = { NUMBER("dev", DTC_DUMP_DEVICE), TEXT("diskname", 0), END };
static const struct field kvm_fields[] = {
	NUMBER("vcpu_id", DTC_KVM_VCPU),
	NUMBER("exit_reason", DTC_KVM_REASON),
	NUMBER("isa", DTC_KVM_ISA),
	END,
};
static const struct field guest_irq_fields[] = {
	NUMBER("apicid", DTC_KVM_APIC),
	NUMBER("vector", DTC_KVM_VECTOR),
	END,
};
static const struct field lost_fields[] = {
	NUMBER("count", DTC_LOST_COUNT),
	NUMBER("begin_ns", DTC_LOST_BEGIN),
	END,
};

static const struct field *get_fields(const struct dtc_event *event)
{
	switch ((enum dtc_event_kind)event->kind) {
	case DTC_EVENT_SCHED_SWITCH:
		return switch_fields;
	case DTC_EVENT_SCHED_WAKING:
	case DTC_EVENT_SCHED_WAKEUP:
	case DTC_EVENT_SCHED_WAKEUP_NEW:
	case DTC_EVENT_SCHED_MIGRATE:
	case DTC_EVENT_SCHED_EXIT:
	case DTC_EVENT_SCHED_FREE:
		return task_fields;
	case DTC_EVENT_SCHED_FORK:
		return fork_fields;
	case DTC_EVENT_SCHED_EXEC:
		return exec_fields;
	case DTC_EVENT_IRQ_ENTRY:
	case DTC_EVENT_IRQ_EXIT:
		return irq_fields;
	case DTC_EVENT_SOFTIRQ_ENTRY:
	case DTC_EVENT_SOFTIRQ_EXIT:
	case DTC_EVENT_SOFTIRQ_RAISE:
		return softirq_fields;
	case DTC_EVENT_HRTIMER_ENTRY:
	case DTC_EVENT_HRTIMER_EXIT:
	case DTC_EVENT_TIMER_ENTRY:
	case DTC_EVENT_TIMER_EXIT:
		return timer_fields;
	case DTC_EVENT_FAULT_USER:
	case DTC_EVENT_FAULT_KERNEL:
		return fault_fields;
	case DTC_EVENT_VECTOR_ENTRY:
	case DTC_EVENT_VECTOR_EXIT:
		return vector_fields;
	case DTC_EVENT_SYSCALL_ENTRY:
	case DTC_EVENT_SYSCALL_EXIT:
		return call_fields;
	case DTC_EVENT_NET_SEND:
	case DTC_EVENT_NET_XMIT:
	case DTC_EVENT_NET_RECEIVE:
		return net_fields;
	case DTC_EVENT_INET_OUT:
	case DTC_EVENT_INET_IN:
		return inet_fields;
	case DTC_EVENT_BLOCK_GETRQ:
	case DTC_EVENT_BLOCK_INSERT:
	case DTC_EVENT_BLOCK_ISSUE:
	case DTC_EVENT_BLOCK_COMPLETE:
	case DTC_EVENT_BLOCK_FRONT:
	case DTC_EVENT_BLOCK_MERGE:
		return block_fields;
	case DTC_EVENT_WORK_QUEUE:
	case DTC_EVENT_WORK_START:
	case DTC_EVENT_WORK_END:
		return work_fields;
	case DTC_EVENT_SIGNAL_GENERATE:
	case DTC_EVENT_SIGNAL_DELIVER:
		return signal_fields;
	case DTC_EVENT_IPI_SEND:
		return ipi_fields;
	case DTC_EVENT_CPU_IDLE:
		return idle_fields;
	case DTC_EVENT_LOGGER:
		return logger_fields;
	case DTC_EVENT_DUMP_PROCESS:
		return dump_process_fields;
	case DTC_EVENT_DUMP_FD:
		return dump_fd_fields;
	case DTC_EVENT_DUMP_INTERFACE:
		return dump_interface_fields;
	case DTC_EVENT_DUMP_INTERRUPT:
		return dump_interrupt_fields;
	case DTC_EVENT_DUMP_BLOCK:
		return dump_block_fields;
	case DTC_EVENT_KVM_ENTRY:
	case DTC_EVENT_KVM_EXIT:
		return kvm_fields;
	case DTC_EVENT_KVM_ACCEPT:
	case DTC_EVENT_KVM_INJECT:
		return guest_irq_fields;
	case DTC_EVENT_LOST:
		return lost_fields;
	case DTC_EVENT_DUMP_END:
	case DTC_EVENT_OTHER:
	case DTC_EVENT_KINDS:
		break;
	}
	return no_fields;
}

bool dtc_event_names_thread(const struct dtc_event *event, int32_t tid)
{
	for (const struct field *field = get_fields(event); field->name; field++)
		if (field->form == FORM_TID && event->v[field->slot] == tid)
			return true;
	return false;
}

static bool is_absent(const struct dtc_event *event, const struct field *field)
{
	return field->form == FORM_TEXT ? event->text[field->slot] == NULL : event->v[field->slot] == DTC_ABSENT;
}

static bool is_call(const struct dtc_event *event)
{
	return (event->kind == DTC_EVENT_SYSCALL_ENTRY || event->kind == DTC_EVENT_SYSCALL_EXIT) &&
	       event->v[DTC_CALL_NAME] >= 0;
}

static const char *get_call_name(const struct dtc_event_line *line)
{
	return dtc_reader_get_syscall_name(line->reader, (guint)line->event->v[DTC_CALL_NAME]);
}

static bool has_headers(const struct dtc_event *event)
{
	switch ((enum dtc_event_kind)event->kind) {
	case DTC_EVENT_NET_SEND:
	case DTC_EVENT_NET_XMIT:
	case DTC_EVENT_NET_RECEIVE:
		return event->headers.ip_version != 0;
	case DTC_EVENT_INET_OUT: /* no addresses, but the rest */
	case DTC_EVENT_INET_IN:
		return true;
	default:
		return false;
	}
}

/* ---- text ---- */

static void add_text_value(GString *out, const char *name, const char *value)
{
	g_autofree char *printable = dtc_printable(value, DTC_PRINTABLE_MAX);
	bool is_word = *printable && !printable[strcspn(printable, " \"")];

	g_string_append_printf(out, is_word ? " %s=%s" : " %s=\"%s\"", name, printable);
}

static void add_text_field(GString *out, const struct dtc_event *event, const struct field *field)
{
	switch ((enum field_form)field->form) {
	case FORM_TEXT:
		add_text_value(out, field->name, event->text[field->slot]);
		break;
	case FORM_ADDRESS:
		g_string_append_printf(out, " %s=0x%" PRIx64, field->name, (uint64_t)event->v[field->slot]);
		break;
	case FORM_UNSIGNED:
		g_string_append_printf(out, " %s=%" PRIu64, field->name, (uint64_t)event->v[field->slot]);
		break;
	case FORM_NUMBER:
	case FORM_TID:
		g_string_append_printf(out, " %s=%" PRId64, field->name, event->v[field->slot]);
		break;
	}
}

static void add_text_headers(GString *out, const struct dtc_headers *headers)
{
	if (headers->ip_version) {
		g_autofree char *source = dtc_explain_address(headers->source, headers->source_port);
		g_autofree char *destination = dtc_explain_address(headers->destination, headers->destination_port);
		g_string_append_printf(out, " %s > %s", source, destination);
	}
	g_string_append_printf(out, " protocol=%u", headers->protocol);
	if (headers->protocol == 6 && (headers->has_transport || !headers->ip_version))
		g_string_append_printf(out, " seq=%" PRIu32 " ack=%" PRIu32 " flags=0x%x", headers->seq, headers->ack,
				       headers->tcp_flags);
	if (headers->ip_version)
		g_string_append_printf(out, " payload=%" PRIu32 " ip_id=%u", headers->payload_bytes, headers->ip_id);
}

static void add_text_time(GString *out, const struct dtc_event_line *line)
{
	int64_t ns = line->time.ns - line->origin_ns;
	uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	g_string_append_printf(out, "%s%" PRIu64 ".%09" PRIu64,
			       ns < 0		 ? "-"
			       : line->origin_ns ? "+"
						 : "",
			       magnitude / NS_PER_S, magnitude % NS_PER_S);
}

void dtc_event_line_add_text(GString *out, const struct dtc_event_line *line)
{
	const struct dtc_event *event = line->event;
	const char *name = dtc_reader_get_event_name(line->reader, event->name);
	g_autofree char *node = dtc_printable(line->node, DTC_JSON_NAME_MAX);
	g_autofree char *comm = dtc_printable(line->comm && *line->comm ? line->comm : "?", DTC_JSON_NAME_MAX);
	g_autofree char *printable_name = dtc_printable(name, DTC_PRINTABLE_MAX);

	add_text_time(out, line);
	g_string_append_printf(out, " %s cpu%" PRIu32, node, event->cpu);
	if (line->tid >= 0)
		g_string_append_printf(out, " %s:%" PRId32, comm, line->tid);
	else
		g_string_append(out, " ?");
	g_string_append_printf(out, " %s", printable_name);
	if (is_call(event) && !g_str_has_suffix(name, get_call_name(line)))
		add_text_value(out, "call", get_call_name(line));
	for (const struct field *field = get_fields(event); field->name; field++)
		if (!is_absent(event, field))
			add_text_field(out, event, field);
	if (is_call(event) && event->has_address) {
		g_autofree char *address = dtc_explain_address(event->address, (uint16_t)event->v[DTC_CALL_PORT]);
		add_text_value(out, "address", address);
	}
	if (has_headers(event))
		add_text_headers(out, &event->headers);
	g_string_append_c(out, '\n');
}

/* ---- JSON ---- */

static void add_json_field(GString *out, const struct dtc_event *event, const struct field *field)
{
	int64_t value = field->form == FORM_TEXT ? 0 : event->v[field->slot];

	switch ((enum field_form)field->form) {
	case FORM_TEXT:
		dtc_json_add_text(out, field->name, event->text[field->slot]);
		break;
	case FORM_ADDRESS:
		dtc_json_append_key(out, field->name);
		g_string_append_printf(out, "\"0x%" PRIx64 "\"", (uint64_t)value);
		break;
	case FORM_UNSIGNED:
		dtc_json_append_key(out, field->name);
		g_string_append_printf(out, "%" PRIu64, (uint64_t)value);
		break;
	case FORM_NUMBER:
	case FORM_TID:
		dtc_json_add_integer(out, field->name, value);
		break;
	}
}

static void add_json_headers(GString *out, const struct dtc_headers *headers)
{
	if (headers->ip_version) {
		g_autofree char *source = dtc_explain_address(headers->source, headers->source_port);
		g_autofree char *destination = dtc_explain_address(headers->destination, headers->destination_port);
		dtc_json_add_text(out, "source", source);
		dtc_json_add_text(out, "destination", destination);
	}
	dtc_json_add_integer(out, "protocol", headers->protocol);
	if (headers->protocol == 6 && (headers->has_transport || !headers->ip_version)) {
		dtc_json_add_integer(out, "seq", headers->seq);
		dtc_json_add_integer(out, "ack", headers->ack);
		dtc_json_add_integer(out, "tcp_flags", headers->tcp_flags);
		dtc_json_add_integer(out, "window", headers->window);
	}
	if (headers->ip_version) {
		dtc_json_add_integer(out, "payload_bytes", headers->payload_bytes);
		dtc_json_add_integer(out, "ip_id", headers->ip_id);
	}
}

void dtc_event_line_add_json(GString *out, const struct dtc_event_line *line)
{
	const struct dtc_event *event = line->event;

	g_string_append_c(out, '{');
	dtc_json_add_integer(out, "cluster_ns", line->time.ns);
	dtc_json_add_name(out, "node", line->node);
	dtc_json_add_integer(out, "node_ns", event->time_ns);
	dtc_json_add_integer(out, "cpu", event->cpu);
	dtc_json_add_text(out, "name", dtc_reader_get_event_name(line->reader, event->name));
	dtc_json_add_id(out, "tid", line->tid);
	dtc_json_add_name(out, "comm", line->comm);
	dtc_json_append_key(out, "fields");
	g_string_append_c(out, '{');
	if (is_call(event))
		dtc_json_add_text(out, "call", get_call_name(line));
	for (const struct field *field = get_fields(event); field->name; field++)
		if (!is_absent(event, field))
			add_json_field(out, event, field);
	if (is_call(event) && event->has_address) {
		g_autofree char *address = dtc_explain_address(event->address, (uint16_t)event->v[DTC_CALL_PORT]);
		dtc_json_add_text(out, "address", address);
	}
	if (has_headers(event))
		add_json_headers(out, &event->headers);
	g_string_append(out, "}}\n");
}
