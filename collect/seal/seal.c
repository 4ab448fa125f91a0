/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a raw recording to a node, in two passes over the pages: the first gathers what must be known of all CPUs
 * (net events, forks, files), the second writes. CPUs are independent in both, and shared out among threads.
 */
#include "collect/bundle/environment.h"
#include "collect/packets/packets.h"
#include "collect/seal/convert.h"
#include "collect/seal/describe.h"
#include "collect/seal/places.h"
#include "collect/seal/raw.h"
#include "collect/seal/statedump.h"
#include "dtrace-chain/error.h"
#include "dtrace-chain/manifest.h"

#include <glib/gstdio.h>
#include <string.h>

#define STATEDUMP "statedump"
#define STATEDUMP_INSTANCE 65536u /* behind those of all CPUs */

struct seal {
	const char *folder; /* borrowed, as the next two */
	const struct dtc_seal_options *options;
	DtcFindings *findings;
	DtcRecording *recording;
	DtcSubjects *subjects;
	DtcClasses *classes;
	DtcWalk *begin;
	DtcWalk *end;
	struct dtc_scan *scans; /* one for each CPU */
	struct dtc_convert_cpu *cpus;
	GPtrArray *losses; /* GArray of struct dtc_loss, one for each CPU */
	guint cpu_count;
	DtcJoin *join;
	DtcTasks *tasks;
	DtcRepairs *repairs;
	char *part;
	struct dtc_description description;
	uint8_t uuid[DTC_CTF_UUID_BYTES];
	int64_t begin_ns;
};

static void clear_seal(struct seal *seal)
{
	for (guint i = 0; i < seal->cpu_count; i++)
		dtc_scan_clear(&seal->scans[i]);
	g_free(seal->scans);
	g_free(seal->cpus);
	g_clear_pointer(&seal->losses, g_ptr_array_unref);
	g_clear_pointer(&seal->tasks, dtc_tasks_free);
	g_clear_pointer(&seal->repairs, dtc_repairs_free);
	g_clear_pointer(&seal->join, dtc_join_free);
	g_clear_pointer(&seal->begin, dtc_walk_free);
	g_clear_pointer(&seal->end, dtc_walk_free);
	g_clear_pointer(&seal->classes, dtc_classes_free);
	g_clear_pointer(&seal->subjects, dtc_subjects_free);
	g_clear_pointer(&seal->recording, dtc_recording_free);
	if (seal->part)
		dtc_places_remove(seal->part);
	g_free(seal->part);
}

/* ---- CPUs in threads ---- */

struct work {
	bool (*run)(struct seal *seal, guint cpu, GError **error);
	struct seal *seal;
	GError **errors; /* one for each CPU */
	gint next;
	gint has_failed;
};

static gpointer work_some(gpointer data)
{
	struct work *work = data;
	for (;;) {
		guint cpu = (guint)g_atomic_int_add(&work->next, 1);
		if (cpu >= work->seal->cpu_count || g_atomic_int_get(&work->has_failed))
			return NULL;
		if (!work->run(work->seal, cpu, &work->errors[cpu]))
			g_atomic_int_set(&work->has_failed, 1);
	}
}

/* The error of the first CPU that has one. */
static bool take_errors(struct work *work, GError **error)
{
	bool is_good = true;
	for (guint i = 0; i < work->seal->cpu_count; i++) {
		if (work->errors[i] && is_good) {
			g_propagate_error(error, work->errors[i]);
			is_good = false;
		} else {
			g_clear_error(&work->errors[i]);
		}
	}
	return is_good;
}

