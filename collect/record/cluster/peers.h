/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes of a cluster exchange probes, and by which addresses. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define DTC_PEERS_ALL 8u /* nodes: of so many each probes each */

/*
 * Whether two of so many nodes do. Of many each has only those at a distance of 1, 2, 4 ... around a circle: every two
 * are connected over a few others, and what a node sends grows with the logarithm of their number.
 */
bool dtc_peers_are_two(guint a, guint b, guint count);
/*
 * Of each node's addresses (a list of strings for each, NULL: it has none) those that no other one has: a bridge for
 * containers is called alike on all hosts, and by such an address each would reach itself. Free each with g_strfreev.
 */
void dtc_peers_list_own(char *const *const *addresses, guint count, char ***ret_own);
