/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/event_stream.h"

#include "analyze/engine/findings_image.h"
#include "analyze/engine/owned.h"
#include "analyze/engine/owners.h"
#include "dtrace-chain/error.h"
#include "sync/fit/clocks.h"

#include <string.h>

#define NEXT_ANSWER_TYPE "(ayybaaymayiayay)"
#define LINES_FIRST 16 /* that are called for at once */
#define LINES_FACTOR 4 /* more with each call */
#define LINES_MAX 65536
#define BYTES_MAX ((gsize)1 << 20) /* of an answer, about */

enum state { STATE_MORE, STATE_PAST, STATE_ENDED };

enum step_kind {
	STEP_LINE, /* a wanted event: it follows, then its name, and what of the texts below there is */
	STEP_LOSS, /* one that is not wanted, but tells of a loss */
	STEP_LAST, /* the last one, which is not wanted */
};

#define HAS_CALL 1
#define HAS_COMM 2
#define HAS_TEXT 4 /* and 8 */

struct step {
	int64_t time_ns; /* cluster time */
	int32_t tid;
	uint8_t kind;
	uint8_t has;
	uint16_t spare;
};
_Static_assert(sizeof(struct step) == 16 && sizeof(struct dtc_event) % 8 == 0, "events lie at multiples of 8");

/* ---- of an owner ---- */

struct DtcEventStream {
	DtcClocks *clocks;
	DtcEventSource *source;
	struct dtc_event_wants wants;
	char **patterns;
	enum state state;
	bool is_last_given; /* of the events so far the last was a line */
	int64_t last_ns;    /* of all so far */
};

void dtc_event_stream_free(DtcEventStream *stream)
{
	if (!stream)
		return;
	dtc_event_source_free(stream->source);
	dtc_clocks_free(stream->clocks);
	g_strfreev(stream->patterns);
	g_free(stream);
}

static GVariant *pack_open_answer(const GError *error, const DtcClusterTime *first)
{
	return g_variant_new("(m^ayi^aymx)", error ? g_quark_to_string(error->domain) : NULL, error ? error->code : 0,
			     error ? error->message : "", first != NULL, first ? first->ns : (int64_t)0);
}

DtcEventStream *dtc_event_stream_open(const struct dtc_bundle_node *node, GVariant *question, GVariant **ret_answer)
{
	DtcEventStream *stream = g_new0(DtcEventStream, 1);
	g_autoptr(GVariant) knots_of = NULL;
	g_autoptr(GError) error = NULL;
	DtcClusterTime first;
	gsize knot_count;

	g_variant_get(question, "(@a(xxxx)im^aay)", &knots_of, &stream->wants.tid, &stream->patterns);
	const struct dtc_clock_knot *knots =
		g_variant_get_fixed_array(knots_of, &knot_count, sizeof(struct dtc_clock_knot));
	stream->wants.patterns = stream->patterns;
	stream->clocks = dtc_owned_make_clocks(knots, (guint)knot_count);
	stream->source = dtc_event_source_open(node, stream->clocks, 0, &error);
	if (!stream->source) {
		dtc_event_stream_free(stream);
		*ret_answer = pack_open_answer(error, NULL);
		return NULL;
	}
	*ret_answer = pack_open_answer(NULL, dtc_event_source_get_time(stream->source, &first) ? &first : NULL);
	return stream;
}

static void add_text(GByteArray *to, const char *text)
{
	if (text)
		g_byte_array_append(to, (const guint8 *)text, (guint)strlen(text) + 1);
}

static void add_line(GByteArray *to, const struct dtc_event_line *line)
{
	static const guint8 zeros[8] = { 0 };
	const struct dtc_event *event = line->event;
	const struct step step = { line->time.ns, line->tid, STEP_LINE,
				   (uint8_t)((line->call ? HAS_CALL : 0) | (line->comm ? HAS_COMM : 0) |
					     (event->text[0] ? HAS_TEXT : 0) | (event->text[1] ? HAS_TEXT << 1 : 0)),
				   0 };

	g_byte_array_append(to, (const guint8 *)&step, sizeof(step));
	g_byte_array_append(to, (const guint8 *)event, sizeof(*event));
	add_text(to, line->name);
	add_text(to, line->call);
	add_text(to, line->comm);
	add_text(to, event->text[0]);
	add_text(to, event->text[1]);
	g_byte_array_append(to, zeros, (8 - to->len % 8) % 8);
}

