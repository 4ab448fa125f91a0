/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/record_options.h"

#include "collect/bundle/suggest.h"
#include "collect/console/quantity.h"
#include "collect/record/cpu_list.h"
#include "collect/record/flight.h"
#include "dtrace-chain/error.h"

#include <string.h>
#include <unistd.h>

#define BUFFER "8M"
#define SNAPLEN_DEFAULT 65535
#define SNAPLEN_MIN 64
#define SNAPLEN_MAX 262144
#define BUFFER_MIN 4096
#define FLIGHT_LEAST ((guint64)16 << 20)
#define FLIGHT_MOST ((guint64)1 << 30)
#define BUFFER_MAX ((guint64)1 << 30)

static const struct dtc_tracer_kind *const tracers[] = { &dtc_tracer_tracefs, &dtc_tracer_lttng };

void dtc_record_options_add(struct dtc_record_options *options, DtcCommandLine *line)
{
	const GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
		  "The folder to write, which is the node's name; default: this machine's name, here", "NODE" },
		{ "for", 0, 0, G_OPTION_ARG_STRING, &options->duration,
		  "How long: 30s, 500ms, 5m; default: until Ctrl-C", "DURATION" },
		{ "flight", 0, 0, G_OPTION_ARG_STRING, &options->flight,
		  "Keep the last so much in memory, and write it at the end alone: of --for, a command, Ctrl-C, or a "
		  "trigger",
		  "DURATION" },
		{ "flight-memory", 0, 0, G_OPTION_ARG_STRING, &options->flight_memory,
		  "What --flight may take of memory, half of it for packets; default: an eighth of the machine's, at "
		  "most "
		  "1G",
		  "SIZE" },
		{ "until-slow", 0, 0, G_OPTION_ARG_STRING, &options->until_slow,
		  "End when a response takes that long, of any TCP connection or of a server's PORT: 200ms, 1s:8080",
		  "DURATION[:PORT]" },
		{ "until-line", 0, 0, G_OPTION_ARG_FILENAME, &options->until_line,
		  "End when a line that matches REGEX is written to FILE", "FILE REGEX" },
		{ "keep", 0, 0, G_OPTION_ARG_INT, &options->keep,
		  "With --flight: go on after a trigger, each time into a folder NODE-1, NODE-2 of its own, and keep "
		  "the "
		  "last N",
		  "N" },
		{ "events-set", 0, 0, G_OPTION_ARG_STRING, &options->set,
		  "How much of the kernel: what answers need, the default, all", "minimal|default|full" },
		{ "events", 0, 0, G_OPTION_ARG_STRING, &options->events,
		  "Events of your own instead, as SYSTEM:EVENT with * and ?; with + or - before each, changes to the "
		  "set",
		  "LIST" },
		{ "guests", 0, 0, G_OPTION_ARG_NONE, &options->has_guests,
		  "Record when CPUs of virtual machines ran (kvm events, whatever set), which ones there are, and what "
		  "this machine's own host knows it by (UUID, network cards)",
		  NULL },
		{ "tracer", 0, 0, G_OPTION_ARG_STRING, &options->tracer,
		  "What traces the kernel; auto: what works here, tracefs first", "auto|tracefs|lttng" },
		{ "buffer", 0, 0, G_OPTION_ARG_STRING, &options->buffer, "Memory for events, for each CPU; default 8M",
		  "SIZE" },
		{ "no-packets", 0, 0, G_OPTION_ARG_NONE, &options->no_packets,
		  "Capture no packets: then no request is found by its id", NULL },
		{ "headers-only", 0, 0, G_OPTION_ARG_NONE, &options->headers_only,
		  "Of HTTP/1 keep start lines and ids, of other protocols nothing of what was sent", NULL },
		{ "keep-header", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->kept_headers,
		  "With --headers-only: keep the value of this header too; with --redact: it carries an id; repeatable",
		  "NAME" },
		{ "redact", 0, 0, G_OPTION_ARG_STRING, &options->redact,
		  "Leave none of these in what is recorded (any of them takes payload along)",
		  "payload,addresses,names" },
		{ "redact-key", 0, 0, G_OPTION_ARG_FILENAME, &options->redact_key,
		  "With --redact: what stands in the place of names is made by this key, so that several nodes agree "
		  "(default: a key that is kept nowhere)",
		  "FILE" },
		{ "filter", 0, 0, G_OPTION_ARG_STRING, &options->filter,
		  "Capture only these packets, as tcpdump takes it", "FILTER" },
		{ "interface", 0, 0, G_OPTION_ARG_STRING, &options->interface,
		  "Capture only on this interface of each network namespace", "NAME" },
		{ "snaplen", 0, 0, G_OPTION_ARG_INT, &options->snaplen,
		  "Bytes that are kept of a packet, 64 to 262144; default 65535", "BYTES" },
		{ "capture-buffer", 0, 0, G_OPTION_ARG_STRING, &options->capture_buffer,
		  "Memory for packets on their way to disk; other network namespaces have an eighth; default 8M",
		  "SIZE" },
		{ "probe-port", 0, 0, G_OPTION_ARG_INT, &options->probe_port,
		  "UDP packets of this port are probes of `cluster`, which gives it: captured whatever --filter says, "
		  "and no traffic to explain",
		  "PORT" },
		{ "keep-raw", 0, 0, G_OPTION_ARG_NONE, &options->keeps_raw,
		  "Keep what was recorded beside what is made of it", NULL },
		{ "raw", 0, 0, G_OPTION_ARG_NONE, &options->raw_only,
		  "Do not seal: for `dtrace-collect seal` later, here or elsewhere", NULL },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &options->quiet, "No line on the terminal while it records",
		  NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

