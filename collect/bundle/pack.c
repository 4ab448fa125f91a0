/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/pack.h"

#include "collect/bundle/output.h"
#include "collect/bundle/paths.h"
#include "dtrace-chain/error.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)256 * 1024)

/* ---- unpacking ---- */

typedef struct archive ArchiveReader;
typedef struct archive ArchiveWriter;

static void reader_free(ArchiveReader *reader)
{
	archive_read_free(reader);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ArchiveReader, reader_free)

struct unpacking {
	const char *path; /* borrowed, as all */
	const char *folder;
	const char *only;
	struct dtc_unpack_limits limits;
	guint64 bytes;
	guint files;
	void *buffer;
	GPtrArray *defects;    /* NULL: nobody wants to know */
	DtcManifest *manifest; /* owned; NULL: it has not come by */
	GChecksum *checksum;   /* owned; of the file that passes; NULL: none is needed */
	GHashTable *passed;    /* owned; names of the manifest's files that came by */
};

static bool set_hostile(GError **error, const struct unpacking *unpacking, const char *entry, const char *what)
{
	g_autofree char *shown = g_strescape(entry, NULL);
	if (strlen(shown) > 200)
		memcpy(shown + 197, "...", sizeof("..."));
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
		    "packed bundle '%s' is refused: '%s' %s\n"
		    "a packed bundle holds plain files and folders that stay inside it; "
		    "`dtrace-chain bundle create` makes one",
		    unpacking->path, shown, what);
	return false;
}

static bool set_damaged(GError **error, const char *path, struct archive *archive)
{
	const char *reason = archive_error_string(archive);
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
		    "packed bundle '%s' cannot be unpacked: %s\n"
		    "it may be cut or changed: compare it with the original (`dtrace-chain bundle check`)",
		    path, reason ? reason : "it is no tar archive in zstd");
	return false;
}

static bool set_too_large(GError **error, const struct unpacking *unpacking)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE,
		    "packed bundle '%s' is larger than %" G_GUINT64_FORMAT " MiB when unpacked\n"
		    "if you trust it, raise the limit with --max-unpacked SIZE",
		    unpacking->path, unpacking->limits.max_bytes >> 20);
	return false;
}

static bool set_unwritable(GError **error, const struct unpacking *unpacking, const char *entry)
{
	int reason = errno;
	if (reason == EEXIST || reason == ENOTDIR || reason == EISDIR)
		return set_hostile(error, unpacking, entry, "is in it twice");
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot unpack '%s' of '%s': %s\n"
		    "it is unpacked below '%s'; set TMPDIR to a folder with more room",
		    entry, unpacking->path, g_strerror(reason), g_get_tmp_dir());
	return false;
}

/* The entry's path in the bundle, without "./" before and '/' behind; "" for the root itself. */
static char *clean_path(const char *path)
{
	while (path[0] == '.' && path[1] == '/') {
		path += 2;
		while (*path == '/')
			path++;
	}
	if (strcmp(path, ".") == 0)
		path++;
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	return g_strndup(path, length);
}

static bool copy_data(struct unpacking *unpacking, ArchiveReader *reader, int fd, const char *entry, GError **error)
{
	for (;;) {
		la_ssize_t got = archive_read_data(reader, unpacking->buffer, BLOCK_BYTES);
		if (got < 0)
			return set_damaged(error, unpacking->path, reader);
		if (got == 0)
			return true;
		unpacking->bytes += (guint64)got;
		if (unpacking->bytes > unpacking->limits.max_bytes)
			return set_too_large(error, unpacking);
		if (unpacking->checksum)
			g_checksum_update(unpacking->checksum, unpacking->buffer, got);
		for (la_ssize_t done = 0; done < got;) {
			ssize_t written = write(fd, (char *)unpacking->buffer + done, (size_t)(got - done));
			if (written < 0 && errno == EINTR)
				continue;
			if (written <= 0)
				return set_unwritable(error, unpacking, entry);
			done += written;
		}
	}
}

/* ---- comparing with the manifest ---- */

/* A manifest that cannot be trusted says that something has changed, and nothing else. */
static void take_manifest(struct unpacking *unpacking, const char *target)
{
	g_autofree char *data = NULL;
	g_autoptr(GError) reason = NULL;
	gsize bytes;
	if (!g_file_get_contents(target, &data, &bytes, NULL))
		return;
	unpacking->manifest = dtc_manifest_from_bytes(unpacking->path, data, bytes, &reason);
	if (unpacking->manifest)
		return;
	const char *why = strstr(reason->message, ": ");
	g_autofree char *text =
		g_strdup_printf("cannot be trusted: %.*s", (int)strcspn(why ? why + 2 : "", "\n"), why ? why + 2 : "");
	dtc_defects_add(unpacking->defects, DTC_DEFECT_CHANGED, DTC_MANIFEST_NAME, text);
}

