/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tracefs, through libtracefs and nowhere else. An instance in overwrite mode (drop mode loses without a mark) with one
 * thread for each CPU, which moves whole sub-buffers from the ring buffer into a file without looking at them. By read
 * and write: splice (tracefs_cpu_write) saves a copy, but the kernel then allocates and zeroes a page for each
 * sub-buffer and writes them one by one, which took 39 to 51 ns an event where this takes 36 to 38; and after a short
 * write it does not know what is left in its pipe. tracefs_cpu_pipe spins when the file is a file.
 *
 * The function tracer's files are never touched: a locked down kernel refuses them.
 */
#include "collect/record/clocks.h"
#include "collect/record/cpu_list.h"
#include "collect/record/drops.h"
#include "collect/record/eprobes.h"
#include "collect/record/instance_name.h"
#include "collect/record/privileges.h"
#include "collect/record/spool.h"
#include "collect/record/tracer.h"
#include "collect/seal/raw.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <tracefs/tracefs.h>
#include <unistd.h>

#define CLOCK "mono"
/* Readers wake when so much of a buffer is full: half, as the kernel does, leaves too little for a burst. */
#define BUFFER_PERCENT "25"
/* A disk that writes back was seen to make a writer wait for 0.7 s. */
#define SPOOL_BYTES ((guint64)32 << 20)
#define SPOOL_LEAST_BYTES ((guint64)4 << 20)
#define SPOOL_ALL_BYTES ((guint64)512 << 20)
#define COMMIT_MASK 0x3fffffff
#define GROWTH 1.1    /* more than what is needed now */
#define GROWTH_MOST 4 /* times as much, at once */

struct drain {
	guint cpu;
	int fd;
	struct tracefs_cpu *buffer;
	GThread *thread;
	DtcSpool *spool;
	gint64 cpu_ns; /* of the threads, once they have ended */
	gint *is_stopping;
	guint64 buffer_bytes;
	int64_t first_ns; /* of the first sub-buffer that was read: its first word is the time of its first event */
	struct dtc_drops drops; /* as of the last sample */
	guint64 overrun_before; /* as of the one before */
	guint64 pauses_before;	/* the tracer's, when this CPU came */
};

struct DtcTracer {
	struct tracefs_instance *instance;
	char *probe_group;
	GPtrArray *probes; /* owned names of events that were made, in the group */
	GPtrArray *events; /* "system:event", borrowed from the settings: those that no made one stands for */
	const DtcPlace *place;
	GPtrArray *drains; /* struct drain, owned */
	gint is_stopping;  /* atomic */
	bool is_started;
	gsize buffer_bytes;
	int64_t hold_ns; /* of a flight recorder; else 0 */
	guint64 hold_bytes;
	guint64 pauses; /* of recording, so far */
	int page_bytes;
};

/* ---- what there is ---- */

static bool set_error(GError **error, const char *what, const char *hint)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE, "%s: %s\n%s", what, g_strerror(errno), hint);
	return false;
}

static bool check(GError **error)
{
	const char *folder = tracefs_tracing_dir();

	if (!folder) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "tracefs is not mounted, or cannot be seen from here\n"
			    "as root: mount -t tracefs tracefs /sys/kernel/tracing; in a container, mount the host's "
			    "there");
		return false;
	}
	g_autofree char *instances = g_build_filename(folder, "instances", NULL);
	if (access(instances, F_OK) != 0)
		return set_error(error, "tracefs cannot be used",
				 "run it as root, or give a group the rights: mount -o remount,gid=GROUP,mode=0770 "
				 "/sys/kernel/tracing");
	if (access(instances, W_OK) != 0)
		return set_error(error, "no right to make an instance of tracefs",
				 "run it as root, or give a group the rights: mount -o remount,gid=GROUP,mode=0770 "
				 "/sys/kernel/tracing");
	return true;
}

static char *read_file(struct tracefs_instance *instance, const char *name)
{
	char *text = tracefs_instance_file_read(instance, name, NULL);
	char *copy = g_strdup(text); /* GLib's, so that all texts are freed alike */

	free(text);
	return copy;
}

