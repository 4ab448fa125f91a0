/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/recorder.h"

#include "collect/console/printable.h"
#include "collect/record/clocks.h"
#include "collect/record/flight.h"
#include "collect/record/instance_name.h"
#include "collect/record/line_watch.h"
#include "collect/record/privileges.h"
#include "collect/record/spool.h"
#include "collect/record/stop_signals.h"
#include "collect/record/vm_walk.h"
#include "collect/seal/raw.h"
#include "dtrace-chain/error.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define TURN_NS (SECOND_NS / 5)
/* A log is looked at more often. */
#define LINE_TURN_NS (SECOND_NS / 20)
/* After a trigger: the rest of what was slow, here and on other nodes. More than a turn, after which it is seen. */
#define TAIL_NS (SECOND_NS / 2)
#define MAX_TRIGGER_CHARACTERS 1000
#define RESERVE_BYTES ((guint64)32 << 20)
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct DtcRecorder {
	const struct dtc_recorder_request *request;
	DtcPlace *place;
	DtcTracer *tracer;
	DtcCaptures *captures;
	GPtrArray *lacks;
	GPtrArray *guests;    /* struct dtc_environment_guest, that were seen so far */
	FILE *clocks, *drops; /* NULL in flight */
	DtcFlight *flight;    /* NULL: all is written at once */
	DtcLineWatch *line;   /* NULL: no log is waited for */
	bool has_kvm_events;
	int64_t from_ns; /* of a flight that has ended: when the recording begins */
	GMutex lock;	 /* of the next: any thread may tell */
	char *trigger;	 /* owned; the first */
	int64_t triggered_ns;
	struct dtc_child child;
	struct dtc_recorder_totals totals;
	gint64 cpu_before_ns;
};

static gint64 get_cpu_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) != 0)
		return 0;
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND_NS +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * G_GINT64_CONSTANT(1000);
}

/* Those, and the one that is a trigger. */
static sigset_t get_signals(void)
{
	sigset_t signals = dtc_stop_signals_get();

	sigaddset(&signals, SIGUSR1);
	return signals;
}

int dtc_recorder_wait_for_signal(int64_t timeout_ns)
{
	sigset_t signals = get_signals();
	const struct timespec timeout = { timeout_ns / SECOND_NS, timeout_ns % SECOND_NS };
	int number = sigtimedwait(&signals, NULL, &timeout);

	return MAX(number, 0);
}

/* ---- triggers ---- */

/* The first counts. Lines of logs hold any bytes, and it goes into files of text. */
static void set_trigger(DtcRecorder *recording, const char *text)
{
	g_mutex_lock(&recording->lock);
	if (!recording->trigger) {
		recording->trigger = dtc_printable(text, MAX_TRIGGER_CHARACTERS);
		recording->triggered_ns = dtc_clock_get_mono_ns();
	}
	g_mutex_unlock(&recording->lock);
}

/* In the thread of a capture. No signal wakes who waits: one that is left over would end the next recording. */
static void tell_slow(const char *text, void *data)
{
	set_trigger(data, text);
}

static void look_for_line(DtcRecorder *recording)
{
	g_autofree char *line = recording->line ? dtc_line_watch_poll(recording->line) : NULL;

	if (!line)
		return;
	g_autofree char *text = g_strdup_printf("%s: %s", recording->request->line_path, line);
	set_trigger(recording, text);
}

/* Whether there is one, however long ago. */
static bool has_trigger(DtcRecorder *recording)
{
	g_mutex_lock(&recording->lock);
	bool is_there = recording->trigger != NULL;
	g_mutex_unlock(&recording->lock);
	return is_there;
}

/* A moment after it. */
static bool is_triggered(DtcRecorder *recording)
{
	g_mutex_lock(&recording->lock);
	bool is_over = recording->trigger && dtc_clock_get_mono_ns() - recording->triggered_ns >= TAIL_NS;
	g_mutex_unlock(&recording->lock);
	return is_over;
}

/* ---- files ---- */

static FILE *create_stream(const DtcPlace *place, const char *name, GError **error)
{
	int fd = dtc_place_create_file(place, DTC_PLACE_RAW, name, error);
	FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (stream)
		setvbuf(stream, NULL, _IOLBF, 0); /* whole lines, also after a crash */
	else if (fd >= 0)
		close(fd);
	return stream;
}

