/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain stats: what a bundle holds, per node and per kind of event. Nothing is analysed, everything is read. */
#include "analyze/cli/command.h"
#include "analyze/report/stats_view.h"

static bool answer(struct dtc_session *session, GError **error)
{
	const struct dtc_terminal *terminal = &session->terminal;

	if (!dtc_session_open(session, error))
		return false;
	g_autoptr(GPtrArray) census =
		dtc_census_new(session->bundle, session->store, &session->watch, session->findings, error);
	if (!census)
		return false;
	const struct dtc_stats_input input = { session->bundle, census, session->findings };
	return dtc_session_print(
		session,
		session->is_json ? dtc_stats_to_json(&input)
				 : dtc_stats_to_text(&input, terminal->width, terminal->has_color, terminal->has_utf8),
		error);
}

const struct dtc_command dtc_command_stats = {
	.name = "stats",
	.options_bytes = sizeof(struct dtc_common_options),
	.answer = answer,
};