static char *list_events(GError **error)
{
	char *text = read_file(NULL, "available_events");

	if (!text)
		set_error(error, "cannot list the events of this kernel", "the kernel needs CONFIG_FTRACE");
	return text;
}

/* The README lists them whether or not they were built in: one is made and removed. */
bool dtc_tracefs_has_eprobes(void)
{
	g_autofree char *group = g_strdup_printf("dtrace_collect_%d", (int)getpid());
	struct tracefs_dynevent *probe = tracefs_eprobe_alloc(group, "trial", "sched", "sched_switch", "pid=$prev_pid");
	bool is_made = probe && tracefs_dynevent_create(probe) == 0;

	if (is_made)
		tracefs_dynevent_destroy(probe, true);
	if (probe)
		tracefs_dynevent_free(probe);
	return is_made;
}

/* ---- events made of others' pointers ---- */

/* A system's name has no '-'. */
static char *make_probe_group(const char *instance)
{
	return g_strdelimit(g_strdup(instance), "-", '_');
}

static void remove_probe(const char *group, const char *name)
{
	struct tracefs_dynevent *probe = tracefs_dynevent_get(TRACEFS_DYNEVENT_EPROBE, group, name);

	if (!probe)
		return;
	tracefs_dynevent_destroy(probe, true);
	tracefs_dynevent_free(probe);
}

static void leave_out(GPtrArray *events, const struct dtc_eprobe *probe)
{
	g_autofree char *name = g_strconcat(probe->system, ":", probe->event, NULL);

	for (guint i = events->len; i-- > 0;)
		if (strcmp(g_ptr_array_index(events, i), name) == 0)
			g_ptr_array_remove_index(events, i);
}

/*
 * What this kernel refuses is not made: packets are joined with their events then, and names of files are those of
 * descriptors that are open at the end.
 */
static void make_probes(DtcTracer *tracer, const struct dtc_tracer_settings *settings)
{
	g_autoptr(DtcBtf) btf = dtc_btf_read(DTC_BTF_PATH, NULL);
	struct dtc_eprobe_offsets offsets;
	bool has_offsets = btf && dtc_eprobe_offsets_find(btf, &offsets, NULL);
	g_autoptr(GPtrArray) wanted = dtc_eprobes_choose(settings->events, has_offsets ? &offsets : NULL);

	tracer->probe_group = make_probe_group(settings->instance);
	tracer->probes = g_ptr_array_new_with_free_func(g_free);
	tracer->events = g_ptr_array_new();
	g_ptr_array_extend(tracer->events, (GPtrArray *)settings->events, NULL, NULL);
	for (guint i = 0; i < wanted->len; i++) {
		const struct dtc_eprobe *probe = g_ptr_array_index(wanted, i);
		struct tracefs_dynevent *made = tracefs_eprobe_alloc(tracer->probe_group, probe->name, probe->system,
								     probe->event, probe->fields);
		if (made && tracefs_dynevent_create(made) == 0) {
			g_ptr_array_add(tracer->probes, g_strdup(probe->name));
			if (probe->is_instead)
				leave_out(tracer->events, probe);
		}
		if (made)
			tracefs_dynevent_free(made);
	}
}

static void remove_probes(DtcTracer *tracer)
{
	for (guint i = 0; tracer->probes && i < tracer->probes->len; i++)
		remove_probe(tracer->probe_group, g_ptr_array_index(tracer->probes, i));
}

/* Those of recorders that are gone. */
static void clean_probes(void)
{
	struct tracefs_dynevent **all = tracefs_dynevent_get_all(TRACEFS_DYNEVENT_EPROBE, NULL);

	for (guint i = 0; all && all[i]; i++) {
		char *group = NULL;
		tracefs_dynevent_info(all[i], &group, NULL, NULL, NULL, NULL);
		g_autofree char *instance = g_strdelimit(g_strdup(group ? group : ""), "_", '-');
		if (dtc_instance_name_is_stale(instance, "/proc"))
			tracefs_dynevent_destroy(all[i], true);
		free(group);
	}
	if (all)
		tracefs_dynevent_list_free(all);
}

