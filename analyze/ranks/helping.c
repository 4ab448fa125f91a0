/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* sched_getaffinity */
#include "analyze/ranks/helping.h"

#include <sched.h>
#include <string.h>

void dtc_helping_get_processors(struct dtc_helping_processors *ret_processors)
{
	guint count = 64 * G_N_ELEMENTS(ret_processors->words);
	cpu_set_t *set = CPU_ALLOC(count);
	gsize bytes = CPU_ALLOC_SIZE(count);

	memset(ret_processors, 0, sizeof(*ret_processors));
	if (set && sched_getaffinity(0, bytes, set) == 0)
		for (guint i = 0; i < count; i++)
			if (CPU_ISSET_S(i, bytes, set))
				ret_processors->words[i / 64] |= (guint64)1 << (i % 64);
	CPU_FREE(set);
}

/* Whether some of its processors are those of none before it that is at work on its machine. */
static bool brings_processors(const struct dtc_bell_name *places, const struct dtc_helping_processors *processors,
			      guint rank, const bool *is_at_work)
{
	struct dtc_helping_processors more = processors[rank];
	guint64 any = 0;

	for (guint i = 0; i < rank; i++)
		if (is_at_work[i] && dtc_bell_share_machine(&places[i], &places[rank]))
			for (guint k = 0; k < G_N_ELEMENTS(more.words); k++)
				more.words[k] &= ~processors[i].words[k];
	for (guint k = 0; k < G_N_ELEMENTS(more.words); k++)
		any |= more.words[k];
	return any != 0;
}

bool dtc_helping_choose(const struct dtc_bell_name *places, const struct dtc_helping_processors *processors,
			guint rank_count, bool *ret_helps)
{
	const char *who = g_getenv(DTC_HELPING_VARIABLE);
	g_autofree bool *is_at_work = g_new0(bool, rank_count + 1);
	bool has_any = false;

	is_at_work[0] = true;
	for (guint rank = 0; rank < rank_count; rank++) {
		if (rank && g_strcmp0(who, "none") != 0)
			is_at_work[rank] =
				g_strcmp0(who, "all") == 0 || brings_processors(places, processors, rank, is_at_work);
		ret_helps[rank] = rank && is_at_work[rank];
		has_any |= ret_helps[rank];
	}
	return has_any;
}