static void set_machine(GKeyFile *file)
{
	struct utsname name;
	g_autofree char *boot_id = NULL;

	if (uname(&name) == 0) {
		g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_HOSTNAME, name.nodename);
		g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_RELEASE, name.release);
		g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_MACHINE, name.machine);
	}
	if (g_file_get_contents(BOOT_ID, &boot_id, NULL, NULL))
		g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_BOOT_ID, g_strstrip(boot_id));
}

static void set_lacks(GKeyFile *file, const GPtrArray *lacks)
{
	for (guint i = 0; i < lacks->len; i++) {
		g_auto(GStrv) parts = g_strsplit(g_ptr_array_index(lacks, i), "=", 2);
		g_key_file_set_string(file, DTC_RAW_LACKS, parts[0], parts[1] ? parts[1] : "");
	}
}

/* Who runs here, and what this machine's own host knows it by. */
static void set_guests(GKeyFile *file, const GPtrArray *guests)
{
	g_autofree char *uuid = dtc_vm_get_own_uuid("");
	g_auto(GStrv) macs = dtc_vm_list_own_macs("");
	g_autofree char *list = g_strjoinv(",", macs);

	if (*uuid)
		g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_UUID, uuid);
	if (*list)
		g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_MACS, list);
	dtc_environment_write_guests(file, guests);
}

static bool write_recording(const DtcRecorder *recording, const char *state, GError **error)
{
	const struct dtc_recorder_request *request = recording->request;
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_autofree char *path = g_canonicalize_filename(request->node_folder, NULL);
	g_autofree char *node = g_path_get_basename(path);

	g_key_file_set_integer(file, DTC_RAW_GROUP, DTC_RAW_KEY_VERSION, DTC_RAW_VERSION);
	g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_TRACER, request->tracer->name);
	g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_NODE, node);
	set_machine(file);
	g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_COMMAND, request->command_line);
	g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_EVENT_SET,
			      request->event_list ? request->event_list : dtc_event_set_to_string(request->set));
	g_key_file_set_boolean(file, DTC_RAW_GROUP, DTC_RAW_KEY_HEADERS_ONLY, request->capture.headers_only);
	if (request->has_guests)
		set_guests(file, recording->guests);
	if (request->probe_port)
		g_key_file_set_integer(file, DTC_RAW_GROUP, DTC_RAW_KEY_PROBE_PORT, request->probe_port);
	if (request->redact) {
		const char *const *headers = request->capture.kept_headers;
		g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_REDACT, request->redact);
		if (headers)
			g_key_file_set_string_list(file, DTC_RAW_GROUP, DTC_RAW_KEY_ID_HEADERS, headers,
						   g_strv_length((char **)headers));
	}
	request->tracer->describe(recording->tracer, file);
	g_key_file_set_int64(file, DTC_RAW_GROUP, DTC_RAW_KEY_BEGIN, recording->totals.begin_ns);
	g_key_file_set_int64(file, DTC_RAW_GROUP, DTC_RAW_KEY_END, recording->totals.end_ns);
	if (recording->from_ns > 0)
		g_key_file_set_int64(file, DTC_RAW_GROUP, DTC_RAW_KEY_FROM, recording->from_ns);
	if (recording->trigger)
		g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_TRIGGER, recording->trigger);
	g_key_file_set_string(file, DTC_RAW_GROUP, DTC_RAW_KEY_STATE, state);
	set_lacks(file, recording->lacks);
	g_autofree char *text = g_key_file_to_data(file, NULL, NULL);
	return dtc_place_write(recording->place, DTC_PLACE_RAW, DTC_RAW_RECORDING, text, error);
}

static bool write_walk(DtcRecorder *recording, const char *name, struct dtc_walk_counts *ret_counts, GError **error)
{
	g_autofree char *text = dtc_walk("", ret_counts);

	return dtc_place_write(recording->place, DTC_PLACE_RAW, name, text, error);
}

/* ---- starting ---- */

