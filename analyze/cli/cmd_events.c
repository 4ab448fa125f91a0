/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dtrace-chain events: the events of all nodes in one list on cluster time, so that any figure can be traced to what it
 * was computed from. The list is merged while it is read: its length costs no memory. Several nodes are read twice,
 * first for what aligns their clocks.
 */
#include "analyze/cli/command.h"
#include "analyze/cli/load.h"
#include "analyze/cli/moment.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"
#include "analyze/cli/thread_spec.h"
#include "analyze/report/events_view.h"
#include "analyze/report/finding_list.h"
#include "analyze/report/json_object.h"
#include "collect/bundle/suggest.h"
#include "collect/read/merge.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define CHUNK_BYTES 65536 /* of output */
#define CPU_LIMIT 8192	  /* as in the state machine: what a damaged event may claim */
#define COMM_BYTES 64	  /* 16 in the kernel */

struct events_options {
	struct dtc_common_options common;
	char *thread; /* all strings owned */
	char *kinds;
	char *from;
	char *to;
	char *reference;
	int limit; /* 0: all */
	gboolean is_absolute;
	/* derived */
	struct dtc_thread_spec thread_spec; /* its tid is set for a name, too */
	char **patterns;		    /* owned */
	struct dtc_moment from_moment, to_moment;
	bool is_json;
};

static void options_clear(struct events_options *options)
{
	dtc_common_options_clear(&options->common);
	g_free(options->thread);
	g_free(options->kinds);
	g_free(options->from);
	g_free(options->to);
	g_free(options->reference);
	dtc_thread_spec_clear(&options->thread_spec);
	g_strfreev(options->patterns);
}

static bool parse_options(struct events_options *options, int *argc, char ***argv, GError **error)
{
	const GOptionEntry entries[] = {
		{ "thread", 't', 0, G_OPTION_ARG_STRING, &options->thread,
		  "Only events that this thread was running at, or that name it", "NODE:TID|NODE:NAME" },
		{ "kind", 'k', 0, G_OPTION_ARG_STRING, &options->kinds,
		  "Only events of these names; * and ? stand for any characters", "NAME[,NAME...]" },
		{ "from", 0, 0, G_OPTION_ARG_STRING, &options->from,
		  "First time: +1.5s, +200ms (since the traces' begin) or the reference's clock", "TIME" },
		{ "to", 0, 0, G_OPTION_ARG_STRING, &options->to, "Last time", "TIME" },
		{ "limit", 'n', 0, G_OPTION_ARG_INT, &options->limit, "At most so many events (default: all)", "N" },
		{ "absolute", 0, 0, G_OPTION_ARG_NONE, &options->is_absolute,
		  "Times as the reference's clock shows them, not since the traces' begin", NULL },
		{ "reference", 0, 0, G_OPTION_ARG_STRING, &options->reference,
		  "Node whose clock times are on (default: the thread's, or the best known)", "NODE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(DtcCommandLine) line = dtc_command_line_new("events");

	dtc_common_options_add(&options->common, line);
	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	return dtc_command_line_parse(line, argc, argv, error);
}

static bool check_options(struct events_options *options, GError **error)
{
	if (options->limit < 0) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "--limit is negative\n0 is no limit");
		return false;
	}
	if (options->thread && options->reference) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "--thread and --reference do not go together\n"
			    "the events of one thread are all of one node");
		return false;
	}
	if ((options->from && !dtc_moment_parse("--from", options->from, &options->from_moment, error)) ||
	    (options->to && !dtc_moment_parse("--to", options->to, &options->to_moment, error)))
		return false;
	if (options->kinds) {
		options->patterns = g_strsplit(options->kinds, ",", -1);
		for (char **pattern = options->patterns; *pattern; pattern++)
			g_strstrip(*pattern);
	}
	return dtc_common_options_get_json(&options->common, &options->is_json, error);
}

/* Who runs on a CPU. */
struct occupant {
	int32_t tid; /* -1: not known */
	char comm[COMM_BYTES];
};

