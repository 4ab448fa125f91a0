/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A history as sections of an image. Here is the one list of what a sealed history consists of: an array that is not in
 * it is not in images. Tables, which grow with the trace, stay in the mapping; the arrays beside them, which grow with
 * threads, are copied.
 */
#include "analyze/history/check_lists.h"
#include "analyze/history/records.h"

#include <string.h>

struct list {
	const char *section;
	gsize member; /* of struct DtcHistory: DtcTable * or GArray * */
	gsize record_bytes;
	bool is_table;
};

#define TABLE(member, type)                                                                                            \
	{                                                                                                              \
		"history." #member, offsetof(DtcHistory, member), sizeof(type), true                                   \
	}
#define ARRAY(member, type)                                                                                            \
	{                                                                                                              \
		"history." #member, offsetof(DtcHistory, member), sizeof(type), false                                  \
	}

static const struct list lists[] = {
	TABLE(string_bytes, char),
	ARRAY(string_at, uint32_t),
	ARRAY(threads, struct dtc_thread),
	ARRAY(tid_previous, uint32_t),
	ARRAY(tid_latest, uint32_t),
	TABLE(names, struct dtc_name_record),
	ARRAY(name_first, uint32_t),
	TABLE(intervals, struct dtc_interval_record),
	TABLE(eras, struct dtc_begin_era),
	ARRAY(interval_refs, uint32_t),
	TABLE(odd_refs, struct dtc_odd_ref),
	TABLE(wakes, struct dtc_wake_record),
	TABLE(wake_eras, struct dtc_begin_era),
	TABLE(faults, struct dtc_moment_record),
	TABLE(fault_eras, struct dtc_begin_era),
	TABLE(calls, struct dtc_call_record),
	TABLE(odd_calls, struct dtc_odd_call),
	TABLE(ready, uint32_t),
	TABLE(files, struct dtc_file),
	TABLE(file_calls, uint32_t),
	ARRAY(file_call_first, uint32_t),
	ARRAY(flow_files, uint32_t),
	TABLE(blocks, struct dtc_block_request),
	ARRAY(devices, struct dtc_device),
	ARRAY(cpu_limits, struct dtc_cpu_limit),
	TABLE(period_ends, int64_t),
	TABLE(works, struct dtc_work),
	ARRAY(marks, struct dtc_mark),
	ARRAY(vcpus, struct dtc_vcpu),
	TABLE(guest_spans, struct dtc_guest_span),
	TABLE(guest_irqs, struct dtc_guest_irq),
	TABLE(runs, struct dtc_moment_record),
	TABLE(run_eras, struct dtc_begin_era),
	ARRAY(run_first, uint32_t),
	TABLE(contexts, struct dtc_context_record),
	TABLE(odd_contexts, struct dtc_odd_context),
};

/* What a history has beside its lists. */
struct head {
	int64_t begin_ns;
	int64_t end_ns;
	uint32_t has_missing;
	uint32_t spare;
};
_Static_assert(sizeof(struct head) == 24, "written to files as it is");

static const void *get_member(const DtcHistory *h, const struct list *list)
{
	return *(const void *const *)(const void *)((const char *)h + list->member);
}

void dtc_history_set_spaces(DtcHistory *h, DtcSpace *space, DtcSpace *scratch)
{
	g_assert(!h->is_sealed);
	for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
		if (lists[i].is_table)
			dtc_table_set_space((DtcTable *)get_member(h, &lists[i]), space);
	dtc_packets_set_spaces(h->packets, space, scratch);
	dtc_table_set_space(h->filling->calls, scratch);
	dtc_table_set_space(h->filling->context_calls, scratch);
	dtc_table_set_space(h->filling->intervals->words, scratch);
	dtc_table_set_space(h->filling->runs->words, scratch);
}

void dtc_history_save(const DtcHistory *h, DtcImageWriter *writer)
{
	const struct head head = { h->begin_ns, h->end_ns, h->has_missing, 0 };

	g_assert(h->is_sealed);
	dtc_image_add_copy(writer, "history.head", sizeof(head), &head, 1);
	dtc_packets_save(h->packets, writer); /* first: of many images the begin is all that is looked at */
	for (gsize i = 0; i < G_N_ELEMENTS(lists); i++) {
		const struct list *list = &lists[i];
		const DtcTable *table = get_member(h, list);
		const GArray *array = get_member(h, list);
		g_assert(!list->is_table || list->record_bytes == table->size);
		if (list->is_table)
			dtc_table_save(table, writer, list->section);
		else
			dtc_image_add(writer, list->section, list->record_bytes, array->data, array->len);
	}
}

static void set_list(DtcHistory *h, const struct list *list, const void *records, gsize count)
{
	void **member = (void **)(void *)((char *)h + list->member);

	if (list->is_table) {
		*member = dtc_table_new_borrowed(list->record_bytes, records, (guint)count);
		return;
	}
	*member = g_array_sized_new(FALSE, TRUE, (guint)list->record_bytes, (guint)count);
	if (count)
		g_array_append_vals(*member, records, (guint)count);
}

/* An empty one where there is none, so that all there is can be freed. */
static bool load_list(DtcHistory *h, const struct list *list, GError **error)
{
	gsize count = 0;
	const void *records = dtc_image_get(h->image, list->section, list->record_bytes, &count, error);

	set_list(h, list, records, count);
	return records != NULL;
}

static bool load_head(DtcHistory *h, GError **error)
{
	const struct head *head = dtc_image_get_one(h->image, "history.head", sizeof(*head), error);

	if (!head)
		return false;
	h->begin_ns = head->begin_ns;
	h->end_ns = head->end_ns;
	h->has_missing = head->has_missing != 0;
	return true;
}

DtcHistory *dtc_history_load(DtcImage *image, GError **error)
{
	g_autoptr(DtcHistory) h = g_new0(DtcHistory, 1);
	bool has_all = true;

	h->image = dtc_image_ref(image);
	h->is_sealed = true;
	for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
		has_all = load_list(h, &lists[i], has_all ? error : NULL) && has_all;
	h->packets = has_all ? dtc_packets_load(image, error) : NULL;
	if (!h->packets || !load_head(h, error) || !dtc_history_check_lists(h, error))
		return NULL;
	return g_steal_pointer(&h);
}

DtcHistory *dtc_history_load_packets(DtcImage *image, GError **error)
{
	g_autoptr(DtcHistory) h = g_new0(DtcHistory, 1);

	h->image = dtc_image_ref(image);
	h->is_sealed = true;
	for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
		set_list(h, &lists[i], NULL, 0);
	h->packets = dtc_packets_load(image, error);
	return h->packets && load_head(h, error) ? g_steal_pointer(&h) : NULL;
}
