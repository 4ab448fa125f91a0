/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Events of any bytes, in the layouts that LTTng declares (of the demo) and in some of all kinds that it does not: all
 * ways to their end, by the layout, by steps, by forms, and with a look at the fields, come to the same place, and what
 * is taken of the fields is the same with a form and without one.
 */
#include "collect/read/ctf/clock_class.h"
#include "collect/read/fast/forms.h"
#include "collect/read/fast/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char made[] =
	"\x1e{\"type\":\"preamble\",\"version\":2}\x1e{\"type\":\"trace-class\"}\x1e{\"type\":\"data-stream-class\"}"
	"\x1e{\"type\":\"field-class-alias\",\"name\":\"n\",\"field-class\":{\"type\":"
	"\"variable-length-unsigned-integer\"}}"
	"\x1e{\"type\":\"event-record-class\",\"payload-field-class\":{\"type\":\"structure\",\"member-classes\":["
	"{\"name\":\"n\",\"field-class\":\"n\"},"
	"{\"name\":\"b\",\"field-class\":{\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[\"n\"]}"
	"}},"
	"{\"name\":\"a\",\"field-class\":{\"type\":\"dynamic-length-array\",\"length-field-location\":{\"path\":[\"n\"]"
	"},"
	"\"element-field-class\":{\"type\":\"structure\",\"member-classes\":[{\"name\":\"x\",\"field-class\":\"n\"},"
	"{\"name\":\"o\",\"field-class\":{\"type\":\"optional\",\"selector-field-location\":{\"path\":[\"x\"]},"
	"\"selector-field-ranges\":[[1,3]],\"field-class\":{\"type\":\"null-terminated-string\",\"encoding\":"
	"\"utf-16le\"}}},"
	"{\"name\":\"v\",\"field-class\":{\"type\":\"variant\",\"selector-field-location\":{\"path\":[null,\"n\"]},"
	"\"options\":[{\"selector-field-ranges\":[[0,2]],\"field-class\":{\"type\":\"fixed-length-signed-integer\","
	"\"length\":13,\"byte-order\":\"big-endian\",\"bit-order\":\"first-to-last\"}},"
	"{\"selector-field-ranges\":[[3,99]],\"field-class\":{\"type\":\"static-length-string\",\"length\":3}}]}}]}}}]}"
	"}";

struct trace {
	struct dtc_trace_declaration *declaration;
	struct dtc_trace_layout *layout;
	DtcNames *events, *calls;
	uint64_t *slots;
};

static struct trace open_trace(const char *text, gsize bytes)
{
	g_autoptr(GError) error = NULL;
	struct trace trace = { .declaration = dtc_declaration_parse(text, bytes, &error) };
	g_assert_no_error(error);
	trace.layout = dtc_layout_compile(trace.declaration, &error);
	g_assert_no_error(error);
	trace.events = dtc_names_new();
	trace.calls = dtc_names_new();
	trace.slots = g_new0(uint64_t, trace.layout->slot_count + 1);
	return trace;
}

static bool is_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* What is near the file's end, or has no form, is taken another way. */
static void compare(const DtcProgram *program, const struct dtc_decoder *packet, const struct dtc_item *item,
		    const struct dtc_event *event)
{
	static struct dtc_program_texts texts;
	static struct dtc_event other;
	g_assert_true(dtc_program_run(program, packet, item, &texts, &other));
	g_assert_cmpmem(event->v, dtc_event_get_slot_count(event->kind) * sizeof(event->v[0]), other.v,
			dtc_event_get_slot_count(other.kind) * sizeof(other.v[0]));
	g_assert_true(is_equal(event->text[0], other.text[0]) && is_equal(event->text[1], other.text[1]));
	g_assert_true(event->has_tid == other.has_tid && (!event->has_tid || event->tid == other.tid));
	if (event->kind >= DTC_EVENT_NET_SEND && event->kind <= DTC_EVENT_INET_IN)
		g_assert_cmpmem(&event->headers, sizeof(event->headers), &other.headers, sizeof(other.headers));
}

/* What was remembered of the last event of its class is believed of this one only if it is so. */
static struct dtc_item find_form(const struct dtc_layout *const *parts, guint class, const struct dtc_decoder *packet,
				 uint64_t end)
{
	static struct dtc_form_guess guess = { .class = G_MAXUINT };
	struct dtc_form_guess fresh;
	struct dtc_forms *forms = dtc_forms_new(parts, 3);
	struct dtc_formed guessed, formed = { .form = 0 };
	if (forms && dtc_forms_pass(forms, class, packet->data, 0, packet->end, &fresh, &formed)) {
		g_assert_cmpuint(formed.end, ==, end);
		if (dtc_form_guess_holds(&guess, class, packet->data, 0, packet->end, &guessed))
			g_assert_true(guessed.end == end && guessed.form == formed.form && guessed.last == formed.last);
		if (fresh.class == class)
			g_assert_true(dtc_form_guess_holds(&fresh, class, packet->data, 0, packet->end, &guessed) &&
				      guessed.end == end);
		guess = fresh;
	} else {
		g_assert_false(dtc_form_guess_holds(&guess, class, packet->data, 0, packet->end, &guessed));
	}
	dtc_forms_free(forms);
	return (struct dtc_item){ .class = class, .last = formed.last, .form = formed.form };
}

static void decode(const struct trace *trace, guint number, const uint8_t *data, size_t size)
{
	static struct dtc_program_texts texts;
	static struct dtc_event taken;
	const struct dtc_stream_layout *stream = &trace->layout->streams[0];
	struct dtc_event_layout *event = &stream->events[number % stream->event_count];
	const struct dtc_layout *parts[] = { stream->common_context, event->context, event->payload };
	struct dtc_decoder passed = { .data = data, .end = size * 8, .room = size * 8, .slots = trace->slots };
	struct dtc_decoder stepped = passed, packet = passed;
	if (!event->user)
		event->user = dtc_program_new(stream, event, trace->events, trace->calls);
	bool is_passed = dtc_decode_pass(&passed, stream->common_context) && dtc_decode_pass(&passed, event->context) &&
			 dtc_decode_pass(&passed, event->payload);
	struct dtc_steps *steps = dtc_steps_new(parts, G_N_ELEMENTS(parts), NULL);
	bool is_stepped = dtc_steps_pass(steps, &stepped);
	dtc_steps_free(steps);
	g_assert_true(is_passed == is_stepped && (!is_passed || stepped.at == passed.at));
	if (!is_passed)
		return;
	const struct dtc_item none = { .form = 0 };
	const struct dtc_item item = find_form(parts, number, &packet, stepped.at);
	g_assert_true(dtc_program_run(event->user, &packet, &item, &texts, &taken));
	compare(event->user, &packet, &none, &taken);
	packet.room = 0;
	compare(event->user, &packet, &none, &taken);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct trace lttng, other;
	if (!lttng.layout) {
		GString *text = dtc_metadata_read_text(DTC_DEMO_TRACE);
		lttng = open_trace(text->str, text->len);
		other = open_trace(made, sizeof(made) - 1);
		g_string_free(text, TRUE);
	}
	if (size < 3)
		return 0;
	guint number = data[0] | (guint)data[1] << 8;
	g_autofree uint8_t *packet = g_memdup2(data + 2, size - 2);
	decode(number >> 15 ? &other : &lttng, number, packet, size - 2);
	return 0;
}
