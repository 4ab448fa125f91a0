/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events of which the form is known, and those of which it cannot be: both ways the same is taken. */
#include "collect/read/fast/forms.h"
#include "collect/read/fast/program.h"

/* Little and big endian numbers. */
static const char types[] = "typealias integer { size = 8; align = 8; signed = 0; } := u8;"
			    "typealias integer { size = 16; align = 8; signed = 0; } := u16;"
			    "typealias integer { size = 32; align = 8; signed = 0; } := u32;"
			    "typealias integer { size = 64; align = 8; signed = 0; } := u64;"
			    "typealias integer { size = 3; align = 1; signed = 0; byte_order = be; } := n3;"
			    "typealias integer { size = 4; align = 4; signed = 0; byte_order = be; } := n4;"
			    "typealias integer { size = 8; align = 8; signed = 0; byte_order = be; } := n8;"
			    "typealias integer { size = 9; align = 1; signed = 0; byte_order = be; } := n9;"
			    "typealias integer { size = 16; align = 8; signed = 0; byte_order = be; } := n16;"
			    "typealias integer { size = 32; align = 8; signed = 0; byte_order = be; } := n32;";

/* As LTTng has it; what two numbers of the IP header are called is left open. */
static const char net[] =
	"u64 _skbaddr; u32 _len; string _name; enum : u8 { _unknown = 0, _ipv4 = 1 } _network_header_type; "
	"variant <_network_header_type> { struct { } _unknown; "
	"struct { n4 _version; n4 _ihl; n8 _tos; n16 _%s; n16 _%s; n16 _frag_off; n8 _ttl; n8 _protocol; n16 "
	"_checksum; "
	"n8 _saddr[4]; n8 _daddr[4]; enum : u8 { _unknown = 0, _tcp = 1, _udp = 2 } _transport_header_type; "
	"variant <_transport_header_type> { struct { } _unknown; "
	"struct { n16 _source_port; n16 _dest_port; n32 _seq; n32 _ack_seq; n4 _data_offset; n3 _reserved; n9 _flags; "
	"n16 _window_size; n16 _checksum; n16 _urg_ptr; } _tcp; "
	"struct { n16 _source_port; n16 _dest_port; n16 _len; n16 _check; } _udp; "
	"} _transport_header; } _ipv4; } _network_header; ";

struct trace {
	struct dtc_trace_declaration *declaration;
	struct dtc_trace_layout *layout;
	DtcNames *events, *calls;
	uint64_t *slots;
	DtcProgram *program;
	struct dtc_forms *forms; /* or NULL */
};

/* A trace whose one event has these fields. */
static struct trace open_trace(const char *event, const char *fields)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = g_strdup_printf("/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };"
						"%s stream { }; event { name = \"%s\"; fields := struct { %s }; };",
						types, event, fields);
	struct trace trace = { .declaration = dtc_declaration_parse(text, strlen(text), &error) };
	g_assert_no_error(error);
	trace.layout = dtc_layout_compile(trace.declaration, &error);
	g_assert_no_error(error);
	trace.events = dtc_names_new();
	trace.calls = dtc_names_new();
	trace.slots = g_new0(uint64_t, trace.layout->slot_count + 1);
	struct dtc_event_layout *layout = &trace.layout->streams[0].events[0];
	const struct dtc_layout *parts[] = { NULL, NULL, layout->payload };
	trace.program = dtc_program_new(&trace.layout->streams[0], layout, trace.events, trace.calls);
	trace.forms = dtc_forms_new(parts, G_N_ELEMENTS(parts));
	return trace;
}

static struct trace open_net(const char *at_2, const char *at_4)
{
	g_autofree char *fields = g_strdup_printf(net, at_2, at_4);
	return open_trace("net_dev_queue", fields);
}

static void close_trace(struct trace *trace)
{
	dtc_forms_free(trace->forms);
	dtc_program_free(trace->program);
	dtc_trace_layout_free(trace->layout);
	dtc_trace_declaration_free(trace->declaration);
	dtc_names_free(trace->events);
	dtc_names_free(trace->calls);
	g_free(trace->slots);
}

