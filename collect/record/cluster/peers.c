/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/peers.h"

bool dtc_peers_are_two(guint a, guint b, guint count)
{
	guint distance = a < b ? b - a : a - b;

	distance = MIN(distance, count - distance);
	return a != b && (count <= DTC_PEERS_ALL || (distance & (distance - 1)) == 0);
}

void dtc_peers_list_own(char *const *const *addresses, guint count, char ***ret_own)
{
	g_autoptr(GHashTable) owners =
		g_hash_table_new(g_str_hash, g_str_equal); /* one more than the node; 0: several */

	for (guint i = 0; i < count; i++) {
		for (char *const *address = addresses[i]; address && *address; address++) {
			void *owner = NULL;
			bool is_known = g_hash_table_lookup_extended(owners, *address, NULL, &owner);
			bool is_own = !is_known || owner == GUINT_TO_POINTER(i + 1);
			g_hash_table_insert(owners, *address, GUINT_TO_POINTER(is_own ? i + 1 : 0));
		}
	}
	for (guint i = 0; i < count; i++) {
		GPtrArray *own = g_ptr_array_new();
		for (char *const *address = addresses[i]; address && *address; address++)
			if (g_hash_table_lookup(owners, *address) == GUINT_TO_POINTER(i + 1))
				g_ptr_array_add(own, g_strdup(*address));
		g_ptr_array_add(own, NULL);
		ret_own[i] = (char **)g_ptr_array_free(own, FALSE);
	}
}
