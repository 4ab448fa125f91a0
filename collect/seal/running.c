/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/running.h"

#include "dtrace-chain/bisect.h"

#include <string.h>

struct DtcRepairs {
	GHashTable *threads; /* from a tid to a GPtrArray of struct dtc_repair by before_ns */
	GMutex mutex;
	guint count;
};

static bool find_place(const struct dtc_raw_format *format, const char *name, uint32_t bytes, uint32_t *ret_offset)
{
	const struct dtc_raw_field *field = dtc_raw_format_find(format, name);
	if (!field || field->size != bytes || field->shape == DTC_RAW_STRING)
		return false;
	*ret_offset = field->offset;
	return true;
}

void dtc_switch_layout_find(const DtcFormats *formats, struct dtc_switch_layout *ret_layout)
{
	*ret_layout = (struct dtc_switch_layout){ 0 };
	for (guint i = 0; i < dtc_formats_get_count(formats); i++) {
		const struct dtc_raw_format *format = dtc_formats_get(formats, i);
		struct dtc_switch_layout found = { .format = format };
		if (strcmp(format->system, "sched") == 0 && strcmp(format->name, "sched_switch") == 0 &&
		    format->pid_offset && find_place(format, "prev_comm", DTC_COMM_BYTES, &found.prev_comm) &&
		    find_place(format, "prev_pid", 4, &found.prev_pid) &&
		    find_place(format, "prev_prio", 4, &found.prev_prio) &&
		    find_place(format, "next_comm", DTC_COMM_BYTES, &found.next_comm) &&
		    find_place(format, "next_pid", 4, &found.next_pid) &&
		    find_place(format, "next_prio", 4, &found.next_prio))
			*ret_layout = found;
	}
}

/* Still in the name of who ran before: between the event of the switch and the switch. */
static bool is_late(const struct dtc_running *running, const struct dtc_raw_event *event, int32_t tid, bool is_switch)
{
	return !running->is_settled && !is_switch && tid == running->before &&
	       event->time_ns - running->switched_ns < DTC_AFTER_SWITCH_NS;
}

bool dtc_running_check(struct dtc_running *running, const struct dtc_raw_event *event, int32_t tid, bool is_switch,
		       struct dtc_repair *ret_repair)
{
	int64_t last_ns = event->lost ? event->time_ns : running->last_ns;
	running->last_ns = event->time_ns;
	if (running->is_known && tid == running->tid) {
		running->is_settled = true;
		return false;
	}
	if (running->is_known && is_late(running, event, tid, is_switch))
		return false;
	struct dtc_running before = *running;
	*running = (struct dtc_running){
		.last_ns = event->time_ns, .tid = tid, .before = tid, .is_known = true, .is_settled = true
	};
	*ret_repair = (struct dtc_repair){ .after_ns = last_ns,
					   .before_ns = event->time_ns,
					   .time_ns = before.tid == 0 ? last_ns : event->time_ns,
					   .from = before.tid,
					   .to = tid };
	return before.is_known;
}

void dtc_running_switch(struct dtc_running *running, const struct dtc_switch_layout *layout,
			const struct dtc_raw_event *event)
{
	int32_t prev, next;
	memcpy(&prev, event->data + layout->prev_pid, sizeof prev);
	memcpy(&next, event->data + layout->next_pid, sizeof next);
	*running = (struct dtc_running){
		.switched_ns = event->time_ns, .last_ns = event->time_ns, .tid = next, .before = prev, .is_known = true
	};
}

DtcRepairs *dtc_repairs_new(void)
{
	DtcRepairs *repairs = g_new0(DtcRepairs, 1);
	repairs->threads = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
	g_mutex_init(&repairs->mutex);
	return repairs;
}

void dtc_repairs_free(DtcRepairs *repairs)
{
	if (!repairs)
		return;
	g_hash_table_unref(repairs->threads);
	g_mutex_clear(&repairs->mutex);
	g_free(repairs);
}

static int compare_repairs(gconstpointer a, gconstpointer b)
{
	const struct dtc_repair *x = *(const struct dtc_repair *const *)a, *y = *(const struct dtc_repair *const *)b;
	return (x->before_ns > y->before_ns) - (x->before_ns < y->before_ns);
}

void dtc_repairs_add(DtcRepairs *repairs, GArray *of_cpu)
{
	for (guint i = 0; i < of_cpu->len; i++) {
		struct dtc_repair *repair = &g_array_index(of_cpu, struct dtc_repair, i);
		gpointer key = GINT_TO_POINTER(repair->to);
		GPtrArray *list = g_hash_table_lookup(repairs->threads, key);
		if (!list) {
			list = g_ptr_array_new();
			g_hash_table_insert(repairs->threads, key, list);
		}
		g_ptr_array_add(list, repair);
		repairs->count++;
	}
	/* those of several CPUs are in one list */
	GHashTableIter iter;
	gpointer list;
	g_hash_table_iter_init(&iter, repairs->threads);
	while (g_hash_table_iter_next(&iter, NULL, &list))
		g_ptr_array_sort(list, compare_repairs);
}

guint dtc_repairs_get_count(const DtcRepairs *repairs)
{
	return repairs->count;
}

void dtc_repairs_note_wake(DtcRepairs *repairs, int32_t tid, const void *comm, int64_t time_ns)
{
	GPtrArray *list = g_hash_table_lookup(repairs->threads, GINT_TO_POINTER(tid));
	if (!list)
		return;
#define BEFORE(i) (((const struct dtc_repair *)g_ptr_array_index(list, i))->before_ns < time_ns)
	guint at = DTC_BISECT(i, 0, list->len, BEFORE(i));
	struct dtc_repair *repair = at < list->len ? g_ptr_array_index(list, at) : NULL;
	if (!repair)
		return;
	g_mutex_lock(&repairs->mutex);
	if (comm)
		memcpy(repair->comm, comm, DTC_COMM_BYTES);
	/* behind the wake, whatever CPU it is on */
	if (repair->from == 0 && time_ns >= repair->after_ns)
		repair->time_ns = MAX(repair->time_ns, MIN(time_ns + 1, repair->before_ns));
	g_mutex_unlock(&repairs->mutex);
}