static bool run_cpus(struct seal *seal, bool (*run)(struct seal *, guint, GError **), GError **error)
{
	guint wanted = seal->options->thread_count ? seal->options->thread_count : g_get_num_processors();
	guint count = MIN(wanted, seal->cpu_count), started = 0;
	g_autofree GThread **threads = g_new0(GThread *, count + 1);
	g_autofree GError **errors = g_new0(GError *, seal->cpu_count + 1);
	struct work work = { .run = run, .seal = seal, .errors = errors };

	/* this thread works, too, so that one that cannot be made only costs time */
	for (guint i = 1; i < count; i++) {
		threads[started] = g_thread_try_new("seal", work_some, &work, NULL);
		started += threads[started] != NULL;
	}
	work_some(&work);
	for (guint i = 0; i < started; i++)
		g_thread_join(threads[i]);
	return take_errors(&work, error);
}

/* ---- the first pass ---- */

/* A CPU whose file is not there has no events; that is said later. */
static bool scan_cpu(struct seal *seal, guint cpu, GError **error)
{
	g_autoptr(GError) reason = NULL;
	struct dtc_scan *scan = &seal->scans[cpu];
	if (dtc_scan_cpu(seal->recording, seal->subjects, seal->recording->cpus[cpu], scan, &reason))
		return true;
	if (g_error_matches(reason, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND)) {
		scan->is_missing = true;
		return true;
	}
	g_propagate_error(error, g_steal_pointer(&reason));
	return false;
}

static void add_damage(struct seal *seal, const struct dtc_scan *scan)
{
	struct dtc_description *sum = &seal->description;
	sum->damaged_pages += scan->pages.damaged_pages;
	sum->unknown_events += scan->unknown_events;
	sum->uncounted_gaps += scan->pages.uncounted;
	sum->is_complete &= !scan->is_missing && !scan->pages.damaged_pages && !scan->pages.is_cut &&
			    !scan->pages.uncounted && !scan->unknown_events;
	if (scan->is_missing)
		dtc_findings_add_coded(seal->findings, DTC_FINDING_STREAM_MISSING, DTC_SEVERITY_WARNING, true,
				       seal->recording->node, "the pages of CPU %u are missing", scan->cpu);
	if (scan->pages.damaged_pages || scan->pages.is_cut)
		dtc_findings_add_coded(seal->findings, DTC_FINDING_STREAM_DAMAGED, DTC_SEVERITY_WARNING, true,
				       seal->recording->node,
				       "of CPU %u, %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
				       " pages are damaged%s: what they held is taken as lost",
				       scan->cpu, scan->pages.damaged_pages, scan->pages.pages,
				       scan->pages.is_cut ? " and the last is cut" : "");
	if (scan->unknown_events)
		dtc_findings_add(seal->findings, DTC_SEVERITY_WARNING, true, seal->recording->node,
				 "%" G_GUINT64_FORMAT " events of CPU %u are of no type that the recording describes",
				 scan->unknown_events, scan->cpu);
}

/* The first and the last event of all, and what is no event after all. */
static void sum_scans(struct seal *seal)
{
	struct dtc_seal_summary *summary = &seal->description.summary;
	for (guint i = 0; i < seal->cpu_count; i++) {
		const struct dtc_scan *scan = &seal->scans[i];
		add_damage(seal, scan);
		if (scan->events == 0)
			continue;
		if (summary->begin_ns == 0 || scan->first_ns < summary->begin_ns)
			summary->begin_ns = scan->first_ns;
		summary->end_ns = MAX(summary->end_ns, scan->last_ns);
	}
	seal->begin_ns = summary->begin_ns;
	if (seal->begin->threads->len && seal->begin->begin_ns < seal->begin_ns)
		seal->begin_ns = MAX(seal->begin->begin_ns, 0);
}

static bool scan_wakes(struct seal *seal, guint cpu, GError **error)
{
	return seal->scans[cpu].is_missing ||
	       dtc_scan_wakes(seal->recording, seal->subjects, seal->recording->cpus[cpu], seal->repairs, error);
}

/* When the switches happened that are missing. */
static bool time_repairs(struct seal *seal, GError **error)
{
	seal->repairs = dtc_repairs_new();
	for (guint i = 0; i < seal->cpu_count; i++)
		if (seal->scans[i].repairs)
			dtc_repairs_add(seal->repairs, seal->scans[i].repairs);
	return dtc_repairs_get_count(seal->repairs) == 0 || run_cpus(seal, scan_wakes, error);
}

