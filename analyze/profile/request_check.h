/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every answer promises about requests, verified over all of a bundle: nobody reads what was not yet written, and
 * nobody works for a request before its first byte or after its last answer. The rules that find hops and owners
 * (analyze/request) drop what is not so; here it is looked at without them, from calls and clocks alone.
 */
#pragma once

#include "analyze/profile/profile_check.h"
#include "analyze/request/serving.h"

struct dtc_request_check_input {
	const DtcLinks *links;
	const GPtrArray *places;   /* struct dtc_place by request; NULL: not looked at */
	const GPtrArray *ids;	   /* char * by request */
	const DtcServing *serving; /* of all these requests */
};

/* Adds struct dtc_check to checks, which come from dtc_check_run. */
void dtc_request_check_run(const struct dtc_request_check_input *input, GArray *checks);