/* What the manifest says of the entry; NULL: nothing. */
static const struct dtc_manifest_file *find_in_manifest(const struct unpacking *unpacking, const char *entry)
{
	return unpacking->manifest ? dtc_manifest_find_file(unpacking->manifest, entry) : NULL;
}

static void compare_file(struct unpacking *unpacking, const struct dtc_manifest_file *file, guint64 bytes)
{
	dtc_defects_compare(unpacking->defects, file, bytes, g_checksum_get_string(unpacking->checksum));
	g_hash_table_add(unpacking->passed, file->path);
}

static void add_missing(struct unpacking *unpacking)
{
	for (guint i = 0; unpacking->manifest && i < unpacking->manifest->files->len; i++) {
		const struct dtc_manifest_file *file = g_ptr_array_index(unpacking->manifest->files, i);
		if (!g_hash_table_contains(unpacking->passed, file->path))
			dtc_defects_add(unpacking->defects, DTC_DEFECT_MISSING, file->path, "is missing");
	}
}

static bool unpack_file(struct unpacking *unpacking, ArchiveReader *reader, const char *entry, guint64 bytes,
			GError **error)
{
	g_autofree char *target = g_build_filename(unpacking->folder, entry, NULL);
	g_autofree char *parent = g_path_get_dirname(target);

	/* what the header promises is refused before the first byte is written */
	if (bytes > unpacking->limits.max_bytes - unpacking->bytes)
		return set_too_large(error, unpacking);
	if (g_mkdir_with_parents(parent, 0700) != 0)
		return set_unwritable(error, unpacking, entry);
	int fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return set_unwritable(error, unpacking, entry);
	const struct dtc_manifest_file *file = find_in_manifest(unpacking, entry);
	unpacking->checksum = file ? g_checksum_new(G_CHECKSUM_SHA256) : NULL;
	guint64 before = unpacking->bytes;
	bool is_copied = copy_data(unpacking, reader, fd, entry, error);
	if (close(fd) != 0 && is_copied)
		is_copied = set_unwritable(error, unpacking, entry);
	if (is_copied && file)
		compare_file(unpacking, file, unpacking->bytes - before);
	g_clear_pointer(&unpacking->checksum, g_checksum_free);
	if (is_copied && unpacking->defects && strcmp(entry, DTC_MANIFEST_NAME) == 0)
		take_manifest(unpacking, target);
	return is_copied;
}

static bool unpack_folder(struct unpacking *unpacking, const char *entry, GError **error)
{
	g_autofree char *target = g_build_filename(unpacking->folder, entry, NULL);
	return g_mkdir_with_parents(target, 0700) == 0 || set_unwritable(error, unpacking, entry);
}

static bool unpack_entry(struct unpacking *unpacking, ArchiveReader *reader, struct archive_entry *header,
			 GError **error)
{
	/* the name's bytes, or in pax UTF-8, which the locale may not be able to say */
	const char *raw = archive_entry_pathname(header);
	if (!raw)
		raw = archive_entry_pathname_utf8(header);
	if (!raw)
		return set_hostile(error, unpacking, "?", "has a name that is not UTF-8");
	g_autofree char *entry = clean_path(raw);
	unsigned type = archive_entry_filetype(header);

	if (++unpacking->files > unpacking->limits.max_files) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "packed bundle '%s' has more than %u files\na bundle has a few per CPU of a node",
			    unpacking->path, unpacking->limits.max_files);
		return false;
	}
	if (archive_entry_hardlink(header) || archive_entry_symlink(header) || type == AE_IFLNK)
		return set_hostile(error, unpacking, raw, "is a link");
	if (type != AE_IFREG && type != AE_IFDIR)
		return set_hostile(error, unpacking, raw, "is neither a file nor a folder");
	if (!*entry)
		return type == AE_IFDIR || set_hostile(error, unpacking, raw, "is no name for a file");
	if (!dtc_bundle_path_check(entry))
		return set_hostile(error, unpacking, raw, "is a name that leads out of it or cannot be printed");
	if (unpacking->only && strcmp(entry, unpacking->only) != 0)
		return true;
	if (type == AE_IFDIR)
		return unpack_folder(unpacking, entry, error);
	/* no file of a recording has holes, and a few bytes could stand for any number of zeros */
	if (archive_entry_sparse_count(header) > 0)
		return set_hostile(error, unpacking, raw, "is a sparse file");
	if (archive_entry_size(header) < 0)
		return set_hostile(error, unpacking, raw, "has no size");
	return unpack_file(unpacking, reader, entry, (guint64)archive_entry_size(header), error);
}