/* ---- the join ---- */

static void add_interfaces(DtcJoin *join, const DtcWalk *walk)
{
	for (guint i = 0; i < walk->interfaces->len; i++) {
		const struct dtc_walk_interface *interface =
			&g_array_index(walk->interfaces, struct dtc_walk_interface, i);
		dtc_join_add_interface(join, interface->netns, interface->index, interface->name);
	}
}

/*
 * The recorder removes captures without packets when it stops, so that a file that is not there had none; if it did not
 * stop, somebody else did that.
 */
static void drop_absent_captures(struct seal *seal)
{
	GArray *captures = seal->recording->captures;
	for (guint i = captures->len; i-- > 0;) {
		const char *file = g_array_index(captures, struct dtc_raw_capture, i).file;
		g_autofree char *path = g_build_filename(seal->folder, file, NULL);
		if (g_file_test(path, G_FILE_TEST_EXISTS))
			continue;
		if (!seal->recording->was_stopped)
			dtc_findings_add_coded(seal->findings, DTC_FINDING_CAPTURE_DAMAGED, DTC_SEVERITY_WARNING, true,
					       seal->recording->node, "the capture '%s' is missing", file);
		g_array_remove_index(captures, i);
	}
}

/* A capture that cannot be read is a finding: the events stay without their headers. */
static void add_captures(struct seal *seal)
{
	for (guint i = 0; i < seal->recording->captures->len; i++) {
		struct dtc_raw_capture *capture = &g_array_index(seal->recording->captures, struct dtc_raw_capture, i);
		g_autofree char *path = g_build_filename(seal->folder, capture->file, NULL);
		g_autoptr(GError) reason = NULL;
		uint64_t before = dtc_join_get_summary(seal->join).packets;
		if (!dtc_join_add_capture(seal->join, seal->recording->node, path, capture->netns, seal->findings,
					  &reason))
			dtc_findings_add_coded(seal->findings, DTC_FINDING_CAPTURE_DAMAGED, DTC_SEVERITY_WARNING, true,
					       seal->recording->node, "'%s' has no packets for its events: %s",
					       capture->file, reason->message);
		if (!capture->packets)
			capture->packets = dtc_join_get_summary(seal->join).packets - before;
	}
}

/* The events of a CPU; the join's numbers of them are consecutive. */
static uint32_t add_net_events(DtcJoin *join, struct dtc_scan *scan)
{
	g_autofree uint16_t *devices = g_new0(uint16_t, scan->devices->len + 1);
	uint32_t first = DTC_NONE;
	for (guint i = 0; i < scan->devices->len; i++)
		devices[i] = dtc_join_add_device(join, g_ptr_array_index(scan->devices, i));
	for (guint i = 0; i < scan->net->len; i++) {
		struct dtc_join_event event = g_array_index(scan->net, struct dtc_join_event, i);
		event.device = devices[event.device];
		uint32_t id = dtc_join_add_event(join, &event);
		if (i == 0 || id == DTC_NONE)
			first = id;
		if (id == DTC_NONE)
			break;
	}
	for (guint i = 0; i < scan->bytes->len && first != DTC_NONE; i++) {
		const struct dtc_net_bytes *bytes = DTC_AT(scan->bytes, struct dtc_net_bytes, i);
		dtc_join_set_headers(join, first + bytes->net, &bytes->headers);
	}
	for (guint i = 0; i < scan->woken->len && first != DTC_NONE; i++) {
		const struct dtc_net_woken *woken = DTC_AT(scan->woken, struct dtc_net_woken, i);
		dtc_join_add_woken(join, first + woken->net, woken->tid);
	}
	g_clear_pointer(&scan->bytes, dtc_table_free);
	g_clear_pointer(&scan->woken, dtc_table_free);
	g_clear_pointer(&scan->net, g_array_unref);
	return first;
}

