/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What reading traces costs without anything that is made of the events.
 *
 * bench-read events [--reference | --ahead] TRACE-DIR...
 *   decodes and merges, each trace by itself, all that the spellings ask for; --ahead with a thread that finds events.
 *   Metadata that declare the same are parsed once, as for all nodes that the program reads.
 * bench-read metadata [--reference] [COUNT [THREADS]] TRACE-DIR   parses and compiles, COUNT times in each of
 * THREADS
 */
#include "collect/read/ctf/clock_class.h"
#include "collect/read/ctf/ctf.h"
#include "collect/read/fast/fast.h"
#include "collect/read/fast/known.h"
#include "collect/read/fast/layout.h"
#include "collect/read/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double get_seconds(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* As the program opens the node; the reference in this process. */
static DtcReader *open_trace(const char *path, bool is_reference, DtcKnown *known, GError **error)
{
	const struct dtc_bundle_node node = {
		.name = (char *)"node",
		.kernel_path = (char *)path,
		.reader = { .choice = DTC_READER_FAST, .known = known },
	};
	return is_reference ? dtc_reader_open_with(&dtc_ctf_backend, "node", path, error)
			    : dtc_reader_open_node(&node, error);
}

static bool read_events(bool is_reference, gint spare, DtcKnown *known, const char *path, GError **error)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	double begin = get_seconds(CLOCK_PROCESS_CPUTIME_ID);
	double wall = get_seconds(CLOCK_MONOTONIC);
	g_autoptr(DtcReader) reader = open_trace(path, is_reference, known, error);
	uint64_t count = 0;
	if (!reader)
		return false;
	dtc_reader_share_threads(reader, &spare);
	while (dtc_reader_next(reader))
		count++;
	if (!dtc_reader_finish(reader, findings, error))
		return false;
	double seconds = get_seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
	wall = get_seconds(CLOCK_MONOTONIC) - wall;
	printf("%" PRIu64 " events, %.3f s CPU, %.1f ns each, %.3f s\n", count, seconds,
	       count ? seconds * 1e9 / (double)count : 0, wall);
	return true;
}

struct parsing {
	const struct dtc_backend_kind *kind;
	const char *path;
	guint count;
	bool is_done;
};

static bool parse_once(const char *path)
{
	GString *text = dtc_metadata_read_text(path);
	if (!text)
		return false;
	struct dtc_trace_declaration *declaration = dtc_declaration_parse(text->str, text->len, NULL);
	struct dtc_trace_layout *layout = declaration ? dtc_layout_compile(declaration, NULL) : NULL;
	bool is_done = layout != NULL;
	dtc_trace_layout_free(layout);
	dtc_trace_declaration_free(declaration);
	g_string_free(text, TRUE);
	return is_done;
}

/* babeltrace2 has no door to its parser but opening a trace. */
static bool open_once(const struct dtc_backend_kind *kind, const char *path)
{
	g_autoptr(DtcReader) reader = dtc_reader_open_with(kind, "node", path, NULL);
	return reader != NULL;
}

static gpointer parse_often(gpointer data)
{
	struct parsing *parsing = data;
	bool is_fast = parsing->kind == &dtc_fast_backend;
	parsing->is_done = true;
	for (guint i = 0; i < parsing->count; i++)
		parsing->is_done &= is_fast ? parse_once(parsing->path) : open_once(parsing->kind, parsing->path);
	return NULL;
}

static bool read_metadata(struct parsing parsing, guint thread_count, GError **error)
{
	g_autofree struct parsing *each = g_new(struct parsing, thread_count);
	g_autofree GThread **threads = g_new(GThread *, thread_count);
	bool is_done = true;
	double cpu = get_seconds(CLOCK_PROCESS_CPUTIME_ID), wall = get_seconds(CLOCK_MONOTONIC);
	for (guint i = 0; i < thread_count; i++) {
		each[i] = parsing;
		threads[i] = g_thread_new("metadata", parse_often, &each[i]);
	}
	for (guint i = 0; i < thread_count; i++) {
		g_thread_join(threads[i]);
		is_done &= each[i].is_done;
	}
	cpu = get_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = get_seconds(CLOCK_MONOTONIC) - wall;
	if (!is_done) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "the metadata of '%s' cannot be read",
			    parsing.path);
		return false;
	}
	printf("%.3f ms CPU each, %.3f ms until %u threads had one each\n", cpu * 1e3 / parsing.count / thread_count,
	       wall * 1e3 / parsing.count, thread_count);
	return true;
}

static int explain_usage(void)
{
	fprintf(stderr, "usage: bench-read events [--reference | --ahead] TRACE-DIR...\n"
			"       bench-read metadata [--reference] [COUNT [THREADS]] TRACE-DIR\n");
	return 2;
}

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	bool is_reference = argc > 2 && strcmp(argv[2], "--reference") == 0, is_done = true;
	bool is_ahead = argc > 2 && strcmp(argv[2], "--ahead") == 0;
	const struct dtc_backend_kind *kind = is_reference ? &dtc_ctf_backend : &dtc_fast_backend;
	int first = is_reference || is_ahead ? 3 : 2;
	if (first >= argc)
		return explain_usage();
	if (strcmp(argv[1], "events") == 0) {
		g_autoptr(DtcKnown) known = dtc_known_new();
		for (int i = first; is_done && i < argc; i++)
			is_done = read_events(is_reference, is_ahead, known, argv[i], &error);
	} else if (strcmp(argv[1], "metadata") == 0 && argc - first <= 3) {
		struct parsing parsing = { kind, argv[argc - 1], 1, false };
		if (argc - first > 1)
			parsing.count = (guint)CLAMP(atoi(argv[first]), 1, 1000000);
		is_done = read_metadata(parsing, argc - first > 2 ? (guint)CLAMP(atoi(argv[first + 1]), 1, 64) : 1,
					&error);
	} else {
		return explain_usage();
	}
	if (!is_done)
		fprintf(stderr, "bench-read: %s\n", error->message);
	return is_done ? 0 : 1;
}