/* The event at the begin of some bytes; its form, which is what it is taken by. */
static guint take(const struct trace *trace, const uint8_t *data, gsize bytes, struct dtc_event *ret)
{
	static struct dtc_program_texts texts;
	struct dtc_decoder packet = { .data = data, .end = bytes * 8, .room = bytes * 8, .slots = trace->slots };
	struct dtc_form_guess guess;
	struct dtc_formed formed = { .form = 0 };
	if (!dtc_forms_pass(trace->forms, 0, data, 0, packet.end, &guess, &formed))
		formed = (struct dtc_formed){ .form = 0 };
	const struct dtc_item item = { .last = formed.last, .form = formed.form };
	g_assert_true(dtc_program_run(trace->program, &packet, &item, &texts, ret));
	return formed.form;
}

static gsize put(uint8_t *to, gsize at, const char *hex)
{
	for (; hex[0]; hex += 2) {
		if (hex[0] == ' ') {
			hex--;
			continue;
		}
		to[at++] = (uint8_t)(g_ascii_xdigit_value(hex[0]) << 4 | g_ascii_xdigit_value(hex[1]));
	}
	return at;
}

#define FRONT "1122334455667788 ea050000 6574683000 "
#define IP "45 00 05dc 2bd6 4000 40 06 0000 0a000001 0a000002 "
#define TCP "1f90 c350 01020304 05060708 8012 7fff 0000 0000"

static void check_headers(const struct dtc_event *event, uint16_t total, uint16_t id)
{
	const struct dtc_headers *headers = &event->headers;
	g_assert_cmpstr(event->text[0], ==, "eth0");
	g_assert_cmpint(event->v[DTC_NET_LENGTH], ==, 1514);
	g_assert_cmpint(event->v[DTC_NET_SKB], ==, (int64_t)UINT64_C(0x8877665544332211));
	g_assert_cmpuint(headers->ip_version, ==, 4);
	g_assert_cmpuint(headers->protocol, ==, DTC_PROTOCOL_TCP);
	g_assert_cmpuint(headers->ip_id, ==, id);
	g_assert_cmpmem(headers->source + 10, 6, "\xff\xff\x0a\x00\x00\x01", 6);
	g_assert_cmpmem(headers->destination + 10, 6, "\xff\xff\x0a\x00\x00\x02", 6);
	g_assert_true(headers->has_transport);
	g_assert_cmpuint(headers->source_port, ==, 8080);
	g_assert_cmpuint(headers->destination_port, ==, 50000);
	g_assert_cmpuint(headers->seq, ==, 0x01020304);
	g_assert_cmpuint(headers->ack, ==, 0x05060708);
	g_assert_cmpuint(headers->tcp_flags, ==, 0x12);
	g_assert_cmpuint(headers->window, ==, 0x7fff);
	g_assert_cmpuint(headers->payload_bytes, ==, (uint32_t)(total - 20 - 32));
}

/* Of headers as on the wire, and of some in which two fields changed places: what is where is told by the metadata. */
static void test_headers(void)
{
	static struct dtc_event event, other;
	struct trace trace = open_net("tot_len", "id");
	struct trace turned = open_net("id", "tot_len");
	uint8_t data[256] = { 0 };
	gsize bytes = put(data, 0, FRONT "01" IP "01" TCP);
	g_assert_nonnull(trace.forms);
	g_assert_cmpuint(take(&trace, data, sizeof(data), &event), >, 0);
	check_headers(&event, 0x05dc, 0x2bd6);
	g_assert_cmpuint(take(&turned, data, sizeof(data), &event), >, 0);
	check_headers(&event, 0x2bd6, 0x05dc);
	/* near the packet's end nobody loads whole words */
	g_assert_cmpuint(take(&trace, data, bytes, &other), ==, 0);
	check_headers(&other, 0x05dc, 0x2bd6);
	close_trace(&trace);
	close_trace(&turned);
}

static void test_options(void)
{
	static struct dtc_event event;
	struct trace trace = open_net("tot_len", "id");
	uint8_t data[256] = { 0 };
	put(data, 0, FRONT "00");
	guint without = take(&trace, data, sizeof(data), &event);
	g_assert_cmpuint(event.headers.ip_version, ==, 0);
	put(data, 0,
	    FRONT "01" IP "02"
		  "0035 c350 0010 0000");
	guint udp = take(&trace, data, sizeof(data), &event);
	g_assert_cmpuint(event.headers.source_port, ==, 53);
	g_assert_cmpuint(event.headers.payload_bytes, ==, 8);
	put(data, 0, FRONT "01" IP "01" TCP);
	guint tcp = take(&trace, data, sizeof(data), &event);
	g_assert_true(without != udp && udp != tcp && tcp != without && without && udp && tcp);
	/* a selector that has no option */
	struct dtc_form_guess guess;
	struct dtc_formed formed;
	put(data, 0, FRONT "07");
	g_assert_false(dtc_forms_pass(trace.forms, 0, data, 0, sizeof(data) * UINT64_C(8), &guess, &formed));
	close_trace(&trace);
}

