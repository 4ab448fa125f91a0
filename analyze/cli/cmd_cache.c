/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain cache: what is kept of recordings that were read, and how to be rid of it. */
#include "analyze/cli/command.h"
#include "analyze/engine/kept.h"
#include "collect/console/json_object.h"
#include "collect/console/printable.h"

struct cache_options {
	struct dtc_common_options common;
	gboolean clears;
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct cache_options *options = data;
	const GOptionEntry entries[] = {
		{ "clear", 0, 0, G_OPTION_ARG_NONE, &options->clears, "Remove all that is kept", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	const struct dtc_common_options *common = session->options;

	if (session->argc > 1 || common->bundle || common->nodes || common->node_paths || common->cluster)
		return dtc_cli_refuse(
			error, "the cache is one for all bundles",
			"`dtrace-chain cache` shows it, `dtrace-chain cache --clear` removes what is in it");
	return true;
}

static char *clear(DtcStore *store, bool is_json, GError **error)
{
	guint count;
	guint64 bytes;

	if (!dtc_store_clear(store, &count, &bytes, error))
		return NULL;
	return is_json ? g_strdup_printf(
				 "{\"schema\": \"dtrace-chain/cache/1\", \"removed\": %u, \"bytes\": %" G_GUINT64_FORMAT
				 "}\n",
				 count, bytes)
		       : g_strdup_printf("%u images removed, %.1f MB\n", count, (double)bytes / 1e6);
}

static char *get_time(gint64 used_us)
{
	g_autoptr(GDateTime) used = g_date_time_new_from_unix_local(used_us / G_USEC_PER_SEC);

	return used ? g_date_time_format(used, "%Y-%m-%d %H:%M:%S") : g_strdup("?");
}

static char *list_as_json(const DtcStore *store, const GPtrArray *kept)
{
	GString *out = g_string_new("{\"schema\": \"dtrace-chain/cache/1\"");

	dtc_json_add_text(out, "directory", dtc_store_get_directory(store));
	dtc_json_append_key(out, "images");
	g_string_append_c(out, '[');
	for (guint i = 0; i < kept->len; i++) {
		const struct dtc_kept *image = kept->pdata[i];
		g_string_append(out, i ? ",\n{" : "\n{");
		dtc_json_add_text(out, "file", image->file);
		dtc_json_add_text(out, "node", image->node);
		dtc_json_add_text(out, "path", image->path);
		dtc_json_add_text(out, "clocks", image->clocks);
		dtc_json_add_bool(out, "is_capture", image->is_capture);
		dtc_json_add_integer(out, "bytes", (int64_t)image->bytes);
		dtc_json_add_integer(out, "used_us", image->used_us);
		g_string_append_c(out, '}');
	}
	g_string_append(out, "]}\n");
	return g_string_free(out, FALSE);
}

static char *list_as_text(const DtcStore *store, const GPtrArray *kept)
{
	GString *out = g_string_new(NULL);
	guint64 sum = 0;

	for (guint i = 0; i < kept->len; i++)
		sum += ((const struct dtc_kept *)kept->pdata[i])->bytes;
	g_string_append_printf(out, "%s: %u images, %.1f MB\n", dtc_store_get_directory(store), kept->len,
			       (double)sum / 1e6);
	if (kept->len)
		g_string_append_printf(out, "\n%-19s  %9s  %-12s  %-8s  %s\n", "last used", "MB", "node", "",
				       "recording");
	for (guint i = 0; i < kept->len; i++) {
		const struct dtc_kept *image = kept->pdata[i];
		g_autofree char *used = get_time(image->used_us);
		g_autofree char *node = dtc_printable(image->node ? image->node : "-", 200);
		g_autofree char *path = dtc_printable(image->path     ? image->path
						      : image->clocks ? image->clocks
								      : "cannot be read",
						      2000);
		g_string_append_printf(out, "%-19s  %9.1f  %-12s  %-8s  %s\n", used, (double)image->bytes / 1e6, node,
				       image->clocks	   ? "clocks"
				       : !image->node	   ? ""
				       : image->is_capture ? "captures"
							   : "trace",
				       path);
	}
	return g_string_free(out, FALSE);
}

static bool answer(struct dtc_session *session, GError **error)
{
	const struct cache_options *options = session->options;

	session->store = dtc_common_options_open_store(&options->common);
	if (!session->store)
		return dtc_cli_refuse(error, "there is no cache: --cache none, or the environment says so",
				      "name one: --cache DIR");
	if (options->clears) {
		char *text = clear(session->store, session->is_json, error);
		return text && dtc_session_print(session, text, error);
	}
	g_autoptr(GPtrArray) kept = dtc_kept_list(session->store);
	return dtc_session_print(
		session, session->is_json ? list_as_json(session->store, kept) : list_as_text(session->store, kept),
		error);
}

const struct dtc_command dtc_command_cache = {
	.name = "cache",
	.options_bytes = sizeof(struct cache_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
};