static void join_packets(struct seal *seal)
{
	const DtcRecording *recording = seal->recording;
	seal->join = dtc_join_new();
	for (guint i = 0; i < recording->clocks->len; i++) {
		const struct dtc_raw_clock *clock = &g_array_index(recording->clocks, struct dtc_raw_clock, i);
		dtc_join_add_clock(seal->join, clock->mono_ns, clock->real_ns, clock->uncertainty_ns);
	}
	add_interfaces(seal->join, seal->begin);
	add_interfaces(seal->join, seal->end);
	drop_absent_captures(seal);
	add_captures(seal);
	for (guint i = 0; i < seal->cpu_count; i++)
		seal->cpus[i].first_net = seal->scans[i].net ? add_net_events(seal->join, &seal->scans[i]) : DTC_NONE;
	dtc_join_run(seal->join);
	seal->description.join = dtc_join_get_summary(seal->join);
}

/* ---- losses ---- */

static uint64_t get_growth(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

/* What a CPU's samples say: where it dropped events, and how many it overwrote in all. */
static void read_losses(struct seal *seal, guint cpu)
{
	GArray *losses = g_ptr_array_index(seal->losses, cpu);
	const struct dtc_pages_summary *pages = &seal->scans[cpu].pages;
	struct dtc_raw_drop last = { .mono_ns = seal->recording->begin_ns };
	bool has_last = false;
	for (guint i = 0; i < seal->recording->drops->len; i++) {
		const struct dtc_raw_drop *drop = &g_array_index(seal->recording->drops, struct dtc_raw_drop, i);
		if (drop->cpu != seal->recording->cpus[cpu] || drop->mono_ns < last.mono_ns)
			continue;
		struct dtc_loss loss = { last.mono_ns, drop->mono_ns, get_growth(last.dropped, drop->dropped) };
		/* of a flight recorder's the first sample tells what was lost in all the time before */
		if (loss.count && drop->mono_ns > seal->recording->from_ns &&
		    (has_last || seal->recording->from_ns == 0))
			g_array_append_val(losses, loss);
		last = *drop;
		has_last = true;
	}
	seal->cpus[cpu].losses = losses;
	/* gaps that the pages do not count share what the counters know beyond them */
	uint64_t left = get_growth(pages->lost, last.overrun);
	seal->cpus[cpu].unknown_lost = pages->uncounted ? MAX(left / pages->uncounted, 1) : 1;
}

/* ---- the second pass ---- */

static bool convert_cpu(struct seal *seal, guint cpu, GError **error)
{
	g_autofree char *folder = g_build_filename(seal->part, DTC_SEALED_KERNEL, NULL);
	struct dtc_convert_input input = { .recording = seal->recording,
					   .subjects = seal->subjects,
					   .classes = seal->classes,
					   .tasks = seal->tasks,
					   .join = seal->join,
					   .names = seal->begin,
					   .folder = folder,
					   .uuid = seal->uuid,
					   .begin_ns = seal->begin_ns,
					   .end_ns = seal->description.summary.end_ns };
	seal->cpus[cpu].cpu = seal->recording->cpus[cpu];
	seal->cpus[cpu].scan = cpu;
	seal->cpus[cpu].repairs = seal->scans[cpu].repairs;
	return seal->scans[cpu].is_missing || dtc_convert_cpu(&input, &seal->cpus[cpu], error);
}

static void sum_cpus(struct seal *seal)
{
	struct dtc_description *sum = &seal->description;
	for (guint i = 0; i < seal->cpu_count; i++) {
		const struct dtc_convert_cpu *cpu = &seal->cpus[i];
		sum->summary.events += cpu->events;
		sum->summary.lost_events += cpu->lost_events;
		sum->summary.repaired_switches += cpu->repaired_switches;
		sum->summary.bytes += cpu->bytes;
		if (cpu->repaired_switches)
			dtc_findings_add_coded(seal->findings, DTC_FINDING_SWITCH_MISSING, DTC_SEVERITY_WARNING, false,
					       seal->recording->node,
					       "%" G_GUINT64_FORMAT
					       " switches of CPU %u were not in the buffer and were "
					       "put in where the next event shows who runs",
					       cpu->repaired_switches, cpu->cpu);
	}
	sum->summary.net_events = sum->join.events;
	sum->summary.joined_exactly = sum->join.own + sum->join.joined;
	sum->summary.joined_inferred = sum->join.inferred;
	sum->summary.packets = sum->join.packets;
	sum->is_complete &= sum->summary.lost_events == 0;
	if (sum->summary.lost_events)
		dtc_findings_add_coded(seal->findings, DTC_FINDING_EVENTS_LOST, DTC_SEVERITY_WARNING, true,
				       seal->recording->node, "%" G_GUINT64_FORMAT " events were lost",
				       sum->summary.lost_events);
}

static bool write_statedump(struct seal *seal, uint32_t first_id, GError **error)
{
	g_autofree char *path = g_build_filename(seal->part, DTC_SEALED_KERNEL, STATEDUMP, NULL);
	uint64_t bytes;
	if (seal->begin->threads->len == 0)
		return true;
	g_autoptr(DtcCtfWriter) writer =
		dtc_ctf_writer_new(path, seal->uuid, STATEDUMP_INSTANCE, 0, seal->begin->begin_ns, error);
	if (!writer)
		return false;
	seal->description.summary.events += dtc_statedump_write(writer, seal->begin, seal->end, first_id);
	if (!dtc_ctf_writer_finish(writer, &bytes, error))
		return false;
	seal->description.summary.bytes += bytes;
	return true;
}

static bool write_descriptions(struct seal *seal, uint32_t first_dump_id, GError **error)
{
	g_autofree char *metadata = dtc_describe_trace(&seal->description, seal->classes, first_dump_id);
	g_autofree char *environment = dtc_describe_environment(&seal->description);
	if (!dtc_places_write(seal->part, DTC_SEALED_KERNEL "/metadata", metadata, strlen(metadata), error) ||
	    !dtc_places_write(seal->part, DTC_SEALED_ENVIRONMENT, environment, strlen(environment), error))
		return false;
	g_autoptr(GBytes) manifest = dtc_describe_manifest(&seal->description, seal->part, seal->folder, error);
	return manifest && dtc_places_write(seal->part, DTC_MANIFEST_NAME, g_bytes_get_data(manifest, NULL),
					    g_bytes_get_size(manifest), error);
}

/* ---- all of it ---- */

static DtcWalk *read_walk(struct seal *seal, const char *name)
{
	g_autofree char *path = g_build_filename(seal->recording->folder, name, NULL);
	bool is_there;
	DtcWalk *walk = dtc_walk_read(path, &is_there);
	if (walk->skipped_lines)
		dtc_findings_add(seal->findings, DTC_SEVERITY_WARNING, false, seal->recording->node,
				 "%u lines of '%s' could not be understood", walk->skipped_lines, name);
	/* a walk whose time cannot be is of no time */
	if (walk->begin_ns < seal->recording->begin_ns || walk->begin_ns > seal->recording->end_ns)
		walk->begin_ns = seal->recording->begin_ns;
	return walk;
}

static bool prepare(struct seal *seal, GError **error)
{
	seal->recording = dtc_recording_read(seal->folder, seal->findings, error);
	if (!seal->recording)
		return false;
	seal->begin = read_walk(seal, DTC_RAW_PROC_BEGIN);
	seal->end = read_walk(seal, DTC_RAW_PROC_END);
	seal->subjects = dtc_subjects_new(seal->recording->formats);
	seal->classes = dtc_classes_new(seal->recording->formats);
	dtc_describe_uuid(seal->recording, seal->uuid);
	guint count = seal->recording->cpu_count;
	seal->scans = g_new0(struct dtc_scan, count);
	seal->cpus = g_new0(struct dtc_convert_cpu, count);
	seal->losses = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	for (guint i = 0; i < count; i++)
		g_ptr_array_add(seal->losses, g_array_new(FALSE, FALSE, sizeof(struct dtc_loss)));
	seal->cpu_count = count;
	seal->description = (struct dtc_description){ .recording = seal->recording,
						      .walk = seal->begin,
						      .end = seal->end,
						      .creator = seal->options->creator,
						      .cpus = seal->cpus,
						      .is_complete = seal->recording->was_stopped };
	return true;
}

/* Of LTTng's counts the latest is the sum. */
static void take_lttng_losses(struct seal *seal)
{
	const GArray *drops = seal->recording->drops;

	if (drops->len > 0)
		seal->description.summary.lost_events =
			g_array_index(drops, struct dtc_raw_drop, drops->len - 1).dropped;
	if (seal->description.summary.lost_events > 0)
		dtc_findings_add(seal->findings, DTC_SEVERITY_WARNING, true, seal->recording->node,
				 "%" G_GUINT64_FORMAT " events were lost", seal->description.summary.lost_events);
}

static void describe_captures(struct seal *seal)
{
	for (guint i = 0; i < seal->recording->captures->len; i++)
		seal->description.join.packets +=
			g_array_index(seal->recording->captures, struct dtc_raw_capture, i).packets;
	seal->description.summary.packets = seal->description.join.packets;
}

/*
 * LTTng wrote the trace, with packets' headers and a state dump of its own: it stays where and as it is, and gets the
 * environment and the manifest beside it. What an earlier sealing wrote that was interrupted is written again.
 */
static bool seal_lttng(struct seal *seal, GError **error)
{
	static const char *const names[] = { DTC_SEALED_ENVIRONMENT, DTC_MANIFEST_NAME };

	take_lttng_losses(seal);
	describe_captures(seal);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_build_filename(seal->folder, names[i], NULL);
		g_unlink(path);
	}
	g_autofree char *environment = dtc_describe_environment(&seal->description);
	if (!dtc_places_write(seal->folder, DTC_SEALED_ENVIRONMENT, environment, strlen(environment), error))
		return false;
	g_autoptr(GBytes) manifest = dtc_describe_manifest(&seal->description, seal->folder, seal->folder, error);
	return manifest && dtc_places_write(seal->folder, DTC_MANIFEST_NAME, g_bytes_get_data(manifest, NULL),
					    g_bytes_get_size(manifest), error);
}