struct source {
	const char *name; /* of the node */
	guint node;
	DtcReader *reader;
	const struct dtc_event *event; /* the next one; NULL: ended */
	DtcClusterTime time;
	int64_t origin_ns;
	int64_t from_ns; /* cluster time, both inclusive */
	int64_t to_ns;
	GArray *occupants; /* struct occupant by CPU */
	GArray *wanted;	   /* uint8_t by event name: 0 not yet matched, 1 no, 2 yes */
	bool saw_loss;
};

struct listing {
	const struct events_options *options;
	const DtcClocks *clocks;
	struct source *sources; /* owned */
	guint source_count;
	DtcMerge *merge;
	GString *out;
	guint64 shown;
	bool matched_any; /* an event's name fits --kind */
	DtcFindings *findings;
};

static void listing_clear(struct listing *listing)
{
	for (guint i = 0; i < listing->source_count; i++) {
		struct source *source = &listing->sources[i];
		dtc_reader_free(source->reader);
		g_array_unref(source->occupants);
		g_array_unref(source->wanted);
	}
	g_free(listing->sources);
	if (listing->merge)
		dtc_merge_free(listing->merge);
	g_string_free(listing->out, TRUE);
}

static void advance(const struct listing *listing, struct source *source)
{
	source->event = dtc_reader_next(source->reader);
	if (source->event)
		source->time =
			dtc_clocks_to_cluster(listing->clocks, source->node, (DtcNodeTime){ source->event->time_ns });
}

static bool open_sources(struct listing *listing, const DtcBundle *bundle, GError **error)
{
	guint count = dtc_bundle_get_count(bundle);
	GError *first_error = NULL;

	listing->sources = g_new0(struct source, count + 1);
	for (guint node = 0; node < count; node++) {
		const struct dtc_bundle_node *from = dtc_bundle_get_node(bundle, node);
		if (!from->kernel_path)
			continue;
		g_autoptr(GError) open_error = NULL;
		DtcReader *reader = dtc_reader_open(from->name, from->kernel_path, &open_error);
		if (!reader) {
			dtc_findings_add(listing->findings, DTC_SEVERITY_ERROR, true, from->name,
					 "the kernel trace cannot be read: %.*s",
					 (int)strcspn(open_error->message, "\n"), open_error->message);
			if (!first_error)
				first_error = g_steal_pointer(&open_error);
			continue;
		}
		struct source *source = &listing->sources[listing->source_count++];
		source->name = from->name;
		source->node = node;
		source->reader = reader;
		source->occupants = g_array_new(FALSE, TRUE, sizeof(struct occupant));
		source->wanted = g_array_new(FALSE, TRUE, sizeof(uint8_t));
		advance(listing, source);
	}
	if (listing->source_count > 0) {
		g_clear_error(&first_error);
		return true;
	}
	if (first_error)
		g_propagate_error(error, first_error);
	else
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "no node has a kernel trace, so there are no events to list\n"
			    "`dtrace-chain stats` tells what each node has");
	return false;
}

static int64_t resolve(const struct dtc_moment *moment, int64_t origin_ns)
{
	int64_t ns = moment->ns;

	if (moment->is_relative && __builtin_add_overflow(origin_ns, moment->ns, &ns))
		ns = INT64_MAX;
	return ns;
}

/* Relative times count from the first event of the nodes that are aligned with each other. */
static bool set_spans(struct listing *listing, GError **error)
{
	const struct events_options *options = listing->options;

	for (guint i = 0; i < listing->source_count; i++) {
		struct source *source = &listing->sources[i];
		bool has_origin = false;
		for (guint k = 0; k < listing->source_count; k++) {
			const struct source *other = &listing->sources[k];
			if (!other->event || dtc_clocks_get_group(listing->clocks, other->node) !=
						     dtc_clocks_get_group(listing->clocks, source->node))
				continue;
			if (!has_origin || other->time.ns < source->origin_ns)
				source->origin_ns = other->time.ns;
			has_origin = true;
		}
		source->from_ns = options->from ? resolve(&options->from_moment, source->origin_ns) : INT64_MIN;
		source->to_ns = options->to ? resolve(&options->to_moment, source->origin_ns) : INT64_MAX;
		if (has_origin && source->from_ns > source->to_ns) {
			g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "--from '%s' is after --to '%s'",
				    options->from ? options->from : "the begin", options->to ? options->to : "the end");
			return false;
		}
	}
	return true;
}

