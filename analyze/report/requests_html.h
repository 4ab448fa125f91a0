/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The page of all requests: histogram, percentile bands, and a table to sort and search. Its data is the document
 * dtrace-chain/requests/1, with all rows.
 */
#pragma once

#include "analyze/report/summary_view.h"

/* Caller owns. */
char *dtc_requests_to_html(const struct dtc_requests_input *input);
