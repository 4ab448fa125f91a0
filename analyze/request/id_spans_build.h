/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the set of spans with ids: how its sources add to it. */
#pragma once

#include "analyze/request/id_spans.h"

const struct dtc_id_spans_input *dtc_id_spans_get_input(const DtcIdSpans *spans);
/*
 * One like span, whose id of id_bytes is copied, cleaned and bounded; source is borrowed. False, and nothing happens,
 * when the set is full.
 */
bool dtc_id_spans_add(DtcIdSpans *spans, const struct dtc_id_span *span, gsize id_bytes);
/* Equal strings are kept once, as long as the set. */
const char *dtc_id_spans_keep(DtcIdSpans *spans, const char *text);
