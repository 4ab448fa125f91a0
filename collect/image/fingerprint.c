/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "collect/image/fingerprint.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a file both ends are read: headers say what it is, and a recording that goes on grows at its end. */
#define END_BYTES 4096
#define DEPTH_MAX 8
#define FILES_MAX 100000
/* The coarsest clock of a file system in use is FAT's. */
#define SETTLED_US ((gint64)2000000)

struct DtcFingerprint {
	GString *text;
	guint file_count;
	gint64 newest_us;
	bool is_useless;
};

/* ---- the program ---- */

/* The build ids, which linkers make of all code: libraries decode, too. 0: look at the next. */
static int take_build_id(struct dl_phdr_info *info, size_t size, void *data)
{
	GString *text = data;

	(void)size;
	for (guint i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type != PT_NOTE)
			continue;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells addresses as numbers */
		const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr), *end = at + segment->p_memsz;
		while (at + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
			const char *name = at + sizeof(*note);
			const guint8 *id = (const guint8 *)name + ((note->n_namesz + 3) & ~3u);
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
				for (guint k = 0; k < note->n_descsz; k++)
					g_string_append_printf(text, "%02x", id[k]);
				g_string_append_c(text, ' ');
				return 0;
			}
			at = (const char *)id + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}

/* A program that was linked without a build id is the file that it is in. */
static void add_program(DtcFingerprint *fingerprint)
{
	struct stat info;

	g_string_append_printf(fingerprint->text, "image %d, program ", DTC_IMAGE_VERSION);
	dl_iterate_phdr(take_build_id, fingerprint->text);
	fingerprint->is_useless = stat("/proc/self/exe", &info) != 0;
	g_string_append_printf(fingerprint->text, "%" G_GUINT64_FORMAT " %" G_GINT64_FORMAT ".%09ld\n",
			       (guint64)info.st_size, (gint64)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

DtcFingerprint *dtc_fingerprint_new(void)
{
	DtcFingerprint *fingerprint = g_new0(DtcFingerprint, 1);

	fingerprint->text = g_string_new(NULL);
	add_program(fingerprint);
	return fingerprint;
}

void dtc_fingerprint_free(DtcFingerprint *fingerprint)
{
	if (!fingerprint)
		return;
	g_string_free(fingerprint->text, TRUE);
	g_free(fingerprint);
}

/* Lengths go first, so that no value can look like the next line. */
void dtc_fingerprint_add(DtcFingerprint *fingerprint, const char *name, const char *value)
{
	g_string_append_printf(fingerprint->text, "%s %zu:%s\n", name, strlen(value), value);
}

/* ---- files ---- */

static gint64 to_us(const struct timespec *time)
{
	return (gint64)time->tv_sec * G_USEC_PER_SEC + time->tv_nsec / 1000;
}

static void add_end(DtcFingerprint *fingerprint, int file, off_t from)
{
	char bytes[END_BYTES];
	ssize_t count = pread(file, bytes, sizeof(bytes), from);

	fingerprint->is_useless |= count < 0;
	g_string_append_printf(fingerprint->text, " %016" G_GINT64_MODIFIER "x",
			       dtc_image_hash(bytes, (gsize)MAX(count, 0)));
}

static void add_file(DtcFingerprint *fingerprint, const char *path, const char *name)
{
	struct stat info;
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (file < 0 || fstat(file, &info) != 0 || ++fingerprint->file_count > FILES_MAX) {
		fingerprint->is_useless = true;
	} else {
		dtc_fingerprint_add(fingerprint, "file", name);
		g_string_append_printf(fingerprint->text,
				       "%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
				       " %" G_GINT64_FORMAT ".%09ld %" G_GINT64_FORMAT ".%09ld",
				       (guint64)info.st_dev, (guint64)info.st_ino, (guint64)info.st_size,
				       (gint64)info.st_mtim.tv_sec, info.st_mtim.tv_nsec, (gint64)info.st_ctim.tv_sec,
				       info.st_ctim.tv_nsec);
		add_end(fingerprint, file, 0);
		if (info.st_size > END_BYTES)
			add_end(fingerprint, file, info.st_size - END_BYTES);
		g_string_append_c(fingerprint->text, '\n');
		fingerprint->newest_us = MAX(fingerprint->newest_us, to_us(&info.st_mtim));
		fingerprint->newest_us = MAX(fingerprint->newest_us, to_us(&info.st_ctim));
	}
	if (file >= 0)
		close(file);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_tree(DtcFingerprint *fingerprint, const char *path, guint depth);

static void add_folder(DtcFingerprint *fingerprint, const char *path, guint depth)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	const char *name;

	if (!dir || depth > DEPTH_MAX) {
		fingerprint->is_useless = true;
		return;
	}
	while ((name = g_dir_read_name(dir)))
		g_ptr_array_add(names, g_build_filename(path, name, NULL));
	g_ptr_array_sort(names, compare_names);
	dtc_fingerprint_add(fingerprint, "folder", path);
	for (guint i = 0; i < names->len && !fingerprint->is_useless; i++)
		add_tree(fingerprint, names->pdata[i], depth + 1);
}

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH_MAX bounds it */
static void add_tree(DtcFingerprint *fingerprint, const char *path, guint depth)
{
	struct stat info;

	if (stat(path, &info) != 0) {
		/* a link that leads nowhere is nothing to the readers, too; what is not allowed is not known */
		if (errno == ENOENT || errno == ELOOP)
			dtc_fingerprint_add(fingerprint, "nothing", path);
		else
			fingerprint->is_useless = true;
	} else if (S_ISDIR(info.st_mode)) {
		add_folder(fingerprint, path, depth);
	} else if (S_ISREG(info.st_mode)) {
		add_file(fingerprint, path, path);
	} else {
		dtc_fingerprint_add(fingerprint, "other", path);
	}
}

/* One place is one text, whatever way leads there and whatever folder the program runs in. */
void dtc_fingerprint_add_path(DtcFingerprint *fingerprint, const char *path)
{
	char *real = realpath(path, NULL);

	if (real)
		add_tree(fingerprint, real, 0);
	else
		fingerprint->is_useless = true;
	free(real);
}

void dtc_fingerprint_add_unpacked(DtcFingerprint *fingerprint, const char *archive, const char *directory,
				  const char *path)
{
	gsize length = strlen(directory);

	dtc_fingerprint_add_path(fingerprint, archive);
	if (strncmp(path, directory, length) == 0)
		dtc_fingerprint_add(fingerprint, "in it", path + length);
	else
		fingerprint->is_useless = true;
}

bool dtc_fingerprint_get_key(const DtcFingerprint *fingerprint, struct dtc_image_key *ret_key)
{
	if (fingerprint->is_useless)
		return false;
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	gsize bytes = sizeof(ret_key->bytes);
	g_checksum_update(sum, (const guchar *)fingerprint->text->str, (gssize)fingerprint->text->len);
	g_checksum_get_digest(sum, ret_key->bytes, &bytes);
	return true;
}

bool dtc_fingerprint_is_settled(const DtcFingerprint *fingerprint, gint64 time_us)
{
	return fingerprint->newest_us + SETTLED_US < time_us;
}
