/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/packets/time_order.h"

#include "collect/packets/packets.h"

/* A packet that is earlier than one before it, taken out until its place is known. */
struct straggler {
	struct dtc_packet packet;
	uint32_t mark;
	uint32_t rank; /* of those that stayed, how many came before it */
};

static struct dtc_packet *get_packet(const DtcTable *records, uint32_t index)
{
	return DTC_AT(records, struct dtc_packet, index);
}

static int compare_time(const void *a, const void *b, void *data)
{
	(void)data;
	const struct straggler *x = a, *y = b;
	return (x->packet.time_ns > y->packet.time_ns) - (x->packet.time_ns < y->packet.time_ns);
}

static void move(DtcTable *records, DtcTable *marks, uint32_t from, uint32_t to)
{
	*get_packet(records, to) = *get_packet(records, from);
	*DTC_AT(marks, uint32_t, to) = *DTC_AT(marks, uint32_t, from);
}

/* What stays is moved together, in order; gives how many. */
static uint32_t take_out(DtcTable *records, DtcTable *marks, DtcTable *stragglers)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < records->len; i++) {
		const struct dtc_packet *packet = get_packet(records, i);
		if (kept && packet->time_ns < get_packet(records, kept - 1)->time_ns) {
			const struct straggler late = { *packet, *DTC_AT(marks, uint32_t, i), kept };
			dtc_table_append(stragglers, &late);
			continue;
		}
		if (i != kept)
			move(records, marks, i, kept);
		kept++;
	}
	return kept;
}

/* From the end on, where there is room. */
static void put_back(DtcTable *records, DtcTable *marks, uint32_t kept, const DtcTable *stragglers)
{
	uint32_t at = records->len, left = stragglers->len;

	while (left) {
		const struct straggler *late = DTC_AT(stragglers, struct straggler, left - 1);
		const struct dtc_packet *last = kept ? get_packet(records, kept - 1) : NULL;
		at--;
		if (last && (last->time_ns > late->packet.time_ns ||
			     (last->time_ns == late->packet.time_ns && kept > late->rank))) {
			move(records, marks, --kept, at);
			continue;
		}
		*get_packet(records, at) = late->packet;
		*DTC_AT(marks, uint32_t, at) = late->mark;
		left--;
	}
}

void dtc_packets_order_by_time(DtcTable *records, DtcTable *marks)
{
	g_autoptr(DtcTable) stragglers = dtc_table_new(sizeof(struct straggler));
	uint32_t kept = take_out(records, marks, stragglers);

	/* documented to be stable: file order breaks ties */
	if (stragglers->len)
		g_qsort_with_data(stragglers->data, (gint)stragglers->len, sizeof(struct straggler), compare_time,
				  NULL);
	put_back(records, marks, kept, stragglers);
}
