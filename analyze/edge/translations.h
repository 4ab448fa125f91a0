/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections whose addresses or ports are changed on their way: the address of a service becomes a pod's, a pod's that
 * of its host (DNAT, SNAT, masquerading). Their two sockets know them under different ends. What no translation changes
 * tells that they are one: the initial sequence numbers of both directions, or, where the trace has no begin of it,
 * data of which sequence number, acknowledgment and length are the same. Ports and addresses prove nothing and are not
 * looked at. What fits more than two sockets is left alone.
 */
#pragma once

#include "dtrace-chain/history.h"

#include <glib.h>
#include <stdbool.h>

/* A direction of a connection, as a node knows it. */
struct dtc_flow_place {
	guint node;
	uint32_t flow;
};

typedef struct DtcTranslations DtcTranslations;

/* histories: by node, sealed; NULL: a node without. Nothing is borrowed. */
DtcTranslations *dtc_translations_new(const DtcHistory *const *histories, guint node_count);
void dtc_translations_free(DtcTranslations *translations);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcTranslations, dtc_translations_free)

/* The translated connections, each once. */
guint dtc_translations_get_count(const DtcTranslations *translations);
/*
 * The same direction of the same connection as the other end's node knows it, under other ends. flow: of a socket of
 * the node, in either direction. False: it is not translated, as far as the recordings tell.
 */
bool dtc_translations_find(const DtcTranslations *translations, guint node, uint32_t flow,
			   struct dtc_flow_place *ret_other);
