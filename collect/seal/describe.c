/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/describe.h"

#include "collect/bundle/digest.h"
#include "collect/bundle/environment.h"
#include "collect/seal/statedump.h"
#include "dtrace-chain/manifest.h"

#include <stdio.h>
#include <string.h>

#define CLOCK_HZ 1000000000

/* ---- the trace ---- */

void dtc_describe_uuid(const DtcRecording *recording, uint8_t ret_uuid[DTC_CTF_UUID_BYTES])
{
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autofree char *text = g_key_file_to_data(recording->keys, NULL, NULL);
	uint8_t digest[32];
	gsize bytes = sizeof digest;

	g_checksum_update(checksum, (const guchar *)text, -1);
	g_checksum_get_digest(checksum, digest, &bytes);
	memcpy(ret_uuid, digest, DTC_CTF_UUID_BYTES);
	ret_uuid[6] = (uint8_t)((ret_uuid[6] & 0x0f) | 0x80); /* version 8: made in a way of our own */
	ret_uuid[8] = (uint8_t)((ret_uuid[8] & 0x3f) | 0x80);
}

static char *format_uuid(const uint8_t uuid[DTC_CTF_UUID_BYTES])
{
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < DTC_CTF_UUID_BYTES; i++)
		g_string_append_printf(text, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
	return g_string_free(text, FALSE);
}

static void declare_text(GString *tsdl, const char *name, const char *value)
{
	g_autofree char *valid = g_utf8_make_valid(value, -1);
	g_string_append_printf(tsdl, "\t%s = \"", name);
	for (const char *c = valid; *c; c++)
		if ((guchar)*c >= ' ' && *c != '"' && *c != '\\' && *c != 0x7f)
			g_string_append_c(tsdl, *c);
	g_string_append(tsdl, "\";\n");
}

static void declare_key(GString *tsdl, const char *name, const DtcRecording *recording, const char *key)
{
	g_autofree char *value = dtc_recording_get_text(recording, key);
	declare_text(tsdl, name, value);
}

/* "dtrace-collect 0.1.0" */
static void declare_tracer(GString *tsdl, const char *creator)
{
	guint major = 0, minor = 0, patch = 0;
	const char *space = strrchr(creator, ' ');
	g_autofree char *name = space ? g_strndup(creator, (gsize)(space - creator)) : g_strdup(creator);
	g_auto(GStrv) parts = g_strsplit(space ? space + 1 : "", ".", 3);
	guint *numbers[] = { &major, &minor, &patch };

	for (guint i = 0; parts[i] && i < G_N_ELEMENTS(numbers); i++)
		*numbers[i] = (guint)MIN(g_ascii_strtoull(parts[i], NULL, 10), 1000000);
	declare_text(tsdl, "tracer_name", name);
	g_string_append_printf(tsdl, "\ttracer_major = %u;\n\ttracer_minor = %u;\n\ttracer_patchlevel = %u;\n", major,
			       minor, patch);
}

static void declare_environment(GString *tsdl, const struct dtc_description *what)
{
	g_string_append(tsdl, "env {\n");
	declare_key(tsdl, "hostname", what->recording, DTC_RAW_KEY_HOSTNAME);
	declare_text(tsdl, "domain", "kernel");
	declare_text(tsdl, "sysname", "Linux");
	declare_key(tsdl, "kernel_release", what->recording, DTC_RAW_KEY_RELEASE);
	declare_tracer(tsdl, what->creator);
	declare_text(tsdl, "trace_buffering_scheme", "global");
	declare_text(tsdl, "trace_name", what->recording->node);
	g_string_append(tsdl, "};\n\n");
}

/* The wall clock's offset at the first sample; 0 without one. */
static int64_t get_offset(const DtcRecording *recording)
{
	if (recording->clocks->len == 0)
		return 0;
	const struct dtc_raw_clock *clock = &g_array_index(recording->clocks, struct dtc_raw_clock, 0);
	return (int64_t)((uint64_t)clock->real_ns - (uint64_t)clock->mono_ns);
}

static bool is_uuid(const char *text)
{
	return g_uuid_string_is_valid(text);
}