static bool open_tracer(DtcRecorder *recording, GError **error)
{
	const struct dtc_recorder_request *request = recording->request;
	g_autofree char *available = request->tracer->list_events(error);
	g_autofree char *name = dtc_instance_name_new("/proc");
	struct dtc_event_choice choice = { 0 };

	if (!available || !dtc_events_choose(available, request->set, request->event_list, &choice, error))
		return false;
	if (request->has_guests)
		recording->has_kvm_events = dtc_event_choice_add_guests(&choice, available) > 0;
	const struct dtc_tracer_settings settings = {
		.instance = name,
		.events = choice.events,
		.buffer_bytes = request->buffer_bytes,
		.hold_ns = recording->flight ? dtc_flight_get_hold_ns(recording->flight) : 0,
		.hold_bytes = request->flight_bytes / 2,
		.place = recording->place,
	};
	recording->tracer = request->tracer->open(&settings, error);
	for (guint i = 0; i < choice.lacks->len; i++)
		if (!request->tracer->has_otherwise ||
		    !request->tracer->has_otherwise(g_ptr_array_index(choice.lacks, i)))
			g_ptr_array_add(recording->lacks, g_strdup(g_ptr_array_index(choice.lacks, i)));
	dtc_event_choice_clear(&choice);
	return recording->tracer != NULL;
}

/* What no kernel's trace file system has: reports say it, so that nobody looks for it. */
static void add_general_lacks(DtcRecorder *recording)
{
	if (recording->request->tracer != &dtc_tracer_tracefs)
		return;
	g_ptr_array_add(
		recording->lacks,
		g_strdup("call-data=of what system calls point to, socket addresses and ready descriptors are not "
			 "in tracefs' events"));
	if (!dtc_tracefs_has_eprobes())
		g_ptr_array_add(recording->lacks,
				g_strdup("file-names=of files that were opened and closed while recording: this kernel "
					 "makes no events of pointers (eprobes)"));
}

static bool open_captures(DtcRecorder *recording, GError **error)
{
	struct dtc_capture_settings settings = recording->request->capture;

	if (!recording->request->has_packets) {
		g_ptr_array_add(recording->lacks, g_strdup("packets=not captured: --no-packets"));
		return true;
	}
	settings.place = recording->place;
	settings.hold_ns = recording->flight ? dtc_flight_get_hold_ns(recording->flight) : 0;
	settings.hold_bytes = recording->request->flight_bytes / 2;
	settings.tell_slow = tell_slow;
	settings.data = recording;
	recording->captures = dtc_captures_start(&settings, error);
	return recording->captures != NULL;
}

/* Clocks, and what was lost so far. */
static int64_t write_samples(DtcRecorder *recording, FILE *clocks, FILE *drops)
{
	struct dtc_clock_sample sample = dtc_clock_sample_take();

	dtc_clock_sample_write(&sample, clocks);
	recording->request->tracer->sample(recording->tracer, sample.mono_ns, drops, &recording->totals.events);
	return sample.mono_ns;
}

/* In flight they stay in memory. */
static int64_t keep_samples(DtcRecorder *recording)
{
	char *texts[2] = { NULL };
	size_t bytes[2];
	FILE *clocks = open_memstream(&texts[0], &bytes[0]), *drops = open_memstream(&texts[1], &bytes[1]);

	g_assert(clocks && drops); /* as memory that is not there */
	int64_t time_ns = write_samples(recording, clocks, drops);
	fclose(clocks);
	fclose(drops);
	if (recording->captures)
		dtc_captures_get_counts(recording->captures, &recording->totals.packets);
	const struct dtc_flight_losses losses = { recording->totals.events.lost, recording->totals.packets.dropped };
	dtc_flight_take_sample(recording->flight, time_ns, g_strdup(texts[0]), g_strdup(texts[1]), &losses);
	free(texts[0]);
	free(texts[1]);
	return time_ns;
}

static void take_samples(DtcRecorder *recording)
{
	struct dtc_recorder_totals *totals = &recording->totals;
	int64_t time_ns = recording->flight ? keep_samples(recording)
					    : write_samples(recording, recording->clocks, recording->drops);

	if (recording->captures)
		dtc_captures_get_counts(recording->captures, &totals->packets);
	totals->cpu_ns = get_cpu_ns() - recording->cpu_before_ns;
	totals->end_ns = time_ns;
}

static void keep_walk(DtcRecorder *recording)
{
	struct dtc_flight_walk walk = { .begin_ns = dtc_clock_get_mono_ns() };

	walk.text = dtc_walk("", &recording->totals.walk);
	dtc_flight_take_walk(recording->flight, &walk);
}

/* Of a flight a later one takes its place in raw/: that it is there says that everything records. */
static bool begin_walk(DtcRecorder *recording, GError **error)
{
	struct dtc_flight_walk walk = { .begin_ns = dtc_clock_get_mono_ns() };

	walk.text = dtc_walk("", &recording->totals.walk);
	bool is_written = dtc_place_write(recording->place, DTC_PLACE_RAW, DTC_RAW_PROC_BEGIN, walk.text, error);
	if (recording->flight)
		dtc_flight_take_walk(recording->flight, &walk);
	else
		g_free(walk.text);
	return is_written;
}

