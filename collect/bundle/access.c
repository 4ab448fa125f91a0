/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/access.h"

#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HINT_DISK "the disk or its file system fails: copy the recording from where it was made"
#define HINT_RIGHTS "whoever asks must be allowed to read the recording"

struct kind {
	int number; /* errno's */
	enum dtc_error code;
	const char *hint;
};

static const struct kind kinds[] = {
	{ EMFILE, DTC_ERROR_LIMIT, "allow more open files (ulimit -n), or ask for fewer nodes with --nodes" },
	{ ENFILE, DTC_ERROR_LIMIT, "end other programs of this machine, or ask for fewer nodes with --nodes" },
	{ ENOMEM, DTC_ERROR_LIMIT, "give it more memory (ulimit -v), or ask for fewer nodes with --nodes" },
	{ EIO, DTC_ERROR_IO, HINT_DISK },
	{ ESTALE, DTC_ERROR_IO, HINT_DISK },
	{ EREMOTEIO, DTC_ERROR_IO, HINT_DISK },
	{ ETIMEDOUT, DTC_ERROR_IO, HINT_DISK },
	{ EACCES, DTC_ERROR_UNREADABLE, HINT_RIGHTS },
	{ EPERM, DTC_ERROR_UNREADABLE, HINT_RIGHTS },
};

struct refusal {
	const struct kind *kind;
	char *path;
};

static void refusal_free(void *data)
{
	struct refusal *refusal = data;
	g_free(refusal->path);
	g_free(refusal);
}

static GPrivate first_refusal = G_PRIVATE_INIT(refusal_free);

static void note(const struct kind *kind, const char *path)
{
	if (!kind || g_private_get(&first_refusal))
		return;
	struct refusal *refusal = g_new(struct refusal, 1);
	*refusal = (struct refusal){ kind, g_strdup(path) };
	g_private_set(&first_refusal, refusal);
}

/* GLib turns errno into numbers of its own, several into one. */
static void note_error(const GError *error, const char *path)
{
	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (error->domain == G_FILE_ERROR && error->code == (int)g_file_error_from_errno(kinds[i].number) &&
		    error->code != G_FILE_ERROR_FAILED)
			return note(&kinds[i], path);
	dtc_access_note_text(error->message, path);
}

static const struct kind *find_kind(const char *text)
{
	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (strstr(text, g_strerror(kinds[i].number)))
			return &kinds[i];
	return NULL;
}

bool dtc_access_is_refusal(const char *text)
{
	return find_kind(text) != NULL;
}

void dtc_access_note_text(const char *text, const char *path)
{
	note(find_kind(text), path);
}

GMappedFile *dtc_access_map(const char *path)
{
	g_autoptr(GError) error = NULL;
	GMappedFile *map = g_mapped_file_new(path, FALSE, &error);
	if (!map)
		note_error(error, path);
	return map;
}

static int64_t read_head(int file, void *bytes, gsize count, guint64 *ret_size)
{
	struct stat info;
	gsize done = 0;
	if (fstat(file, &info) != 0)
		return -1;
	while (done < count) {
		ssize_t got = pread(file, (uint8_t *)bytes + done, count - done, (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (gsize)got;
	}
	*ret_size = (guint64)info.st_size;
	return (int64_t)done;
}

int64_t dtc_access_read_head(const char *path, void *bytes, gsize count, guint64 *ret_size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	int64_t done = file < 0 ? -1 : read_head(file, bytes, count, ret_size);
	if (done < 0)
		dtc_access_note_text(g_strerror(errno), path);
	if (file >= 0)
		close(file);
	return done;
}

GDir *dtc_access_list(const char *path)
{
	g_autoptr(GError) error = NULL;
	GDir *dir = g_dir_open(path, 0, &error);
	if (!dir)
		note_error(error, path);
	return dir;
}

bool dtc_access_check(GError **error)
{
	const struct refusal *refusal = g_private_get(&first_refusal);
	if (!refusal)
		return true;
	g_set_error(error, DTC_COLLECT_ERROR, (int)refusal->kind->code, "cannot open '%s': %s\n%s", refusal->path,
		    g_strerror(refusal->kind->number), refusal->kind->hint);
	g_private_replace(&first_refusal, NULL);
	return false;
}

bool dtc_access_check_machine(GError **error)
{
	g_autoptr(GError) refusal = NULL;
	if (dtc_access_check(&refusal) || g_error_matches(refusal, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE))
		return true;
	g_propagate_error(error, g_steal_pointer(&refusal));
	return false;
}
