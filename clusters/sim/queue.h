/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happens when: a heap by time, and by the order of adding among equal times. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum sim_happening { SIM_BURST_END, SIM_DISPATCH, SIM_TIMER, SIM_DISK_DONE, SIM_ARRIVAL };

struct sim_entry {
	int64_t at_ns;
	uint64_t order;
	enum sim_happening kind;
	guint32 node;
	guint32 subject; /* thread, or CPU */
	void *packet;	 /* of an arrival */
};

typedef struct SimQueue SimQueue;

SimQueue *sim_queue_new(void);
void sim_queue_free(SimQueue *queue);
void sim_queue_add(SimQueue *queue, int64_t at_ns, enum sim_happening kind, guint32 node, guint32 subject,
		   void *packet);
/* The earliest; false if there is none. */
bool sim_queue_take(SimQueue *queue, struct sim_entry *ret_entry);
