/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/split.h"

#include "analyze/engine/owners.h"
#include "analyze/state/event_context.h"
#include "collect/read/reader.h"

#include <dtrace-chain/hash.h>

#include <string.h>

/* What is counted, while the events are read: names are ids. */
struct tally {
	struct dtc_event_context context;
	uint32_t cpu;
};

/* The events of one name in a tally. Few names come in any: a list of all for each would be mostly zeros. */
struct count {
	guint tally;
	guint name;
	guint64 events;
};

/* The tally of a CPU's last event: most of the next ones are of the same context. */
struct last {
	struct dtc_event_context context;
	guint tally; /* G_MAXUINT: it has had none */
};

struct pass {
	struct dtc_split *split;
	DtcReader *reader;
	DtcMachine *machine; /* BY_CONTEXT; else NULL */
	GArray *tallies;     /* struct tally */
	GHashTable *index;   /* struct dtc_event_context -> tally + 1 */
	GArray *counts;	     /* struct count */
	GHashTable *places;  /* tally and name -> count + 1 */
	GArray *last;	     /* struct last, by CPU */
};

static void kind_clear(void *kind)
{
	g_free(((struct dtc_split_kind *)kind)->name);
}

static void part_clear(void *data)
{
	struct dtc_split_part *part = data;

	g_free(part->name);
	g_free(part->process);
	g_array_unref(part->kinds);
}

static void split_free(void *data)
{
	struct dtc_split *split = data;

	dtc_reading_clear(&split->reading);
	if (split->parts)
		g_array_unref(split->parts);
	g_free(split);
}

static guint hash_context(gconstpointer key)
{
	const struct dtc_event_context *context = key;

	return ((context->state * 31 + context->name) * 31 + context->vector) * 31 + context->process;
}

static gboolean equal_contexts(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct dtc_event_context)) == 0;
}

static guint add_tally(struct pass *pass, const struct dtc_event_context *context, uint32_t cpu)
{
	const struct tally fresh = { *context, cpu };

	g_array_append_val(pass->tallies, fresh);
	return pass->tallies->len - 1;
}

static guint find_tally(struct pass *pass, const struct dtc_event_context *context)
{
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(pass->index, context));

	if (!found) {
		found = add_tally(pass, context, DTC_NONE) + 1;
		g_hash_table_insert(pass->index, g_memdup2(context, sizeof(*context)), GUINT_TO_POINTER(found));
	}
	return found - 1;
}

static struct last *get_last(struct pass *pass, uint32_t cpu)
{
	static const struct last none = { .tally = G_MAXUINT };

	while (pass->last->len <= cpu)
		g_array_append_val(pass->last, none);
	return &g_array_index(pass->last, struct last, cpu);
}

static guint choose_tally(struct pass *pass, const struct dtc_event *event)
{
	static const struct dtc_event_context none = { 0 };
	struct dtc_event_context context = none;

	if (pass->machine)
		context = dtc_machine_apply_in_context(pass->machine, event);
	struct last *last = get_last(pass, event->cpu);
	if (last->tally != G_MAXUINT && equal_contexts(&last->context, &context))
		return last->tally;
	last->context = context;
	last->tally = pass->machine ? find_tally(pass, &context) : add_tally(pass, &context, event->cpu);
	return last->tally;
}

static guint hash_place(gconstpointer key)
{
	guint64 number = GPOINTER_TO_SIZE(key);

	return dtc_hash_int64(&number);
}

static void count_event(struct pass *pass, const struct dtc_event *event)
{
	if (event->kind == DTC_EVENT_LOST) { /* no event, but the states need it */
		if (pass->machine)
			dtc_machine_apply(pass->machine, event);
		return;
	}
	guint tally = choose_tally(pass, event);
	gpointer key = GSIZE_TO_POINTER((gsize)tally << 16 | event->name);
	guint place = GPOINTER_TO_UINT(g_hash_table_lookup(pass->places, key));
	if (!place) {
		const struct count fresh = { tally, event->name, 0 };
		g_array_append_val(pass->counts, fresh);
		place = pass->counts->len;
		g_hash_table_insert(pass->places, key, GUINT_TO_POINTER(place));
	}
	g_array_index(pass->counts, struct count, place - 1).events++;
}

/* ---- what was counted, by names ---- */

static gint compare_kinds(gconstpointer a, gconstpointer b)
{
	const struct dtc_split_kind *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

static gint compare_parts(gconstpointer a, gconstpointer b)
{
	const struct dtc_split_part *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	int order = g_strcmp0(x->name, y->name);
	return order ? order : g_strcmp0(x->process, y->process);
}

static char *name_context(const struct pass *pass, const struct dtc_event_context *context)
{
	if (context->state == DTC_STATE_SOFTIRQ)
		return g_strdup(dtc_softirq_to_string(context->vector));
	return context->name == DTC_NONE ? NULL : g_strdup(dtc_machine_get_string(pass->machine, context->name));
}

GArray *dtc_split_parts_new(void)
{
	GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_split_part));

	g_array_set_clear_func(parts, part_clear);
	return parts;
}

struct dtc_split_part *dtc_split_parts_add(GArray *parts)
{
	struct dtc_split_part part = { .kinds = g_array_new(FALSE, FALSE, sizeof(struct dtc_split_kind)) };

