/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The headers that carry the identity of a request, lower case, in the order of how well they tell requests apart: what
 * the analysis looks for, and what a recorder that cuts the rest must keep. Each is given to X with the form of its
 * value and its width (analyze/exchange/identity.h).
 */
#pragma once

#define DTC_ID_HEADERS(X)                                                                                              \
	X("x-request-id", FORM_PLAIN, 0)                                                                               \
	X("traceparent", FORM_TRACEPARENT, 2)                                                                          \
	X("b3", FORM_B3, 3)                                                                                            \
	X("x-b3-traceid", FORM_PLAIN, 4)                                                                               \
	X("uber-trace-id", FORM_UBER, 5)                                                                               \
	X("sw8", FORM_SW8, 6)                                                                                          \
	X("x-correlation-id", FORM_PLAIN, 7)
