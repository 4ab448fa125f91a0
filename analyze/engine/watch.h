/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who watches the engine: told what it is doing and how far it is, and asked whether it should go on. The engine asks
 * before each step of its work, several times a second while it reads, and between requests; in the caller's own
 * thread, so that the watcher needs no lock. It draws and decides; what it makes of a step in words is its own.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum dtc_phase {
	DTC_PHASE_READ,	   /* done and all are bytes of recordings */
	DTC_PHASE_ALIGN,   /* all: nodes */
	DTC_PHASE_LINK,	   /* all: nodes */
	DTC_PHASE_PLACE,   /* all: requests */
	DTC_PHASE_EXPLAIN, /* done and all are requests */
};

struct dtc_progress {
	enum dtc_phase phase;
	guint64 done; /* of all, which is 0 where it is not known */
	guint64 all;
	guint64 events; /* and packets, read so far */
	double seconds; /* since the phase began */
};

struct dtc_watch {
	/* False: the engine gives up what it does, as soon as it can, with DTC_ERROR_CANCELLED. */
	bool (*look)(const struct dtc_progress *progress, void *data);
	void *data;
};

/* For the engine: false with DTC_ERROR_CANCELLED if the watcher says so. watch may be NULL: nobody watches. */
bool dtc_watch_tell(const struct dtc_watch *watch, const struct dtc_progress *progress, GError **error);
