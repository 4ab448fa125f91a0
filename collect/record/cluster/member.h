/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A node of a cluster that is recorded, seen from here: a connection to its agent (agent.h), how far it is, and what
 * has come of it. Nothing here waits; whoever records polls for all members and lets each go on.
 */
#pragma once

#include "collect/record/cluster/boot.h"
#include "collect/record/cluster/targets.h"

#include <glib.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum dtc_member_phase {
	DTC_MEMBER_CONNECTING,
	DTC_MEMBER_GREETED, /* its agent is there, and waits for the start */
	DTC_MEMBER_STARTING,
	DTC_MEMBER_RECORDING, /* until it ends, by itself or as it was told */
	DTC_MEMBER_ENDING,    /* stops, and is sealed */
	DTC_MEMBER_FETCHING,
	DTC_MEMBER_LEAVING, /* its agent removes what is left */
	DTC_MEMBER_OVER,
};

/* The same for all members. Borrowed as long as they live. */
struct dtc_member_settings {
	char *const *via; /* or NULL: ssh */
	struct dtc_boot boot;
	GMappedFile *program; /* what is copied to nodes that lack it */
	char *const *options; /* of `record` */
	const char *key;      /* by which all redact (shared_key.h); NULL: none does */
	const char *token;    /* of this run's probes; NULL: there are none */
	int64_t retry_ns;     /* how long a broken connection is tried again */
};

typedef struct DtcMember DtcMember;

/*
 * What it recorded is written to the folder; number is its own among all. It begins to connect. Caller owns.
 */
DtcMember *dtc_member_new(const struct dtc_target *target, guint number, const char *folder,
			  const struct dtc_member_settings *settings);
/* Ends the connection; what is left over there goes by itself. */
void dtc_member_free(DtcMember *member);

#define DTC_MEMBER_POLL_COUNT 3
void dtc_member_fill_poll(const DtcMember *member, struct pollfd ret_fds[DTC_MEMBER_POLL_COUNT]);
/* Takes what has come, sends what is to be sent, and looks at the time. */
void dtc_member_go_on(DtcMember *member);

/* Where others reach it with probes: its port, 0 if they do not, and addresses (NULL-terminated, borrowed). */
uint16_t dtc_member_get_probe_port(const DtcMember *member);
char *const *dtc_member_get_addresses(const DtcMember *member);
/* Where it is greeted: it is to exchange probes with another one, which can be reached there. */
void dtc_member_add_peer(DtcMember *member, const DtcMember *peer, char *const *addresses);
/* Where it is greeted: the recording begins. */
void dtc_member_start(DtcMember *member);
/* Where it starts or records: it ends. Where it only connects: it is not wanted any more. */
void dtc_member_stop(DtcMember *member);
/* Whatever it does, it leaves; what is not here yet is lost. The reason is kept as its failure. */
void dtc_member_give_up(DtcMember *member, const char *reason);

const struct dtc_target *dtc_member_get_target(const DtcMember *member);
enum dtc_member_phase dtc_member_get_phase(const DtcMember *member);
/* What it was to wait for has come (--until-...), and its recording ends. */
bool dtc_member_has_triggered(const DtcMember *member);
/* All that it recorded is here. */
bool dtc_member_is_fetched(const DtcMember *member);
/* Fetched, with no word that anything was lost. */
bool dtc_member_is_complete(const DtcMember *member);
/* The folder that it was fetched to. Borrowed. */
const char *dtc_member_get_folder(const DtcMember *member);
/* Why it failed, with a hint; NULL: it did not. Borrowed. */
const GError *dtc_member_get_failure(const DtcMember *member);
/* Lines that recording and sealing printed, and what else is to be said of it (char *). Borrowed. */
const GPtrArray *dtc_member_get_notes(const DtcMember *member);
/* "12.3 MB", "fetching 40 %": for a line of progress. Caller owns. */
char *dtc_member_describe(const DtcMember *member);
