/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/suggest.h"

#include <string.h>

#define MAX_BYTES 64 /* longer words are no typing errors */

/* Letters to insert, remove, replace, or swap with their neighbour (optimal string alignment). */
static guint get_distance(const char *a, const char *b)
{
	gsize a_bytes = strlen(a), b_bytes = strlen(b);
	guint rows[3][MAX_BYTES + 1];
	guint *before = rows[0], *last = rows[1], *row = rows[2];

	for (gsize k = 0; k <= b_bytes; k++)
		last[k] = (guint)k;
	for (gsize i = 1; i <= a_bytes; i++) {
		row[0] = (guint)i;
		for (gsize k = 1; k <= b_bytes; k++) {
			guint least = MIN(last[k], row[k - 1]) + 1;
			least = MIN(least, last[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				least = MIN(least, before[k - 2] + 1);
			row[k] = least;
		}
		guint *spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[b_bytes];
}

const char *dtc_suggest(const char *word, const char *const *words)
{
	gsize bytes = strlen(word);
	const char *nearest = NULL;
	guint least = (guint)(bytes + 2) / 3 + 1; /* one letter of "top", three of "blockings" */

	if (bytes < 2 || bytes > MAX_BYTES)
		return NULL;
	for (; *words; words++) {
		if (strlen(*words) > MAX_BYTES)
			continue;
		/* the begin of a word is a word that is not finished */
		guint distance = g_str_has_prefix(*words, word) ? 1 : get_distance(word, *words);
		if (distance < least) {
			least = distance;
			nearest = *words;
		}
	}
	return nearest;
}
