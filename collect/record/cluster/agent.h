/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The side of `dtrace-collect cluster` that runs on a node, for as long as a connection lasts: it records by a child of
 * its own (`dtrace-collect record`), tells how that goes, and hands over what was recorded.
 *
 *   it is told                  it answers
 *   probe TOKEN NUMBER          probing PORT ADDRESS..., where others can reach it; PORT 0: it cannot (probes.h)
 *   peer NUMBER PORT ADDRESS... (nothing) it exchanges probes with that node from now until the recording ends
 *   start NODE OPTION...        ready, once everything records; then "ending" as soon as it ends by itself
 *                               ("ending trigger": what it was to wait for has come)
 *   stop                        said LINE for each line that recording and sealing printed, then "ended CODE"
 *   list                        file BYTES PATH for each file, then "listed"
 *   get PATH OFFSET             data BYTES and these bytes, until the end of the file: "whole"; or "unreadable REASON"
 *   ping                        (nothing)
 *   bye                         gone, when nothing is left of it
 *
 * It begins with "hello PROTOCOL", and each second says "alive BYTES". The end of its input, a signal, or silence
 * means that whoever it worked for is gone: the recording ends and is sealed. Then it waits a little for one who takes
 * over ("resume", over another connection), and removes what nobody took. A recorder that is killed is sealed all the
 * same, and what it left in the kernel removed; if the agent is killed, its recorder ends, and "resume" finds the rest.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_AGENT_PROTOCOL "3"

struct dtc_agent_request {
	const char *folder;  /* collect/record/cluster/remains.h; it is removed at the end */
	const char *program; /* that records and seals: dtrace-collect */
	int in_fd, out_fd;   /* taken over */
	bool resumes;	     /* another agent worked there before */
	int64_t silence_ns;  /* so long without a word, and nobody is there any more */
	int64_t linger_ns;   /* how long it waits for one who takes over */
};

/* Returns when nothing is left, or another one has taken over. False: it could not begin; nothing was changed. */
bool dtc_agent_serve(const struct dtc_agent_request *request, GError **error);