/* What was remembered holds for the same texts and selectors alone. */
static void test_guess(void)
{
	struct trace trace = open_net("tot_len", "id");
	struct dtc_form_guess guess;
	struct dtc_formed formed, guessed;
	uint8_t data[256] = { 0 };
	const uint64_t end = sizeof(data) * 8;
	gsize bytes = put(data, 0, FRONT "01" IP "01" TCP);
	g_assert_true(dtc_forms_pass(trace.forms, 7, data, 0, end, &guess, &formed));
	g_assert_cmpuint(formed.end, ==, bytes * 8);
	put(data, 0, "ffffffffffffffff 01000000 6574683000 01" IP "01 1111 2222");
	g_assert_true(dtc_form_guess_holds(&guess, 7, data, 0, end, &guessed));
	g_assert_true(guessed.end == formed.end && guessed.form == formed.form && guessed.last == formed.last);
	g_assert_false(dtc_form_guess_holds(&guess, 8, data, 0, end, &guessed));
	g_assert_false(dtc_form_guess_holds(&guess, 7, data, 0, (bytes + 15) * 8, &guessed));
	put(data, 0, FRONT "00");
	g_assert_false(dtc_form_guess_holds(&guess, 7, data, 0, end, &guessed));
	put(data, 0, "1122334455667788 ea050000 6574680031 01" IP "01" TCP);
	g_assert_false(dtc_form_guess_holds(&guess, 7, data, 0, end, &guessed));
	close_trace(&trace);
}

/* A list whose length says more than there is, and texts longer than what is remembered. */
static void test_lengths(void)
{
	struct trace trace = open_trace("lists", "string _a; u32 _count; u16 _list[_count]; u8 _b;");
	struct dtc_form_guess guess;
	struct dtc_formed formed, guessed;
	uint8_t data[256] = { 0 };
	memset(data, 'a', 100);
	gsize bytes = put(data, 100, "00 03000000 010102020303 07");
	g_assert_nonnull(trace.forms);
	g_assert_cmpuint(trace.forms->count, ==, 1);
	g_assert_true(dtc_forms_pass(trace.forms, 0, data, 0, sizeof(data) * UINT64_C(8), &guess, &formed));
	g_assert_cmpuint(formed.end, ==, bytes * 8);
	g_assert_cmpuint(formed.last, ==, bytes - 1);
	g_assert_false(dtc_form_guess_holds(&guess, 0, data, 0, sizeof(data) * UINT64_C(8), &guessed));
	put(data, 101, "ffffffff");
	g_assert_false(dtc_forms_pass(trace.forms, 0, data, 0, sizeof(data) * UINT64_C(8), &guess, &formed));
	memset(data, 'a', sizeof(data));
	g_assert_false(dtc_forms_pass(trace.forms, 0, data, 0, sizeof(data) * UINT64_C(8), &guess, &formed));
	close_trace(&trace);
}

/* So many ways that nobody keeps them, and a field whose length only its elements tell. */
static void test_without(void)
{
	g_autoptr(GString) fields = g_string_new(NULL);
	for (guint i = 0; i < 8; i++)
		g_string_append_printf(fields,
				       "enum : u8 { _x = 0, _y = 1 } _t%u; variant <_t%u> { struct { } _x; "
				       "struct { u8 _z; } _y; } _v%u; ",
				       i, i, i);
	struct trace many = open_trace("many", fields->str);
	g_assert_true(!many.forms || many.forms->count <= 64);
	struct trace texts = open_trace("texts", "u8 _n; string _list[_n];");
	g_assert_null(texts.forms);
	close_trace(&many);
	close_trace(&texts);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/read/forms/headers", test_headers);
	g_test_add_func("/read/forms/options", test_options);
	g_test_add_func("/read/forms/guess", test_guess);
	g_test_add_func("/read/forms/lengths", test_lengths);
	g_test_add_func("/read/forms/without", test_without);
	return g_test_run();
}
