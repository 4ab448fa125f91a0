/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/event_source.h"

#include "analyze/engine/event_fields.h"

#include <string.h>

#define COMM_BYTES 64 /* 16 in the kernel */

/* Who runs on a CPU. */
struct occupant {
	int32_t tid; /* -1: not known */
	char comm[COMM_BYTES];
};

struct DtcEventSource {
	const char *name; /* of the node */
	const DtcClocks *clocks;
	guint node;
	DtcReader *reader;
	const struct dtc_event *event; /* the next one; NULL: ended */
	DtcClusterTime time;
	GArray *occupants; /* struct occupant by CPU */
	GArray *wanted;	   /* uint8_t by event name: 0 not yet matched, 1 no, 2 yes */
	bool has_matched;  /* an event's name fits */
};

void dtc_event_source_free(DtcEventSource *source)
{
	if (!source)
		return;
	dtc_reader_free(source->reader);
	g_array_unref(source->occupants);
	g_array_unref(source->wanted);
	g_free(source);
}

static void advance(DtcEventSource *source)
{
	source->event = dtc_reader_next(source->reader);
	if (source->event)
		source->time =
			dtc_clocks_to_cluster(source->clocks, source->node, (DtcNodeTime){ source->event->time_ns });
}

DtcEventSource *dtc_event_source_open(const struct dtc_bundle_node *from, const DtcClocks *clocks, guint node,
				      GError **error)
{
	DtcReader *reader = dtc_reader_open_node(from, error);

	if (!reader)
		return NULL;
	DtcEventSource *source = g_new0(DtcEventSource, 1);
	source->name = from->name;
	source->clocks = clocks;
	source->node = node;
	source->reader = reader;
	source->occupants = g_array_new(FALSE, TRUE, sizeof(struct occupant));
	source->wanted = g_array_new(FALSE, TRUE, sizeof(uint8_t));
	advance(source);
	return source;
}

DtcReader *dtc_event_source_get_reader(DtcEventSource *source)
{
	return source->reader;
}

bool dtc_event_source_get_time(const DtcEventSource *source, DtcClusterTime *ret_time)
{
	if (source->event)
		*ret_time = source->time;
	return source->event != NULL;
}

bool dtc_event_source_has_matched(const DtcEventSource *source)
{
	return source->has_matched;
}

static struct occupant *get_occupant(DtcEventSource *source, uint32_t cpu)
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

static bool fits_kind(DtcEventSource *source, char *const *patterns)
{
	guint name = source->event->name;

	if (!patterns)
		return true;
	if (name >= source->wanted->len)
		g_array_set_size(source->wanted, name + 1);
	uint8_t *wanted = &g_array_index(source->wanted, uint8_t, name);
	if (*wanted == 0) {
		const char *text = dtc_reader_get_event_name(source->reader, name);
		*wanted = 1;
		for (char *const *pattern = patterns; *pattern; pattern++)
			if (g_pattern_match_simple(*pattern, text))
				*wanted = 2;
	}
	source->has_matched |= *wanted == 2;
	return *wanted == 2;
}

static bool is_wanted(DtcEventSource *source, const struct dtc_event_wants *wants, const struct occupant *occupant)
{
	if (!fits_kind(source, wants->patterns) || source->time.ns < wants->from_ns || source->time.ns > wants->to_ns)
		return false;
	return wants->tid < 0 || occupant->tid == wants->tid || dtc_event_names_thread(source->event, wants->tid);
}

static const char *get_call(const DtcEventSource *source)
{
	const struct dtc_event *event = source->event;
	bool is_call = event->kind == DTC_EVENT_SYSCALL_ENTRY || event->kind == DTC_EVENT_SYSCALL_EXIT;

	return is_call && event->v[DTC_CALL_NAME] >= 0
		       ? dtc_reader_get_syscall_name(source->reader, (guint)event->v[DTC_CALL_NAME])
		       : NULL;
}

bool dtc_event_source_look(DtcEventSource *source, const struct dtc_event_wants *wants, struct dtc_event_line *ret_line)
{
	const struct dtc_event *event = source->event;
	/* who runs before an event is whose event it is */
	struct occupant *occupant = get_occupant(source, event->cpu);

	if (event->kind == DTC_EVENT_SCHED_SWITCH)
		set_occupant(occupant, event->v[DTC_SWITCH_PREV_TID], event->text[0]);
	if (!is_wanted(source, wants, occupant))
		return false;
	*ret_line = (struct dtc_event_line){
		.node = source->name,
		.name = dtc_reader_get_event_name(source->reader, event->name),
		.call = get_call(source),
		.event = event,
		.time = source->time,
		.tid = occupant->tid,
		.comm = occupant->tid >= 0 && *occupant->comm ? occupant->comm : NULL,
	};
	return true;
}

/* Who runs after this one is whose the next ones on its CPU are. */
bool dtc_event_source_leave(DtcEventSource *source)
{
	const struct dtc_event *event = source->event;
	struct occupant *occupant = get_occupant(source, event->cpu);
	bool is_loss = event->kind == DTC_EVENT_LOST;

	if (event->kind == DTC_EVENT_SCHED_SWITCH)
		set_occupant(occupant, event->v[DTC_SWITCH_NEXT_TID], event->text[1]);
	else if (is_loss)
		set_occupant(occupant, -1, NULL);
	advance(source);
	return is_loss;
}
