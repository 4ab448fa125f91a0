/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/memory.h"

#include "analyze/engine/owners.h"
#include "analyze/state/event_context.h"
#include "collect/read/reader.h"
#include "dtrace-chain/hash.h"

#include <string.h>

#define PAGE_BYTES 4096 /* where the trace tells pages: of x86-64, and of most others */
#define ORDER_LIMIT 20	/* MAX_ORDER is 10, and 13 where pages are larger */
#define MEMBER_SWAP 2	/* of rss_stat: not in memory */
#define MEMBERS 4
#define BYTES_LIMIT (G_GINT64_CONSTANT(1) << 47) /* of an address space: what one may have on x86-64 */

/* An address space, as rss_stat tells of it. */
struct space {
	guint row; /* of its process; G_MAXUINT: it has not run yet */
	int64_t bytes[MEMBERS];
};

/* What is known of a row while events are read. */
struct now {
	int64_t bytes;
	guint filled; /* steps before it are told */
};

struct pass {
	struct dtc_memory *memory;
	DtcMachine *machine;
	GHashTable *rows;   /* string of a process, or one of the below -> row + 1 */
	GArray *now;	    /* struct now by row */
	GHashTable *spaces; /* mm_id -> struct space (owned) */
};

#define KEY_INTERRUPTS (DTC_NONE - 2)

static void row_clear(void *data)
{
	struct dtc_memory_row *row = data;

	g_free(row->name);
	g_free(row->resident);
}

static void memory_free(void *data)
{
	struct dtc_memory *memory = data;

	dtc_reading_clear(&memory->reading);
	if (memory->rows)
		g_array_unref(memory->rows);
	g_free(memory->change);
	g_free(memory);
}

static struct dtc_memory_row *get_row(const struct pass *pass, guint row)
{
	return &g_array_index(pass->memory->rows, struct dtc_memory_row, row);
}

/* The row of who runs: a process, interrupts, or nobody that is known. */
static guint find_row(struct pass *pass, const struct dtc_event *event)
{
	const struct dtc_event_context context = dtc_machine_get_context(pass->machine, event->cpu);
	bool is_interrupt = context.state == DTC_STATE_IRQ || context.state == DTC_STATE_SOFTIRQ;
	uint32_t key = is_interrupt ? KEY_INTERRUPTS : context.process;
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(pass->rows, GUINT_TO_POINTER(key)));

	if (!found) {
		struct dtc_memory_row fresh = { .is_interrupts = is_interrupt };
		const struct now unknown = { 0 };
		if (!is_interrupt && context.process != DTC_NONE)
			fresh.name = g_strdup(dtc_machine_get_string(pass->machine, context.process));
		g_array_append_val(pass->memory->rows, fresh);
		g_array_append_val(pass->now, unknown);
		found = pass->memory->rows->len;
		g_hash_table_insert(pass->rows, GUINT_TO_POINTER(key), GUINT_TO_POINTER(found));
	}
	return found - 1;
}

/* The step of a time; -1 before what counts, the number of steps after it. */
static int64_t find_step(const struct dtc_memory *memory, int64_t node_ns)
{
	const struct dtc_usage_node *axis = memory->axis;

	if (node_ns < axis->counted.begin.ns)
		return -1;
	if (node_ns >= axis->counted.end.ns)
		return axis->interval_count;
	int64_t cluster_ns = dtc_clocks_to_cluster_ns(memory->clocks, memory->reading.node_index, node_ns);
	if (cluster_ns <= axis->begin.ns)
		return 0;
	/* clocks that somebody made up may lie further apart than half of what an int64_t holds */
	uint64_t step = ((uint64_t)cluster_ns - (uint64_t)axis->begin.ns) / (uint64_t)memory->interval_ns;
	return step < axis->interval_count ? (int64_t)step : (int64_t)axis->interval_count - 1;
}

/* What was resident stays so until the step in which it changes. */
static void fill(struct pass *pass, guint index, int64_t step)
{
	struct dtc_memory_row *row = get_row(pass, index);
	struct now *now = &g_array_index(pass->now, struct now, index);

	if (!row->resident) {
		row->resident = g_new(int64_t, pass->memory->axis->interval_count + 1);
		for (guint i = 0; i <= pass->memory->axis->interval_count; i++)
			row->resident[i] = DTC_MEMORY_UNKNOWN;
	}
	for (; (int64_t)now->filled < step; now->filled++)
		if (row->has_resident)
			row->resident[now->filled] = now->bytes;
}

