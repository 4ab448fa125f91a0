/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The page: one file that works from disk, without network. Its parts are page.html, page.css, timeline.js and page.js,
 * built into the program; the data stands in a script element of type application/json, and the page's policy allows
 * nothing but the style and the scripts that were built in, by their hashes. A name from a trace is data all the
 * way: it is escaped here and set as text there.
 */
#pragma once

#include "analyze/report/lanes.h"
#include "analyze/report/quality.h"
#include "dtrace-chain/report.h"

/*
 * lanes and quality belong to this report. The path is folded to what a page can show; the figures are not. Caller
 * owns.
 */
char *dtc_report_to_html(const DtcReport *report, const DtcLanes *lanes, const DtcQuality *quality);
