/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/event_target.h"

#include "analyze/engine/event_fields.h"
#include "analyze/engine/event_list.h"
#include "analyze/engine/moment.h"
#include "dtrace-chain/error.h"

#include <inttypes.h>
#include <string.h>

#define NS_PER_S G_GINT64_CONSTANT(1000000000)

/* NAME[,FIELD=VALUE] */
struct wanted {
	char *name;
	char *field; /* NULL: any */
	char *value;
};

/* An event that was found. */
struct found {
	guint node;
	int32_t tid;
	int64_t time_ns; /* node time */
	int64_t cluster_ns;
};

static void wanted_clear(struct wanted *wanted)
{
	g_free(wanted->name);
	g_free(wanted->field);
	g_free(wanted->value);
}

static bool parse(const char *option, const char *text, struct wanted *ret_wanted, GError **error)
{
	const char *comma = strchr(text, ','), *equals = comma ? strchr(comma, '=') : NULL;

	if (!*text || comma == text || (comma && (!equals || equals == comma + 1))) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "%s '%s' is not of the form NAME or NAME,FIELD=VALUE\n"
			    "`dtrace-chain events` shows both; for example sched_process_exit,comm=panel",
			    option, text);
		return false;
	}
	ret_wanted->name = comma ? g_strndup(text, (gsize)(comma - text)) : g_strdup(text);
	ret_wanted->field = comma ? g_strndup(comma + 1, (gsize)(equals - comma - 1)) : NULL;
	ret_wanted->value = comma ? g_strdup(equals + 1) : NULL;
	return true;
}

bool dtc_event_target_check(const char *option, const char *text, GError **error)
{
	struct wanted wanted = { 0 };
	bool is_parsed = parse(option, text, &wanted, error);

	wanted_clear(&wanted);
	return is_parsed;
}

/* As `events` prints it: addresses with 0x, all else as it is. */
static bool has_value(const struct dtc_event *event, const struct dtc_event_field *field, const char *value)
{
	char number[32];

	if (field->form == DTC_FORM_TEXT)
		return event->text[field->slot] && strcmp(event->text[field->slot], value) == 0;
	if (event->v[field->slot] == DTC_ABSENT)
		return false;
	g_snprintf(number, sizeof(number),
		   field->form == DTC_FORM_ADDRESS    ? "0x%" PRIx64
		   : field->form == DTC_FORM_UNSIGNED ? "%" PRIu64
						      : "%" PRId64,
		   event->v[field->slot]);
	return strcmp(number, value) == 0;
}

static bool fits(const struct wanted *wanted, const struct dtc_event_line *line)
{
	if (!wanted->field)
		return true;
	for (const struct dtc_event_field *field = dtc_event_get_fields(line->event); field->name; field++)
		if (strcmp(field->name, wanted->field) == 0)
			return has_value(line->event, field, wanted->value);
	return false;
}

static bool is_of_thread(const struct dtc_thread_spec *spec, const struct dtc_event_line *line)
{
	if (!spec)
		return line->tid > 0; /* an idle CPU waits for nobody */
	if (strcmp(spec->node, line->node) != 0)
		return false;
	return spec->name ? line->comm && strcmp(line->comm, spec->name) == 0 : line->tid == spec->tid;
}

/* A moment on the clock of a node's trace. */
static bool resolve(const DtcHistory *history, const char *option, const char *text, int64_t otherwise_ns,
		    int64_t *ret_ns, GError **error)
{
	struct dtc_moment moment;

	*ret_ns = otherwise_ns;
	return !text || (dtc_moment_parse(option, text, &moment, error) &&
			 dtc_moment_resolve(option, text, &moment, dtc_history_get_begin_ns(history),
					    dtc_history_get_end_ns(history), ret_ns, error));
}

/* What is asked of one event. */
struct search {
	const DtcEngine *engine;
	const DtcBundle *bundle;
	const struct dtc_event_target *target;
	const struct wanted *wanted;
	const struct dtc_thread_spec *thread;
	int64_t after_ns; /* cluster time */
	bool needs_thread;
};

