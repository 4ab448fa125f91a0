/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/shared_key.h"

#include "collect/redact/pseudonyms.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define FILE_NAME "redact.key"
#define DRAWN_BYTES 32

static char *to_text(const uint8_t *bytes, gsize count)
{
	GString *text = g_string_sized_new(count * 2);
	for (gsize i = 0; i < count; i++)
		g_string_append_printf(text, "%02x", bytes[i]);
	return g_string_free(text, FALSE);
}

static char *draw(GError **error)
{
	uint8_t bytes[DRAWN_BYTES];
	if (getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes))
		return to_text(bytes, sizeof(bytes));
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO, "cannot draw a key: %s\ngive one with --redact-key FILE",
		    g_strerror(errno));
	return NULL;
}

char *dtc_shared_key_make(const char *path, GError **error)
{
	gsize count;

	if (!path)
		return draw(error);
	uint8_t *bytes = dtc_pseudonyms_read_key(path, &count, error);
	if (!bytes)
		return NULL;
	char *text = to_text(bytes, count);
	dtc_pseudonyms_free_key(bytes, count);
	return text;
}

bool dtc_shared_key_write(const char *folder, const char *key)
{
	g_autofree char *path = g_build_filename(folder, FILE_NAME, NULL);
	gsize count = strlen(key) / 2;

	if (strspn(key, "0123456789abcdef") != strlen(key) || count < DTC_PSEUDONYMS_KEY_MIN ||
	    count > DTC_PSEUDONYMS_KEY_MAX)
		return false;
	g_autofree uint8_t *bytes = g_malloc(count);
	for (gsize i = 0; i < count; i++)
		bytes[i] = (uint8_t)(g_ascii_xdigit_value(key[2 * i]) << 4 | g_ascii_xdigit_value(key[2 * i + 1]));
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool is_written = fd >= 0 && write(fd, bytes, count) == (ssize_t)count;
	if (fd >= 0)
		close(fd);
	return is_written;
}

char *dtc_shared_key_get_option(const char *folder)
{
	g_autofree char *path = g_build_filename(folder, FILE_NAME, NULL);
	return g_file_test(path, G_FILE_TEST_IS_REGULAR) ? g_strconcat("--redact-key=", path, NULL) : NULL;
}

void dtc_shared_key_remove(const char *folder)
{
	g_autofree char *path = g_build_filename(folder, FILE_NAME, NULL);
	g_unlink(path);
}
