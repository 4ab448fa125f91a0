/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A capture file of any bytes, through libpcap and our decoder. Two readings must be the same. */
#include "collect/packets/capture.h"

#include <glib/gstdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static guint64 read_capture(const char *path)
{
	g_autoptr(DtcCapture) capture = dtc_capture_open("fuzz", path, NULL);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	guint64 sum = 0;
	const struct dtc_captured *captured;
	while (capture && (captured = dtc_capture_next(capture))) {
		sum = sum * 31 + (guint64)captured->time_ns + captured->headers.payload_bytes + captured->headers.seq;
		for (uint32_t i = 0; i < captured->payload_captured_bytes; i++)
			sum = sum * 31 + captured->payload[i];
		g_assert_cmpuint(captured->payload_captured_bytes, <=, captured->headers.payload_bytes);
	}
	if (capture)
		dtc_capture_finish(capture, findings);
	return sum * 31 + dtc_findings_get_count(findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *path = NULL;
	int fd = g_file_open_tmp("dtc-fuzz-XXXXXX.pcap", &path, NULL);
	g_assert_cmpint(fd, >=, 0);
	g_close(fd, NULL);
	g_assert_true(g_file_set_contents(path, (const char *)data, (gssize)size, NULL));
	g_assert_cmpuint(read_capture(path), ==, read_capture(path));
	g_unlink(path);
	return 0;
}
