/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a trace says of where it was recorded. */
#pragma once

/* All owned, none NULL: "" where the trace does not tell. */
struct dtc_trace_origin {
	char *uuid; /* of the trace */
	char *host;
	char *boot; /* of the machine's run: LTTng has the kernel's boot id as the uuid of its clock */
};

void dtc_trace_origin_clear(struct dtc_trace_origin *origin);
