/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain bundle: makes bundles with a manifest, checks that they are what they were, shows what they say. */
#include "analyze/cli/census.h"
#include "analyze/cli/command.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "analyze/report/bundle_view.h"
#include "collect/bundle/create.h"
#include "collect/bundle/pack.h"
#include "collect/bundle/scratch.h"
#include "collect/bundle/suggest.h"
#include "collect/read/clock_class.h"
#include "dtrace-chain/error.h"

#include <string.h>

struct bundle_options {
	struct dtc_common_options common;
	bool is_json;
};

/* ---- create ---- */

static void show_progress(guint64 done_bytes, guint64 all_bytes, void *data)
{
	DtcProgress *progress = data;

	if (!dtc_progress_is_due(progress))
		return;
	double seconds = dtc_progress_get_seconds(progress);
	g_autofree char *remaining = dtc_progress_get_remaining(done_bytes, all_bytes, seconds);
	dtc_progress_show(progress, "%.0f %% of %.0f MB at %.0f MB/s%s",
			  all_bytes ? 100.0 * (double)done_bytes / (double)all_bytes : 100, (double)all_bytes / 1e6,
			  (double)done_bytes / 1e6 / seconds, remaining);
}

static void describe_role(struct dtc_manifest_node *node, const DtcCluster *cluster)
{
	const struct dtc_cluster_node *known = cluster ? dtc_cluster_find_node(cluster, node->name) : NULL;

	if (!known)
		return;
	g_free(node->role);
	g_free(node->host);
	g_strfreev(node->addresses);
	node->role = g_strdup(known->role);
	node->host = g_strdup(known->host);
	node->addresses = g_strdupv(known->addresses);
	if (known->vcpu_tids->len)
		g_array_append_vals(node->vcpu_tids, known->vcpu_tids->data, known->vcpu_tids->len);
}

static void set_text(char **to, const char *text)
{
	g_free(*to);
	/* a trace may say anything; a manifest is printable and short */
	*to = g_utf8_validate(text, -1, NULL) ? g_strndup(text, 200) : g_strdup("");
	for (char *c = *to; *c; c++)
		if (g_ascii_iscntrl(*c))
			*c = '?';
	if (!g_utf8_validate(*to, -1, NULL))
		**to = 0;
}

static bool is_complete(const DtcFindings *findings, const char *node)
{
	for (guint i = 0; i < dtc_findings_get_count(findings); i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		if (finding->incomplete && g_strcmp0(finding->node, node) == 0)
			return false;
	}
	return true;
}

static void describe_node(DtcManifest *manifest, const DtcBundle *bundle, guint index, const GArray *sources,
			  const DtcFindings *findings)
{
	const struct dtc_bundle_node *from = dtc_bundle_get_node(bundle, index);
	const struct dtc_census_source *kernel = dtc_census_find(sources, index, false);
	const struct dtc_census_source *capture = dtc_census_find(sources, index, true);
	struct dtc_manifest_node *node = dtc_manifest_add_node(manifest, from->name);

	describe_role(node, dtc_bundle_get_cluster(bundle));
	node->is_complete = is_complete(findings, from->name);
	node->packets = capture ? capture->packets : 0;
	if (!kernel)
		return;
	dtc_clock_class_read(from->kernel_path, &node->clock);
	node->events = kernel->events;
	node->lost_events = kernel->lost_events;
	if (kernel->release)
		set_text(&node->release, kernel->release);
	if (kernel->tracer)
		set_text(&node->tracer, kernel->tracer);
	if (kernel->events) {
		node->begin_ns = kernel->begin_ns;
		node->end_ns = kernel->end_ns;
	}
}

static bool print(const struct bundle_options *options, const struct dtc_bundle_view *view, GError **error)
{
	const struct dtc_terminal terminal = dtc_terminal_get(options->common.color);
	g_autofree char *text =
		options->is_json ? dtc_bundle_view_to_json(view)
				 : dtc_bundle_view_to_text(view, terminal.width, terminal.has_color, terminal.has_utf8);

	return dtc_terminal_write(text, error);
}

static bool create(const struct bundle_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	if (argc < 2) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "nothing to create\nname the new bundle: dtrace-chain bundle create OUT.dtcb [BUNDLE]");
		return false;
	}
	const char *out = argv[1];
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc - 1, argv + 1, error);
	g_autoptr(GPtrArray) files = bundle ? dtc_bundle_list_files(bundle, error) : NULL;
	if (!files)
		return false;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GArray) sources = dtc_census_new(bundle, options->common.quiet, findings, error);
	if (!sources)
		return false;
	g_autoptr(DtcManifest) manifest = dtc_manifest_new("dtrace-chain " DTC_VERSION);
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++)
		describe_node(manifest, bundle, i, sources, findings);
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	if (!dtc_bundle_create(files, manifest, out, show_progress, progress, error))
		return false;
	dtc_progress_clear(progress);
	*ret_complete = dtc_findings_get_complete(findings);
	const struct dtc_bundle_view view = { .name = out, .manifest = manifest, .findings = findings };
	return print(options, &view, error);
}

