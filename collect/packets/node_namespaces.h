/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a recorder's environment file says of the network namespaces of a node, told to its packets. */
#pragma once

#include "collect/bundle/environment.h"
#include "collect/packets/packets.h"

/*
 * Shares the addresses that more than one namespace of the node has. NULL, or captures of one namespace: none, not even
 * loopback's. Both the kernel's packets of a node and its captures' need it, since flows of one are looked for in the
 * other.
 */
void dtc_packets_share_addresses(DtcPackets *packets, const DtcEnvironment *environment);
/* The namespace that a capture is of, by its path; 0: not known. */
uint32_t dtc_environment_find_netns(const DtcEnvironment *environment, const char *path);
