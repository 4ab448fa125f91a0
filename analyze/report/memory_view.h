/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What processes had in memory (analyze/engine/memory.h): parts of the views of `usage`. */
#pragma once

#include "analyze/engine/memory.h"
#include "analyze/report/layout.h"

/* Everything is borrowed for the call. */
struct dtc_memory_input {
	const GPtrArray *memories; /* as of dtc_memories_new */
	const DtcUsage *usage;	   /* of the same bundle: whose processes are asked for */
};

/* A member "memory": an object, or null for NULL. */
void dtc_memory_add_json(GString *out, const struct dtc_memory_input *input);
/* A table of each node, of at most so many rows (0: all); and how to record it, where the trace has none. */
void dtc_memory_add_text(DtcLayout *layout, const struct dtc_memory_input *input, guint limit);
