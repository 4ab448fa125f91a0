/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process that was asked: it runs the command as dtrace-chain does, with owners (analyze/engine/owners.h) that are
 * other processes. If one of them is lost after it was given nodes, what was computed is worth nothing: the process
 * notes who, and ends; whoever started it begins again, without those nodes.
 *
 * In another rank the same is a helper (help.h): it asks owners what the asker has asked them, and ends without a word
 * when it cannot go on.
 */
#pragma once

#include "analyze/engine/owners.h"
#include "analyze/ranks/losses.h"

/* With which a process ends that is to be begun again. */
#define DTC_ASKER_BEGIN_AGAIN 111

struct dtc_asker_input {
	int end;
	int pulses; /* a byte goes into that pipe at each pulse (pulse.h); -1: nobody looks */
	DtcLosses *losses;
	char **arguments;  /* of the command, NULL-terminated */
	const bool *helps; /* who is to help, by rank */
	GVariant *asked;   /* of DTC_LETTER_HELP_TYPE: this is a helper, and that is what the asker asks; or NULL */
};
/* One of a process, which uses it until it ends. The input is copied, what it points to is borrowed. */
const struct dtc_owners *dtc_asker_new(const struct dtc_asker_input *input);