static void add_resident(struct pass *pass, guint index, int64_t bytes, int64_t step)
{
	struct dtc_memory_row *row = get_row(pass, index);
	struct now *now = &g_array_index(pass->now, struct now, index);

	fill(pass, index, step);
	if (__builtin_add_overflow(now->bytes, bytes, &bytes))
		return; /* address spaces that somebody made up */
	now->bytes = bytes;
	row->has_resident = true;
	if (step < (int64_t)pass->memory->axis->interval_count) {
		row->most_bytes = step < 0 ? now->bytes : MAX(row->most_bytes, now->bytes);
		row->last_bytes = now->bytes;
	}
}

static int64_t sum_space(const struct space *space)
{
	return space->bytes[0] + space->bytes[1] + space->bytes[3];
}

static struct space *find_space(struct pass *pass, int64_t id)
{
	struct space *space = g_hash_table_lookup(pass->spaces, &id);

	if (!space) {
		space = g_new0(struct space, 1);
		space->row = G_MAXUINT;
		g_hash_table_insert(pass->spaces, g_memdup2(&id, sizeof(id)), space);
	}
	return space;
}

/* The one that runs tells whose address space it is; it takes along what was said of it before, as a fork's is. */
static void apply_rss(struct pass *pass, const struct dtc_event *event)
{
	int64_t member = event->v[DTC_RSS_MEMBER], bytes = event->v[DTC_RSS_BYTES];

	pass->memory->has_resident = true;
	if (member < 0 || member >= MEMBERS || bytes == DTC_ABSENT || event->v[DTC_RSS_MM] == DTC_ABSENT)
		return;
	struct space *space = find_space(pass, event->v[DTC_RSS_MM]);
	int64_t step = find_step(pass->memory, event->time_ns);
	if (event->v[DTC_RSS_IS_OWN] == 1) {
		guint row = find_row(pass, event);
		if (row != space->row && get_row(pass, row)->name) {
			if (space->row != G_MAXUINT)
				add_resident(pass, space->row, -sum_space(space), step);
			add_resident(pass, row, sum_space(space), step);
			space->row = row;
		}
	}
	/* kernels that count in batches may tell less than nothing for a moment */
	int64_t grown = CLAMP(bytes, 0, BYTES_LIMIT) - space->bytes[member];
	space->bytes[member] += grown;
	if (member != MEMBER_SWAP && space->row != G_MAXUINT)
		add_resident(pass, space->row, grown, step);
}

static void apply_page(struct pass *pass, const struct dtc_event *event)
{
	int64_t order = event->v[DTC_PAGE_ORDER], step = find_step(pass->memory, event->time_ns);
	bool is_alloc = event->kind == DTC_EVENT_PAGE_ALLOC;

	pass->memory->has_pages = true;
	if (order < 0 || order >= ORDER_LIMIT || event->v[DTC_PAGE_FRAME] == -1 || step < 0 ||
	    step >= (int64_t)pass->memory->axis->interval_count)
		return;
	uint64_t bytes = (uint64_t)PAGE_BYTES << order;
	struct dtc_memory_row *row = get_row(pass, find_row(pass, event));
	*(is_alloc ? &row->allocated_bytes : &row->freed_bytes) += bytes;
	*(is_alloc ? &pass->memory->allocated_bytes : &pass->memory->freed_bytes) += bytes;
	pass->memory->change[step] += is_alloc ? (int64_t)bytes : -(int64_t)bytes;
}

/* False: it was told to stop, and nobody will look at the result. */
static bool read_events(struct pass *pass, DtcReader *reader)
{
	const struct dtc_event *event;
	guint since = 0;

	while ((event = dtc_reader_next(reader))) {
		dtc_machine_apply(pass->machine, event);
		if (event->kind == DTC_EVENT_RSS_STAT)
			apply_rss(pass, event);
		else if (event->kind == DTC_EVENT_PAGE_ALLOC || event->kind == DTC_EVENT_PAGE_FREE)
			apply_page(pass, event);
		if (++since < DTC_READING_STEP)
			continue;
		since = 0;
		if (!dtc_reading_note(&pass->memory->reading, dtc_reader_get_consumed_bytes(reader)))
			return false;
	}
	return true;
}