static bool unpack_entries(struct unpacking *unpacking, ArchiveReader *reader, GError **error)
{
	for (;;) {
		struct archive_entry *header;
		int status = archive_read_next_header(reader, &header);
		if (status == ARCHIVE_EOF)
			return true;
		if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
			return set_damaged(error, unpacking->path, reader);
		guint64 before = unpacking->bytes;
		if (!unpack_entry(unpacking, reader, header, error))
			return false;
		if (unpacking->only && unpacking->bytes > before)
			return true;
	}
}

static bool unpack_archive(struct unpacking *unpacking, const struct dtc_unpack_limits *limits, GError **error)
{
	if (limits)
		unpacking->limits = *limits;
	if (!unpacking->limits.max_bytes)
		unpacking->limits.max_bytes = DTC_UNPACK_MAX_BYTES;
	if (!unpacking->limits.max_files)
		unpacking->limits.max_files = DTC_UNPACK_MAX_FILES;

	g_autoptr(ArchiveReader) reader = archive_read_new();
	if (!reader || archive_read_support_filter_zstd(reader) < ARCHIVE_WARN ||
	    archive_read_support_format_tar(reader) != ARCHIVE_OK) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "this libarchive cannot read tar in zstd\nunpack '%s' with tar --zstd -xf",
			    unpacking->path);
		return false;
	}
	if (archive_read_open_filename(reader, unpacking->path, BLOCK_BYTES) != ARCHIVE_OK)
		return set_damaged(error, unpacking->path, reader);
	g_autofree void *buffer = g_malloc(BLOCK_BYTES);
	unpacking->buffer = buffer;
	return unpack_entries(unpacking, reader, error);
}

bool dtc_unpack(const char *path, const char *folder, const struct dtc_unpack_limits *limits, const char *only,
		GError **error)
{
	struct unpacking unpacking = { .path = path, .folder = folder, .only = only };
	return unpack_archive(&unpacking, limits, error);
}

bool dtc_unpack_and_check(const char *path, const char *folder, const struct dtc_unpack_limits *limits,
			  GPtrArray *defects, GError **error)
{
	struct unpacking unpacking = { .path = path, .folder = folder, .defects = defects };
	unpacking.passed = g_hash_table_new(g_str_hash, g_str_equal);
	bool is_unpacked = unpack_archive(&unpacking, limits, error);
	if (is_unpacked)
		add_missing(&unpacking);
	g_hash_table_unref(unpacking.passed);
	dtc_manifest_free(unpacking.manifest);
	return is_unpacked;
}

/* ---- the seal ---- */

static bool set_unreadable(GError **error, const char *path)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE, "cannot read '%s': %s\ncheck its permissions", path,
		    g_strerror(errno));
	return false;
}

/* SHA-256 of the first bytes of the file. */
static bool digest_file(int fd, const char *path, guint64 bytes, uint8_t ret_sha256[DTC_PACK_SHA256_BYTES],
			GError **error)
{
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autofree uint8_t *buffer = g_malloc(BLOCK_BYTES);
	gsize length = DTC_PACK_SHA256_BYTES;

	while (bytes > 0) {
		ssize_t got = read(fd, buffer, (size_t)MIN(bytes, (guint64)BLOCK_BYTES));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return set_unreadable(error, path);
		g_checksum_update(checksum, buffer, got);
		bytes -= (guint64)got;
	}
	g_checksum_get_digest(checksum, ret_sha256, &length);
	return true;
}

static bool check_open_seal(int fd, const char *path, enum dtc_seal *ret_seal, GError **error)
{
	uint8_t seal[DTC_PACK_SEAL_BYTES], sha256[DTC_PACK_SHA256_BYTES];
	struct stat info;

	if (fstat(fd, &info) != 0)
		return set_unreadable(error, path);
	if ((guint64)info.st_size < DTC_PACK_SEAL_BYTES) {
		*ret_seal = DTC_SEAL_MISSING;
		return true;
	}
	off_t body_bytes = info.st_size - (off_t)DTC_PACK_SEAL_BYTES;
	if (pread(fd, seal, DTC_PACK_SEAL_BYTES, body_bytes) != (ssize_t)DTC_PACK_SEAL_BYTES)
		return set_unreadable(error, path);
	const uint8_t *sealed = dtc_pack_seal_get_sha256(seal);
	if (!sealed) {
		*ret_seal = DTC_SEAL_MISSING;
		return true;
	}
	if (!digest_file(fd, path, (guint64)body_bytes, sha256, error))
		return false;
	*ret_seal = memcmp(sealed, sha256, DTC_PACK_SHA256_BYTES) == 0 ? DTC_SEAL_INTACT : DTC_SEAL_BROKEN;
	return true;
}