	g_array_set_clear_func(part.kinds, kind_clear);
	g_array_append_val(parts, part);
	return &g_array_index(parts, struct dtc_split_part, parts->len - 1);
}

static void add_part(struct pass *pass, const struct tally *tally)
{
	struct dtc_split_part *part = dtc_split_parts_add(pass->split->parts);

	part->cpu = tally->cpu;
	part->state = DTC_STATE_UNKNOWN;
	if (pass->machine) {
		part->state = (enum dtc_state)tally->context.state;
		part->name = name_context(pass, &tally->context);
		const char *process = dtc_machine_get_string(pass->machine, tally->context.process);
		part->process = *process ? g_strdup(process) : NULL;
	}
}

/* Of every tally a part, in the same order, then what was counted of each. */
static void add_parts(struct pass *pass)
{
	GArray *parts = pass->split->parts;

	for (guint i = 0; i < pass->tallies->len; i++)
		add_part(pass, &g_array_index(pass->tallies, struct tally, i));
	for (guint i = 0; i < pass->counts->len; i++) {
		const struct count *count = &g_array_index(pass->counts, struct count, i);
		struct dtc_split_part *part = &g_array_index(parts, struct dtc_split_part, count->tally);
		const struct dtc_split_kind kind = { g_strdup(dtc_reader_get_event_name(pass->reader, count->name)),
						     count->events };
		g_array_append_val(part->kinds, kind);
		part->events += kind.count;
	}
	for (guint i = 0; i < parts->len; i++)
		g_array_sort(g_array_index(parts, struct dtc_split_part, i).kinds, compare_kinds);
	g_array_sort(parts, compare_parts);
}

/* False: it was told to stop, and nobody will look at the result. */
static bool read_events(struct pass *pass)
{
	const struct dtc_event *event;
	guint since = 0;

	while ((event = dtc_reader_next(pass->reader))) {
		count_event(pass, event);
		if (++since < DTC_READING_STEP)
			continue;
		since = 0;
		if (!dtc_reading_note(&pass->split->reading, dtc_reader_get_consumed_bytes(pass->reader)))
			return false;
	}
	return true;
}

void dtc_split_read(struct dtc_split *split)
{
	struct dtc_reading *reading = &split->reading;

	if (reading->is_capture || !reading->node->kernel_path)
		return;
	g_autoptr(DtcReader) reader = dtc_reader_open_node(reading->node, &reading->error);
	if (!reader)
		return;
	dtc_reader_share_threads(reader, reading->spare);
	g_autoptr(DtcMachine) machine =
		split->by == DTC_SPLIT_BY_CONTEXT ? dtc_machine_new(reading->node->name, reader) : NULL;
	g_autoptr(GArray) tallies = g_array_new(FALSE, FALSE, sizeof(struct tally));
	g_autoptr(GHashTable) index = g_hash_table_new_full(hash_context, equal_contexts, g_free, NULL);
	g_autoptr(GArray) last = g_array_new(FALSE, FALSE, sizeof(struct last));
	g_autoptr(GArray) counts = g_array_new(FALSE, FALSE, sizeof(struct count));
	g_autoptr(GHashTable) places = g_hash_table_new(hash_place, g_direct_equal);
	struct pass pass = { split, reader, machine, tallies, index, counts, places, last };

	if (machine)
		dtc_machine_set_environment(machine, reading->node->environment);
	if (!read_events(&pass) || !dtc_reader_finish(reader, reading->findings, &reading->error))
		return;
	split->parts = dtc_split_parts_new();
	add_parts(&pass);
}

/* One of a bundle. */
struct divided {
	struct dtc_split split; /* first */
	const DtcBundle *bundle;
};

static void read_node(struct dtc_reading *reading)
{
	struct divided *divided = (struct divided *)reading;

	if (reading->node->is_elsewhere)
		dtc_owners_take_split(&divided->split, divided->bundle);
	else
		dtc_split_read(&divided->split);
}

GPtrArray *dtc_splits_new(const DtcBundle *bundle, enum dtc_split_by by, const struct dtc_watch *watch,
			  DtcFindings *findings, GError **error)
{
	g_autoptr(GPtrArray) splits = dtc_readings_new(bundle, sizeof(struct divided), split_free);

	for (guint i = 0; i < splits->len; i++) {
		((struct divided *)splits->pdata[i])->split.by = by;
		((struct divided *)splits->pdata[i])->bundle = bundle;
	}
	if (!dtc_owners_ask_splits(bundle, by, error) || !dtc_readings_run(splits, read_node, watch, error))
		return NULL;
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++)
		if (dtc_bundle_get_node(bundle, i)->kernel_image)
			dtc_findings_add_coded(findings, DTC_FINDING_INDEX_ONLY, DTC_SEVERITY_ERROR, true,
					       dtc_bundle_get_node(bundle, i)->name,
					       "there is an index in place of its trace: its events cannot be told "
					       "apart any more; those of the bundle that it was made of can");
	return g_steal_pointer(&splits);
}

const struct dtc_split *dtc_splits_find(const GPtrArray *splits, guint node_index)
{
	for (guint i = 0; i < splits->len; i++) {
		const struct dtc_split *split = splits->pdata[i];
		if (split->reading.node_index == node_index && !split->reading.is_capture)
			return split;
	}
	return NULL;
}
