/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An event, as it stands in a list of the events of all nodes. */
#pragma once

#include "collect/read/event.h"
#include "dtrace-chain/history.h"

#include <stdint.h>

/* All that is pointed to is borrowed until the next line is taken. */
struct dtc_event_line {
	const char *node;
	const char *name; /* of the event */
	const char *call; /* of one that enters or leaves a call which is known; else NULL */
	const struct dtc_event *event;
	DtcClusterTime time;
	int64_t origin_ns; /* cluster time that relative times count from; 0: the time itself is shown */
	int32_t tid;	   /* that ran on the CPU; -1: not known */
	const char *comm;  /* its name, or NULL */
};
