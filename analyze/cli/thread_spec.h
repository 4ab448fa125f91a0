/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which thread and which part of its life --thread NODE:TID, --from and --to mean. */
#pragma once

#include "dtrace-chain/finding.h"
#include "dtrace-chain/history.h"

#include <glib.h>
#include <stdbool.h>

/* Splits NODE:TID at the last colon. ret_node is owned by the caller. */
bool dtc_thread_spec_parse(const char *text, char **ret_node, int32_t *ret_tid, GError **error);

struct dtc_thread_span {
	uint32_t thread;
	DtcNodeTime begin;
	DtcNodeTime end; /* after begin */
};

/*
 * The thread that had tid on a node in [from, to] (texts as dtc_moment_parse takes them; NULL: its whole life), cut to
 * its life. Errors name threads that are there. A tid that was used again is a finding: the last owner is taken.
 */
bool dtc_thread_spec_find(const DtcHistory *history, const char *node, int32_t tid, const char *from, const char *to,
			  DtcFindings *findings, struct dtc_thread_span *ret_span, GError **error);