static bool run(struct seal *seal, GError **error)
{
	if (!prepare(seal, error))
		return false;
	if (seal->recording->is_lttng)
		return seal_lttng(seal, error);
	if (!run_cpus(seal, scan_cpu, error))
		return false;
	sum_scans(seal);
	if (!time_repairs(seal, error))
		return false;
	join_packets(seal);
	for (guint i = 0; i < seal->cpu_count; i++)
		read_losses(seal, i);
	seal->tasks = dtc_tasks_new(seal->scans, seal->cpu_count, seal->begin, seal->end);
	seal->description.named_files = dtc_tasks_get_named_count(seal->tasks);
	seal->part = dtc_places_begin(seal->folder, error);
	if (!seal->part || !run_cpus(seal, convert_cpu, error))
		return false;
	sum_cpus(seal);
	uint32_t first_dump_id = dtc_classes_get_next_id(seal->classes);
	return write_statedump(seal, first_dump_id, error) && write_descriptions(seal, first_dump_id, error) &&
	       dtc_places_publish(seal->folder, seal->part, error);
}

bool dtc_seal_node(const char *node_folder, const struct dtc_seal_options *options, DtcFindings *findings,
		   struct dtc_seal_summary *ret_summary, GError **error)
{
	struct seal seal = { .folder = node_folder, .options = options, .findings = findings };
	bool is_sealed = run(&seal, error);
	if (is_sealed) {
		if (!options->keeps_raw)
			dtc_places_remove_raw(node_folder);
		*ret_summary = seal.description.summary;
	}
	clear_seal(&seal);
	return is_sealed;
}