static void add_step(GByteArray *to, int64_t time_ns, enum step_kind kind)
{
	const struct step step = { time_ns, -1, (uint8_t)kind, 0, 0 };

	g_byte_array_append(to, (const guint8 *)&step, sizeof(step));
}

/* One event further; true if it is a line. */
static bool add_next(DtcEventStream *stream, GByteArray *to)
{
	struct dtc_event_line line;
	DtcClusterTime time;

	if (!dtc_event_source_get_time(stream->source, &time)) {
		if (!stream->is_last_given)
			add_step(to, stream->last_ns, STEP_LAST);
		stream->state = STATE_ENDED;
		return false;
	}
	if (time.ns > stream->wants.to_ns) {
		stream->state = STATE_PAST;
		return false;
	}
	bool is_line = dtc_event_source_look(stream->source, &stream->wants, &line);
	if (is_line)
		add_line(to, &line);
	stream->last_ns = time.ns;
	stream->is_last_given = is_line;
	if (dtc_event_source_leave(stream->source) && !is_line)
		add_step(to, time.ns, STEP_LOSS);
	return is_line;
}

static GVariant *pack_names(DtcEventStream *stream)
{
	const DtcReader *reader = dtc_event_source_get_reader(stream->source);
	bool are_wanted = stream->state != STATE_MORE && !dtc_event_source_has_matched(stream->source);
	guint count = are_wanted ? dtc_reader_get_event_name_count(reader) : 0;
	g_autofree const char **names = g_new0(const char *, count + 1);

	for (guint i = 0; i < count; i++)
		names[i] = dtc_reader_get_event_name(reader, i);
	return g_variant_new_bytestring_array(names, count);
}

/* What the reader found, as an image; empty before its end. */
static GVariant *pack_findings(DtcEventStream *stream, GError **error)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	const DtcFindings *list = findings;
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();

	if (stream->state != STATE_ENDED ||
	    !dtc_reader_finish(dtc_event_source_get_reader(stream->source), findings, error))
		return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, NULL, 0, 1);
	dtc_findings_save(&list, 1, writer);
	g_autoptr(GBytes) bytes = dtc_image_to_bytes(writer, error);
	return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes ? g_bytes_get_data(bytes, NULL) : NULL,
					 bytes ? g_bytes_get_size(bytes) : 0, 1);
}

GVariant *dtc_event_stream_next(DtcEventStream *stream, GVariant *question)
{
	g_autoptr(GByteArray) steps = g_byte_array_new();
	g_autoptr(GError) error = NULL;
	guint32 max, count = 0;

	g_variant_get(question, DTC_EVENT_STREAM_NEXT_TYPE, &stream->wants.from_ns, &stream->wants.to_ns, &max);
	while (stream->state == STATE_MORE && count < max && steps->len < BYTES_MAX)
		count += add_next(stream, steps);
	GVariant *findings = pack_findings(stream, &error);
	return g_variant_new("(@ayyb@aaym^ayi^ay@ay)",
			     g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, steps->data, steps->len, 1),
			     (guchar)stream->state, dtc_event_source_has_matched(stream->source), pack_names(stream),
			     error ? g_quark_to_string(error->domain) : NULL, error ? error->code : 0,
			     error ? error->message : "", findings);
}

/* ---- of who lists ---- */

struct DtcEventFeed {
	const struct dtc_owners *owners;
	guint bundle;
	const char *node;
	struct dtc_event_wants wants;
	guint lines; /* that are called for next */
	bool has_begun;
	bool has_first; /* before that */
	DtcClusterTime first;
	/* of the last answer */
	char *steps; /* owned */
	gsize bytes;
	gsize at;
	gsize end; /* of the step at that place */
	enum state state;
	bool has_matched;
	char **names;		/* owned */
	DtcFindings *findings;	/* owned; or NULL */
	GError *error;		/* owned */
	struct dtc_event event; /* of the step */
};