static void declare_clock(GString *tsdl, const struct dtc_description *what)
{
	g_autofree char *boot = dtc_recording_get_text(what->recording, DTC_RAW_KEY_BOOT_ID);
	g_string_append(tsdl, "clock {\n\tname = \"monotonic\";\n");
	if (is_uuid(boot))
		g_string_append_printf(tsdl, "\tuuid = \"%s\";\n", boot);
	g_string_append_printf(tsdl,
			       "\tdescription = \"Monotonic Clock\";\n\tfreq = %d;\n"
			       "\toffset = %" G_GINT64_FORMAT ";\n};\n\n",
			       CLOCK_HZ, get_offset(what->recording));
}

char *dtc_describe_trace(const struct dtc_description *what, const DtcClasses *classes, uint32_t first_dump_id)
{
	uint8_t uuid[DTC_CTF_UUID_BYTES];
	GString *tsdl = g_string_new("/* CTF 1.8 */\n\n");

	dtc_describe_uuid(what->recording, uuid);
	g_autofree char *text = format_uuid(uuid);
	dtc_ctf_declare_types(tsdl, text);
	declare_environment(tsdl, what);
	declare_clock(tsdl, what);
	dtc_ctf_declare_stream(tsdl);
	dtc_classes_declare(classes, tsdl);
	dtc_statedump_declare(tsdl, first_dump_id);
	return g_string_free(tsdl, FALSE);
}

/* ---- the environment ---- */

static void add_key(GPtrArray *entries, const char *name, const DtcRecording *recording, const char *key)
{
	g_autofree char *value = dtc_recording_get_text(recording, key);
	if (*value)
		dtc_environment_add(entries, name, value);
}

static void add_machine(DtcEnvironment *environment, const DtcRecording *recording)
{
	add_key(environment->machine, "hostname", recording, DTC_RAW_KEY_HOSTNAME);
	add_key(environment->machine, "release", recording, DTC_RAW_KEY_RELEASE);
	add_key(environment->machine, "machine", recording, DTC_RAW_KEY_MACHINE);
	add_key(environment->machine, "boot-id", recording, DTC_RAW_KEY_BOOT_ID);
	add_key(environment->machine, DTC_ENVIRONMENT_UUID, recording, DTC_RAW_KEY_UUID);
	add_key(environment->machine, DTC_ENVIRONMENT_MACS, recording, DTC_RAW_KEY_MACS);
	dtc_environment_add_number(environment->machine, "cpus", recording->cpu_count);
	dtc_environment_read_guests(recording->keys, environment->guests);
}

static void add_recorder(DtcEnvironment *environment, const struct dtc_description *what)
{
	dtc_environment_add(environment->recorder, "version", what->creator);
	add_key(environment->recorder, "tracer", what->recording, DTC_RAW_KEY_TRACER);
	add_key(environment->recorder, "events", what->recording, DTC_RAW_KEY_EVENT_SET);
	add_key(environment->recorder, "headers-only", what->recording, DTC_RAW_KEY_HEADERS_ONLY);
	add_key(environment->recorder, DTC_ENVIRONMENT_PROBE_PORT, what->recording, DTC_RAW_KEY_PROBE_PORT);
	add_key(environment->recorder, "command", what->recording, DTC_RAW_KEY_COMMAND);
	add_key(environment->recorder, "begin-ns", what->recording, DTC_RAW_KEY_BEGIN);
	add_key(environment->recorder, "end-ns", what->recording, DTC_RAW_KEY_END);
	add_key(environment->recorder, "state", what->recording, DTC_RAW_KEY_STATE);
	add_key(environment->recorder, "trigger", what->recording, DTC_RAW_KEY_TRIGGER);
}

/* Interfaces that were there at either end, as they were at the last. */
static void add_interfaces(struct dtc_environment_capture *capture, const DtcWalk *walk, uint32_t netns,
			   GHashTable *seen)
{
	for (guint i = 0; i < walk->interfaces->len; i++) {
		const struct dtc_walk_interface *interface =
			&g_array_index(walk->interfaces, struct dtc_walk_interface, i);
		if (interface->netns == netns && g_hash_table_add(seen, GUINT_TO_POINTER(interface->index)))
			dtc_environment_add_interface(capture, interface->index, interface->name,
						      g_strdupv(interface->addresses));
	}
}

