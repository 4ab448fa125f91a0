/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stays of a vCPU, seen from its guest: where an event of the guest can lie among them, and what follows. */
#pragma once

#include "analyze/guest/guests.h"

struct dtc_stays {
	const DtcHistory *h; /* of the host */
	const DtcClocks *clocks;
	guint guest, host;
	const struct dtc_vcpu *vcpu;
};

/*
 * Times at which a guest certainly ran on each of its CPUs, sorted: whatever runs there begins with an event. Array of
 * GArray of int64_t by CPU; caller owns.
 */
GPtrArray *dtc_stays_list_events(const DtcHistory *h);

/* Where on the host's clock an event of the guest lies for certain. */
void dtc_stays_get_window(const struct dtc_stays *s, int64_t guest_ns, int64_t *ret_lo_ns, int64_t *ret_hi_ns);

const struct dtc_guest_span *dtc_stays_get_span(const struct dtc_stays *s, uint32_t index);
/* The first stay that ends at or after time; their count if none does. */
uint32_t dtc_stays_find_first(const struct dtc_stays *s, int64_t time_ns);
/* The first stay that begins after time. */
uint32_t dtc_stays_find_after(const struct dtc_stays *s, int64_t time_ns);
/* False where events were lost, or the thread was not seen yet: it may have been in the guest without our knowing. */
bool dtc_stays_is_known(const struct dtc_stays *s, int64_t lo_ns, int64_t hi_ns);

enum dtc_stays_place {
	DTC_PLACE_NOT_KNOWN,
	DTC_PLACE_INSIDE, /* of the stays from ret_first to ret_last */
	DTC_PLACE_OUTSIDE,
};

enum dtc_stays_place dtc_stays_locate(const struct dtc_stays *s, int64_t lo_ns, int64_t hi_ns, uint32_t *ret_first,
				      uint32_t *ret_last);

/*
 * What stays and events (as of dtc_stays_list_events, of the CPU that the vCPU carries) say of the two clocks: appends
 * struct dtc_guest_bound. is_steady: no clock steps, so that rates hold over any span.
 */
void dtc_stays_add_bounds(const struct dtc_stays *s, const GArray *events, bool is_steady, GArray *bounds);
