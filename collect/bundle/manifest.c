/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dtrace-chain/manifest.h"

#include "bundle.pb-c.h"
#include "collect/bundle/paths.h"
#include "dtrace-chain/error.h"

#include <dtrace-chain/bisect.h>

#include <string.h>

#define MAGIC "dtrace-chain bundle"
#define VERSION 1
#define SHA256_BYTES 32
#define MAX_BYTES (64u << 20) /* of a manifest: some 500,000 files */
#define MAX_TEXT_BYTES 1024

void dtc_clock_class_clear(struct dtc_clock_class *clock)
{
	g_free(clock->name);
	g_free(clock->uuid);
	memset(clock, 0, sizeof(*clock));
}

static void node_free(void *data)
{
	struct dtc_manifest_node *node = data;
	g_free(node->name);
	g_free(node->role);
	g_free(node->host);
	g_strfreev(node->addresses);
	g_array_unref(node->vcpu_tids);
	g_free(node->release);
	g_free(node->tracer);
	dtc_clock_class_clear(&node->clock);
	g_free(node);
}

static void file_free(void *data)
{
	struct dtc_manifest_file *file = data;
	g_free(file->path);
	g_free(file);
}

DtcManifest *dtc_manifest_new(const char *creator)
{
	DtcManifest *manifest = g_new0(DtcManifest, 1);
	manifest->creator = g_strdup(creator);
	manifest->nodes = g_ptr_array_new_with_free_func(node_free);
	manifest->files = g_ptr_array_new_with_free_func(file_free);
	return manifest;
}

void dtc_manifest_free(DtcManifest *manifest)
{
	if (!manifest)
		return;
	g_free(manifest->creator);
	g_ptr_array_unref(manifest->nodes);
	g_ptr_array_unref(manifest->files);
	g_free(manifest);
}

struct dtc_manifest_node *dtc_manifest_add_node(DtcManifest *manifest, const char *name)
{
	struct dtc_manifest_node *node = g_new0(struct dtc_manifest_node, 1);
	node->name = g_strdup(name);
	node->role = g_strdup("");
	node->host = g_strdup("");
	node->addresses = g_new0(char *, 1);
	node->vcpu_tids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	node->release = g_strdup("");
	node->tracer = g_strdup("");
	g_ptr_array_add(manifest->nodes, node);
	return node;
}

struct dtc_manifest_node *dtc_manifest_find_node(const DtcManifest *manifest, const char *name)
{
	for (guint i = 0; i < manifest->nodes->len; i++) {
		struct dtc_manifest_node *node = g_ptr_array_index(manifest->nodes, i);
		if (strcmp(node->name, name) == 0)
			return node;
	}
	return NULL;
}

void dtc_manifest_add_file(DtcManifest *manifest, const char *path, guint64 bytes, const char *sha256)
{
	struct dtc_manifest_file *file = g_new0(struct dtc_manifest_file, 1);
	file->path = g_strdup(path);
	file->bytes = bytes;
	g_strlcpy(file->sha256, sha256, sizeof(file->sha256));
	g_ptr_array_add(manifest->files, file);
}

static const struct dtc_manifest_file *get_file(const DtcManifest *manifest, guint index)
{
	return g_ptr_array_index(manifest->files, index);
}

const struct dtc_manifest_file *dtc_manifest_find_file(const DtcManifest *manifest, const char *path)
{
	guint at = DTC_BISECT(i, 0, manifest->files->len, strcmp(get_file(manifest, i)->path, path) < 0);
	return at < manifest->files->len && g_str_equal(get_file(manifest, at)->path, path) ? get_file(manifest, at)
											    : NULL;
}

/* ---- writing ---- */

static void digest(const void *data, gsize bytes, uint8_t ret_sha256[SHA256_BYTES])
{
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
	gsize length = SHA256_BYTES;

	g_checksum_update(checksum, data, (gssize)bytes);
	g_checksum_get_digest(checksum, ret_sha256, &length);
}

static void hex_to_bytes(const char *hex, uint8_t ret_sha256[SHA256_BYTES])
{
	for (size_t i = 0; i < SHA256_BYTES; i++)
		ret_sha256[i] = (uint8_t)(g_ascii_xdigit_value(hex[2 * i]) << 4 | g_ascii_xdigit_value(hex[2 * i + 1]));
}

/* Text is borrowed from the node; what is allocated here goes to the chunk list of the caller. */
static void fill_node(DtraceChain__Node *to, DtraceChain__Clock *clock, const struct dtc_manifest_node *from)
{
	dtrace_chain__node__init(to);
	to->name = from->name;
	to->role = from->role;
	to->host = from->host;
	to->n_addresses = g_strv_length(from->addresses);
	to->addresses = from->addresses;
	to->n_vcpu_tids = from->vcpu_tids->len;
	to->vcpu_tids = (uint32_t *)from->vcpu_tids->data;
	to->release = from->release;
	to->tracer = from->tracer;
	to->events = from->events;
	to->lost_events = from->lost_events;
	to->packets = from->packets;
	to->begin_ns = from->begin_ns;
	to->end_ns = from->end_ns;
	to->complete = from->is_complete;
	to->probe_port = from->probe_port;
	if (!from->clock.name)
		return;
	dtrace_chain__clock__init(clock);
	clock->name = from->clock.name;
	clock->uuid = from->clock.uuid;
	clock->frequency_hz = from->clock.frequency_hz;
	clock->offset_s = from->clock.offset_s;
	clock->offset_cycles = from->clock.offset_cycles;
	to->clock = clock;
}