static struct occupant *get_occupant(struct source *source, uint32_t cpu)
{
	guint length = source->occupants->len;

	if (cpu >= length) {
		g_array_set_size(source->occupants, cpu + 1);
		for (guint i = length; i <= cpu; i++)
			g_array_index(source->occupants, struct occupant, i).tid = -1;
	}
	return &g_array_index(source->occupants, struct occupant, cpu);
}

static void set_occupant(struct occupant *occupant, int64_t tid, const char *comm)
{
	bool is_known = tid >= 0 && tid <= INT32_MAX;

	occupant->tid = is_known ? (int32_t)tid : -1;
	g_strlcpy(occupant->comm, is_known && comm ? comm : "", COMM_BYTES);
}

static bool fits_kind(struct listing *listing, struct source *source)
{
	const struct events_options *options = listing->options;
	guint name = source->event->name;

	if (!options->patterns)
		return true;
	if (name >= source->wanted->len)
		g_array_set_size(source->wanted, name + 1);
	uint8_t *wanted = &g_array_index(source->wanted, uint8_t, name);
	if (*wanted == 0) {
		const char *text = dtc_reader_get_event_name(source->reader, name);
		*wanted = 1;
		for (char **pattern = options->patterns; *pattern; pattern++)
			if (g_pattern_match_simple(*pattern, text))
				*wanted = 2;
	}
	listing->matched_any |= *wanted == 2;
	return *wanted == 2;
}

static bool is_wanted(struct listing *listing, struct source *source, const struct occupant *occupant)
{
	const struct events_options *options = listing->options;

	if (!fits_kind(listing, source) || source->time.ns < source->from_ns || source->time.ns > source->to_ns)
		return false;
	return !options->thread || occupant->tid == options->thread_spec.tid ||
	       dtc_event_names_thread(source->event, options->thread_spec.tid);
}

static bool flush(struct listing *listing, gsize from_bytes, GError **error)
{
	if (listing->out->len < from_bytes)
		return true;
	bool written = dtc_terminal_write(listing->out->str, error);
	g_string_truncate(listing->out, 0);
	return written;
}

static bool show(struct listing *listing, struct source *source, const struct occupant *occupant, GError **error)
{
	const struct dtc_event_line line = {
		.node = source->name,
		.reader = source->reader,
		.event = source->event,
		.time = source->time,
		.origin_ns = listing->options->is_absolute ? 0 : source->origin_ns,
		.tid = occupant->tid,
		.comm = occupant->tid >= 0 && *occupant->comm ? occupant->comm : NULL,
	};

	if (listing->options->is_json)
		dtc_event_line_add_json(listing->out, &line);
	else
		dtc_event_line_add_text(listing->out, &line);
	listing->shown++;
	return flush(listing, CHUNK_BYTES, error);
}

/* One event: who runs before it is whose event it is; who runs after it is whose the next ones are. */
static bool take(struct listing *listing, struct source *source, GError **error)
{
	const struct dtc_event *event = source->event;
	bool taken = true;

	if (event->cpu >= CPU_LIMIT)
		return true;
	struct occupant *occupant = get_occupant(source, event->cpu);
	if (event->kind == DTC_EVENT_SCHED_SWITCH)
		set_occupant(occupant, event->v[DTC_SWITCH_PREV_TID], event->text[0]);
	if (is_wanted(listing, source, occupant))
		taken = show(listing, source, occupant, error);
	if (event->kind == DTC_EVENT_SCHED_SWITCH) {
		set_occupant(occupant, event->v[DTC_SWITCH_NEXT_TID], event->text[1]);
	} else if (event->kind == DTC_EVENT_LOST) {
		set_occupant(occupant, -1, NULL);
		source->saw_loss = true;
	}
	return taken;
}

