/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/recorder.h"

#include "collect/record/clocks.h"
#include "collect/record/instance_name.h"
#include "collect/record/privileges.h"
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
#define RESERVE_BYTES ((guint64)32 << 20)
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct DtcRecorder {
	const struct dtc_recorder_request *request;
	DtcPlace *place;
	DtcTracer *tracer;
	DtcCaptures *captures;
	GPtrArray *lacks;
	FILE *clocks, *drops;
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

static sigset_t get_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	return signals;
}

int dtc_recorder_wait_for_signal(int64_t timeout_ns)
{
	sigset_t signals = get_signals();
	const struct timespec timeout = { timeout_ns / SECOND_NS, timeout_ns % SECOND_NS };
	int number = sigtimedwait(&signals, NULL, &timeout);

	return MAX(number, 0);
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
	request->tracer->describe(recording->tracer, file);
	g_key_file_set_int64(file, DTC_RAW_GROUP, DTC_RAW_KEY_BEGIN, recording->totals.begin_ns);
	g_key_file_set_int64(file, DTC_RAW_GROUP, DTC_RAW_KEY_END, recording->totals.end_ns);
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
	const struct dtc_tracer_settings settings = {
		.instance = name ? name : "dtrace-collect-0-0",
		.events = choice.events,
		.buffer_bytes = request->buffer_bytes,
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
	recording->captures = dtc_captures_start(&settings, error);
	return recording->captures != NULL;
}

/* Clocks, and what was lost so far. */
static void take_samples(DtcRecorder *recording)
{
	struct dtc_clock_sample sample = dtc_clock_sample_take();
	struct dtc_recorder_totals *totals = &recording->totals;

	dtc_clock_sample_write(&sample, recording->clocks);
	recording->request->tracer->sample(recording->tracer, sample.mono_ns, recording->drops, &totals->events);
	if (recording->captures)
		dtc_captures_get_counts(recording->captures, &totals->packets);
	totals->cpu_ns = get_cpu_ns() - recording->cpu_before_ns;
	totals->end_ns = sample.mono_ns;
}

/* What runs while it begins is in the walk or in an event, so the tracer comes first. */
static bool begin(DtcRecorder *recording, GError **error)
{
	struct dtc_recorder_totals *totals = &recording->totals;

	recording->clocks = create_stream(recording->place, DTC_RAW_CLOCKS, error);
	recording->drops = recording->clocks ? create_stream(recording->place, DTC_RAW_DROPS, error) : NULL;
	if (!recording->drops)
		return false;
	totals->begin_ns = totals->end_ns = dtc_clock_get_mono_ns();
	recording->cpu_before_ns = get_cpu_ns();
	if (!write_recording(recording, "recording", error) ||
	    !recording->request->tracer->start(recording->tracer, error))
		return false;
	take_samples(recording);
	return write_walk(recording, DTC_RAW_PROC_BEGIN, &totals->walk, error);
}

DtcRecorder *dtc_recorder_start(const struct dtc_recorder_request *request, GError **error)
{
	g_autoptr(DtcRecorder) recording = g_new0(DtcRecorder, 1);
	sigset_t signals = get_signals();

	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	recording->request = request;
	recording->lacks = g_ptr_array_new_with_free_func(g_free);
	recording->child.gate = -1;
	recording->place = dtc_place_create(request->node_folder, error);
	if (!recording->place)
		return NULL;
	recording->totals.cleaned = request->tracer->clean();
	add_general_lacks(recording);
	if ((!request->command || dtc_child_prepare(&recording->child, request->command, error)) &&
	    open_tracer(recording, error) && open_captures(recording, error) && begin(recording, error)) {
		dtc_privileges_keep_watching();
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
static int64_t get_turn_ns(const DtcRecorder *recording, int64_t now_ns)
{
	int64_t duration_ns = recording->request->duration_ns;
	int64_t left_ns = duration_ns > 0 ? recording->totals.begin_ns + duration_ns - now_ns : TURN_NS;

	return CLAMP(left_ns, 1000, TURN_NS);
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
		number = dtc_recorder_wait_for_signal(get_turn_ns(recording, now_ns));
	}
}

/* Everything is stopped whatever fails; the first failure is told. */
static bool end(DtcRecorder *recording, GError **error)
{
	struct dtc_walk_counts counts = { 0 };
	g_autoptr(GError) walk_error = NULL, stop_error = NULL, capture_error = NULL;

	write_walk(recording, DTC_RAW_PROC_END, &counts, &walk_error);
	recording->request->tracer->stop(recording->tracer, &stop_error);
	if (recording->captures) {
		dtc_captures_stop(recording->captures, &capture_error);
		const GPtrArray *lacks = dtc_captures_get_lacks(recording->captures);
		for (guint i = 0; i < lacks->len; i++)
			g_ptr_array_add(recording->lacks, g_strdup(g_ptr_array_index(lacks, i)));
	}
	take_samples(recording);
	if (recording->totals.walk.unreadable > 0)
		g_ptr_array_add(recording->lacks,
				g_strdup_printf("files=of %u processes they cannot be listed with these rights",
						recording->totals.walk.unreadable));
	GError *first = walk_error ? walk_error : stop_error ? stop_error : capture_error;
	if (first || recording->totals.end == DTC_END_DISK) {
		g_ptr_array_add(recording->lacks, g_strdup("disk=full: it ended early"));
		recording->totals.end = DTC_END_DISK;
	}
	return write_recording(recording, "stopped", error);
}

bool dtc_recorder_run(DtcRecorder *recording, DtcRecorderWatch watch, void *data, GError **error)
{
	watch_until_over(recording, watch, data);
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

const struct dtc_child *dtc_recorder_get_child(const DtcRecorder *recording)
{
	return &recording->child;
}

void dtc_recorder_free(DtcRecorder *recording)
{
	if (!recording)
		return;
	dtc_captures_free(recording->captures);
	if (recording->tracer)
		recording->request->tracer->free(recording->tracer);
	if (recording->clocks)
		fclose(recording->clocks);
	if (recording->drops)
		fclose(recording->drops);
	if (recording->lacks)
		g_ptr_array_unref(recording->lacks);
	dtc_place_free(recording->place);
	g_free(recording);
}
