/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/owned.h"

#include "analyze/engine/event_stream.h"
#include "analyze/engine/owned_answer.h"
#include "analyze/engine/recording_image.h"
#include "collect/bundle/environment.h"
#include "collect/bundle/threads.h"
#include "collect/packets/node_captures.h"
#include "collect/read/reader.h"
#include "sync/fit/clocks.h"

#include <string.h>
#include <unistd.h>

/* ---- the bundle ---- */

GVariant *dtc_owned_pack_options(const struct dtc_open_options *options, bool is_other)
{
	static const char *const none[] = { NULL };

	return g_variant_new("(bm^aym^ay^aayu)", is_other, options->path, options->cluster,
			     options->node_paths ? options->node_paths : none, (guint32)options->reader.choice);
}

DtcBundle *dtc_owned_open(GVariant *packed, const char *program, GError **error)
{
	g_autofree const char **node_paths = NULL;
	struct dtc_open_options options = { .reader.program = program };
	gboolean is_other;
	guint32 choice;

	g_variant_get(packed, "(bm^&aym^&ay^a&ayu)", &is_other, &options.path, &options.cluster, &node_paths, &choice);
	options.reader.choice = (enum dtc_reader_choice)choice;
	options.node_paths = *node_paths ? node_paths : NULL;
	return is_other ? dtc_open_other(&options, options.path, error) : dtc_open_bundle(&options, error);
}

static guint64 measure_file(const char *path)
{
	const char *const paths[] = { path, NULL };

	return path ? dtc_node_captures_measure(paths) : 0;
}

static guint64 measure(const struct dtc_bundle_node *node)
{
	return (node->kernel_path ? dtc_reader_measure(node->kernel_path) : 0) +
	       dtc_node_captures_measure((const char *const *)node->pcap_paths) + measure_file(node->kernel_image) +
	       measure_file(node->capture_image);
}

/* Without opening any. */
static bool is_readable(const struct dtc_bundle_node *node)
{
	g_autofree char *metadata = node->kernel_path ? g_build_filename(node->kernel_path, "metadata", NULL) : NULL;
	const char *const files[] = { metadata, node->kernel_image, node->capture_image };

	for (guint i = 0; i < G_N_ELEMENTS(files); i++)
		if (files[i] && access(files[i], R_OK) != 0)
			return false;
	for (char **path = node->pcap_paths; *path; path++)
		if (access(*path, R_OK) != 0)
			return false;
	return true;
}

GVariant *dtc_owned_list(const DtcBundle *bundle)
{
	GVariantBuilder list;

	g_variant_builder_init(&list, G_VARIANT_TYPE(DTC_OWNED_LIST_TYPE));
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_bundle_node *node = dtc_bundle_get_node(bundle, i);
		g_autofree char *environment = node->environment ? dtc_environment_to_text(node->environment) : NULL;
		g_variant_builder_add(&list, "(^aym^ay^aaym^aym^aym^aytb)", node->name, node->kernel_path,
				      node->pcap_paths, node->kernel_image, node->capture_image, environment,
				      measure(node), is_readable(node));
	}
	return g_variant_builder_end(&list);
}

void dtc_owned_unpack(GVariant *packed, struct dtc_owned_seen *ret_seen)
{
	g_autofree char *environment = NULL;
	struct dtc_bundle_node node = { 0 };
	gboolean can_read;
	guint64 bytes;

	g_variant_get(packed, "(^aym^ay^aaym^aym^aym^aytb)", &node.name, &node.kernel_path, &node.pcap_paths,
		      &node.kernel_image, &node.capture_image, &environment, &bytes, &can_read);
	node.environment = environment ? dtc_environment_from_text(environment) : NULL;
	*ret_seen = (struct dtc_owned_seen){ node, bytes, can_read };
}

void dtc_owned_seen_clear(struct dtc_owned_seen *seen)
{
	g_free(seen->node.name);
	g_free(seen->node.kernel_path);
	g_strfreev(seen->node.pcap_paths);
	g_free(seen->node.kernel_image);
	g_free(seen->node.capture_image);
	dtc_environment_free(seen->node.environment);
}

/* ---- answers ---- */

/* A recording, or its counts, with what is told of it. */
struct owned {
	struct dtc_recording recording; /* first */
	DtcStore *store;
	GVariant *of; /* the question's */
	GBytes *told;
	GError *problem; /* of the machine */
};

