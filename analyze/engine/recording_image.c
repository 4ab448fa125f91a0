/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* O_TMPFILE */
#include "analyze/engine/recording_image.h"

#include "analyze/engine/findings_image.h"
#include "collect/bundle/environment.h"
#include "collect/image/fingerprint.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ---- what is in it ---- */

/* Of the recording. */
struct saved_head {
	uint32_t is_capture;
	uint32_t enters_guests;
	uint32_t is_foreign;
	uint32_t capture_count;
	uint32_t names_paths; /* a finding does: it is of use to those who call the files the same */
	uint32_t spare;
};

/* NULL: there is an image in its place. */
static const char *get_path(const struct dtc_reading *reading)
{
	return reading->is_capture ? reading->node->pcap_paths[0] : reading->node->kernel_path;
}

/* The folder of a file is in what is said of it, as it was given. */
static bool name_paths(const DtcFindings *findings, const struct dtc_reading *reading)
{
	if (!get_path(reading))
		return false;
	g_autofree char *folder = g_path_get_dirname(get_path(reading));
	for (guint i = 0; i < dtc_findings_get_count(findings); i++)
		if (strstr(dtc_findings_get(findings, i)->text, folder))
			return true;
	return false;
}

/*
 * What `cache` calls it by, which the caller frees: of a packed bundle the file and the place in it, since the folder
 * that it was unpacked to is gone by then, and another one every time. Findings that name that folder are of no use
 * again.
 */
static char *make_told_path(const struct dtc_recording *recording, bool names_paths)
{
	const DtcBundle *bundle = recording->bundle;
	const char *path = get_path(&recording->source.reading), *directory = dtc_bundle_get_directory(bundle);

	if (!path)
		return g_strdup("");
	if (names_paths || !dtc_bundle_is_packed(bundle) || !g_str_has_prefix(path, directory))
		return g_strdup(path);
	path += strlen(directory);
	return g_strdup_printf("%s: %s", dtc_bundle_get_source(bundle), path + (*path == '/'));
}

static void save(const struct dtc_recording *recording, DtcImageWriter *writer)
{
	const struct dtc_reading *reading = &recording->source.reading;
	const struct saved_head head = { reading->is_capture,
					 recording->enters_guests,
					 recording->is_foreign,
					 recording->capture_count,
					 name_paths(reading->findings, reading) ||
						 name_paths(recording->made_findings, reading),
					 0 };
	g_autofree char *told_path = make_told_path(recording, head.names_paths != 0);
	const char *const texts[] = { reading->node->name, told_path };
	const DtcFindings *const findings[] = { reading->findings, recording->made_findings };

	dtc_image_add_copy(writer, "recording.head", sizeof(head), &head, 1);
	dtc_image_add_strings(writer, "recording.texts", texts, G_N_ELEMENTS(texts));
	dtc_image_add_strings(writer, "recording.id_headers", recording->options->id_headers,
			      recording->options->id_headers ? g_strv_length((char **)recording->options->id_headers)
							     : 0);
	dtc_findings_save(findings, G_N_ELEMENTS(findings), writer);
	dtc_census_save(&recording->source, writer);
	if (!reading->is_capture) {
		dtc_history_save(recording->history, writer);
		return;
	}
	dtc_packets_save(recording->packets, writer);
	dtc_exchanges_save(recording->exchanges, writer);
	dtc_frames_save(recording->frames, writer);
	dtc_shingles_save(recording->shingles, writer);
}

static bool load_findings(DtcFindings *readers, DtcFindings *made, const DtcImage *image, GError **error)
{
	DtcFindings *const lists[] = { readers, made };

	return dtc_findings_load(lists, G_N_ELEMENTS(lists), image, error);
}

/* Of a recording that is in the image; NULL with an error. */
static const struct saved_head *load_head(const struct dtc_reading *reading, const DtcImage *image, GError **error)
{
	gsize count;
	const struct saved_head *head = dtc_image_get_one(image, "recording.head", sizeof(*head), error);
	g_autofree const char **texts = head ? dtc_image_get_strings(image, "recording.texts", &count, error) : NULL;

	if (!texts)
		return NULL;
	if (count != 2 || (head->is_capture != 0) != reading->is_capture) {
		dtc_image_refuse(image, error, "it is of another kind of recording");
		return NULL;
	}
	if (head->names_paths && get_path(reading) && strcmp(texts[1], get_path(reading)) != 0) {
		dtc_image_refuse(image, error, "what it says of the files calls them by other names");
		return NULL;
	}
	return head;
}