void dtc_event_feed_free(DtcEventFeed *feed)
{
	if (!feed)
		return;
	g_free(feed->steps);
	g_strfreev(feed->names);
	dtc_findings_free(feed->findings);
	g_clear_error(&feed->error);
	g_free(feed);
}

static GVariant *call(const DtcEventFeed *feed, guint32 what, GVariant *of, const char *type, GError **error)
{
	g_autoptr(GVariant) question = g_variant_ref_sink(g_variant_new("(uv)", what, of));
	g_autoptr(GVariant) answer = feed->owners->call(feed->owners->data, feed->bundle, feed->node, question, error);

	if (answer && g_variant_is_of_type(answer, G_VARIANT_TYPE(type)))
		return g_steal_pointer(&answer);
	if (answer)
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "the owner of node '%s' does not know the question\nstart the same program on all machines",
			    feed->node);
	return NULL;
}

DtcEventFeed *dtc_event_feed_open(const DtcBundle *bundle, guint node, const DtcClocks *clocks,
				  const struct dtc_event_wants *wants, GError **error)
{
	DtcEventFeed *feed = g_new0(DtcEventFeed, 1);
	g_autofree char *domain = NULL;
	g_autofree char *message = NULL;
	guint knot_count;
	const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, node, &knot_count);
	int32_t code;
	gboolean has_first;

	feed->owners = dtc_bundle_get_owners(bundle, &feed->bundle);
	feed->node = dtc_bundle_get_node(bundle, node)->name;
	feed->lines = LINES_FIRST;
	GVariant *patterns =
		wants->patterns ? g_variant_new_bytestring_array((const char *const *)wants->patterns, -1) : NULL;
	g_autoptr(GVariant) answer = call(
		feed, 0,
		g_variant_new("(@a(xxxx)im@aay)",
			      g_variant_new_fixed_array(G_VARIANT_TYPE("(xxxx)"), knots, knot_count, sizeof(*knots)),
			      wants->tid, patterns),
		"(mayiaymx)", error);
	if (answer) {
		g_variant_get(answer, "(m^ayi^aymx)", &domain, &code, &message, &has_first, &feed->first.ns);
		feed->has_first = has_first;
		if (domain)
			g_set_error_literal(error, g_quark_from_string(domain), code, message);
	}
	if (!answer || domain)
		g_clear_pointer(&feed, dtc_event_feed_free);
	return feed;
}

static void take_findings(DtcEventFeed *feed, GVariant *packed)
{
	gsize bytes = g_variant_get_size(packed);

	if (!bytes)
		return;
	g_autoptr(DtcImage) image = dtc_image_from_bytes(g_variant_get_data(packed), bytes, feed->node, &feed->error);
	feed->findings = dtc_findings_new();
	if (image)
		(void)dtc_findings_load(&feed->findings, 1, image, &feed->error);
}

/* The steps, if there are any more to be had. */
static void call_for_more(DtcEventFeed *feed)
{
	g_autoptr(GVariant) steps = NULL;
	g_autoptr(GVariant) findings = NULL;
	g_autofree char *domain = NULL;
	g_autofree char *message = NULL;
	gboolean has_matched;
	guchar state;
	int32_t code;

	g_clear_pointer(&feed->steps, g_free);
	feed->bytes = feed->at = 0;
	g_autoptr(GVariant) answer = call(
		feed, 1, g_variant_new(DTC_EVENT_STREAM_NEXT_TYPE, feed->wants.from_ns, feed->wants.to_ns, feed->lines),
		NEXT_ANSWER_TYPE, &feed->error);
	if (!answer) {
		feed->state = STATE_ENDED;
		return;
	}
	g_clear_pointer(&feed->names, g_strfreev);
	g_variant_get(answer, "(@ayyb^aaym^ayi^ay@ay)", &steps, &state, &has_matched, &feed->names, &domain, &code,
		      &message, &findings);
	feed->bytes = g_variant_get_size(steps);
	feed->steps = g_memdup2(g_variant_get_data(steps), feed->bytes);
	feed->state = (enum state)state;
	feed->has_matched = has_matched;
	if (domain)
		feed->error = g_error_new_literal(g_quark_from_string(domain), code, message);
	take_findings(feed, findings);
	feed->lines = MIN(feed->lines * LINES_FACTOR, LINES_MAX);
}