/* ---- check and show ---- */

static const char *find_place(const struct bundle_options *options, int argc, char **argv, GError **error)
{
	const char *place = options->common.bundle;

	if (options->common.nodes || options->common.node_paths || options->common.cluster) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "--nodes, --node and --cluster go with bundle create\n"
			    "a bundle is checked and shown as a whole");
		return NULL;
	}
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			continue;
		if (place) {
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
				    "two bundles given: '%s' and '%s'\ngive one", place, argv[i]);
			return NULL;
		}
		place = argv[i];
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
static const char *unpack(const struct bundle_options *options, const char *place, const char *only,
			  DtcScratch **ret_scratch, GError **error)
{
	const struct dtc_unpack_limits limits = { .max_bytes = options->common.max_unpacked_bytes };

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
		return dtc_manifest_read(directory, error);
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

static bool show(const struct bundle_options *options, int argc, char **argv, GError **error)
{
	g_autoptr(DtcScratch) scratch = NULL;
	const char *place = find_place(options, argc, argv, error);
	const char *directory = place ? unpack(options, place, DTC_MANIFEST_NAME, &scratch, error) : NULL;
	g_autoptr(DtcManifest) manifest = directory ? read_manifest(place, directory, error) : NULL;

	if (!manifest)
		return false;
	const struct dtc_bundle_view view = { .name = place, .manifest = manifest, .lists_files = true };
	return print(options, &view, error);
}

static bool check(const struct bundle_options *options, int argc, char **argv, bool *ret_intact, GError **error)
{
	g_autoptr(DtcScratch) scratch = NULL;
	struct dtc_bundle_view view = { .is_check = true, .name = find_place(options, argc, argv, error) };
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
	const char *directory = unpack(options, view.name, NULL, &scratch, error);
	g_autoptr(DtcManifest) manifest = directory ? read_manifest(view.name, directory, error) : NULL;
	if (!manifest)
		return false;
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	g_autoptr(GPtrArray) defects = dtc_manifest_check_files(manifest, directory, show_progress, progress);
	dtc_progress_clear(progress);
	view.manifest = manifest;
	view.defects = defects;
	*ret_intact = dtc_bundle_view_is_intact(&view);
	return print(options, &view, error);
}

/* ---- the command ---- */

static bool set_unknown_action(const char *word, GError **error)
{
	static const char *const actions[] = { "create", "check", "show", NULL };
	const char *nearest = word ? dtc_suggest(word, actions) : NULL;
	g_autofree char *shown = word ? g_strdup_printf("'%s' is nothing that can be done with a bundle", word)
				      : g_strdup("nothing to do with a bundle");

	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "%s\n%s%s%sgive create, check or show", shown,
		    nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "");
	return false;
}

static bool run(struct bundle_options *options, int argc, char **argv, int *ret_code, GError **error)
{
	g_autoptr(DtcCommandLine) line = dtc_command_line_new("bundle");
	bool is_good = true;

	dtc_common_options_add(&options->common, line);
	if (!dtc_command_line_parse(line, &argc, &argv, error) ||
	    !dtc_common_options_get_json(&options->common, &options->is_json, error))
		return false;
	const char *action = argc > 1 ? argv[1] : NULL;
	if (g_strcmp0(action, "create") == 0) {
		if (!create(options, argc - 1, argv + 1, &is_good, error))
			return false;
		*ret_code = is_good ? 0 : 3;
		return true;
	}
	if (g_strcmp0(action, "check") == 0) {
		if (!check(options, argc - 1, argv + 1, &is_good, error))
			return false;
		*ret_code = is_good ? 0 : 1;
		return true;
	}
	if (g_strcmp0(action, "show") == 0)
		return show(options, argc - 1, argv + 1, error);
	return set_unknown_action(action, error);
}

int dtc_command_bundle(int argc, char **argv)
{
	struct bundle_options options = { 0 };
	g_autoptr(GError) error = NULL;
	int code = 0;

	if (!run(&options, argc, argv, &code, &error))
		code = dtc_cli_report_error(error);
	dtc_common_options_clear(&options.common);
	return code;
}