/* "auto" is the first that can be used here, else the first, whose reason is told then. */
static bool choose_tracer(const char *word, const struct dtc_tracer_kind **ret_tracer, GError **error)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();

	*ret_tracer = NULL;
	for (gsize i = 0; i < G_N_ELEMENTS(tracers); i++) {
		g_ptr_array_add(names, (char *)tracers[i]->name);
		if (word ? strcmp(word, tracers[i]->name) == 0 : !*ret_tracer && tracers[i]->check(NULL))
			*ret_tracer = tracers[i];
	}
	if (!word && !*ret_tracer)
		*ret_tracer = tracers[0];
	g_ptr_array_add(names, NULL);
	g_autofree char *list = g_strjoinv(", ", (char **)names->pdata);
	if (!*ret_tracer)
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "there is no tracer '%s' in this program\nthose there are: auto, %s", word, list);
	return *ret_tracer != NULL;
}

static bool parse_buffer(const char *option, const char *text, gsize *ret_bytes, GError **error)
{
	guint64 bytes;

	if (!dtc_size_parse(option, text, &bytes, error))
		return false;
	if (bytes < BUFFER_MIN || bytes > BUFFER_MAX) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "%s '%s' is not between 4 KiB and 1 GiB\n%s is the default", option, text, BUFFER);
		return false;
	}
	*ret_bytes = (gsize)bytes;
	return true;
}

/* The name up to its first point; a name that could lead elsewhere is none. Caller owns. */
static char *get_node_name(void)
{
	char name[256] = "";

	if (gethostname(name, sizeof(name) - 1) != 0)
		name[0] = 0;
	name[strcspn(name, ".")] = 0;
	g_strcanon(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_", '-');
	return g_strdup(*name && *name != '-' ? name : "node");
}

/* The filter lets probes pass, too. */
static bool check_probes(struct dtc_record_options *options, GError **error)
{
	if (options->probe_port < 0 || options->probe_port > G_MAXUINT16) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "--probe-port %d is no port\n`dtrace-collect cluster` chooses one by itself",
			    options->probe_port);
		return false;
	}
	if (options->filter && options->probe_port) {
		char *wider = g_strdup_printf("(%s) or (udp port %d)", options->filter, options->probe_port);
		g_free(options->filter);
		options->filter = wider;
	}
	return true;
}

