/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The page of all requests: histogram, percentile bands, when they ran, a table to sort and search, and the clocks. Its
 * data is the document dtrace-chain/requests/1, with all rows, and "clocks" in it.
 */
#pragma once

#include "analyze/report/quality.h"
#include "analyze/report/requests_view.h"

/* quality: of the clocks the requests are on. Caller owns. */
char *dtc_requests_to_html(const struct dtc_requests_input *input, const DtcQuality *quality);
