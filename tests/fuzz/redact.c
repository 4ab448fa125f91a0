/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A capture file of any bytes, redacted: nothing outside of it is touched, twice the same key gives the same bytes, and
 * our reader finds no packet in it that was not there. Then the bytes as one metadata text.
 */
#include "collect/packets/capture.h"
#include "collect/read/fast/metadata_text.h"
#include "collect/redact/capture_file.h"

#include <glib/gstdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *redact(const uint8_t *data, size_t size, bool *ret_is_done)
{
	g_autoptr(DtcPseudonyms) words = dtc_pseudonyms_new("a key of the tests", 18);
	g_autoptr(DtcAddresses) addresses = dtc_addresses_new(words);
	const struct dtc_capture_redaction redaction = { words, addresses, true, NULL };
	uint8_t *copy = g_malloc(size + 1);
	if (size > 0)
		memcpy(copy, data, size);
	*ret_is_done = dtc_capture_bytes_redact(&redaction, "fuzz", copy, size, NULL);
	return copy;
}

static guint64 count_packets(const uint8_t *data, size_t size)
{
	g_autofree char *path = NULL;
	int fd = g_file_open_tmp("dtc-fuzz-XXXXXX.pcap", &path, NULL);
	g_assert_cmpint(fd, >=, 0);
	g_close(fd, NULL);
	g_assert_true(g_file_set_contents(path, (const char *)data, (gssize)size, NULL));
	g_autoptr(DtcCapture) capture = dtc_capture_open("fuzz", path, NULL);
	guint64 count = 0;
	while (capture && dtc_capture_next(capture))
		count++;
	g_unlink(path);
	return count;
}

static char *describe(const char *name, const char *text, void *data)
{
	(void)name;
	(void)data;
	return g_strdup(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool is_done, is_again;
	g_autofree uint8_t *copy = redact(data, size, &is_done);
	g_autofree uint8_t *again = redact(data, size, &is_again);
	g_assert_cmpint(is_done, ==, is_again);
	g_assert_cmpmem(copy, size, again, size);
	if (is_done)
		g_assert_cmpuint(count_packets(copy, size), <=, count_packets(data, size));
	const struct dtc_rewrite rewrite = { .describe = describe };
	g_autoptr(GString) text = g_string_new_len((const char *)data, (gssize)size);
	g_string_free(dtc_metadata_text_rewrite(text, &rewrite), TRUE);
	return 0;
}
