/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a trace says of itself before it is opened, in either language of metadata. */
#pragma once

#include "collect/read/origin.h"
#include "dtrace-chain/manifest.h"

#include <stdbool.h>

/* The first clock that the trace declares; false if there is none. Clear with dtc_clock_class_clear. */
bool dtc_declaration_describe_clock(const char *path, struct dtc_clock_class *ret_clock);
/* Where the trace was recorded; false if it does not tell. Clear with dtc_trace_origin_clear. */
bool dtc_declaration_describe_origin(const char *path, struct dtc_trace_origin *ret_origin);