static bool merge(struct listing *listing, GError **error)
{
	guint64 limit = (guint64)listing->options->limit;
	guint top;

	listing->merge = dtc_merge_new(listing->source_count);
	for (guint i = 0; i < listing->source_count; i++)
		dtc_merge_set(listing->merge, i, listing->sources[i].time.ns, !listing->sources[i].event);
	dtc_merge_build(listing->merge);
	while ((!limit || listing->shown < limit) && (top = dtc_merge_get_top(listing->merge)) != G_MAXUINT) {
		struct source *source = &listing->sources[top];
		bool has_ended = source->time.ns > source->to_ns; /* time goes one way: the rest is later still */
		if (!has_ended) {
			if (!take(listing, source, error))
				return false;
			advance(listing, source);
		}
		dtc_merge_replace_top(listing->merge, source->time.ns, has_ended || !source->event);
	}
	return true;
}

static bool finish_sources(struct listing *listing, GError **error)
{
	for (guint i = 0; i < listing->source_count; i++) {
		struct source *source = &listing->sources[i];
		if (!source->event) {
			if (!dtc_reader_finish(source->reader, listing->findings, error))
				return false;
		} else if (source->saw_loss) {
			dtc_findings_add(listing->findings, DTC_SEVERITY_WARNING, true, source->name,
					 "events were lost");
		}
	}
	return true;
}

static bool check_kinds(const struct listing *listing, GError **error)
{
	if (listing->matched_any || !listing->options->patterns)
		return true;
	/* the nearest of the names that were read, by the first source that has one */
	const char *nearest = NULL;
	for (guint i = 0; !nearest && i < listing->source_count; i++) {
		const DtcReader *reader = listing->sources[i].reader;
		guint count = dtc_reader_get_event_name_count(reader);
		g_autofree const char **names = g_new0(const char *, count + 1);
		for (guint k = 0; k < count; k++)
			names[k] = dtc_reader_get_event_name(reader, k);
		nearest = dtc_suggest(listing->options->kinds, names);
	}
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_NOT_FOUND,
		    "no event up to the end of the span is called '%s'\n%s%s%s"
		    "`dtrace-chain stats` lists the names; * stands for any characters, as in 'syscall_*'",
		    listing->options->kinds, nearest ? "did you mean '" : "", nearest ? nearest : "",
		    nearest ? "'? " : "");
	return false;
}

static void add_head(const struct listing *listing, const DtcBundle *bundle)
{
	GString *out = listing->out;

	if (!listing->options->is_json)
		return;
	g_string_append_c(out, '{');
	dtc_json_add_text(out, "schema", DTC_EVENTS_SCHEMA);
	dtc_json_add_name(out, "reference",
			  dtc_bundle_get_node(bundle, dtc_clocks_get_reference(listing->clocks))->name);
	g_string_append(out, "}\n");
}

/* The last line tells that nothing is missing, and what is odd. */
static void add_tail(const struct listing *listing)
{
	GString *out = listing->out;

	if (listing->options->is_json) {
		g_autoptr(GString) tail = g_string_new("{");
		dtc_json_add_integer(tail, "events", (int64_t)listing->shown);
		dtc_finding_list_add_json(tail, listing->findings);
		g_strdelimit(tail->str, "\n", ' '); /* strings have none: dtc_printable */
		g_string_append_printf(out, "%s}\n", tail->str);
		return;
	}
	const struct dtc_terminal terminal = dtc_terminal_get(listing->options->common.color);
	g_autoptr(DtcLayout) layout = dtc_layout_new(terminal.width, terminal.has_color, terminal.has_utf8);
	dtc_finding_list_add_text(layout, listing->findings);
	g_autofree char *text = dtc_layout_steal(layout);
	g_string_append(out, text);
}