static void add_captures(DtcEnvironment *environment, const struct dtc_description *what)
{
	for (guint i = 0; i < what->recording->captures->len; i++) {
		const struct dtc_raw_capture *raw =
			&g_array_index(what->recording->captures, struct dtc_raw_capture, i);
		g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
		struct dtc_environment_capture *capture = dtc_environment_add_capture(environment, raw->file);
		capture->netns = raw->netns;
		capture->packets = raw->packets;
		capture->dropped = raw->dropped;
		add_interfaces(capture, what->end, raw->netns, seen);
		add_interfaces(capture, what->walk, raw->netns, seen);
	}
}

static void add_lacks(DtcEnvironment *environment, const struct dtc_description *what)
{
	g_auto(GStrv) keys = g_key_file_get_keys(what->recording->keys, DTC_RAW_LACKS, NULL, NULL);
	for (char **key = keys; key && *key; key++) {
		g_autofree char *reason = g_key_file_get_string(what->recording->keys, DTC_RAW_LACKS, *key, NULL);
		dtc_environment_add(environment->lacks, *key, reason ? reason : "");
	}
	if (what->recording->clocks->len == 0)
		dtc_environment_add(environment->lacks, "wall-clock", "no clock sample in the raw recording");
	if (what->walk->threads->len == 0)
		dtc_environment_add(environment->lacks, "state-dump", "no walk of /proc in the raw recording");
	if (!what->recording->was_stopped)
		dtc_environment_add(environment->lacks, "stop", "the recorder was ended before it could stop");
}

static void add_counts(DtcEnvironment *environment, const struct dtc_description *what)
{
	dtc_environment_add_number(environment->losses, "events", what->summary.lost_events);
	for (guint i = 0; i < what->recording->cpu_count; i++) {
		g_autofree char *name = g_strdup_printf("cpu%u", what->recording->cpus[i]);
		if (what->cpus[i].lost_events)
			dtc_environment_add_number(environment->losses, name, what->cpus[i].lost_events);
	}
	dtc_environment_add_number(environment->losses, "uncounted-gaps", what->uncounted_gaps);
	dtc_environment_add_number(environment->losses, "damaged-pages", what->damaged_pages);
	dtc_environment_add_number(environment->losses, "unknown-events", what->unknown_events);
	dtc_environment_add_number(environment->join, "events", what->join.events);
	dtc_environment_add_number(environment->join, "own", what->join.own);
	dtc_environment_add_number(environment->join, "joined", what->join.joined);
	dtc_environment_add_number(environment->join, "inferred", what->join.inferred);
	dtc_environment_add_number(environment->join, "none", what->join.none);
	dtc_environment_add_number(environment->join, "packets", what->join.packets);
	dtc_environment_add_number(environment->join, "packets-unmatched", what->join.packets_unmatched);
	dtc_environment_add_number(environment->repairs, "switches", what->summary.repaired_switches);
	dtc_environment_add_number(environment->repairs, "file-names", what->named_files);
}

char *dtc_describe_environment(const struct dtc_description *what)
{
	g_autoptr(DtcEnvironment) environment = dtc_environment_new();
	add_machine(environment, what->recording);
	add_recorder(environment, what);
	add_captures(environment, what);
	add_lacks(environment, what);
	add_counts(environment, what);
	return dtc_environment_to_text(environment);
}

/* ---- the manifest ---- */

/* A file to be summed, and the folder that it is in now. */
struct listed {
	char *path;
	const char *folder;
};

static void free_listed(void *data)
{
	struct listed *file = data;
	g_free(file->path);
	g_free(file);
}

static void list_file(GPtrArray *files, const char *folder, char *path)
{
	struct listed *file = g_new0(struct listed, 1);
	*file = (struct listed){ path, folder };
	g_ptr_array_add(files, file);
}

static void list_below(GPtrArray *files, const char *folder, const char *below)
{
	g_autofree char *full = g_build_filename(folder, below, NULL);
	g_autoptr(GDir) dir = g_dir_open(full, 0, NULL);
	const char *name;
	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(full, name, NULL);
		if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
			list_file(files, folder, g_build_filename(below, name, NULL));
	}
}

static int compare_listed(gconstpointer a, gconstpointer b)
{
	return strcmp((*(const struct listed *const *)a)->path, (*(const struct listed *const *)b)->path);
}