bool dtc_pack_check_seal(const char *path, enum dtc_seal *ret_seal, GError **error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return set_unreadable(error, path);
	bool is_read = check_open_seal(fd, path, ret_seal, error);
	close(fd);
	return is_read;
}

/* ---- packing ---- */

struct DtcPacker {
	int fd;
	char *name;
	ArchiveWriter *writer;
	GChecksum *checksum;
};

static la_ssize_t on_write(struct archive *archive, void *data, const void *buffer, size_t bytes)
{
	DtcPacker *packer = data;
	if (!dtc_output_write_all(packer->fd, buffer, bytes)) {
		archive_set_error(archive, errno, "%s", g_strerror(errno));
		return -1;
	}
	g_checksum_update(packer->checksum, buffer, (gssize)bytes);
	return (la_ssize_t)bytes;
}

static bool set_pack_failed(GError **error, const DtcPacker *packer, const char *reason)
{
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE, "cannot write '%s': %s\nname another place",
		    packer->name, reason ? reason : g_strerror(errno));
	return false;
}

DtcPacker *dtc_packer_new(int fd, const char *name, GError **error)
{
	g_autoptr(DtcPacker) packer = g_new0(DtcPacker, 1);
	packer->fd = fd;
	packer->name = g_strdup(name);
	packer->checksum = g_checksum_new(G_CHECKSUM_SHA256);
	packer->writer = archive_write_new();
	/* not pax, whose names libarchive converts from the locale's charset (3.6.2 crashes on it in the C locale) */
	if (archive_write_set_format_gnutar(packer->writer) != ARCHIVE_OK ||
	    archive_write_add_filter_zstd(packer->writer) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(packer->writer, 1) != ARCHIVE_OK ||
	    archive_write_open(packer->writer, packer, NULL, on_write, NULL) != ARCHIVE_OK) {
		set_pack_failed(error, packer, archive_error_string(packer->writer));
		return NULL;
	}
	return g_steal_pointer(&packer);
}

void dtc_packer_free(DtcPacker *packer)
{
	if (!packer)
		return;
	if (packer->writer)
		archive_write_free(packer->writer);
	g_checksum_free(packer->checksum);
	g_free(packer->name);
	g_free(packer);
}

bool dtc_packer_begin(DtcPacker *packer, const char *path, guint64 bytes, GError **error)
{
	struct archive_entry *entry = archive_entry_new();
	/* no owner, no date, one mode: the same files give the same bytes */
	archive_entry_set_pathname(entry, path);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)bytes);
	archive_entry_set_mtime(entry, 0, 0);
	int status = archive_write_header(packer->writer, entry);
	archive_entry_free(entry);
	return status == ARCHIVE_OK || status == ARCHIVE_WARN ||
	       set_pack_failed(error, packer, archive_error_string(packer->writer));
}

bool dtc_packer_write(DtcPacker *packer, const void *data, gsize bytes, GError **error)
{
	return archive_write_data(packer->writer, data, bytes) == (la_ssize_t)bytes ||
	       set_pack_failed(error, packer, archive_error_string(packer->writer));
}

bool dtc_packer_finish(DtcPacker *packer, GError **error)
{
	uint8_t seal[DTC_PACK_SEAL_BYTES];

	if (archive_write_close(packer->writer) != ARCHIVE_OK)
		return set_pack_failed(error, packer, archive_error_string(packer->writer));
	dtc_pack_seal_make(packer->checksum, seal);
	return dtc_output_write_all(packer->fd, seal, DTC_PACK_SEAL_BYTES) || set_pack_failed(error, packer, NULL);
}

/* ---- as a kind ---- */

static void *open_packer(int fd, const char *name, GError **error)
{
	return dtc_packer_new(fd, name, error);
}

static bool begin_entry(void *packer, const char *path, guint64 bytes, GError **error)
{
	return dtc_packer_begin(packer, path, bytes, error);
}

static bool write_entry(void *packer, const void *data, gsize bytes, GError **error)
{
	return dtc_packer_write(packer, data, bytes, error);
}

static bool finish_packer(void *packer, GError **error)
{
	return dtc_packer_finish(packer, error);
}

static void free_packer(void *packer)
{
	dtc_packer_free(packer);
}

const struct dtc_packer_kind dtc_packer_zstd = {
	.open = open_packer,
	.begin = begin_entry,
	.write = write_entry,
	.finish = finish_packer,
	.free = free_packer,
};