/* False leaves in the recording what was loaded until then. */
static bool load_records(struct dtc_recording *recording, DtcImage *image, GError **error)
{
	bool is_far = recording->source.reading.node->is_elsewhere; /* what nobody asks for stays there */

	if (!recording->source.reading.is_capture) {
		recording->is_whole &= !is_far || !recording->options->clocks_only;
		recording->history = recording->is_whole || !is_far ? dtc_history_load(image, error)
								    : dtc_history_load_packets(image, error);
		return recording->history != NULL;
	}
	recording->packets = dtc_packets_load(image, error);
	if (!recording->packets)
		return false;
	if (is_far && !recording->options->needs_exchanges)
		return true;
	recording->exchanges =
		dtc_exchanges_load(image, recording->source.reading.node_index, recording->packets, error);
	recording->frames = recording->exchanges ? dtc_frames_load(image, recording->packets, error) : NULL;
	recording->shingles = recording->frames ? dtc_shingles_load(image, recording->packets, error) : NULL;
	return recording->shingles != NULL;
}

bool dtc_recording_load(struct dtc_recording *recording, DtcImage *image, GError **error)
{
	struct dtc_reading *reading = &recording->source.reading;
	const struct saved_head *head = load_head(reading, image, error);
	g_autoptr(DtcFindings) readers = dtc_findings_new();
	g_autoptr(DtcFindings) made = dtc_findings_new();

	if (!head || !load_findings(readers, made, image, error) || !load_records(recording, image, error) ||
	    !dtc_census_load(&recording->source, image, error)) {
		dtc_recording_drop(recording);
		return false;
	}
	recording->enters_guests = head->enters_guests != 0;
	recording->is_foreign = head->is_foreign != 0;
	recording->capture_count = head->capture_count;
	recording->image_bytes = dtc_image_get_bytes(image);
	if (recording->options->makes_images)
		recording->image = dtc_image_ref(image);
	dtc_findings_move(reading->findings, readers);
	dtc_findings_move(recording->made_findings, made);
	return true;
}

/* ---- the store ---- */

static void add_file(DtcFingerprint *fingerprint, const DtcBundle *bundle, const char *path)
{
	const char *source = dtc_bundle_get_source(bundle), *directory = dtc_bundle_get_directory(bundle);

	if (dtc_bundle_is_packed(bundle) && g_str_has_prefix(path, directory))
		dtc_fingerprint_add_unpacked(fingerprint, source, directory, path);
	else
		dtc_fingerprint_add_path(fingerprint, path);
}

static DtcFingerprint *make_fingerprint(const struct dtc_reading *reading, const DtcBundle *bundle,
					const char *const *id_headers)
{
	static const char *const readers[] = { "auto", "fast", "reference" };
	const struct dtc_bundle_node *node = reading->node;
	DtcFingerprint *fingerprint = dtc_fingerprint_new();

	dtc_fingerprint_add(fingerprint, "recording", reading->is_capture ? "captures" : "kernel");
	dtc_fingerprint_add(fingerprint, "node", node->name);
	if (node->environment) {
		g_autofree char *text = dtc_environment_to_text(node->environment);
		dtc_fingerprint_add(fingerprint, "environment", text);
	}
	if (!reading->is_capture) {
		dtc_fingerprint_add(fingerprint, "reader", readers[node->reader.choice]);
		add_file(fingerprint, bundle, node->kernel_path);
		return fingerprint;
	}
	for (guint i = 0; id_headers && id_headers[i]; i++)
		dtc_fingerprint_add(fingerprint, "id header", id_headers[i]);
	for (char **path = node->pcap_paths; *path; path++)
		add_file(fingerprint, bundle, *path);
	return fingerprint;
}

void dtc_recording_place_init(struct dtc_recording_place *place, const struct dtc_recording *recording)
{
	*place = (struct dtc_recording_place){ .since_us = g_get_real_time() };
	if (!recording->options->store)
		return;
	g_autoptr(DtcFingerprint) fingerprint =
		make_fingerprint(&recording->source.reading, recording->bundle, recording->options->id_headers);
	place->has_key = dtc_fingerprint_get_key(fingerprint, &place->key);
	place->is_settled = dtc_fingerprint_is_settled(fingerprint, place->since_us);
}

