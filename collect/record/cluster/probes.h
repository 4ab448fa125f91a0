/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Probes: small UDP packets that nodes of a cluster exchange while they are recorded, a few a second, so that their
 * clocks can be aligned where nothing else passes between them. Each node asks those others from which too little came
 * in the last second, and answers who asks. Nothing is said to, and nothing is taken from, anybody but the nodes that
 * were named: a packet is theirs if it comes from an address and the port of one, is to this node, and bears the token
 * of this run. An answer is a byte shorter than its question.
 *
 *   bytes  what (big endian)
 *   8      "dtcprobe"
 *   16     the token
 *   4, 4   the sender's number, and the receiver's
 *   4      0 asks, 1 answers
 *   4      number of the question; no two of a node are alike
 *   0-995  zeros: of another length each time (a question's is odd, an answer's even), which tells those apart of which
 *          only headers were recorded
 */
#pragma once

#include <glib.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_PROBES_TOKEN_BYTES 16u
#define DTC_PROBES_MAX_ADDRESSES 16u /* of a node */
#define DTC_PROBES_POLL_COUNT 2u

typedef struct DtcProbes DtcProbes;

/* On a port that the kernel chooses. Without packets for others until dtc_probes_begin. Caller owns. */
DtcProbes *dtc_probes_open(GError **error);
void dtc_probes_free(DtcProbes *probes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcProbes, dtc_probes_free)
uint16_t dtc_probes_get_port(const DtcProbes *probes);
/*
 * Addresses by which others may reach this network namespace, as texts: of interfaces that are up, but loopback's and
 * those of a link. At most DTC_PROBES_MAX_ADDRESSES; free with g_strfreev.
 */
char **dtc_probes_list_addresses(void);

/* The token of this run (32 hexadecimal digits), and which number this node has. False if that is no token. */
bool dtc_probes_begin(DtcProbes *probes, const char *token, uint32_t own_number);
/* A node to exchange packets with: where it can be reached. False if it has no port or address. */
bool dtc_probes_add_peer(DtcProbes *probes, uint32_t number, uint16_t port, const char *const *addresses);

void dtc_probes_fill_poll(const DtcProbes *probes, struct pollfd ret_fds[DTC_PROBES_POLL_COUNT]);
/* How long until there is something to send; -1: nothing ever. */
int dtc_probes_get_wait_ms(const DtcProbes *probes);
/* Answers what has come, and asks where it is time to. */
void dtc_probes_go_on(DtcProbes *probes);
