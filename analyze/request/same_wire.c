/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/same_wire.h"

#include <string.h>

static bool has_same_ends(const struct dtc_flow *a, const struct dtc_flow *b)
{
	return a->source_port == b->source_port && a->destination_port == b->destination_port &&
	       memcmp(a->source, b->source, 16) == 0 && memcmp(a->destination, b->destination, 16) == 0;
}

bool dtc_same_wire(const struct dtc_exchange *a, const struct dtc_flow *a_flow, const struct dtc_exchange *b,
		   const struct dtc_flow *b_flow)
{
	bool both_request = a->has_request && b->has_request, both_respond = a->has_response && b->has_response;
	if (!both_request && !both_respond)
		return false;
	if ((both_request && a->request_seq != b->request_seq) || (both_respond && a->response_seq != b->response_seq))
		return false;
	if (a->node != b->node && (dtc_address_is_loopback(a_flow->source) || dtc_address_is_loopback(b_flow->source)))
		return false;
	if (a_flow->has_isn && b_flow->has_isn && a_flow->isn != b_flow->isn)
		return false;
	return has_same_ends(a_flow, b_flow) || (both_request && both_respond);
}
