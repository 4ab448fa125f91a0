/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/command.h"

#include "analyze/cli/manual.h"
#include "collect/bundle/suggest.h"
#include "collect/console/command_line.h"
#include "dtrace-chain/error.h"

static bool answer(const struct dtc_command *command, DtcCommandLine *line, struct dtc_session *session, GError **error)
{
	const struct dtc_common_options *common = session->options;

	if (!dtc_command_line_parse(line, &session->argc, &session->argv, error))
		return false;
	if (common->is_utc)
		g_setenv("TZ", "UTC", TRUE); /* there is but one thread yet */
	if ((command->check && !command->check(session, error)) ||
	    !dtc_common_options_get_json(common, &session->is_json, error))
		return false;
	if (common->width && (common->width < DTC_WIDTH_MIN || common->width > DTC_WIDTH_MAX))
		return dtc_cli_refuse(error, "--width must be 40 to 1000 columns", "for example --width 160");
	session->terminal = dtc_terminal_get(common->color, (guint)common->width);
	session->findings = dtc_findings_new();
	return command->answer(session, error);
}

static void session_clear(struct dtc_session *session)
{
	dtc_progress_line_free(session->progress);
	dtc_engine_free(session->engine);
	dtc_bundle_free(session->bundle);
	dtc_store_free(session->store);
	dtc_findings_free(session->findings);
}

int dtc_command_run(const struct dtc_command *command, int argc, char **argv, const struct dtc_owners *owners)
{
	g_autoptr(DtcCommandLine) line = dtc_command_line_new(&dtc_chain_program, command->name);
	g_autofree void *options = g_malloc0(command->options_bytes);
	struct dtc_session session = { .options = options, .argc = argc, .argv = argv };
	g_autoptr(GError) error = NULL;

	((struct dtc_common_options *)options)->owners = owners;
	dtc_common_options_add(options, line);
	if (command->add_options)
		command->add_options(options, line);
	bool is_answered = answer(command, line, &session, &error);
	if (is_answered && session.exit_code == 0 && !dtc_findings_get_complete(session.findings))
		session.exit_code = 3;
	if (command->clear)
		command->clear(options);
	dtc_common_options_clear(options);
	dtc_command_line_clear_texts(line);
	session_clear(&session); /* the progress line, too, before anything else is written */
	return is_answered ? session.exit_code : dtc_cli_report_error(error);
}

bool dtc_session_open(struct dtc_session *session, GError **error)
{
	const struct dtc_common_options *common = session->options;

	session->bundle = dtc_common_options_open_bundle(common, session->argc, session->argv, error);
	if (!session->bundle)
		return false;
	session->store = dtc_common_options_open_store(common);
	dtc_bundle_report(session->bundle, session->findings);
	session->progress = dtc_progress_line_new(common->quiet);
	session->watch = dtc_progress_line_get_watch(session->progress);
	return true;
}

bool dtc_session_read(struct dtc_session *session, const struct dtc_engine_options *options, GError **error)
{
	const struct dtc_common_options *common = session->options;
	struct dtc_engine_options engine_options = *options;

	engine_options.sync_file = common->sync_file;
	engine_options.store = session->store;
	session->engine = dtc_engine_new(session->bundle, &engine_options, &session->watch, session->findings, error);
	return session->engine != NULL;
}

bool dtc_session_print(struct dtc_session *session, char *text, GError **error)
{
	g_autofree char *owned = text;

	if (session->progress)
		dtc_progress_line_clear(session->progress);
	return dtc_terminal_write(owned, error);
}

bool dtc_cli_refuse(GError **error, const char *message, const char *hint)
{
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "%s\n%s", message, hint);
	return false;
}

bool dtc_cli_refuse_word(GError **error, const char *message, const char *word, const char *what,
			 const char *const *words)
{
	const char *nearest = dtc_suggest(word, words);
	g_autofree char *list = g_strjoinv(", ", (char **)words);

	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "%s\n%s%s%s%s are %s", message,
		    nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "", what, list);
	return false;
}

int dtc_cli_report_error(const GError *error)
{
	return dtc_program_report_error(&dtc_chain_program, error);
}