/* Whether the line is the one; false with error set where a time cannot be told. */
static bool is_it(const struct search *search, guint node, const struct dtc_event_line *line, GError **error)
{
	const DtcHistory *history = dtc_engine_get_history(search->engine, node);
	int64_t from_ns, to_ns;

	if (!history || line->time.ns < search->after_ns || !fits(search->wanted, line) ||
	    (search->needs_thread && !is_of_thread(search->thread, line)))
		return false;
	return resolve(history, "--from", search->target->from, INT64_MIN, &from_ns, error) &&
	       resolve(history, "--to", search->target->to, INT64_MAX, &to_ns, error) &&
	       line->event->time_ns >= from_ns && line->event->time_ns <= to_ns;
}

static bool find(const struct search *search, const char *option, const char *text, DtcFindings *findings,
		 struct found *ret_found, GError **error)
{
	const struct dtc_event_filter filter = { .tid = -1, .kinds = search->wanted->name, .end_ns = INT64_MAX };
	g_autoptr(DtcEventList) list =
		dtc_event_list_new(search->bundle, dtc_engine_get_clocks(search->engine), &filter, findings, error);
	const struct dtc_event_line *line;
	GError *wrong = NULL;

	if (!list)
		return false;
	while ((line = dtc_event_list_next(list)) && !wrong) {
		guint node;
		if (!dtc_engine_find_node(search->engine, line->node, &node, error))
			return false;
		if (!is_it(search, node, line, &wrong))
			continue;
		*ret_found = (struct found){ node, line->tid, line->event->time_ns, line->time.ns };
		return true;
	}
	if (wrong) {
		g_propagate_error(error, wrong);
		return false;
	}
	if (!dtc_event_list_finish(list, error))
		return false;
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
		    "no event fits %s '%s' in that span%s\n`dtrace-chain events --kind %s` lists all of that name",
		    option, text, search->needs_thread && search->thread ? " of that thread" : "",
		    search->wanted->name);
	return false;
}

/* "1795168587.000000400": as --from takes it, on the clock of the node's trace. */
static char *format_moment(int64_t time_ns)
{
	return g_strdup_printf("%" PRId64 ".%09" PRId64, time_ns / NS_PER_S, time_ns % NS_PER_S);
}

/* Of an event that ends the span the thread that ran, else the one that was named. */
static bool set_thread(struct dtc_question *question, const struct search *search, const struct found *begin,
		       const struct found *end, DtcFindings *findings, GError **error)
{
	const struct dtc_event_target *target = search->target;
	g_autofree char *node = target->until ? g_strdup(dtc_engine_get_node_names(search->engine)[end->node])
					      : g_strdup(target->thread->node);
	const struct dtc_thread_spec spec = {
		.node = node,
		.name = target->until ? NULL : target->thread->name,
		.tid = target->until ? end->tid : target->thread->tid,
	};
	guint index;

	if (!dtc_engine_find_node(search->engine, node, &index, error))
		return false;
	/* the begin may be another node's event */
	DtcNodeTime from =
		dtc_clocks_to_node(dtc_engine_get_clocks(search->engine), index, (DtcClusterTime){ begin->cluster_ns });
	g_autofree char *from_text = target->since ? format_moment(from.ns) : g_strdup(target->from);
	g_autofree char *to_text = target->until ? format_moment(end->time_ns) : g_strdup(target->to);
	return dtc_question_set_thread(question, search->engine, &spec, from_text, to_text, findings, error);
}

bool dtc_question_set_event(struct dtc_question *question, const DtcEngine *engine, const DtcBundle *bundle,
			    const struct dtc_event_target *target, DtcFindings *findings, GError **error)
{
	struct search search = { .engine = engine, .bundle = bundle, .target = target, .after_ns = INT64_MIN };
	struct wanted since = { 0 }, until = { 0 };
	struct found begin = { 0 }, end = { 0 };

	bool is_found = (!target->since || parse("--from-event", target->since, &since, error)) &&
			(!target->until || parse("--until-event", target->until, &until, error));
	search.wanted = &since;
	if (is_found && target->since) {
		is_found = find(&search, "--from-event", target->since, findings, &begin, error);
		search.after_ns = begin.cluster_ns + 1;
	}
	search.wanted = &until;
	search.thread = target->thread;
	search.needs_thread = true;
	if (is_found && target->until)
		is_found = find(&search, "--until-event", target->until, findings, &end, error);
	wanted_clear(&since);
	wanted_clear(&until);
	return is_found && set_thread(question, &search, &begin, &end, findings, error);
}