static guint clean(void)
{
	guint count = 0;
	char **names = tracefs_instances(NULL);

	for (guint i = 0; names && names[i]; i++) {
		if (!dtc_instance_name_is_stale(names[i], "/proc"))
			continue;
		struct tracefs_instance *instance = tracefs_instance_alloc(NULL, names[i]);
		if (!instance)
			continue;
		tracefs_trace_off(instance);
		count += tracefs_instance_destroy(instance) == 0;
		tracefs_instance_free(instance);
	}
	tracefs_list_free(names);
	clean_probes(); /* which no instance uses any more */
	return count;
}

/* ---- draining ---- */

/* Bytes of events in a sub-buffer: its second word, of which the uppermost bits are flags (ring_buffer.c). */
static gsize get_used_bytes(const char *page)
{
	unsigned long commit;

	memcpy(&commit, page + sizeof(guint64), sizeof(commit));
	return commit & COMMIT_MASK;
}

/*
 * What there is, a chunk at most, on its way into the file: the first sub-buffer is waited for until the buffer has
 * BUFFER_PERCENT, and one that is not half full is the one being written, behind which there is none. False when
 * nothing came.
 */
static bool move_chunk(struct drain *drain, bool waits)
{
	char *chunk = dtc_spool_take(drain->spool);
	gsize page_bytes = (gsize)tracefs_cpu_read_size(drain->buffer), used = 0;
	int count = tracefs_cpu_read(drain->buffer, chunk, !waits);

	if (count > 0 && drain->first_ns == 0)
		memcpy(&drain->first_ns, chunk, sizeof(drain->first_ns));
	while (count > 0) {
		const char *page = chunk + used;
		used += page_bytes;
		if (used + page_bytes > DTC_SPOOL_CHUNK_BYTES || get_used_bytes(page) < page_bytes / 2)
			break;
		count = tracefs_cpu_read(drain->buffer, chunk + used, true);
	}
	dtc_spool_put(drain->spool, chunk, used);
	return used > 0;
}

static void *run_drain(void *data)
{
	struct drain *drain = data;

	dtc_privileges_hurry();
	dtc_privileges_drop_all();
	while (!g_atomic_int_get(drain->is_stopping) && !dtc_spool_is_failed(drain->spool))
		move_chunk(drain, true);
	drain->cpu_ns = dtc_spool_get_thread_cpu_ns();
	return NULL;
}

static void free_drain(void *data)
{
	struct drain *drain = data;

	dtc_spool_free(drain->spool);
	if (drain->buffer)
		tracefs_cpu_close(drain->buffer);
	if (drain->fd >= 0)
		close(drain->fd);
	g_free(drain);
}

static bool add_drain(DtcTracer *tracer, guint cpu, GError **error)
{
	struct drain *drain = g_new0(struct drain, 1);
	g_autofree char *name = g_strdup_printf(DTC_RAW_CPU "%u", cpu);

	drain->cpu = cpu;
	drain->buffer_bytes = tracer->buffer_bytes;
	drain->pauses_before = tracer->pauses;
	drain->is_stopping = &tracer->is_stopping;
	drain->fd = dtc_place_create_file(tracer->place, DTC_PLACE_RAW, name, error);
	if (drain->fd < 0) {
		free_drain(drain);
		return false;
	}
	drain->buffer = tracefs_cpu_open(tracer->instance, (int)cpu, false);
	if (!drain->buffer) {
		set_error(error, "cannot open the ring buffer of a CPU", "are there rights for tracefs?");
		free_drain(drain);
		return false;
	}
	tracer->page_bytes = tracefs_cpu_read_size(drain->buffer);
	g_ptr_array_add(tracer->drains, drain);
	return true;
}

/* What waits for the disk: SPOOL_BYTES for each CPU, less where there are many. */
static guint get_max_chunks(void)
{
	guint64 each = MIN(SPOOL_BYTES, SPOOL_ALL_BYTES / g_get_num_processors());

	return (guint)(MAX(each, SPOOL_LEAST_BYTES) / DTC_SPOOL_CHUNK_BYTES);
}