static GBytes *seal(const DtraceChain__Manifest *manifest)
{
	gsize bytes = dtrace_chain__manifest__get_packed_size(manifest);
	g_autofree uint8_t *packed = g_malloc(bytes + 1);
	uint8_t sha256[SHA256_BYTES];
	DtraceChain__Sealed sealed = DTRACE_CHAIN__SEALED__INIT;

	dtrace_chain__manifest__pack(manifest, packed);
	digest(packed, bytes, sha256);
	sealed.magic = (char *)MAGIC; /* protobuf-c's strings are not const; packing does not write */
	sealed.manifest.data = packed;
	sealed.manifest.len = bytes;
	sealed.sha256.data = sha256;
	sealed.sha256.len = SHA256_BYTES;
	gsize size = dtrace_chain__sealed__get_packed_size(&sealed);
	uint8_t *data = g_malloc(size);
	dtrace_chain__sealed__pack(&sealed, data);
	return g_bytes_new_take(data, size);
}

GBytes *dtc_manifest_to_bytes(const DtcManifest *manifest)
{
	guint node_count = manifest->nodes->len, file_count = manifest->files->len;
	g_autofree DtraceChain__Node *nodes = g_new0(DtraceChain__Node, node_count + 1);
	g_autofree DtraceChain__Clock *clocks = g_new0(DtraceChain__Clock, node_count + 1);
	g_autofree DtraceChain__Node **node_list = g_new0(DtraceChain__Node *, node_count + 1);
	g_autofree DtraceChain__File *files = g_new0(DtraceChain__File, file_count + 1);
	g_autofree DtraceChain__File **file_list = g_new0(DtraceChain__File *, file_count + 1);
	g_autofree uint8_t *digests = g_malloc0((gsize)(file_count + 1) * SHA256_BYTES);
	DtraceChain__Manifest out = DTRACE_CHAIN__MANIFEST__INIT;

	for (guint i = 0; i < node_count; i++) {
		fill_node(&nodes[i], &clocks[i], g_ptr_array_index(manifest->nodes, i));
		node_list[i] = &nodes[i];
	}
	for (guint i = 0; i < file_count; i++) {
		const struct dtc_manifest_file *file = g_ptr_array_index(manifest->files, i);
		dtrace_chain__file__init(&files[i]);
		files[i].path = file->path;
		files[i].bytes = file->bytes;
		files[i].sha256.data = digests + (gsize)i * SHA256_BYTES;
		files[i].sha256.len = SHA256_BYTES;
		hex_to_bytes(file->sha256, files[i].sha256.data);
		file_list[i] = &files[i];
	}
	out.version = VERSION;
	out.creator = manifest->creator;
	out.n_nodes = node_count;
	out.nodes = node_list;
	out.n_files = file_count;
	out.files = file_list;
	return seal(&out);
}

/* ---- reading ---- */

static bool set_damaged(GError **error, const char *name, const char *what)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
		    "'%s' is not a manifest that can be trusted: %s\n"
		    "without a manifest the directory is still a bundle; `dtrace-chain bundle create` makes a new one",
		    name, what);
	return false;
}

static bool is_text(const char *text)
{
	if (strlen(text) > MAX_TEXT_BYTES || !g_utf8_validate(text, -1, NULL))
		return false;
	for (const char *c = text; *c; c = g_utf8_next_char(c))
		if (g_unichar_iscntrl(g_utf8_get_char(c)))
			return false;
	return true;
}

static bool is_node(const DtraceChain__Node *node)
{
	for (gsize i = 0; i < node->n_addresses; i++)
		if (!is_text(node->addresses[i]))
			return false;
	return dtc_node_name_check(node->name) && is_text(node->role) && is_text(node->host) &&
	       is_text(node->release) && is_text(node->tracer) &&
	       (!node->clock || (is_text(node->clock->name) && is_text(node->clock->uuid)));
}

static void set_text(char **to, const char *text)
{
	g_free(*to);
	*to = g_strdup(text);
}