static void owned_free(void *data)
{
	struct owned *owned = data;

	if (owned->told)
		g_bytes_unref(owned->told);
	g_clear_error(&owned->problem);
	dtc_recording_free(owned);
}

/* Records go before the next recording is read: a share of a bundle may be larger than memory. */
static void read_recording(struct dtc_reading *reading)
{
	struct owned *owned = (struct owned *)reading;

	dtc_recording_read(&owned->recording);
	owned->told = dtc_owned_save_recording(&owned->recording, &owned->problem);
	dtc_recording_drop(&owned->recording);
}

static void read_counts(struct dtc_reading *reading)
{
	struct owned *owned = (struct owned *)reading;

	dtc_census_read(&owned->recording.source, owned->recording.bundle, owned->store);
	owned->told = dtc_owned_save_counts(&owned->recording.source, &owned->problem);
}

static void read_begin(struct dtc_reading *reading)
{
	struct owned *owned = (struct owned *)reading;
	const struct dtc_window_begin begin = dtc_window_find_begin(reading->node);

	owned->told = dtc_owned_save_begin(&begin, &owned->problem);
}

/* Of the same recording, for a moment; its reading is the recording's. */
static void read_split(struct dtc_reading *reading)
{
	struct owned *owned = (struct owned *)reading;
	struct dtc_split split = { .reading = *reading };
	guint32 by;

	g_variant_get(owned->of, "(u)", &by);
	split.by = (enum dtc_split_by)by;
	dtc_split_read(&split);
	owned->told = dtc_owned_save_split(&split, &owned->problem);
	g_clear_pointer(&split.parts, g_array_unref);
	*reading = split.reading;
}

DtcClocks *dtc_owned_make_clocks(const struct dtc_clock_knot *knots, guint count)
{
	if (!count)
		return dtc_clocks_new_identity(1);
	DtcClocks *clocks = dtc_clocks_new(1, 0);
	dtc_clocks_set_node(clocks, 0, 0, knots, count, 0);
	return clocks;
}

/* False: nothing is asked of this node. The map is node 0's of the clocks, which the caller frees. */
static bool find_axis(GVariant *of, const char *wanted, struct dtc_usage_node *ret_axis, DtcClocks **ret_clocks)
{
	g_autoptr(GVariantIter) nodes = NULL;
	const char *name;
	GVariant *knots_of;
	bool is_found = false;
	int64_t interval_ns, begin_ns, end_ns, axis_ns;
	guint32 count;

	g_variant_get(of, "(xa(ayxxxua(xxxx)))", &interval_ns, &nodes);
	while (!is_found && g_variant_iter_next(nodes, "(^&ayxxxu@a(xxxx))", &name, &begin_ns, &end_ns, &axis_ns,
						&count, &knots_of)) {
		gsize knot_count;
		const struct dtc_clock_knot *knots =
			g_variant_get_fixed_array(knots_of, &knot_count, sizeof(struct dtc_clock_knot));
		is_found = strcmp(name, wanted) == 0;
		if (is_found) {
			*ret_axis = (struct dtc_usage_node){ .has_history = true,
							     .counted = { { begin_ns }, { end_ns } },
							     .begin = { axis_ns },
							     .interval_count = count };
			*ret_clocks = dtc_owned_make_clocks(knots, (guint)knot_count);
		}
		g_variant_unref(knots_of);
	}
	return is_found;
}

static void read_memory(struct dtc_reading *reading)
{
	struct owned *owned = (struct owned *)reading;
	struct dtc_usage_node axis = { 0 };
	g_autoptr(DtcClocks) clocks = NULL;
	struct dtc_memory memory = { .reading = *reading, .axis = &axis };

	if (find_axis(owned->of, reading->node->name, &axis, &clocks)) {
		g_variant_get_child(owned->of, 0, "x", &memory.interval_ns);
		memory.clocks = clocks;
		memory.reading.node_index = 0;
		dtc_memory_read(&memory);
	}
	owned->told = dtc_owned_save_memory(&memory, &owned->problem);
	g_clear_pointer(&memory.rows, g_array_unref);
	g_free(memory.change);
	memory.reading.node_index = reading->node_index;
	*reading = memory.reading;
}

