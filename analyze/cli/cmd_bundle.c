/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain bundle: makes bundles with a manifest, redacts them, checks that they are what they were, shows what
 * they say. */
#include "analyze/cli/command.h"
#include "analyze/engine/describe.h"
#include "analyze/engine/redact_bundle.h"
#include "analyze/report/bundle_view.h"
#include "collect/bundle/create.h"
#include "collect/bundle/pack.h"
#include "collect/bundle/scratch.h"
#include "collect/bundle/suggest.h"
#include "dtrace-chain/error.h"

#include <string.h>

struct bundle_options {
	struct dtc_common_options common;
	gboolean dereference;
	char *parts;
	char *key_file;
	char **id_headers;
	char **texts;
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct bundle_options *options = data;
	const GOptionEntry entries[] = {
		{ "dereference", 0, 0, G_OPTION_ARG_NONE, &options->dereference,
		  "create, redact: Take along what links lead to outside of the bundle", NULL },
		{ "redact", 0, 0, G_OPTION_ARG_STRING, &options->parts,
		  "redact: What goes (default: all three); payload goes with each of the others",
		  "payload,addresses,names" },
		{ "redact-key", 0, 0, G_OPTION_ARG_FILENAME, &options->key_file,
		  "redact: Make what stands in the place of names by this key, so that several bundles agree (default: "
		  "a "
		  "key that is kept nowhere)",
		  "FILE" },
		{ "id-header", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->id_headers,
		  "redact: A header whose value is an id, besides the known ones; repeatable", "NAME" },
		{ "tell", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->texts,
		  "redact: Say what this id, name or address is in the new bundle; repeatable", "TEXT" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

/* ---- create ---- */

static bool show_progress(guint64 done_bytes, guint64 all_bytes, void *data)
{
	DtcProgressLine *progress = data;

	if (!dtc_progress_line_is_due(progress))
		return true;
	double seconds = dtc_progress_line_get_seconds(progress);
	g_autofree char *remaining = dtc_progress_line_get_remaining(done_bytes, all_bytes, seconds);
	dtc_progress_line_show(progress, "%.0f %% of %.0f MB at %.0f MB/s%s",
			       all_bytes ? 100.0 * (double)done_bytes / (double)all_bytes : 100,
			       (double)all_bytes / 1e6, (double)done_bytes / 1e6 / seconds, remaining);
	return true;
}

static bool print(struct dtc_session *session, const struct dtc_bundle_view *view, GError **error)
{
	const struct dtc_terminal *terminal = &session->terminal;

	return dtc_session_print(session,
				 session->is_json ? dtc_bundle_view_to_json(view)
						  : dtc_bundle_view_to_text(view, terminal->width, terminal->has_color,
									    terminal->has_utf8),
				 error);
}

static bool create(struct dtc_session *session, GError **error)
{
	const struct bundle_options *options = session->options;
	const struct dtc_common_options *common = &options->common;

	if (session->argc < 2)
		return dtc_cli_refuse(error, "nothing to create",
				      "name the new bundle: dtrace-chain bundle create OUT.dtcb [BUNDLE]");
	const char *out = (++session->argv)[0];
	session->argc--;
	g_autoptr(GPtrArray) files =
		dtc_session_open(session, error)
			? dtc_bundle_list_files(session->bundle, options->dereference, session->findings, error)
			: NULL;
	if (!files)
		return false;
	g_autoptr(GPtrArray) census =
		dtc_census_new(session->bundle, session->store, &session->watch, session->findings, error);
	if (!census)
		return false;
	g_autoptr(DtcManifest) manifest =
		dtc_describe_bundle(session->bundle, census, session->findings, "dtrace-chain " DTC_VERSION);
	g_clear_pointer(&session->progress, dtc_progress_line_free);
	session->progress = dtc_progress_line_new(common->quiet); /* rates are of the writing alone */
	if (!dtc_bundle_create(files, manifest, out, show_progress, session->progress, error))
		return false;
	const struct dtc_bundle_view view = { .name = out, .manifest = manifest, .findings = session->findings };
	return print(session, &view, error);
}

/* ---- redact ---- */

static char **list_headers(char *const *headers)
{
	GPtrArray *list = g_ptr_array_new();
	for (; headers && *headers; headers++)
		g_ptr_array_add(list, g_ascii_strdown(*headers, -1));
	g_ptr_array_add(list, NULL);
	return (char **)g_ptr_array_free(list, FALSE);
}

static bool redact(struct dtc_session *session, GError **error)
{
	const struct bundle_options *options = session->options;
	g_auto(GStrv) headers = list_headers(options->id_headers);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	struct dtc_redacted redacted;

	if (session->argc < 2)
		return dtc_cli_refuse(error, "nothing to write to",
				      "name the new bundle: dtrace-chain bundle redact OUT.dtcb [BUNDLE]");
	const char *out = (++session->argv)[0];
	session->argc--;
	const struct dtc_redact_request request = {
		.parts = options->parts ? options->parts : "payload,addresses,names",
		.key_file = options->key_file,
		.id_headers = (const char *const *)headers,
		.texts = (const char *const *)options->texts,
		.follows_links = options->dereference,
		.made_by = "dtrace-chain " DTC_VERSION,
		.out = out,
	};
	if (!dtc_session_open(session, error) ||
	    !dtc_bundle_redact(session->bundle, &request, &session->watch, findings, &redacted, error))
		return false;
	const struct dtc_bundle_view view = {
		.name = out,
		.manifest = redacted.manifest,
		.findings = findings,
		.asked = request.texts,
		.became = (const char *const *)redacted.texts,
	};
	session->exit_code = dtc_findings_get_complete(findings) ? 0 : 3;
	bool is_printed = print(session, &view, error);
	dtc_redacted_clear(&redacted);
	return is_printed;
}

/* ---- check and show ---- */

static const char *find_place(const struct dtc_session *session, GError **error)
{
	const struct dtc_common_options *common = session->options;
	const char *place = common->bundle;

	if (common->nodes || common->node_paths || common->cluster) {
		dtc_cli_refuse(error, "--nodes, --node and --cluster go with bundle create and redact",
			       "a bundle is checked and shown as a whole");
		return NULL;
	}
	for (int i = 1; i < session->argc; i++) {
		if (strcmp(session->argv[i], "--") == 0)
			continue;
		if (place) {
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
				    "two bundles given: '%s' and '%s'\ngive one", place, session->argv[i]);
			return NULL;
		}
		place = session->argv[i];
	}
	if (!place)
		place = ".";
	if (g_file_test(place, G_FILE_TEST_IS_DIR) || g_file_test(place, G_FILE_TEST_IS_REGULAR))
		return place;
	bool exists = g_file_test(place, G_FILE_TEST_EXISTS);
	g_set_error(error, DTC_ANALYZE_ERROR, exists ? DTC_ERROR_UNREADABLE : DTC_ERROR_NOT_FOUND,
		    "bundle '%s' %s\na bundle is a directory or a .dtcb file", place,
		    exists ? "is neither a directory nor a file" : "does not exist");
	return NULL;
}

/* The directory in which the files are: of a packed bundle where they, or the one named only, are unpacked now. */
static const char *unpack(const struct dtc_common_options *common, const char *place, const char *only,
			  DtcScratch **ret_scratch, GError **error)
{
	const struct dtc_unpack_limits limits = { .max_bytes = common->max_unpacked_bytes };

	if (g_file_test(place, G_FILE_TEST_IS_DIR))
		return place;
	*ret_scratch = dtc_scratch_new(error);
	if (!*ret_scratch || !dtc_unpack(place, dtc_scratch_get_path(*ret_scratch), &limits, only, error))
		return NULL;
	return dtc_scratch_get_path(*ret_scratch);
}

/* Errors about the manifest name the bundle that was given, not the folder it was unpacked to. */
static DtcManifest *read_manifest(const char *place, const char *directory, GError **error)
{
	g_autoptr(GError) reason = NULL;
	g_autofree char *file = g_build_filename(directory, DTC_MANIFEST_NAME, NULL);
	g_autofree char *data = NULL;
	gsize bytes;

	if (strcmp(place, directory) == 0)
		return dtc_manifest_read_tree(directory, error);
	if (g_file_get_contents(file, &data, &bytes, NULL)) {
		g_autofree char *name = g_strconcat(place, ":", DTC_MANIFEST_NAME, NULL);
		return dtc_manifest_from_bytes(name, data, bytes, error);
	}
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
		    "packed bundle '%s' has no manifest\n"
		    "it can be analysed all the same; `dtrace-chain bundle create OUT %s` makes a copy that has one",
		    place, place);
	return NULL;
}

static bool show(struct dtc_session *session, GError **error)
{
	g_autoptr(DtcScratch) scratch = NULL;
	const char *place = find_place(session, error);
	const char *directory = place ? unpack(session->options, place, DTC_MANIFEST_NAME, &scratch, error) : NULL;
	g_autoptr(DtcManifest) manifest = directory ? read_manifest(place, directory, error) : NULL;

	if (!manifest)
		return false;
	const struct dtc_bundle_view view = { .name = place, .manifest = manifest, .lists_files = true };
	return print(session, &view, error);
}

static bool check(struct dtc_session *session, GError **error)
{
	const struct dtc_common_options *common = session->options;
	g_autoptr(DtcScratch) scratch = NULL;
	struct dtc_bundle_view view = { .is_check = true, .name = find_place(session, error) };
	enum dtc_seal seal;

	if (!view.name)
		return false;
	if (!g_file_test(view.name, G_FILE_TEST_IS_DIR)) {
		if (!dtc_pack_check_seal(view.name, &seal, error))
			return false;
		if (seal != DTC_SEAL_INTACT)
			view.seal_problem = seal == DTC_SEAL_BROKEN
						    ? "has changed since it was packed"
						    : "has no seal: it is cut, changed at its end, or was "
						      "not made by dtrace-chain bundle create";
	}
	const char *directory = unpack(common, view.name, NULL, &scratch, error);
	g_autoptr(DtcManifest) manifest = directory ? read_manifest(view.name, directory, error) : NULL;
	if (!manifest)
		return false;
	session->progress = dtc_progress_line_new(common->quiet);
	g_autoptr(GPtrArray) defects = dtc_manifest_check_files(manifest, directory, show_progress, session->progress);
	view.manifest = manifest;
	view.defects = defects;
	session->exit_code = dtc_bundle_view_is_intact(&view) ? 0 : 1;
	return print(session, &view, error);
}

/* ---- the command ---- */

static bool set_unknown_action(const char *word, GError **error)
{
	static const char *const actions[] = { "create", "redact", "check", "show", NULL };
	const char *nearest = word ? dtc_suggest(word, actions) : NULL;
	g_autofree char *shown = word ? g_strdup_printf("'%s' is nothing that can be done with a bundle", word)
				      : g_strdup("nothing to do with a bundle");

	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "%s\n%s%s%sgive create, redact, check or show", shown,
		    nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "");
	return false;
}