static void take_node(DtcManifest *manifest, const DtraceChain__Node *from)
{
	struct dtc_manifest_node *node = dtc_manifest_add_node(manifest, from->name);
	g_autoptr(GStrvBuilder) addresses = g_strv_builder_new();

	set_text(&node->role, from->role);
	set_text(&node->host, from->host);
	set_text(&node->release, from->release);
	set_text(&node->tracer, from->tracer);
	for (gsize i = 0; i < from->n_addresses; i++)
		g_strv_builder_add(addresses, from->addresses[i]);
	g_strfreev(node->addresses);
	node->addresses = g_strv_builder_end(addresses);
	if (from->n_vcpu_tids)
		g_array_append_vals(node->vcpu_tids, from->vcpu_tids, (guint)from->n_vcpu_tids);
	node->events = from->events;
	node->lost_events = from->lost_events;
	node->packets = from->packets;
	node->begin_ns = from->begin_ns;
	node->end_ns = from->end_ns;
	node->is_complete = from->complete;
	node->probe_port = from->probe_port <= G_MAXUINT16 ? (uint16_t)from->probe_port : 0;
	if (!from->clock)
		return;
	node->clock.name = g_strdup(from->clock->name);
	node->clock.uuid = g_strdup(from->clock->uuid);
	node->clock.frequency_hz = from->clock->frequency_hz;
	node->clock.offset_s = from->clock->offset_s;
	node->clock.offset_cycles = from->clock->offset_cycles;
}

static bool take_files(DtcManifest *manifest, const char *name, const DtraceChain__Manifest *from, GError **error)
{
	for (gsize i = 0; i < from->n_files; i++) {
		const DtraceChain__File *file = from->files[i];
		char hex[DTC_SHA256_HEX + 1];
		if (!dtc_bundle_path_check(file->path))
			return set_damaged(error, name, "it names a file outside of the bundle");
		if (file->sha256.len != SHA256_BYTES)
			return set_damaged(error, name, "a checksum is not a SHA-256");
		if (i > 0 && strcmp(from->files[i - 1]->path, file->path) >= 0)
			return set_damaged(error, name, "its files are not in order");
		for (guint k = 0; k < SHA256_BYTES; k++)
			g_snprintf(hex + (gsize)2 * k, 3, "%02x", file->sha256.data[k]);
		dtc_manifest_add_file(manifest, file->path, file->bytes, hex);
	}
	return true;
}

static DtcManifest *take_manifest(const char *name, const DtraceChain__Manifest *from, GError **error)
{
	if (from->version != VERSION) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
			    "'%s' has version %u, this program knows version %d\nuse a newer dtrace-chain", name,
			    from->version, VERSION);
		return NULL;
	}
	if (!is_text(from->creator)) {
		set_damaged(error, name, "a text in it cannot be printed");
		return NULL;
	}
	g_autoptr(DtcManifest) manifest = dtc_manifest_new(from->creator);
	for (gsize i = 0; i < from->n_nodes; i++) {
		if (!is_node(from->nodes[i])) {
			set_damaged(error, name, "a text in it cannot be printed");
			return NULL;
		}
		take_node(manifest, from->nodes[i]);
	}
	return take_files(manifest, name, from, error) ? g_steal_pointer(&manifest) : NULL;
}

DtcManifest *dtc_manifest_from_bytes(const char *name, const void *data, gsize bytes, GError **error)
{
	DtraceChain__Sealed *sealed = bytes <= MAX_BYTES ? dtrace_chain__sealed__unpack(NULL, bytes, data) : NULL;
	DtraceChain__Manifest *inner = NULL;
	DtcManifest *manifest = NULL;
	uint8_t sha256[SHA256_BYTES];

	if (!sealed || strcmp(sealed->magic, MAGIC) != 0) {
		set_damaged(error, name, "it is of another kind, or cut");
	} else {
		digest(sealed->manifest.data, sealed->manifest.len, sha256);
		if (sealed->sha256.len != SHA256_BYTES || memcmp(sealed->sha256.data, sha256, SHA256_BYTES) != 0)
			set_damaged(error, name, "its checksum does not fit");
		else if (dtrace_chain__sealed__get_packed_size(sealed) != bytes || sealed->base.n_unknown_fields)
			set_damaged(error, name, "there are bytes in it that do not belong");
		else if (!(inner = dtrace_chain__manifest__unpack(NULL, sealed->manifest.len, sealed->manifest.data)))
			set_damaged(error, name, "it cannot be decoded");
		else
			manifest = take_manifest(name, inner, error);
	}
	if (inner)
		dtrace_chain__manifest__free_unpacked(inner, NULL);
	if (sealed)
		dtrace_chain__sealed__free_unpacked(sealed, NULL);
	return manifest;
}

DtcManifest *dtc_manifest_read(const char *directory, GError **error)
{
	g_autofree char *path = g_build_filename(directory, DTC_MANIFEST_NAME, NULL);
	g_autoptr(GMappedFile) file = NULL;
	g_autoptr(GError) reason = NULL;

	if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND,
			    "bundle '%s' has no manifest\n"
			    "it can be analysed all the same; `dtrace-chain bundle create OUT %s` makes a copy that "
			    "has one",
			    directory, directory);
		return NULL;
	}
	/* a pipe or device would be waited for, and a link could lead anywhere */
	if (!g_file_test(path, G_FILE_TEST_IS_REGULAR) || g_file_test(path, G_FILE_TEST_IS_SYMLINK) ||
	    !(file = g_mapped_file_new(path, FALSE, &reason))) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "cannot read '%s': %s\ncheck its permissions", path,
			    reason ? reason->message : "it is not a file");
		return NULL;
	}
	return dtc_manifest_from_bytes(path, g_mapped_file_get_contents(file), g_mapped_file_get_length(file), error);
}