/* By path, as a manifest has them. A capture may have been taken away since: then there is nothing to sum. */
static GPtrArray *list_files(const struct dtc_description *what, const char *folder, const char *captures_folder)
{
	GPtrArray *files = g_ptr_array_new_with_free_func(free_listed);
	const GArray *captures = what->recording->captures;

	list_file(files, folder, g_strdup(DTC_SEALED_ENVIRONMENT));
	list_below(files, folder, DTC_SEALED_KERNEL);
	list_below(files, folder, DTC_SEALED_KERNEL "/index"); /* LTTng has one beside its streams */
	for (guint i = 0; i < captures->len; i++) {
		const char *file = g_array_index(captures, struct dtc_raw_capture, i).file;
		g_autofree char *path = g_build_filename(captures_folder, file, NULL);
		if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
			list_file(files, captures_folder, g_strdup(file));
	}
	g_ptr_array_sort(files, compare_listed);
	return files;
}

static bool add_files(DtcManifest *manifest, const struct dtc_description *what, const char *folder,
		      const char *captures_folder, GError **error)
{
	g_autoptr(GPtrArray) files = list_files(what, folder, captures_folder);
	for (guint i = 0; i < files->len; i++) {
		const struct listed *file = g_ptr_array_index(files, i);
		const struct listed *before = i ? g_ptr_array_index(files, i - 1) : NULL;
		if (before && strcmp(before->path, file->path) == 0)
			continue;
		if (!dtc_digest_add_file(manifest, file->folder, file->path, error))
			return false;
	}
	return true;
}

/* Addresses that others can reach, without their prefix, each once. */
static char **list_addresses(const DtcWalk *walk)
{
	GPtrArray *addresses = g_ptr_array_new();
	for (guint i = 0; i < walk->interfaces->len; i++) {
		const struct dtc_walk_interface *interface =
			&g_array_index(walk->interfaces, struct dtc_walk_interface, i);
		for (char **text = interface->addresses; *text && addresses->len < 1000; text++) {
			g_autofree char *address = g_strndup(*text, strcspn(*text, "/"));
			bool is_own = g_str_has_prefix(address, "127.") || strcmp(address, "::1") == 0 ||
				      !g_hostname_is_ip_address(address);
			if (!is_own && !g_ptr_array_find_with_equal_func(addresses, address, g_str_equal, NULL))
				g_ptr_array_add(addresses, g_steal_pointer(&address));
		}
	}
	g_ptr_array_add(addresses, NULL);
	return (char **)g_ptr_array_free(addresses, FALSE);
}

static void fill_node(struct dtc_manifest_node *node, const struct dtc_description *what)
{
	g_strfreev(node->addresses);
	node->addresses = list_addresses(what->walk);
	g_free(node->release);
	node->release = dtc_recording_get_text(what->recording, DTC_RAW_KEY_RELEASE);
	g_free(node->tracer);
	node->tracer = g_strdup(what->creator);
	g_autofree char *boot = dtc_recording_get_text(what->recording, DTC_RAW_KEY_BOOT_ID);
	node->clock.name = g_strdup("monotonic");
	node->clock.uuid = g_strdup(is_uuid(boot) ? boot : "");
	node->clock.frequency_hz = CLOCK_HZ;
	node->clock.offset_s = get_offset(what->recording) / CLOCK_HZ;
	node->clock.offset_cycles = get_offset(what->recording) % CLOCK_HZ;
	node->events = what->summary.events;
	node->lost_events = what->summary.lost_events;
	node->packets = what->join.packets;
	node->begin_ns = what->summary.begin_ns;
	node->end_ns = what->summary.end_ns;
	node->probe_port =
		(uint16_t)g_key_file_get_integer(what->recording->keys, DTC_RAW_GROUP, DTC_RAW_KEY_PROBE_PORT, NULL);
	node->is_complete = what->is_complete;
}

GBytes *dtc_describe_manifest(const struct dtc_description *what, const char *folder, const char *captures_folder,
			      GError **error)
{
	g_autoptr(DtcManifest) manifest = dtc_manifest_new(what->creator);
	fill_node(dtc_manifest_add_node(manifest, what->recording->node), what);
	if (!add_files(manifest, what, folder, captures_folder, error))
		return NULL;
	return dtc_manifest_to_bytes(manifest);
}