static bool check_capture(struct dtc_record_options *options, GError **error)
{
	if (!options->snaplen)
		options->snaplen = SNAPLEN_DEFAULT;
	if (options->snaplen < SNAPLEN_MIN || options->snaplen > SNAPLEN_MAX) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "--snaplen must be 64 to 262144 bytes\n256 bytes hold the headers of most packets");
		return false;
	}
	if (options->headers_only && g_strcmp0(options->interface ? options->interface : "any", "any") != 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "--headers-only does not go with --interface\n--filter chooses packets, too");
		return false;
	}
	for (char **name = options->kept_headers; name && *name; name++) {
		char *lower = g_ascii_strdown(*name, -1);
		g_free(*name);
		*name = lower;
	}
	return (!options->filter || dtc_captures_check_filter(options->filter, error)) && check_probes(options, error);
}

bool dtc_record_options_refuse(GError **error, const char *message, const char *hint)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE, "%s\n%s", message, hint);
	return false;
}

/* What is not redacted stays nowhere, so that there is nothing to keep. */
static bool check_redaction(const struct dtc_record_options *options, guint *ret_parts, GError **error)
{
	if (options->redact_key && !options->redact)
		return dtc_record_options_refuse(error, "--redact-key goes with --redact",
						 "for example --redact payload,addresses,names");
	if (!options->redact)
		return true;
	if (!*options->redact) /* as of a variable that is not set: nothing would be redacted */
		return dtc_record_options_refuse(error, "--redact names nothing that is to go",
						 "for example --redact payload,addresses,names");
	if (options->raw_only || options->keeps_raw)
		return dtc_record_options_refuse(error, "--redact goes with neither --raw nor --keep-raw",
						 "what was recorded is redacted when it is sealed, and removed");
	return dtc_redaction_parse_parts(options->redact, ret_parts, error);
}

/* "200ms", "1s:8080" */
static bool parse_slow(const char *text, struct dtc_slow_limit *ret_limit, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(text, ":", 2);
	guint64 port = 0;

	if (parts[0] && parts[1] && !g_ascii_string_to_unsigned(parts[1], 10, 1, G_MAXUINT16, &port, NULL)) {
		g_autofree char *message = g_strdup_printf("--until-slow '%s': '%s' is no port", text, parts[1]);
		return dtc_record_options_refuse(error, message,
						 "a server's port behind the duration, as in 200ms:8080");
	}
	ret_limit->port = (uint16_t)port;
	return dtc_duration_parse("--until-slow", parts[0] ? parts[0] : "", &ret_limit->limit_ns, error);
}

static guint64 get_flight_bytes(void)
{
	guint64 pages = (guint64)MAX(sysconf(_SC_PHYS_PAGES), 0), bytes = (guint64)MAX(sysconf(_SC_PAGESIZE), 0);

	return CLAMP(pages * bytes / 8, FLIGHT_LEAST, FLIGHT_MOST);
}

