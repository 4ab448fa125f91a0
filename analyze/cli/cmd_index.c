/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain index: reads a bundle ahead of all questions, and keeps what was read. */
#include "analyze/cli/command.h"
#include "analyze/engine/describe.h"
#include "analyze/engine/kept.h"
#include "collect/bundle/create.h"
#include "collect/bundle/scratch.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"
#include "dtrace-chain/error.h"

struct index_options {
	struct dtc_common_options common;
	char *out;
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct index_options *options = data;
	const GOptionEntry entries[] = {
		{ "index-only", 0, 0, G_OPTION_ARG_FILENAME, &options->out,
		  "Write a bundle of the indexes alone, a directory or a .dtcb file", "OUT" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, options);
}

/* The folder with the images becomes a bundle as any other does: with checksums, under another name until it is whole.
 */
static bool write_bundle(struct dtc_session *session, const char *folder, const GPtrArray *sources, GError **error)
{
	const struct index_options *options = session->options;
	g_autoptr(DtcManifest) manifest =
		dtc_describe_bundle(session->bundle, sources, session->findings, "dtrace-chain " DTC_VERSION);
	g_autoptr(DtcBundle) bundle = dtc_bundle_open(folder, error);
	g_autoptr(GPtrArray) files = bundle ? dtc_bundle_list_files(bundle, false, session->findings, error) : NULL;

	return files && dtc_bundle_create(files, manifest, options->out, NULL, NULL, error);
}

static char *describe(const struct dtc_session *session, const struct dtc_index_summary *summary)
{
	const struct index_options *options = session->options;
	const char *place = options->out ? options->out : dtc_store_get_directory(session->store);
	GString *out = g_string_new(NULL);

	if (!session->is_json)
		g_string_printf(out, "%s: %u of %u recordings, %.1f MB\n", place, summary->image_count,
				summary->all_count, (double)summary->bytes / 1e6);
	if (session->is_json) {
		g_string_append(out, "{\"schema\": \"dtrace-chain/index/1\"");
		dtc_json_add_text(out, "place", place);
		dtc_json_add_integer(out, "images", summary->image_count);
		dtc_json_add_integer(out, "recordings", summary->all_count);
		dtc_json_add_integer(out, "bytes", (int64_t)summary->bytes);
		dtc_json_append_key(out, "findings");
		g_string_append_c(out, '[');
	}
	for (guint i = 0; i < dtc_findings_get_count(session->findings); i++) {
		const struct dtc_finding *finding = dtc_findings_get(session->findings, i);
		g_autofree char *text =
			g_strdup_printf("%s: %s%s%s", dtc_severity_to_string(finding->severity),
					finding->node ? finding->node : "", finding->node ? ": " : "", finding->text);
		g_autofree char *printable = dtc_printable(text, 2000);
		if (session->is_json) {
			dtc_json_append_separator(out);
			dtc_json_append_string(out, printable);
			continue;
		}
		g_string_append_printf(out, "%s\n", printable);
	}
	if (session->is_json)
		g_string_append(out, "]}\n");
	return g_string_free(out, FALSE);
}

static bool answer(struct dtc_session *session, GError **error)
{
	const struct index_options *options = session->options;
	g_autoptr(DtcScratch) scratch = NULL;
	g_autoptr(GPtrArray) sources = NULL;
	struct dtc_index_summary summary;

	if (!dtc_session_open(session, error))
		return false;
	if (!options->out && !session->store)
		return dtc_cli_refuse(error, "there is no place to keep an index",
				      "name a cache, --cache DIR, or a new bundle, --index-only OUT");
	if (options->out && !(scratch = dtc_scratch_new(error)))
		return false;
	const char *folder = scratch ? dtc_scratch_get_path(scratch) : NULL;
	if (!dtc_index_bundle(session->bundle, session->store, folder, &session->watch, session->findings, &summary,
			      &sources, error))
		return false;
	if (summary.image_count < summary.all_count)
		session->exit_code = 3;
	return (!folder || write_bundle(session, folder, sources, error)) &&
	       dtc_session_print(session, describe(session, &summary), error);
}

const struct dtc_command dtc_command_index = {
	.name = "index",
	.options_bytes = sizeof(struct index_options),
	.add_options = add_options,
	.answer = answer,
};