/* Of a flight recorder nobody empties the buffer. */
static void start_drain(const DtcTracer *tracer, struct drain *drain)
{
	g_autofree char *name = g_strdup_printf("drain-%u", drain->cpu);

	if (tracer->hold_ns > 0)
		return;
	drain->spool = dtc_spool_new(drain->fd, get_max_chunks());
	drain->thread = g_thread_new(name, run_drain, drain);
}

/* A CPU that was not there before; one that has gone keeps its thread, since it may come back. */
static void add_new_cpus(DtcTracer *tracer)
{
	g_autoptr(GArray) cpus = dtc_cpu_list_get_online();

	for (guint i = 0; i < cpus->len; i++) {
		guint cpu = g_array_index(cpus, guint, i);
		bool is_known = false;
		for (guint k = 0; k < tracer->drains->len && !is_known; k++)
			is_known = ((struct drain *)g_ptr_array_index(tracer->drains, k))->cpu == cpu;
		if (!is_known && add_drain(tracer, cpu, NULL) && tracer->is_started)
			start_drain(tracer, g_ptr_array_index(tracer->drains, tracer->drains->len - 1));
	}
}

/* ---- setting up ---- */

static void free_tracer(DtcTracer *tracer);

static bool enable(const DtcTracer *tracer, const char *system, const char *event)
{
	/* tracefs_event_enable lists all events of a system before each: 2 s of CPU for 300 system calls */
	g_autofree char *path = event ? g_strdup_printf("events/%s/%s/enable", system, event)
				      : g_strdup_printf("events/%s/enable", system);

	return tracefs_instance_file_write(tracer->instance, path, "1") > 0;
}

