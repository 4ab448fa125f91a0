/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/command.h"
#include "analyze/report/cause_page.h"

#include <string.h>

struct explain_options {
	struct dtc_common_options common;
	enum dtc_cause cause; /* DTC_CAUSES: all of them */
};

static bool find_cause(const char *word, enum dtc_cause *ret_cause, GError **error)
{
	const char *names[DTC_CAUSES + 1] = { NULL };

	for (guint i = 0; i < DTC_CAUSES; i++) {
		names[i] = dtc_cause_to_string((enum dtc_cause)i);
		if (strcmp(names[i], word) == 0) {
			*ret_cause = (enum dtc_cause)i;
			return true;
		}
	}
	g_autofree char *message = g_strdup_printf("'%s' is not a cause", word);
	return dtc_cli_refuse_word(error, message, word, "the causes", names);
}

static bool check(struct dtc_session *session, GError **error)
{
	struct explain_options *options = session->options;

	options->cause = DTC_CAUSES;
	if (session->argc > 2)
		return dtc_cli_refuse(error, "explain takes one cause", "`dtrace-chain explain` lists them");
	if (options->common.format && strcmp(options->common.format, "json") == 0)
		return dtc_cli_refuse(error, "explain is text for people",
				      "for programs docs/formats.md lists the causes");
	return session->argc < 2 || find_cause(session->argv[1], &options->cause, error);
}

static bool answer(struct dtc_session *session, GError **error)
{
	const struct explain_options *options = session->options;
	const struct dtc_terminal *t = &session->terminal;

	return dtc_session_print(session,
				 options->cause == DTC_CAUSES
					 ? dtc_cause_page_list(t->width, t->has_color, t->has_utf8)
					 : dtc_cause_page_to_text(options->cause, t->width, t->has_color, t->has_utf8),
				 error);
}

const struct dtc_command dtc_command_explain = {
	.name = "explain",
	.options_bytes = sizeof(struct explain_options),
	.check = check,
	.answer = answer,
};
