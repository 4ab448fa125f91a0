/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the set of spans with ids: how its sources add to it. */
#pragma once

#include "analyze/request/id_spans.h"

const struct dtc_id_spans_input *dtc_id_spans_get_input(const DtcIdSpans *spans);
/* The id is copied, cleaned and bounded; source is borrowed. False, and nothing happens, when the set is full. */
bool dtc_id_spans_add(DtcIdSpans *spans, const char *id, gsize id_bytes, const char *source, guint node,
		      uint32_t thread, int64_t begin_ns, int64_t end_ns);
/* Equal strings are kept once, as long as the set. */
const char *dtc_id_spans_keep(DtcIdSpans *spans, const char *text);
