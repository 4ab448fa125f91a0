/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A raw recording from anywhere: the parts of the input, separated by lines of "%%", are its formats, a walk of /proc,
 * the clocks, the drops and the pages of CPU 0 (the rest). It is sealed, or it is an error; never both, and what was
 * sealed is whole.
 */
#define _GNU_SOURCE /* memmem */
#include "collect/bundle/scratch.h"
#include "collect/seal/raw.h"
#include "dtrace-chain/manifest.h"

#include <glib/gstdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEPARATOR "\n%%\n"
#define PAGE_BYTES 4096

static const char recording[] = "[recording]\nversion=1\ntracer=tracefs\nnode=fuzz\ncpus=0;1;\npage-size=4096\n"
				"clock=mono\nbegin-ns=39708294152843\nend-ns=39709843569931\nstate=stopped\n";

/* The next part, and what is behind it. */
static gsize take_part(const char *data, gsize size, gsize *ret_rest)
{
	const char *end = memmem(data, size, SEPARATOR, strlen(SEPARATOR));
	gsize bytes = end ? (gsize)(end - data) : size;
	*ret_rest = end ? bytes + strlen(SEPARATOR) : size;
	return bytes;
}

static void write_parts(const char *raw, const char *data, gsize size)
{
	static const char *const names[] = { DTC_RAW_FORMATS, DTC_RAW_PROC_BEGIN, DTC_RAW_CLOCKS, DTC_RAW_DROPS };
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_build_filename(raw, names[i], NULL);
		gsize rest, bytes = take_part(data, size, &rest);
		g_file_set_contents(path, data, (gssize)bytes, NULL);
		data += rest;
		size -= rest;
	}
	g_autofree char *path = g_build_filename(raw, DTC_RAW_CPU "0", NULL);
	/* a page that is cut is not read: fill it up, so that short inputs are */
	gsize padded = (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	g_autofree char *pages = g_malloc0(padded + 1);
	memcpy(pages, data, size);
	g_file_set_contents(path, pages, (gssize)padded, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *raw = g_build_filename(dtc_scratch_get_path(scratch), DTC_RAW_FOLDER, NULL);
	g_autofree char *path = g_build_filename(raw, DTC_RAW_RECORDING, NULL);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	struct dtc_seal_options options = { .creator = "fuzz 1.0", .thread_count = 1 };
	struct dtc_seal_summary summary;
	g_autoptr(GError) error = NULL;

	if (!data) /* nothing at all has no place */
		data = (const uint8_t *)"";

	if (size > 1 << 20)
		return 0;
	g_mkdir(raw, 0700);
	g_file_set_contents(path, recording, -1, NULL);
	write_parts(raw, (const char *)data, size);
	bool is_sealed = dtc_seal_node(dtc_scratch_get_path(scratch), &options, findings, &summary, &error);
	if (is_sealed == !!error || g_file_test(raw, G_FILE_TEST_IS_DIR) == is_sealed)
		abort();
	g_autoptr(DtcManifest) manifest = dtc_manifest_read(dtc_scratch_get_path(scratch), NULL);
	if (is_sealed != !!manifest)
		abort();
	return 0;
}