bool dtc_recording_find(struct dtc_recording *recording, const struct dtc_recording_place *place)
{
	g_autoptr(DtcImage) image = place->has_key ? dtc_store_find(recording->options->store, &place->key) : NULL;

	if (!image || !dtc_recording_load(recording, image, NULL))
		return false;
	recording->key = place->key;
	recording->is_kept = true;
	return true;
}

/* -1: there is no room below TMPDIR, or it has no such files. */
static int open_nameless(void)
{
	return open(g_get_tmp_dir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static DtcSpace *open_nameless_space(void)
{
	int file = open_nameless();

	if (file >= 0 && posix_fallocate(file, 0, DTC_SPACE_HEAD) == 0)
		return dtc_space_new(file, DTC_SPACE_HEAD);
	if (file >= 0)
		close(file);
	return NULL;
}

DtcSpace *dtc_recording_open_space(const struct dtc_recording *recording, const struct dtc_recording_place *place)
{
	DtcSpace *space = place->has_key && place->is_settled ? dtc_store_open_space(recording->options->store) : NULL;

	return space || !recording->options->makes_images ? space : open_nameless_space();
}

/* What was kept is in the store, and in the cache of pages; a run beside may have thrown it out again. */
static DtcImage *find_kept(const struct dtc_recording *recording)
{
	return recording->is_kept ? dtc_store_find(recording->options->store, &recording->key) : NULL;
}

void dtc_recording_make_image(struct dtc_recording *recording, DtcSpace *space)
{
	struct dtc_reading *reading = &recording->source.reading;
	const struct dtc_image_key key = { { 0 } };
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autoptr(GError) problem = NULL;

	recording->image = find_kept(recording);
	if (recording->image)
		return;
	save(recording, writer);
	if (space && dtc_image_complete(writer, space, &key, NULL)) {
		recording->image = dtc_image_map(dtc_space_get_file(space), reading->node->name, NULL, &problem);
	} else {
		int file = open_nameless();
		if (file >= 0 && dtc_image_write(writer, file, &key, &problem))
			recording->image = dtc_image_map(file, reading->node->name, NULL, &problem);
		else if (file < 0)
			g_set_error(&problem, DTC_ANALYZE_ERROR, DTC_ERROR_LIMIT,
				    "no temporary file can be made: %s\nset TMPDIR to a folder with room",
				    g_strerror(errno));
		if (file >= 0)
			close(file);
	}
	if (problem) {
		g_clear_error(&reading->error);
		g_propagate_error(&reading->error, g_steal_pointer(&problem));
	}
}

static bool was_refused(const DtcFindings *findings)
{
	for (guint i = 0; i < dtc_findings_get_count(findings); i++)
		if (g_strcmp0(dtc_findings_get(findings, i)->code, DTC_FINDING_IO_ERROR) == 0)
			return true;
	return false;
}

/* The reference reads in a process with limits: what it could not read another run may. */
static bool is_final(const struct dtc_recording *recording)
{
	const struct dtc_reading *reading = &recording->source.reading;

	if (reading->error || !dtc_recording_has_result(recording) || was_refused(reading->findings) ||
	    was_refused(recording->made_findings))
		return false;
	return reading->is_capture || strcmp(recording->source.backend, "fast") == 0 ||
	       dtc_findings_get_complete(reading->findings);
}

void dtc_recording_keep(struct dtc_recording *recording, const struct dtc_recording_place *place, DtcSpace *space)
{
	struct dtc_recording_place after;

	if (!place->has_key || !place->is_settled || !is_final(recording))
		return;
	dtc_recording_place_init(&after, recording);
	if (!after.has_key || memcmp(&after.key, &place->key, sizeof(after.key)) != 0)
		return;
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	save(recording, writer);
	if (!dtc_store_put(recording->options->store, &place->key, writer, space, NULL))
		return;
	recording->image_bytes = dtc_image_writer_measure(writer);
	recording->key = place->key;
	recording->is_kept = true;
}

static bool load_counts(struct dtc_census_source *source, const DtcImage *image)
{
	g_autoptr(DtcFindings) made = dtc_findings_new();
	g_autoptr(DtcFindings) readers = dtc_findings_new();

	if (!load_head(&source->reading, image, NULL) || !load_findings(readers, made, image, NULL) ||
	    !dtc_census_load(source, image, NULL))
		return false;
	dtc_findings_move(source->reading.findings, readers);
	return true;
}

static const char *get_image_path(const struct dtc_bundle_node *node, bool is_capture)
{
	return is_capture ? node->capture_image : node->kernel_image;
}

bool dtc_recording_is_image(const struct dtc_bundle_node *node, bool is_capture)
{
	return get_image_path(node, is_capture) != NULL;
}

/* There is nothing else to read: what is wrong with it is the reading's error. */
static bool open_counts(struct dtc_census_source *source)
{
	struct dtc_reading *reading = &source->reading;
	g_autoptr(DtcImage) image = dtc_image_open(get_image_path(reading->node, reading->is_capture), &reading->error);

	if (image && !load_counts(source, image))
		dtc_image_refuse(image, &reading->error, "its counts cannot be read");
	return true;
}

bool dtc_recording_find_counts(struct dtc_census_source *source, const DtcBundle *bundle, DtcStore *store)
{
	struct dtc_image_key key;

	if (dtc_recording_is_image(source->reading.node, source->reading.is_capture))
		return open_counts(source);
	if (!store)
		return false;
	g_autoptr(DtcFingerprint) fingerprint = make_fingerprint(&source->reading, bundle, NULL);
	g_autoptr(DtcImage) image = dtc_fingerprint_get_key(fingerprint, &key) ? dtc_store_find(store, &key) : NULL;
	return image && load_counts(source, image);
}

/* ---- images in the place of recordings ---- */

/* Requests were found by the headers that the image's maker named. */
static bool has_headers(const struct dtc_recording *recording, const DtcImage *image, GError **error)
{
	const char *const *asked = recording->options->id_headers;
	gsize count;
	g_autofree const char **headers = dtc_image_get_strings(image, "recording.id_headers", &count, error);

	if (!headers)
		return false;
	for (; asked && *asked; asked++) {
		if (g_strv_contains(headers, *asked))
			continue;
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "node '%s' has an index in place of its captures, without the header '%s'\n"
			    "ask the bundle that it was made of",
			    recording->source.reading.node->name, *asked);
		return false;
	}
	return true;
}

/* An image from elsewhere is as foreign as a trace: every record of it is judged before it is believed. */
void dtc_recording_open_image(struct dtc_recording *recording)
{
	struct dtc_reading *reading = &recording->source.reading;
	g_autoptr(DtcImage) image = dtc_image_open(get_image_path(reading->node, reading->is_capture), &reading->error);

	if (!image || !dtc_recording_load(recording, image, &reading->error))
		return;
	if (reading->is_capture ? has_headers(recording, image, &reading->error)
				: dtc_history_check(recording->history, &reading->error))
		return;
	dtc_recording_drop(recording);
	g_clear_pointer(&recording->image, dtc_image_unref);
}

bool dtc_recording_write_image(struct dtc_recording *recording, const char *path, GError **error)
{
	const struct dtc_image_key key = { { 0 } };
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (file < 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_UNREADABLE,
			    "image '%s' cannot be written: %s\nsee that TMPDIR has room, and may be written", path,
			    g_strerror(errno));
		return false;
	}
	save(recording, writer);
	bool is_written = dtc_image_write(writer, file, &key, error);
	recording->image_bytes = is_written ? dtc_image_writer_measure(writer) : 0;
	close(file);
	return is_written;
}

bool dtc_recording_describe_image(const DtcImage *image, char **ret_node, char **ret_path, bool *ret_is_capture)
{
	gsize count;
	const struct saved_head *head = dtc_image_get_one(image, "recording.head", sizeof(*head), NULL);
	g_autofree const char **texts = head ? dtc_image_get_strings(image, "recording.texts", &count, NULL) : NULL;

	if (!texts || count != 2)
		return false;
	*ret_node = g_strdup(texts[0]);
	*ret_path = g_strdup(texts[1]);
	*ret_is_capture = head->is_capture != 0;
	return true;
}
