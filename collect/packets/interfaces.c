/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/packets/records.h"

#include <string.h>

static bool is_interface(const DtcPackets *packets, uint16_t interface, const char *name)
{
	return interface < packets->interfaces->len &&
	       strcmp(name, g_ptr_array_index(packets->interfaces, interface)) == 0;
}

static uint16_t note_interface(DtcPackets *packets, uint16_t interface)
{
	if (packets->last_interfaces[0] != interface) {
		packets->last_interfaces[1] = packets->last_interfaces[0];
		packets->last_interfaces[0] = interface;
	}
	return interface;
}

uint16_t dtc_packets_add_interface(DtcPackets *packets, const char *name)
{
	if (!name)
		name = "";
	/* mostly the one that was named last, or the other that its packets went through before */
	for (guint i = 0; i < G_N_ELEMENTS(packets->last_interfaces); i++)
		if (is_interface(packets, packets->last_interfaces[i], name))
			return note_interface(packets, packets->last_interfaces[i]);
	void *id;
	if (g_hash_table_lookup_extended(packets->interface_ids, name, NULL, &id))
		return note_interface(packets, (uint16_t)GPOINTER_TO_UINT(id));
	/* No machine has that many: names beyond share the last index, so that garbage cannot make an index wrap. */
	if (packets->interfaces->len == UINT16_MAX)
		return UINT16_MAX - 1;
	guint index = packets->interfaces->len;
	char *copy = g_strdup(name);
	g_ptr_array_add(packets->interfaces, copy);
	g_hash_table_insert(packets->interface_ids, copy, GUINT_TO_POINTER(index));
	return (uint16_t)index;
}

const char *dtc_packets_get_interface(const DtcPackets *packets, uint16_t interface)
{
	return interface < packets->interfaces->len ? g_ptr_array_index(packets->interfaces, interface) : "";
}