/* Most resident first, then most allocated, then by name; what has none stands last. */
static gint compare_rows(gconstpointer a, gconstpointer b)
{
	const struct dtc_memory_row *x = a, *y = b;

	if (x->most_bytes != y->most_bytes)
		return x->most_bytes > y->most_bytes ? -1 : 1;
	if (x->allocated_bytes != y->allocated_bytes)
		return x->allocated_bytes > y->allocated_bytes ? -1 : 1;
	if (x->is_interrupts != y->is_interrupts)
		return x->is_interrupts ? 1 : -1;
	return g_strcmp0(x->name, y->name);
}

static bool declares_memory(const DtcReader *reader)
{
	return dtc_reader_declares(reader, DTC_EVENT_RSS_STAT) || dtc_reader_declares(reader, DTC_EVENT_PAGE_ALLOC) ||
	       dtc_reader_declares(reader, DTC_EVENT_PAGE_FREE);
}

GArray *dtc_memory_rows_new(void)
{
	GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct dtc_memory_row));

	g_array_set_clear_func(rows, row_clear);
	return rows;
}

void dtc_memory_read(struct dtc_memory *memory)
{
	struct dtc_reading *reading = &memory->reading;

	if (reading->is_capture || !reading->node->kernel_path || !memory->axis->has_history)
		return;
	g_autoptr(DtcReader) reader = dtc_reader_open_node(reading->node, &reading->error);
	if (!reader || !declares_memory(reader)) /* most traces: nothing has to be read */
		return;
	dtc_reader_share_threads(reader, reading->spare);
	g_autoptr(DtcMachine) machine = dtc_machine_new(reading->node->name, reader);
	g_autoptr(GHashTable) rows = g_hash_table_new(g_direct_hash, g_direct_equal);
	g_autoptr(GHashTable) spaces = g_hash_table_new_full(dtc_hash_int64, g_int64_equal, g_free, g_free);
	g_autoptr(GArray) now = g_array_new(FALSE, FALSE, sizeof(struct now));
	struct pass pass = { memory, machine, rows, now, spaces };

	memory->rows = dtc_memory_rows_new();
	memory->change = g_new0(int64_t, memory->axis->interval_count + 1);
	dtc_machine_set_environment(machine, reading->node->environment);
	if (!read_events(&pass, reader) || !dtc_reader_finish(reader, reading->findings, &reading->error))
		return;
	for (guint i = 0; i < memory->rows->len; i++)
		fill(&pass, i, memory->axis->interval_count);
	g_array_sort(memory->rows, compare_rows);
	memory->is_told = memory->has_resident || memory->has_pages;
}

/* One of a bundle. */
struct remembered {
	struct dtc_memory memory; /* first */
	const DtcBundle *bundle;
};

static void read_node(struct dtc_reading *reading)
{
	struct remembered *remembered = (struct remembered *)reading;

	if (!reading->node->is_elsewhere)
		dtc_memory_read(&remembered->memory);
	else if (remembered->memory.axis->has_history)
		dtc_owners_take_memory(&remembered->memory, remembered->bundle);
}

GPtrArray *dtc_memories_new(const DtcBundle *bundle, const DtcUsage *usage, const DtcClocks *clocks,
			    const struct dtc_watch *watch, DtcFindings *findings, GError **error)
{
	g_autoptr(GPtrArray) memories = dtc_readings_new(bundle, sizeof(struct remembered), memory_free);

	for (guint i = 0; i < memories->len; i++) {
		struct dtc_memory *memory = memories->pdata[i];
		memory->axis = &usage->nodes[memory->reading.node_index];
		memory->interval_ns = MAX(usage->interval_ns, 1);
		memory->clocks = clocks;
		((struct remembered *)memory)->bundle = bundle;
	}
	if (!dtc_owners_ask_memories(bundle, usage, clocks, error) ||
	    !dtc_readings_run(memories, read_node, watch, error))
		return NULL;
	for (guint i = 0; i < memories->len; i++) {
		const struct dtc_reading *reading = memories->pdata[i];
		if (!reading->is_capture && reading->node->kernel_image)
			dtc_findings_add_coded(
				findings, DTC_FINDING_INDEX_ONLY, DTC_SEVERITY_ERROR, true, reading->node->name,
				"there is an index in place of its trace, which has no events of memory; "
				"the bundle that it was made of may have");
	}
	return g_steal_pointer(&memories);
}
