/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words of evidence that many spans have: a path of half a million segments is of a few dozens of calls, interrupts and
 * packets, and what is said of each is made once. What stands in the words is the key, so that they are those of
 * dtc_words_for_evidence to the letter; what is different for each span (who had the CPU, which sector) is made anew.
 */
#pragma once

#include "analyze/report/words.h"

#include <glib.h>

typedef struct DtcDetails DtcDetails;

/* keep gives the text a place that lives as long as what is made of it, or NULL for none; equal texts have one place.
 */
typedef const char *(*DtcKeepText)(gpointer data, const char *text);

/* Names and data are borrowed. Caller owns. */
DtcDetails *dtc_details_new(const struct dtc_names *names, DtcKeepText keep, gpointer data);
void dtc_details_free(DtcDetails *details);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcDetails, dtc_details_free)

/* As dtc_words_for_evidence, kept. */
const char *dtc_details_get(DtcDetails *details, const struct dtc_evidence *evidence, int64_t span_ns);
