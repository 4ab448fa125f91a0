/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Other addresses for addresses, by the key of pseudonyms.h: two that begin with the same bits become two that do so
 * (bit by bit, as Crypto-PAn does it), so that networks stay networks and prefixes keep their length. Loopback,
 * broadcast and what stands for any address stay what they are; private, link-local and multicast addresses stay such.
 */
#pragma once

#include "collect/redact/pseudonyms.h"

typedef struct DtcAddresses DtcAddresses;

/* words is borrowed. Caller owns. */
DtcAddresses *dtc_addresses_new(const DtcPseudonyms *words);
void dtc_addresses_free(DtcAddresses *addresses);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcAddresses, dtc_addresses_free)

/* Each in its place. An IPv4 address in an IPv6 address becomes what it becomes by itself. */
void dtc_addresses_replace_ipv4(DtcAddresses *addresses, uint8_t address[4]);
void dtc_addresses_replace_ipv6(DtcAddresses *addresses, uint8_t address[16]);
/* All but what tells groups and local administration. */
void dtc_addresses_replace_mac(DtcAddresses *addresses, uint8_t mac[6]);
/* "52:54:00:12:34:56"; what is none becomes "". Caller frees. */
char *dtc_addresses_replace_mac_string(DtcAddresses *addresses, const char *text);
/* "10.0.0.2", "10.0.0.2/24", "fe80::1/64"; what is none becomes "". Caller frees. */
char *dtc_addresses_replace_string(DtcAddresses *addresses, const char *text);