static bool check_flight(const struct dtc_record_options *options, struct dtc_recorder_request *request, GError **error)
{
	const char *without = options->flight_memory ? "--flight-memory" : options->keep ? "--keep" : NULL;

	if (!options->flight && without) {
		g_autofree char *message = g_strdup_printf("%s goes with --flight", without);
		return dtc_record_options_refuse(error, message,
						 "for example --flight 20s --until-slow 200ms --keep 5");
	}
	if (!options->flight)
		return true;
	if (!request->tracer->get_first_ns)
		return dtc_record_options_refuse(error, "--flight takes tracefs", "leave --tracer out");
	request->flight_bytes = get_flight_bytes();
	if ((options->flight_memory &&
	     !dtc_size_parse("--flight-memory", options->flight_memory, &request->flight_bytes, error)) ||
	    !dtc_duration_parse("--flight", options->flight, &request->flight_ns, error))
		return false;
	/* buffers grow once they are seen to be too small; until then an eighth of what they may take */
	g_autoptr(GArray) cpus = dtc_cpu_list_get_online(); /* of which some may not be ours, but all are recorded */
	if (!options->buffer)
		request->buffer_bytes = dtc_flight_get_buffer_bytes(request->flight_bytes, cpus->len);
	if (request->flight_bytes < FLIGHT_LEAST)
		return dtc_record_options_refuse(error, "--flight-memory is less than 16M",
						 "so much two CPUs fill in some tenths of a second");
	if (options->keep < 0)
		return dtc_record_options_refuse(error, "--keep takes how many recordings stay, 1 or more",
						 "for example --keep 5");
	if (options->keep > 0 && !options->until_slow && !options->until_line)
		return dtc_record_options_refuse(error, "--keep goes with --until-slow or --until-line",
						 "it goes on after what ended the recording");
	request->is_one_of_many = options->keep > 0;
	/* what nobody answers is written while the question is still there */
	request->capture.slow.patience_ns = request->flight_ns / 2;
	return true;
}

static bool check_triggers(const struct dtc_record_options *options, struct dtc_recorder_request *request,
			   GError **error)
{
	request->capture.slow.patience_ns = INT64_MAX;
	if (options->until_slow && !parse_slow(options->until_slow, &request->capture.slow, error))
		return false;
	if (options->until_slow && options->no_packets)
		return dtc_record_options_refuse(error, "--until-slow does not go with --no-packets",
						 "it looks at packets");
	request->line_path = options->until_line;
	return check_flight(options, request, error);
}

bool dtc_record_options_to_request(struct dtc_record_options *options, struct dtc_recorder_request *ret_request,
				   GError **error)
{
	struct dtc_recorder_request request = { .set = DTC_EVENTS_DEFAULT, .event_list = options->events };
	const char *tracer = g_strcmp0(options->tracer, "auto") == 0 ? NULL : options->tracer;

	if (!choose_tracer(tracer, &request.tracer, error) ||
	    (options->set && !dtc_event_set_parse(options->set, &request.set, error)) ||
	    !parse_buffer("--buffer", options->buffer ? options->buffer : BUFFER, &request.buffer_bytes, error) ||
	    !parse_buffer("--capture-buffer", options->capture_buffer ? options->capture_buffer : BUFFER,
			  &request.capture.buffer_bytes, error) ||
	    (options->duration && !dtc_duration_parse("--for", options->duration, &request.duration_ns, error)) ||
	    !check_capture(options, error))
		return false;
	if (!check_redaction(options, &request.redacted_parts, error))
		return false;
	/* the folder's name is the node's */
	if (!options->output)
		options->output = request.redacted_parts & DTC_REDACT_NAMES ? g_strdup("node") : get_node_name();
	request.has_packets = !options->no_packets;
	request.capture.snaplen = (guint)options->snaplen;
	request.capture.filter = options->filter;
	request.capture.interface = options->interface ? options->interface : "any";
	request.capture.headers_only = options->headers_only;
	request.capture.kept_headers = (const char *const *)options->kept_headers;
	request.has_guests = options->has_guests;
	request.probe_port = (uint16_t)options->probe_port;
	request.redact = options->redact;
	request.node_folder = options->output;
	request.seals = !options->raw_only;
	if (!check_triggers(options, &request, error))
		return false;
	*ret_request = request;
	return true;
}

struct dtc_preflight_request dtc_record_options_to_preflight(const struct dtc_recorder_request *request)
{
	return (struct dtc_preflight_request){
		.tracer = request->tracer,
		.set = request->set,
		.event_list = request->event_list,
		.has_guests = request->has_guests,
		.buffer_bytes = request->buffer_bytes,
		.capture_bytes = request->has_packets ? request->capture.buffer_bytes : 0,
		.node_folder = request->node_folder,
		.seconds = (double)request->duration_ns / 1e9,
		.seals = request->seals,
	};
}