static void clear_answer(void *data)
{
	struct dtc_owned_answer *answer = data;

	g_bytes_unref(answer->told);
	dtc_image_unref(answer->content);
}

static GArray *answer_all(const DtcBundle *bundle, const struct dtc_recordings_options *options, GVariant *of,
			  void (*read_record)(struct dtc_reading *), GError **error)
{
	g_autoptr(GPtrArray) list = dtc_readings_new(bundle, sizeof(struct owned), owned_free);
	GArray *answers = g_array_new(FALSE, FALSE, sizeof(struct dtc_owned_answer));

	g_array_set_clear_func(answers, clear_answer);
	for (guint i = 0; i < list->len; i++) {
		struct owned *owned = list->pdata[i];
		owned->recording.options = options;
		owned->recording.bundle = bundle;
		owned->store = options->store;
		owned->of = of;
	}
	bool is_read = dtc_readings_run(list, read_record, NULL, error);
	for (guint i = 0; i < list->len && is_read; i++) {
		struct owned *owned = list->pdata[i];
		struct dtc_reading *reading = &owned->recording.source.reading;
		struct dtc_owned_answer answer = { reading->node->name, reading->is_capture, NULL, NULL };
		if (owned->problem) {
			g_propagate_error(error, g_steal_pointer(&owned->problem));
			is_read = false;
			break;
		}
		answer.told = g_steal_pointer(&owned->told);
		answer.content = g_steal_pointer(&owned->recording.image);
		g_array_append_val(answers, answer);
	}
	if (!is_read)
		g_clear_pointer(&answers, g_array_unref);
	return answers;
}

static DtcStore *open_store(GVariant *packed)
{
	const char *directory;
	guint64 bytes;

	g_variant_get(packed, "(m^&ayt)", &directory, &bytes);
	return directory ? dtc_store_new(directory, bytes) : NULL;
}

/* By node; NULL if they are of no use. What is not named is everything. */
static struct dtc_window_span *unpack_windows(const DtcBundle *bundle, GVariant *packed)
{
	struct dtc_window_span *spans = g_new0(struct dtc_window_span, dtc_bundle_get_count(bundle) + 1);
	g_autoptr(GHashTable) by_name = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	struct dtc_window_span span;
	const char *name;
	GVariantIter iter;

	g_variant_iter_init(&iter, packed);
	while (g_variant_iter_next(&iter, "(^&ayxx)", &name, &span.begin_ns, &span.end_ns))
		g_hash_table_insert(by_name, (void *)name, g_memdup2(&span, sizeof(span)));
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++) {
		const struct dtc_window_span *found =
			g_hash_table_lookup(by_name, dtc_bundle_get_node(bundle, i)->name);
		spans[i] = found ? *found : (struct dtc_window_span){ INT64_MIN, INT64_MAX };
	}
	return spans;
}

static GArray *answer_recordings(const DtcBundle *bundle, GVariant *of, GError **error)
{
	g_autoptr(GVariant) store_of = NULL;
	g_autoptr(GVariant) windows_of = NULL;
	g_autofree const char **headers = NULL;
	gboolean has_windows;

	g_variant_get(of, "(@(mayt)^a&ayb@a(ayxx))", &store_of, &headers, &has_windows, &windows_of);
	g_autoptr(DtcStore) store = open_store(store_of);
	g_autofree struct dtc_window_span *windows = has_windows ? unpack_windows(bundle, windows_of) : NULL;
	const struct dtc_recordings_options options = { .needs_exchanges = true,
							.store = store,
							.id_headers = *headers ? headers : NULL,
							.windows = windows,
							.makes_images = true };

	return answer_all(bundle, &options, of, read_recording, error);
}

GArray *dtc_owned_answer(const DtcBundle *bundle, GVariant *question, GError **error)
{
	struct dtc_recordings_options options = { 0 };
	g_autoptr(GVariant) of = NULL;
	guint32 what;

	g_variant_get(question, "(uv)", &what, &of);
	if (what == DTC_OWNERS_RECORDING)
		return answer_recordings(bundle, of, error);
	if (what == DTC_OWNERS_BEGIN)
		return answer_all(bundle, &options, of, read_begin, error);
	if (what == DTC_OWNERS_SPLIT)
		return answer_all(bundle, &options, of, read_split, error);
	if (what == DTC_OWNERS_MEMORY)
		return answer_all(bundle, &options, of, read_memory, error);
	g_assert(what == DTC_OWNERS_COUNTS);
	g_autoptr(DtcStore) store = open_store(of);
	options.store = store;
	return answer_all(bundle, &options, of, read_counts, error);
}

