/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that only ask. Who asks while it is being asked is told by addresses (anonymous.h), which say nothing where
 * both ends have the same one: over loopback a load generator, the proxy that it asks and the server behind that are
 * all 127.0.0.1. There the traces tell: a process that never was the server of a connection asks for nobody else.
 */
#pragma once

#include "analyze/edge/links.h"
#include "dtrace-chain/request.h"

typedef struct DtcClients DtcClients;

/* Everything is borrowed and must outlive it. captures: by node; NULL: none. Caller owns. */
DtcClients *dtc_clients_new(const DtcLinks *links, const DtcPackets *const *captures);
void dtc_clients_free(DtcClients *clients);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcClients, dtc_clients_free)

/* Both ends of the exchange have one address, and its client serves nobody; false also where that is not known. */
bool dtc_clients_has_only_asked(DtcClients *clients, const struct dtc_exchange *exchange);