static const struct step *get_step(const DtcEventFeed *feed)
{
	return feed->at < feed->bytes ? (const struct step *)(const void *)(feed->steps + feed->at) : NULL;
}

/* An answer may have no line, of a stretch in which nothing is wanted. */
static void fill(DtcEventFeed *feed)
{
	while (feed->at >= feed->bytes && feed->state == STATE_MORE)
		call_for_more(feed);
	feed->end = feed->at + sizeof(struct step);
}

bool dtc_event_feed_get_time(const DtcEventFeed *feed, DtcClusterTime *ret_time)
{
	const struct step *step = get_step(feed);

	if (!feed->has_begun) {
		*ret_time = feed->first;
		return feed->has_first;
	}
	if (step)
		ret_time->ns = step->time_ns;
	return step != NULL;
}

void dtc_event_feed_begin(DtcEventFeed *feed, const struct dtc_event_wants *wants)
{
	feed->wants = *wants;
	feed->has_begun = true;
	fill(feed);
}

/* The next text of a line, if it has it; "" where there is no more, which there always is. */
static const char *take_text(DtcEventFeed *feed, bool has_it)
{
	if (!has_it)
		return NULL;
	const char *text = feed->steps + MIN(feed->end, feed->bytes);
	const char *end = feed->end < feed->bytes ? memchr(text, 0, feed->bytes - feed->end) : NULL;
	if (!end)
		return "";
	feed->end = (gsize)(end - feed->steps) + 1;
	return text;
}

bool dtc_event_feed_look(DtcEventFeed *feed, struct dtc_event_line *ret_line)
{
	const struct step *step = get_step(feed);

	if (step->kind != STEP_LINE || feed->bytes - feed->at < sizeof(*step) + sizeof(feed->event))
		return false;
	memcpy(&feed->event, step + 1, sizeof(feed->event));
	feed->end = feed->at + sizeof(*step) + sizeof(feed->event);
	*ret_line = (struct dtc_event_line){
		.node = feed->node, .event = &feed->event, .time = { step->time_ns }, .tid = step->tid
	};
	ret_line->name = take_text(feed, true);
	ret_line->call = take_text(feed, step->has & HAS_CALL);
	ret_line->comm = take_text(feed, step->has & HAS_COMM);
	feed->event.text[0] = take_text(feed, step->has & HAS_TEXT);
	feed->event.text[1] = take_text(feed, step->has & HAS_TEXT << 1);
	feed->end = (feed->end + 7) / 8 * 8;
	return true;
}

bool dtc_event_feed_leave(DtcEventFeed *feed)
{
	const struct step *step = get_step(feed);
	bool is_loss = step->kind == STEP_LOSS || (step->kind == STEP_LINE && feed->event.kind == DTC_EVENT_LOST);

	feed->at = feed->end;
	fill(feed);
	return is_loss;
}

bool dtc_event_feed_has_matched(const DtcEventFeed *feed)
{
	return feed->has_matched;
}

bool dtc_event_feed_is_past(const DtcEventFeed *feed)
{
	return feed->state == STATE_PAST;
}

bool dtc_event_feed_finish(DtcEventFeed *feed, DtcFindings *findings, GError **error)
{
	if (feed->findings)
		dtc_findings_move(findings, feed->findings);
	if (!feed->error)
		return true;
	g_propagate_error(error, g_steal_pointer(&feed->error));
	return false;
}

const char *const *dtc_event_feed_get_names(const DtcEventFeed *feed)
{
	static const char *const none[] = { NULL };

	return feed->names ? (const char *const *)feed->names : none;
}
