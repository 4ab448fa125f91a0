/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recording a cluster: all members connect; when each is there or has failed, all start; when each records or has
 * failed, that is said, and the time counts. What ends the recording of all: a signal, the duration, the end of a
 * command here, a recorder whose trigger fires. Then each is fetched. A member that fails holds
 * up no other.
 */
#pragma once

#include "collect/record/cluster/member.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct dtc_run_request {
	GPtrArray *targets; /* struct dtc_target */
	const char *folder; /* in which the nodes' folders are made */
	struct dtc_member_settings member;
	int64_t duration_ns;   /* 0: until something else ends it */
	char *const *command;  /* runs here while all record; or NULL */
	bool has_trigger;      /* a recorder whose trigger fires ends all */
	bool quiet;	       /* no lines of progress */
	int signal_fd;	       /* of dtc_stop_signals_open: the first ends the recording, the second the fetching */
	bool has_no_addresses; /* for who packs: they were redacted */
};

/*
 * The members, all over (DtcMember *, by name); free with g_ptr_array_unref. NULL only if the command could not be
 * prepared.
 */
GPtrArray *dtc_run_cluster(const struct dtc_run_request *request, GError **error);