static bool open_streams(DtcRecorder *recording, GError **error)
{
	if (recording->flight)
		return true;
	recording->clocks = create_stream(recording->place, DTC_RAW_CLOCKS, error);
	recording->drops = recording->clocks ? create_stream(recording->place, DTC_RAW_DROPS, error) : NULL;
	return recording->drops != NULL;
}

static void look_for_guests(DtcRecorder *recording)
{
	g_autoptr(GPtrArray) guests = recording->request->has_guests ? dtc_vm_walk("") : NULL;

	if (guests)
		dtc_vm_merge(recording->guests, guests);
}

/* What runs while it begins is in the walk or in an event, so the tracer comes first. */
static bool begin(DtcRecorder *recording, GError **error)
{
	struct dtc_recorder_totals *totals = &recording->totals;

	if (!open_streams(recording, error))
		return false;
	look_for_guests(recording);
	totals->begin_ns = totals->end_ns = dtc_clock_get_mono_ns();
	recording->cpu_before_ns = get_cpu_ns();
	if (!write_recording(recording, "recording", error) ||
	    !recording->request->tracer->start(recording->tracer, error))
		return false;
	take_samples(recording);
	return begin_walk(recording, error);
}

/* CPU time. */
static int64_t measure_walk(void)
{
	gint64 before_ns = dtc_spool_get_thread_cpu_ns();
	struct dtc_walk_counts counts;
	g_autofree char *text = dtc_walk("", &counts);

	return text ? dtc_spool_get_thread_cpu_ns() - before_ns : 0;
}

static bool prepare_triggers(DtcRecorder *recording, GError **error)
{
	const struct dtc_recorder_request *request = recording->request;

	if (request->flight_ns > 0)
		recording->flight = dtc_flight_new(request->flight_ns, measure_walk());
	if (!request->line_path)
		return true;
	recording->line = dtc_line_watch_new(request->line_path, request->line_expression, error);
	return recording->line != NULL;
}

DtcRecorder *dtc_recorder_start(const struct dtc_recorder_request *request, GError **error)
{
	g_autoptr(DtcRecorder) recording = g_new0(DtcRecorder, 1);
	sigset_t signals = get_signals();

	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	recording->request = request;
	recording->lacks = g_ptr_array_new_with_free_func(g_free);
	recording->guests = dtc_environment_guests_new();
	recording->child.gate = -1;
	g_mutex_init(&recording->lock);
	if (!prepare_triggers(recording, error))
		return NULL;
	recording->place = dtc_place_create(request->node_folder, error);
	if (!recording->place)
		return NULL;
	recording->totals.cleaned = request->tracer->clean();
	add_general_lacks(recording);
	if ((!request->command || dtc_child_prepare(&recording->child, request->command, error)) &&
	    open_tracer(recording, error) && open_captures(recording, error) && begin(recording, error)) {
		dtc_privileges_keep_watching(request->is_one_of_many);
		dtc_child_go(&recording->child);
		return g_steal_pointer(&recording);
	}
	dtc_child_abandon(&recording->child);
	g_clear_pointer(&recording->captures, dtc_captures_free);
	g_clear_pointer(&recording->tracer, request->tracer->free);
	dtc_place_abandon(recording->place);
	return NULL;
}

/* ---- running ---- */

static bool is_disk_full(const DtcRecorder *recording)
{
	const struct dtc_recorder_totals *totals = &recording->totals;
	guint64 reserve = RESERVE_BYTES + (recording->request->seals ? totals->events.bytes : 0);
	if (recording->request->redact) /* what is sealed is written once more */
		reserve += totals->events.bytes + totals->packets.bytes;

	return totals->events.is_failed || totals->packets.is_failed ||
	       dtc_place_get_free_bytes(recording->place) < reserve;
}

