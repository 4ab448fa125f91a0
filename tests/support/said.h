/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a report says of a segment or blocking. The words are interned: nobody frees them. */
#pragma once

#include "analyze/edge/links.h"
#include "analyze/report/words.h"

#define SAID_NODES 8

struct said {
	const DtcHistory *histories[SAID_NODES];
	const char *node_names[SAID_NODES];
};

static inline const char *said_intern(char *words)
{
	const char *interned = g_intern_string(words);
	g_free(words);
	return interned;
}

static inline struct dtc_names said_names(struct said *said, const DtcLinks *links)
{
	guint count = dtc_links_get_node_count(links);
	g_assert_cmpuint(count, <=, SAID_NODES);
	for (guint i = 0; i < count; i++) {
		said->histories[i] = dtc_links_get_history(links, i);
		said->node_names[i] = dtc_links_get_node_name(links, i);
	}
	return (struct dtc_names){ said->histories, said->node_names, count };
}

static inline const char *said_of_segment(const DtcLinks *links, const struct dtc_segment *s)
{
	struct said said;
	const struct dtc_names names = said_names(&said, links);
	return said_intern(dtc_words_for_evidence(&names, &s->evidence, s->end.ns - s->begin.ns));
}

/* Who ended it. */
static inline const char *said_of_end(const DtcLinks *links, const struct dtc_blocking *b)
{
	struct said said;
	const struct dtc_names names = said_names(&said, links);
	return said_intern(dtc_words_for_end(&names, b));
}

static inline const char *said_of_label(const DtcHistory *history, uint32_t file)
{
	const struct dtc_label label = dtc_label_get(history, file);
	return said_intern(dtc_words_for_label(&label, dtc_label_get_text(history, &label)));
}

static inline const char *said_of_blocked_call(const DtcLinks *links, const struct dtc_blocked_row *row)
{
	uint32_t call = row->first.call;
	const DtcHistory *h = dtc_links_get_history(links, row->node);
	return call == DTC_NONE ? NULL : said_intern(dtc_words_for_labelled_call(h, call));
}

static inline const char *said_of_blocked_end(const DtcLinks *links, const struct dtc_blocked_row *row)
{
	struct said said;
	const struct dtc_names names = said_names(&said, links);
	return said_intern(dtc_words_for_blocked_end(&names, row));
}
