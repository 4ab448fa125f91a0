/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The findings at the end of a command's output. */
#pragma once

#include "analyze/report/layout.h"
#include "dtrace-chain/finding.h"

/* A heading and a paragraph per finding; nothing if there are none. */
void dtc_finding_list_add_text(DtcLayout *layout, const DtcFindings *findings);
/* The findings as a list, one per line. */
void dtc_finding_list_append_json(GString *out, const DtcFindings *findings);
/* The members "findings" (as above) and "complete" of the document that ends out. */
void dtc_finding_list_add_json(GString *out, const DtcFindings *findings);