/* Whether it ends, and why. */
static bool is_over(DtcRecorder *recording, int signal_number)
{
	const struct dtc_recorder_request *request = recording->request;
	enum dtc_recorder_end *end = &recording->totals.end;

	if (signal_number != 0)
		*end = DTC_END_SIGNAL;
	else if (is_triggered(recording))
		*end = DTC_END_TRIGGER;
	else if (request->command && dtc_child_is_ended(&recording->child))
		*end = DTC_END_COMMAND;
	else if (request->duration_ns > 0 &&
		 dtc_clock_get_mono_ns() - recording->totals.begin_ns >= request->duration_ns)
		*end = DTC_END_DURATION;
	else if (is_disk_full(recording))
		*end = DTC_END_DISK;
	else
		return false;
	return true;
}

/* Until the next turn, or the end if that is earlier. */
static int64_t get_turn_ns(DtcRecorder *recording, int64_t now_ns)
{
	int64_t duration_ns = recording->request->duration_ns;
	int64_t left_ns = duration_ns > 0 ? recording->totals.begin_ns + duration_ns - now_ns : TURN_NS;

	return CLAMP(left_ns, 1000, recording->line || has_trigger(recording) ? LINE_TURN_NS : TURN_NS);
}

static void watch_until_over(DtcRecorder *recording, DtcRecorderWatch watch, void *data)
{
	int64_t next_ns = recording->totals.begin_ns + SECOND_NS;
	int number = 0;

	while (!is_over(recording, number)) {
		int64_t now_ns = dtc_clock_get_mono_ns();
		if (now_ns >= next_ns) {
			take_samples(recording);
			if (recording->captures)
				dtc_captures_rescan(recording->captures);
			watch(&recording->totals, data);
			next_ns = MAX(next_ns + SECOND_NS, now_ns);
		}
		if (recording->flight && dtc_flight_wants_walk(recording->flight, now_ns))
			keep_walk(recording);
		number = dtc_recorder_wait_for_signal(get_turn_ns(recording, now_ns));
		if (number == SIGUSR1) {
			set_trigger(recording, "SIGUSR1");
			number = 0;
		}
		look_for_line(recording);
	}
}

/* When the recording of a flight begins: with a walk, once every CPU's buffer has all. In raw/ is then what is kept. */
static bool land(DtcRecorder *recording, int64_t end_ns, GError **error)
{
	const struct dtc_tracer_kind *tracer = recording->request->tracer;
	int64_t first_ns = tracer->get_first_ns(recording->tracer);
	const struct dtc_flight_walk *walk = dtc_flight_choose_walk(recording->flight, first_ns, end_ns);
	g_autofree char *clocks = dtc_flight_join_clocks(recording->flight);
	g_autofree char *drops = dtc_flight_join_drops(recording->flight);

	recording->from_ns = MAX(first_ns, walk->begin_ns);
	recording->totals.begin_ns = recording->from_ns;
	recording->totals.end_ns = end_ns;
	recording->totals.is_flight = true;
	if (walk->begin_ns < first_ns)
		g_ptr_array_add(recording->lacks,
				g_strdup_printf("walk=it was %.1f s before the first event: buffers were too small "
						"(--flight-memory)",
						(double)(first_ns - walk->begin_ns) / 1e9));
	if (recording->from_ns > end_ns - recording->request->flight_ns)
		g_ptr_array_add(recording->lacks, g_strdup_printf("flight=of %.1f s the last %.1f s are there",
								  (double)recording->request->flight_ns / 1e9,
								  (double)(end_ns - recording->from_ns) / 1e9));
	return dtc_place_write(recording->place, DTC_PLACE_RAW, DTC_RAW_PROC_BEGIN, walk->text, error) &&
	       dtc_place_write(recording->place, DTC_PLACE_RAW, DTC_RAW_CLOCKS, clocks, error) &&
	       dtc_place_write(recording->place, DTC_PLACE_RAW, DTC_RAW_DROPS, drops, error);
}

/* What went before the recording begins is no loss of it: it may be hours ago. */
static void leave_out_losses(DtcRecorder *recording)
{
	struct dtc_recorder_totals *totals = &recording->totals;
	struct dtc_flight_losses before = dtc_flight_get_losses_before(recording->flight, recording->from_ns);

	totals->events.lost -= MIN(before.events, totals->events.lost);
	totals->events.events -= MIN(before.events, totals->events.events);
	totals->packets.dropped -= MIN(before.packets, totals->packets.dropped);
}

/* What the clock of the captures shows at that time of the trace's. */
static int64_t get_real_ns(int64_t mono_ns)
{
	struct dtc_clock_sample now = dtc_clock_sample_take();

	return mono_ns + now.real_ns - now.mono_ns;
}