static bool list_events(const struct events_options *options, const DtcBundle *bundle, const DtcClocks *clocks,
			DtcFindings *findings, GError **error)
{
	struct listing listing = {
		.options = options, .clocks = clocks, .out = g_string_new(NULL), .findings = findings
	};

	add_head(&listing, bundle);
	bool done = open_sources(&listing, bundle, error) && set_spans(&listing, error) && merge(&listing, error) &&
		    check_kinds(&listing, error) && finish_sources(&listing, error);
	if (done) {
		add_tail(&listing);
		done = flush(&listing, 1, error);
	}
	listing_clear(&listing);
	return done;
}

/* Whose the name of --thread is takes a history, which is built for that alone. */
static bool find_name(struct events_options *options, const DtcBundle *bundle, DtcProgress *progress, GError **error)
{
	const struct dtc_load_options load_options = { .sync_file = options->common.sync_file };
	struct dtc_thread_span span;
	g_autoptr(DtcFindings) findings = dtc_findings_new(); /* the listing finds them again */
	g_autoptr(DtcLoad) load = dtc_load_bundle(bundle, &load_options, progress, findings, error);

	if (!load)
		return false;
	dtc_progress_clear(progress);
	const DtcHistory *history = dtc_load_get_history(load, 0);
	if (!history) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "node '%s' has no kernel trace that can be read, so nothing is known about its threads\n"
			    "`dtrace-chain stats` tells what each node has",
			    options->thread_spec.node);
		return false;
	}
	if (!dtc_thread_spec_find(history, &options->thread_spec, options->from, options->to, findings, &span, error))
		return false;
	options->thread_spec.tid = dtc_history_get_thread(history, span.thread)->tid;
	return true;
}

static bool select_thread(struct events_options *options, DtcBundle *bundle, DtcProgress *progress, GError **error)
{
	if (!dtc_thread_spec_parse(options->thread, bundle, &options->thread_spec, error))
		return false;
	const char *const only[] = { options->thread_spec.node, NULL };
	return dtc_bundle_select(bundle, only, error) &&
	       (!options->thread_spec.name || find_name(options, bundle, progress, error));
}

static bool run(struct events_options *options, int argc, char **argv, bool *ret_complete, GError **error)
{
	const struct dtc_load_options load_options = {
		.reference = options->reference,
		.sync_file = options->common.sync_file,
		.clocks_only = true,
	};
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcBundle) bundle = dtc_common_options_open_bundle(&options->common, argc, argv, error);
	if (!bundle)
		return false;
	g_autoptr(DtcProgress) progress = dtc_progress_new(options->common.quiet);
	if (options->thread && !select_thread(options, bundle, progress, error))
		return false;
	g_autoptr(DtcLoad) load = NULL;
	g_autoptr(DtcClocks) identity = NULL;
	if (dtc_bundle_get_count(bundle) > 1) {
		load = dtc_load_bundle(bundle, &load_options, progress, findings, error);
		if (!load)
			return false;
		dtc_progress_clear(progress);
	} else {
		identity = dtc_clocks_new_identity(dtc_bundle_get_count(bundle));
	}
	if (!list_events(options, bundle, load ? dtc_load_get_clocks(load) : identity, findings, error))
		return false;
	*ret_complete = dtc_findings_get_complete(findings);
	return true;
}

int dtc_command_events(int argc, char **argv)
{
	struct events_options options = { 0 };
	g_autoptr(GError) error = NULL;
	bool is_complete;
	int code;

	if (parse_options(&options, &argc, &argv, &error) && check_options(&options, &error) &&
	    run(&options, argc, argv, &is_complete, &error))
		code = is_complete ? 0 : 3;
	else
		code = dtc_cli_report_error(error);
	options_clear(&options);
	return code;
}
