/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which events are recorded: a set of ours, or the user's own list, out of what this kernel has. What a set wants and
 * the kernel has not is told with what is lost by it.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum dtc_event_set {
	DTC_EVENTS_MINIMAL, /* what right answers need, at the least cost */
	DTC_EVENTS_DEFAULT,
	DTC_EVENTS_FULL,
};

struct dtc_event_choice {
	GPtrArray *events; /* owned char *: "system:event", sorted, each once */
	GPtrArray *lacks;  /* owned char *: "thing=what is lost" */
};

/* "minimal", "default", "full"; false with a usage error. */
bool dtc_event_set_parse(const char *word, enum dtc_event_set *ret_set, GError **error);
const char *dtc_event_set_to_string(enum dtc_event_set set);

/*
 * available is the kernel's available_events: "system:event" a line. list is NULL, or the user's: patterns
 * "system:event" with * and ?, separated by commas. With '+' or '-' before each they change the set, without they stand
 * for it. A pattern that nothing matches is a usage error. Free with dtc_event_choice_clear.
 */
bool dtc_events_choose(const char *available, enum dtc_event_set set, const char *list,
		       struct dtc_event_choice *ret_choice, GError **error);
/*
 * Adds those that tell when a guest's CPU ran, whatever was chosen; how many there are in this kernel: none where KVM
 * is not loaded.
 */
guint dtc_event_choice_add_guests(struct dtc_event_choice *choice, const char *available);
void dtc_event_choice_clear(struct dtc_event_choice *choice);