/* ---- briefs ---- */

struct briefing {
	const DtcBundle *bundle;
	const GArray *recordings; /* struct dtc_owned_answer */
	GPtrArray *readings;	  /* struct dtc_recording, of these */
	GBytes **told;		  /* by node */
};

/* What serves the matching of one that could be read. */
static const DtcPackets *load_packets(const struct briefing *briefing, guint index)
{
	struct dtc_recording *recording = briefing->readings->pdata[index];
	DtcImage *content = g_array_index(briefing->recordings, struct dtc_owned_answer, index).content;

	if (!content || !dtc_recording_load(recording, content, NULL) || recording->is_foreign)
		return NULL;
	if (!recording->source.reading.is_capture)
		return dtc_history_get_packets(recording->history);
	return recording->capture_count ? recording->packets : NULL;
}

static void make_brief(gpointer data, guint node)
{
	const struct briefing *briefing = data;
	const char *name = dtc_bundle_get_node(briefing->bundle, node)->name;
	const DtcPackets *packets[2] = { NULL, NULL }; /* of the trace, of captures */

	for (guint i = 0; i < briefing->readings->len; i++) {
		const struct dtc_reading *reading = briefing->readings->pdata[i];
		if (reading->node_index == node)
			packets[reading->is_capture] = load_packets(briefing, i);
	}
	briefing->told[node] = dtc_node_brief_save(name, packets[0], packets[1], NULL, NULL);
	for (guint i = 0; i < briefing->readings->len; i++)
		if (((const struct dtc_reading *)briefing->readings->pdata[i])->node_index == node)
			dtc_recording_drop(briefing->readings->pdata[i]);
}

GArray *dtc_owned_answer_briefs(const DtcBundle *bundle, const GArray *recordings)
{
	const struct dtc_recordings_options options = { 0 };
	guint count = dtc_bundle_get_count(bundle);
	g_autoptr(GPtrArray) readings = dtc_readings_new(bundle, sizeof(struct dtc_recording), dtc_recording_free);
	g_autofree GBytes **told = g_new0(GBytes *, count + 1);
	struct briefing briefing = { bundle, recordings, readings, told };
	GArray *answers = g_array_new(FALSE, FALSE, sizeof(struct dtc_owned_answer));

	g_array_set_clear_func(answers, clear_answer);
	g_assert(readings->len == recordings->len);
	for (guint i = 0; i < readings->len; i++) {
		struct dtc_recording *recording = readings->pdata[i];
		recording->options = &options;
		recording->bundle = bundle;
		recording->made_findings = dtc_findings_new();
	}
	dtc_threads_run(count, make_brief, &briefing);
	for (guint i = 0; i < count; i++) {
		const struct dtc_owned_answer answer = { dtc_bundle_get_node(bundle, i)->name, false, told[i], NULL };
		if (told[i])
			g_array_append_val(answers, answer);
	}
	return answers;
}

/* ---- calls ---- */

static void free_stream(void *stream)
{
	dtc_event_stream_free(stream);
}

GHashTable *dtc_owned_streams_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_stream);
}

GVariant *dtc_owned_call(GHashTable *streams, const DtcBundle *bundle, const char *node, GVariant *question)
{
	const struct dtc_bundle_node *from = dtc_bundle_find_node(bundle, node);
	DtcEventStream *stream = g_hash_table_lookup(streams, node);
	g_autoptr(GVariant) of = NULL;
	GVariant *answer = NULL;
	guint32 what;

	g_variant_get(question, "(uv)", &what, &of);
	if (what == 1 && stream && g_variant_is_of_type(of, G_VARIANT_TYPE(DTC_EVENT_STREAM_NEXT_TYPE)))
		return dtc_event_stream_next(stream, of);
	if (what != 0 || !from || !g_variant_is_of_type(of, G_VARIANT_TYPE(DTC_EVENT_STREAM_OPEN_TYPE)))
		return NULL;
	stream = dtc_event_stream_open(from, of, &answer);
	if (stream)
		g_hash_table_insert(streams, g_strdup(node), stream);
	return answer;
}
