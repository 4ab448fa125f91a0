/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/command.h"
#include "analyze/report/cause_page.h"

#include <string.h>

struct explain_options {
	struct dtc_common_options common;
	guint section; /* G_MAXUINT: all of them */
};

static bool find_section(const char *word, guint *ret_section, GError **error)
{
	guint count = dtc_cause_page_get_count();
	g_autofree const char **names = g_new0(const char *, count + 1);

	for (guint i = 0; i < count; i++) {
		names[i] = dtc_cause_page_get_name(i);
		if (strcmp(names[i], word) == 0) {
			*ret_section = i;
			return true;
		}
	}
	g_autofree char *message = g_strdup_printf("'%s' is not a cause", word);
	return dtc_cli_refuse_word(error, message, word, "the causes", names);
}

static bool check(struct dtc_session *session, GError **error)
{
	struct explain_options *options = session->options;

	options->section = G_MAXUINT;
	if (session->argc > 2)
		return dtc_cli_refuse(error, "explain takes one cause", "`dtrace-chain explain` lists them");
	if (options->common.format && strcmp(options->common.format, "json") == 0)
		return dtc_cli_refuse(error, "explain is text for people",
				      "for programs docs/formats.md lists the causes");
	return session->argc < 2 || find_section(session->argv[1], &options->section, error);
}

static bool answer(struct dtc_session *session, GError **error)
{
	const struct explain_options *options = session->options;
	const struct dtc_terminal *t = &session->terminal;

	return dtc_session_print(
		session,
		options->section == G_MAXUINT
			? dtc_cause_page_list(t->width, t->has_color, t->has_utf8)
			: dtc_cause_page_to_text(options->section, t->width, t->has_color, t->has_utf8),
		error);
}

const struct dtc_command dtc_command_explain = {
	.name = "explain",
	.options_bytes = sizeof(struct explain_options),
	.check = check,
	.answer = answer,
};