static guint count_lines(const char *lines, const char *prefix)
{
	guint count = 0;

	for (const char *line = lines; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		count += g_str_has_prefix(line, prefix);
	return count;
}

/* The whole system in one write where all of it is wanted: there are some 700 system calls. */
static bool enable_events(const DtcTracer *tracer, const GPtrArray *events, const char *available, GError **error)
{
	for (guint i = 0, count; i < events->len; i += count) {
		const char *first = g_ptr_array_index(events, i);
		g_autofree char *system = g_strndup(first, strcspn(first, ":"));
		g_autofree char *prefix = g_strconcat(system, ":", NULL);
		for (count = 0; i + count < events->len; count++)
			if (!g_str_has_prefix(g_ptr_array_index(events, i + count), prefix))
				break;
		bool is_enabled = count == count_lines(available, prefix) && enable(tracer, system, NULL);
		for (guint k = i; k < i + count && !is_enabled; k++) {
			const char *name = g_ptr_array_index(events, k);
			g_autofree char *what = g_strdup_printf("cannot switch event '%s' on", name);
			if (!enable(tracer, system, name + strlen(prefix)))
				return set_error(error, what, "leave it out with --events -SYSTEM:EVENT");
		}
	}
	return true;
}

static void add_format(GString *out, const char *system, const char *event)
{
	char *format = tracefs_event_file_read(NULL, system, event, "format", NULL);

	if (format)
		g_string_append_printf(out, "system %s\n%s%s\n", system, format,
				       g_str_has_suffix(format, "\n") ? "" : "\n");
	free(format);
}

static bool write_formats(const DtcTracer *tracer, const GPtrArray *events, GError **error)
{
	g_autoptr(GString) out = g_string_new(NULL);

	for (guint i = 0; i < events->len; i++) {
		g_auto(GStrv) parts = g_strsplit(g_ptr_array_index(events, i), ":", 2);
		add_format(out, parts[0], parts[1]);
	}
	for (guint i = 0; i < tracer->probes->len; i++)
		add_format(out, tracer->probe_group, g_ptr_array_index(tracer->probes, i));
	return dtc_place_write(tracer->place, DTC_PLACE_RAW, DTC_RAW_FORMATS, out->str, error);
}

static bool set_up_instance(DtcTracer *tracer, const struct dtc_tracer_settings *settings, GError **error)
{
	struct tracefs_instance *instance = tracer->instance;

	if (tracefs_trace_off(instance) < 0)
		return set_error(error, "cannot hold the tracer", "are there rights for tracefs?");
	if (tracefs_instance_file_write(instance, "trace_clock", CLOCK) < 0)
		return set_error(error, "this kernel's tracer has no clock '" CLOCK "'", "it is older than 3.17");
	if (tracefs_instance_set_buffer_size(instance, settings->buffer_bytes / 1024, -1) != 0)
		return set_error(error, "the kernel gives no memory for the buffers",
				 "ask for less with --buffer, for example --buffer 1M");
	tracefs_option_enable(instance, TRACEFS_OPTION_OVERWRITE);
	(void)tracefs_instance_file_write(instance, "buffer_percent", BUFFER_PERCENT); /* since 5.0 */
	return true;
}

static bool prepare(DtcTracer *tracer, const struct dtc_tracer_settings *settings, GError **error)
{
	g_autofree char *available = list_events(error);
	g_autofree char *header = read_file(NULL, "events/header_page");
	g_autoptr(GArray) cpus = dtc_cpu_list_get_online();

	if (!available || !set_up_instance(tracer, settings, error))
		return false;
	if (!header)
		return set_error(error, "cannot read the layout of the ring buffer", "are there rights for tracefs?");
	make_probes(tracer, settings);
	if (!dtc_place_write(settings->place, DTC_PLACE_RAW, DTC_RAW_HEADER_PAGE, header, error) ||
	    !write_formats(tracer, tracer->events, error))
		return false;
	for (guint i = 0; i < cpus->len; i++)
		if (!add_drain(tracer, g_array_index(cpus, guint, i), error))
			return false;
	for (guint i = 0; i < tracer->probes->len; i++)
		(void)tracefs_event_enable(tracer->instance, tracer->probe_group, g_ptr_array_index(tracer->probes, i));
	return enable_events(tracer, tracer->events, available, error);
}

static DtcTracer *open_tracer(const struct dtc_tracer_settings *settings, GError **error)
{
	DtcTracer *tracer = g_new0(DtcTracer, 1);

	tracer->place = settings->place;
	tracer->buffer_bytes = settings->buffer_bytes;
	tracer->hold_ns = settings->hold_ns;
	tracer->hold_bytes = settings->hold_bytes;
	tracer->drains = g_ptr_array_new_with_free_func(free_drain);
	tracer->instance = tracefs_instance_create(settings->instance);
	if (!tracer->instance)
		set_error(error, "cannot make an instance of tracefs",
			  "the kernel needs CONFIG_TRACING, and 3.10 or later");
	if (tracer->instance && prepare(tracer, settings, error))
		return tracer;
	free_tracer(tracer);
	return NULL;
}

/* ---- running ---- */

static bool start(DtcTracer *tracer, GError **error)
{
	for (guint i = 0; i < tracer->drains->len; i++)
		start_drain(tracer, g_ptr_array_index(tracer->drains, i));
	tracer->is_started = true;
	if (tracefs_trace_on(tracer->instance) == 0)
		return true;
	return set_error(error, "cannot start the tracer", "are there rights for tracefs?");
}

static void sample_drain(const DtcTracer *tracer, struct drain *drain, int64_t now_ns, FILE *file)
{
	g_autofree char *name = g_strdup_printf("per_cpu/cpu%u/stats", drain->cpu);
	g_autofree char *text = read_file(tracer->instance, name);

	if (!text || !dtc_drops_parse(text, &drain->drops))
		return;
	/* what happened in one is lost: an event at least, for what we know */
	drain->drops.dropped += tracer->pauses - drain->pauses_before;
	fprintf(file,
		"%" G_GINT64_FORMAT " %u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
		" %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n",
		now_ns, drain->cpu, drain->drops.entries, drain->drops.overrun, drain->drops.commit_overrun,
		drain->drops.bytes, drain->drops.dropped, drain->drops.read);
}

static void sample_all(const DtcTracer *tracer, int64_t now_ns, FILE *file)
{
	for (guint i = 0; i < tracer->drains->len; i++)
		sample_drain(tracer, g_ptr_array_index(tracer->drains, i), now_ns, file);
}

/*
 * A buffer that overwrites what was to be held takes more; one that has just grown is not full yet. With two thirds of
 * the memory taken no CPU gets more than its share: one that has nothing to do now may have later. 0: no more.
 */
static guint64 choose_size(const DtcTracer *tracer, const struct drain *drain)
{
	const struct dtc_drops *drops = &drain->drops;
	guint64 all = 0, share = tracer->hold_bytes / tracer->drains->len, free_for_all = tracer->hold_bytes / 3 * 2;

	for (guint i = 0; i < tracer->drains->len; i++)
		all += ((struct drain *)g_ptr_array_index(tracer->drains, i))->buffer_bytes;
	guint64 most = all < free_for_all
			       ? drain->buffer_bytes + free_for_all - all
			       : MIN(share, drain->buffer_bytes + tracer->hold_bytes - MIN(all, tracer->hold_bytes));
	if (drops->overrun <= drain->overrun_before || drops->span_ns <= 0 || drops->span_ns >= tracer->hold_ns ||
	    drain->buffer_bytes >= most)
		return 0;
	double factor = MIN(GROWTH * (double)tracer->hold_ns / (double)drops->span_ns, GROWTH_MOST);
	return MIN((guint64)((double)drain->buffer_bytes * factor), most);
}

/*
 * While the size of one buffer changes, the kernel records on no CPU (tracing_stop_tr in kernel/trace/trace.c;
 * since 6.7 and taken back into older ones): 8 to 25 ms on a machine of two CPUs, in which a request's system calls
 * were missing and all requests behind it on its connection had the names of their neighbours. So all that have to grow
 * do it in one go, between two samples of all that are as close around it as can be, the second of which says that
 * something was lost. What is in a buffer stays.
 */
static void grow_all(DtcTracer *tracer, FILE *file)
{
	bool is_tried = false;

	for (guint i = 0; i < tracer->drains->len; i++) {
		struct drain *drain = g_ptr_array_index(tracer->drains, i);
		guint64 wanted = choose_size(tracer, drain);
		if (wanted == 0)
			continue;
		if (!is_tried)
			sample_all(tracer, dtc_clock_get_mono_ns(), file);
		is_tried = true;
		if (tracefs_instance_set_buffer_size(tracer->instance, wanted / 1024, (int)drain->cpu) == 0)
			drain->buffer_bytes = wanted;
	}
	if (!is_tried)
		return;
	tracer->pauses++;
	sample_all(tracer, dtc_clock_get_mono_ns(), file);
}

static guint64 get_written(const struct drain *drain)
{
	struct stat status;

	return fstat(drain->fd, &status) == 0 ? (guint64)status.st_size : 0;
}

static void sample(DtcTracer *tracer, int64_t now_ns, FILE *drops, struct dtc_tracer_counts *ret_counts)
{
	struct dtc_tracer_counts counts = { 0 };

	if (!g_atomic_int_get(&tracer->is_stopping))
		add_new_cpus(tracer);
	for (guint i = 0; i < tracer->drains->len; i++) {
		struct drain *drain = g_ptr_array_index(tracer->drains, i);
		drain->overrun_before = drain->drops.overrun;
	}
	sample_all(tracer, now_ns, drops);
	if (tracer->hold_ns > 0 && !g_atomic_int_get(&tracer->is_stopping))
		grow_all(tracer, drops);
	for (guint i = 0; i < tracer->drains->len; i++) {
		const struct drain *drain = g_ptr_array_index(tracer->drains, i);
		guint64 lost = dtc_drops_count_lost(&drain->drops, tracer->hold_ns > 0);
		counts.lost += lost;
		counts.events += drain->drops.entries + drain->drops.read + lost;
		counts.bytes += get_written(drain);
		counts.cpu_ns += drain->thread ? 0 : drain->cpu_ns; /* it is its own until it has been joined */
		counts.is_failed |= drain->spool && dtc_spool_is_failed(drain->spool);
	}
	*ret_counts = counts;
}

/* What is left. A file is a whole number of sub-buffers, whatever happened. */
static bool flush_drain(const DtcTracer *tracer, struct drain *drain)
{
	while (!dtc_spool_is_failed(drain->spool) && move_chunk(drain, false))
		;
	drain->cpu_ns += dtc_spool_finish(drain->spool);
	off_t end = lseek(drain->fd, 0, SEEK_CUR);
	bool is_whole =
		end <= 0 || end % tracer->page_bytes == 0 || ftruncate(drain->fd, end - end % tracer->page_bytes) == 0;
	return is_whole && !dtc_spool_is_failed(drain->spool);
}

static bool stop(DtcTracer *tracer, GError **error)
{
	bool is_whole = true;

	tracefs_trace_off(tracer->instance);
	g_atomic_int_set(&tracer->is_stopping, 1);
	for (guint i = 0; i < tracer->drains->len; i++)
		tracefs_cpu_stop(((struct drain *)g_ptr_array_index(tracer->drains, i))->buffer);
	for (guint i = 0; i < tracer->drains->len; i++) {
		struct drain *drain = g_ptr_array_index(tracer->drains, i);
		if (tracer->hold_ns > 0)
			drain->spool = dtc_spool_new(drain->fd, get_max_chunks());
		else if (!drain->thread)
			continue;
		else
			g_thread_join(g_steal_pointer(&drain->thread));
		is_whole &= flush_drain(tracer, drain);
	}
	if (!is_whole)
		set_error(error, "not all events could be written", "is the disk full?");
	return is_whole;
}

/* Of the buffers that have overwritten themselves. */
static int64_t get_first_ns(const DtcTracer *tracer)
{
	int64_t first_ns = 0;

	for (guint i = 0; i < tracer->drains->len; i++) {
		const struct drain *drain = g_ptr_array_index(tracer->drains, i);
		if (drain->drops.overrun > 0)
			first_ns = MAX(first_ns, drain->first_ns);
	}
	return first_ns;
}

static void describe(const DtcTracer *tracer, GKeyFile *recording)
{
	g_autofree int *cpus = g_new(int, tracer->drains->len);

	for (guint i = 0; i < tracer->drains->len; i++)
		cpus[i] = (int)((struct drain *)g_ptr_array_index(tracer->drains, i))->cpu;
	g_key_file_set_integer_list(recording, DTC_RAW_GROUP, DTC_RAW_KEY_CPUS, cpus, tracer->drains->len);
	g_key_file_set_integer(recording, DTC_RAW_GROUP, DTC_RAW_KEY_PAGE_SIZE, tracer->page_bytes);
	g_key_file_set_string(recording, DTC_RAW_GROUP, DTC_RAW_KEY_CLOCK, CLOCK);
}

static void free_tracer(DtcTracer *tracer)
{
	if (!tracer)
		return;
	if (tracer->is_started && !g_atomic_int_get(&tracer->is_stopping))
		stop(tracer, NULL);
	g_ptr_array_unref(tracer->drains); /* an instance whose buffers are open cannot be removed */
	if (tracer->instance) {
		tracefs_trace_off(tracer->instance);
		tracefs_instance_destroy(tracer->instance);
		tracefs_instance_free(tracer->instance);
	}
	remove_probes(tracer);
	if (tracer->probes)
		g_ptr_array_unref(tracer->probes);
	if (tracer->events)
		g_ptr_array_unref(tracer->events);
	g_free(tracer->probe_group);
	g_free(tracer);
}

const struct dtc_tracer_kind dtc_tracer_tracefs = {
	.name = "tracefs",
	.check = check,
	.list_events = list_events,
	.clean = clean,
	.open = open_tracer,
	.start = start,
	.sample = sample,
	.stop = stop,
	.get_first_ns = get_first_ns,
	.describe = describe,
	.free = free_tracer,
};
