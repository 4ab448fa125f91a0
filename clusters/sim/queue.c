/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "clusters/sim/queue.h"

struct SimQueue {
	GArray *heap; /* struct sim_entry */
	uint64_t next_order;
};

SimQueue *sim_queue_new(void)
{
	SimQueue *queue = g_new0(SimQueue, 1);
	queue->heap = g_array_new(FALSE, FALSE, sizeof(struct sim_entry));
	return queue;
}

void sim_queue_free(SimQueue *queue)
{
	g_array_unref(queue->heap);
	g_free(queue);
}

static bool is_before(const struct sim_entry *a, const struct sim_entry *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

void sim_queue_add(SimQueue *queue, int64_t at_ns, enum sim_happening kind, guint32 node, guint32 subject, void *packet)
{
	struct sim_entry entry = { at_ns, queue->next_order++, kind, node, subject, packet };
	g_array_append_val(queue->heap, entry);
	struct sim_entry *heap = (struct sim_entry *)(void *)queue->heap->data;
	guint at = queue->heap->len - 1;
	for (; at > 0 && is_before(&entry, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = entry;
}

bool sim_queue_take(SimQueue *queue, struct sim_entry *ret_entry)
{
	struct sim_entry *heap = (struct sim_entry *)(void *)queue->heap->data;
	if (queue->heap->len == 0)
		return false;
	*ret_entry = heap[0];
	guint count = queue->heap->len - 1, at = 0;
	struct sim_entry last = heap[count];
	for (guint child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &last))
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	g_array_set_size(queue->heap, count);
	return true;
}