/* Who asks for redaction must not be left with a bundle that says everything. */
static bool check_has_no_redaction(const struct bundle_options *options, GError **error)
{
	const char *option = options->parts	   ? "--redact"
			     : options->key_file   ? "--redact-key"
			     : options->id_headers ? "--id-header"
			     : options->texts	   ? "--tell"
						   : NULL;
	if (!option)
		return true;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
		    "%s goes with bundle redact, and nothing else redacts\n"
		    "dtrace-chain bundle redact OUT.dtcb [BUNDLE]",
		    option);
	return false;
}

static bool answer(struct dtc_session *session, GError **error)
{
	const char *action = session->argc > 1 ? session->argv[1] : NULL;

	session->argc--;
	session->argv++;
	if (g_strcmp0(action, "redact") == 0)
		return redact(session, error);
	if (!check_has_no_redaction(session->options, error))
		return false;
	if (g_strcmp0(action, "create") == 0)
		return create(session, error);
	if (g_strcmp0(action, "check") == 0)
		return check(session, error);
	if (g_strcmp0(action, "show") == 0)
		return show(session, error);
	return set_unknown_action(action, error);
}

const struct dtc_command dtc_command_bundle = {
	.name = "bundle",
	.options_bytes = sizeof(struct bundle_options),
	.add_options = add_options,
	.answer = answer,
};