/* Everything is stopped whatever fails; the first failure is told. */
static bool end(DtcRecorder *recording, GError **error)
{
	struct dtc_walk_counts counts = { 0 };
	g_autoptr(GError) walk_error = NULL, stop_error = NULL, land_error = NULL, capture_error = NULL;

	if (recording->trigger) /* who sees that it ends sees why */
		write_recording(recording, "recording", NULL);
	write_walk(recording, DTC_RAW_PROC_END, &counts, &walk_error);
	int64_t end_ns = dtc_clock_get_mono_ns(); /* reading the buffers of a flight takes time, and packets come on */
	if (recording->captures && recording->flight)
		dtc_captures_hold(recording->captures, get_real_ns(end_ns));
	recording->request->tracer->stop(recording->tracer, &stop_error);
	take_samples(recording);
	look_for_guests(recording);
	if (recording->flight)
		land(recording, end_ns, &land_error);
	if (recording->captures) {
		dtc_captures_stop(recording->captures, get_real_ns(recording->from_ns), &capture_error);
		const GPtrArray *lacks = dtc_captures_get_lacks(recording->captures);
		for (guint i = 0; i < lacks->len; i++)
			g_ptr_array_add(recording->lacks, g_strdup(g_ptr_array_index(lacks, i)));
	}
	if (recording->captures)
		dtc_captures_get_counts(recording->captures, &recording->totals.packets);
	if (recording->flight)
		leave_out_losses(recording);
	if (recording->guests->len > 0 && !recording->has_kvm_events)
		g_ptr_array_add(recording->lacks,
				g_strdup("guests=this kernel has no kvm events: when their CPUs ran is not recorded"));
	if (recording->totals.walk.unreadable > 0)
		g_ptr_array_add(recording->lacks,
				g_strdup_printf("files=of %u processes they cannot be listed with these rights",
						recording->totals.walk.unreadable));
	GError *first = walk_error ? walk_error : stop_error ? stop_error : land_error ? land_error : capture_error;
	if (first || recording->totals.packets.is_failed || recording->totals.end == DTC_END_DISK) {
		g_ptr_array_add(recording->lacks, g_strdup("disk=full: it ended early"));
		recording->totals.end = DTC_END_DISK;
	}
	return write_recording(recording, "stopped", error);
}

static void throw_away(DtcRecorder *recording)
{
	g_clear_pointer(&recording->captures, dtc_captures_free);
	g_clear_pointer(&recording->tracer, recording->request->tracer->free);
	dtc_place_abandon(recording->place);
	recording->totals.is_thrown_away = true;
}

bool dtc_recorder_run(DtcRecorder *recording, DtcRecorderWatch watch, void *data, GError **error)
{
	watch_until_over(recording, watch, data);
	/* one that was about to end for a trigger is written, whatever was faster */
	if (recording->request->is_one_of_many && !has_trigger(recording)) {
		throw_away(recording);
		return true;
	}
	bool is_written = end(recording, error);
	g_clear_pointer(&recording->tracer, recording->request->tracer->free);
	return is_written;
}

const struct dtc_recorder_totals *dtc_recorder_get_totals(const DtcRecorder *recording)
{
	return &recording->totals;
}

const DtcPlace *dtc_recorder_get_place(const DtcRecorder *recording)
{
	return recording->place;
}

const GPtrArray *dtc_recorder_get_lacks(const DtcRecorder *recording)
{
	return recording->lacks;
}

const GPtrArray *dtc_recorder_get_guests(const DtcRecorder *recording)
{
	return recording->guests;
}

const struct dtc_child *dtc_recorder_get_child(const DtcRecorder *recording)
{
	return &recording->child;
}

const char *dtc_recorder_get_trigger(const DtcRecorder *recording)
{
	return recording->trigger;
}

void dtc_recorder_free(DtcRecorder *recording)
{
	if (!recording)
		return;
	dtc_flight_free(recording->flight);
	dtc_line_watch_free(recording->line);
	g_free(recording->trigger);
	g_mutex_clear(&recording->lock);
	dtc_captures_free(recording->captures);
	if (recording->tracer)
		recording->request->tracer->free(recording->tracer);
	if (recording->clocks)
		fclose(recording->clocks);
	if (recording->drops)
		fclose(recording->drops);
	if (recording->lacks)
		g_ptr_array_unref(recording->lacks);
	if (recording->guests)
		g_ptr_array_unref(recording->guests);
	dtc_place_free(recording->place);
	g_free(recording);
}
