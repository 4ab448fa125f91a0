/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dtrace-chain events: the events of all nodes in one list on cluster time, so that any figure can be traced to what it
 * was computed from. The list is merged while it is read: its length costs no memory. Several nodes are read twice,
 * first for what aligns their clocks.
 */
#include "analyze/cli/command.h"
#include "analyze/engine/engine.h"
#include "analyze/engine/moment.h"
#include "analyze/engine/selection.h"
#include "analyze/report/events_view.h"
#include "collect/console/printable.h"
#include "dtrace-chain/error.h"

#define CHUNK_BYTES 65536 /* of output */

struct events_options {
	struct dtc_common_options common;
	char *thread;
	char *kinds;
	char *from;
	char *to;
	char *reference;
	int limit; /* 0: all */
	gboolean is_absolute;
	/* derived */
	struct dtc_thread_spec thread_spec; /* its tid is set for a name, too */
	bool needs_end;			    /* of the recording, to know of which day a time of day is */
};

static void add_options(void *data, DtcCommandLine *line)
{
	struct events_options *options = data;
	const GOptionEntry entries[] = {
		{ "thread", 't', 0, G_OPTION_ARG_STRING, &options->thread,
		  "Only events that this thread was running at, or that name it", "NODE:TID|NODE:NAME" },
		{ "kind", 'k', 0, G_OPTION_ARG_STRING, &options->kinds,
		  "Only events of these names; * and ? stand for any characters", "NAME[,NAME...]" },
		{ "from", 0, 0, G_OPTION_ARG_STRING, &options->from,
		  "First time: +1.5s, +200ms (since the traces' begin), 12:00:03.5, a date and time, or the "
		  "reference's clock",
		  "TIME" },
		{ "to", 0, 0, G_OPTION_ARG_STRING, &options->to, "Last time", "TIME" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit, "At most so many events (default: all)", "N" },
		{ "absolute", 0, 0, G_OPTION_ARG_NONE, &options->is_absolute,
		  "Times as the reference's clock shows them, not since the traces' begin", NULL },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock times are on (default: the thread's, or the best known)", "NODE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
}

static bool check(struct dtc_session *session, GError **error)
{
	struct events_options *options = session->options;
	if (options->limit < 0)
		return dtc_cli_refuse(error, "--limit is negative", "0 is no limit");
	if (options->thread && options->reference)
		return dtc_cli_refuse(error, "--thread and --reference do not go together",
				      "the events of one thread are all of one node");
	struct dtc_moment from = { 0 }, to = { 0 }; /* what is no time is told before anything is read */
	if ((options->from && !dtc_moment_parse("--from", options->from, &from, error)) ||
	    (options->to && !dtc_moment_parse("--to", options->to, &to, error)))
		return false;
	options->needs_end = (from.is_wall && !from.wall.has_date) || (to.is_wall && !to.wall.has_date);
	return true;
}

/* The answer, as far as it is not yet written. */
struct listing {
	struct dtc_session *session;
	GString *out;
	const char *reference; /* node whose clock is cluster time */
	guint64 shown;
};

static bool flush(struct listing *to, gsize from_bytes, GError **error)
{
	if (to->out->len < from_bytes)
		return true;
	bool is_ascii = !to->session->is_json && !to->session->terminal.has_utf8;
	g_autofree char *ascii = is_ascii ? dtc_printable_to_ascii(to->out->str) : NULL;
	bool written = dtc_terminal_write(ascii ? ascii : to->out->str, error);
	g_string_truncate(to->out, 0);
	return written;
}

static bool add_event(struct listing *to, struct dtc_event_line line, GError **error)
{
	const struct events_options *options = to->session->options;

	if (options->is_absolute)
		line.origin_ns = 0;
	if (to->session->is_json) {
		dtc_event_line_add_json(to->out, &line);
	} else {
		if (to->shown == 0)
			dtc_events_add_head_text(to->out, &line, to->reference);
		dtc_event_line_add_text(to->out, &line);
	}
	to->shown++;
	return flush(to, CHUNK_BYTES, error);
}

static void add_tail(struct listing *to)
{
	const struct dtc_terminal *terminal = &to->session->terminal;
	const DtcFindings *findings = to->session->findings;

	if (to->session->is_json)
		dtc_events_add_tail_json(to->out, to->shown, findings);
	else
		dtc_events_add_tail_text(to->out, findings, terminal->width, terminal->has_color, terminal->has_utf8);
}

static bool list_events(struct dtc_session *session, const DtcClocks *clocks, GError **error)
{
	const struct events_options *options = session->options;
	const struct dtc_event_filter filter = {
		.tid = options->thread ? options->thread_spec.tid : -1,
		.kinds = options->kinds,
		.from = options->from,
		.to = options->to,
		.end_ns = session->engine ? dtc_engine_get_end(session->engine).ns : INT64_MAX,
	};
	g_autoptr(GString) out = g_string_new(NULL);
	const char *reference = dtc_bundle_get_node(session->bundle, dtc_clocks_get_reference(clocks))->name;
	struct listing to = { session, out, reference, 0 };
	guint64 limit = (guint64)options->limit;
	const struct dtc_event_line *line;

	g_autoptr(DtcEventList) list = dtc_event_list_new(session->bundle, clocks, &filter, session->findings, error);
	if (!list)
		return false;
	if (session->is_json)
		dtc_events_add_head_json(out, reference);
	while ((!limit || to.shown < limit) && (line = dtc_event_list_next(list)))
		if (!add_event(&to, *line, error))
			return false;
	if (!dtc_event_list_finish(list, error))
		return false;
	add_tail(&to);
	return flush(&to, 1, error);
}

/* Whose the name of --thread is takes a history, which is built for that alone. */
static bool find_name(struct dtc_session *session, GError **error)
{
	struct events_options *options = session->options;
	const struct dtc_engine_options engine_options = { .sync_file = options->common.sync_file,
							   .store = session->store };
	const struct dtc_subject subject = { &options->thread_spec, NULL, options->from, options->to, false };
	struct dtc_selection selection;
	g_autoptr(DtcFindings) findings = dtc_findings_new(); /* the listing finds them again */
	g_autoptr(DtcEngine) engine =
		dtc_engine_new(session->bundle, &engine_options, &session->watch, findings, error);

	if (!engine || !dtc_selection_find(&subject, engine, findings, &selection, error))
		return false;
	const DtcHistory *history = dtc_engine_get_history(engine, selection.node);
	options->thread_spec.tid = dtc_history_get_thread(history, selection.thread)->tid;
	dtc_selection_clear(&selection);
	return true;
}

static bool select_thread(struct dtc_session *session, GError **error)
{
	struct events_options *options = session->options;

	if (!dtc_thread_spec_parse(options->thread, session->bundle, &options->thread_spec, error))
		return false;
	const char *const only[] = { options->thread_spec.node, NULL };
	return dtc_bundle_select(session->bundle, only, error) &&
	       (!options->thread_spec.name || find_name(session, error));
}

static bool answer(struct dtc_session *session, GError **error)
{
	const struct events_options *options = session->options;
	const struct dtc_engine_options engine_options = { .reference = options->reference, .clocks_only = true };

	if (!dtc_session_open(session, error) || (options->thread && !select_thread(session, error)))
		return false;
	guint count = dtc_bundle_get_count(session->bundle);
	g_autoptr(DtcClocks) identity = count > 1 || options->needs_end ? NULL : dtc_clocks_new_identity(count);
	if (!identity && !dtc_session_read(session, &engine_options, error))
		return false;
	dtc_progress_line_clear(session->progress);
	return list_events(session, identity ? identity : dtc_engine_get_clocks(session->engine), error);
}

static void clear(void *data)
{
	struct events_options *options = data;

	dtc_thread_spec_clear(&options->thread_spec);
}

const struct dtc_command dtc_command_events = {
	.name = "events",
	.options_bytes = sizeof(struct events_options),
	.add_options = add_options,
	.check = check,
	.answer = answer,
	.clear = clear,
};
