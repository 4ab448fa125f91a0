/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a request compares with the others of the recording, by their packets: cheap, for none has to be explained. */
#pragma once

#include "analyze/request/locate.h"

struct dtc_usual {
	guint count; /* requests of the captures that were answered, this one too; 0: it was not, or is alone */
	guint rank;  /* 1: nothing took longer */
	/* of those with its method and URL pattern (exchange/url_pattern.h), this one too */
	char *method, *pattern; /* owned; pattern NULL: its URL is not known */
	guint like_count;
	int64_t like_p50_ns; /* nearest rank */
};

/* To be cleared after use. */
void dtc_usual_find(struct dtc_usual *usual, const DtcRequests *requests, const DtcLocator *locator, guint request);
void dtc_usual_clear(struct dtc_usual *usual);
