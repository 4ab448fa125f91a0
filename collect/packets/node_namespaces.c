/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/packets/node_namespaces.h"

#include <arpa/inet.h>
#include <string.h>

/* "10.0.0.5/24" as flows have it; false if it is none. */
static bool parse_address(const char *text, uint8_t ret_address[16])
{
	g_autofree char *host = g_strndup(text, strcspn(text, "/%"));

	memset(ret_address, 0, 16);
	if (inet_pton(AF_INET6, host, ret_address) == 1)
		return true;
	ret_address[10] = ret_address[11] = 0xff;
	return inet_pton(AF_INET, host, ret_address + 12) == 1;
}

/* Notes that the namespace has the address, and shares it if another one has, too. */
static void note_address(DtcPackets *packets, GHashTable *owners, const uint8_t address[16], uint32_t netns)
{
	void *owner;

	if (!g_hash_table_lookup_extended(owners, address, NULL, &owner))
		g_hash_table_insert(owners, g_memdup2(address, 16), GUINT_TO_POINTER(netns));
	else if (GPOINTER_TO_UINT(owner) != netns)
		dtc_packets_share_address(packets, address);
}

static void note_capture(DtcPackets *packets, GHashTable *owners, const struct dtc_environment_capture *capture)
{
	static const uint8_t loopback[16] = { [15] = 1 };
	uint32_t netns = (uint32_t)capture->netns;

	note_address(packets, owners, loopback, netns); /* lo may be down, and without an address then */
	for (guint i = 0; i < capture->interfaces->len; i++) {
		const struct dtc_environment_interface *interface = g_ptr_array_index(capture->interfaces, i);
		for (char **text = interface->addresses; text && *text; text++) {
			uint8_t address[16];
			if (parse_address(*text, address))
				note_address(packets, owners, address, netns);
		}
	}
}

void dtc_packets_share_addresses(DtcPackets *packets, const DtcEnvironment *environment)
{
	if (!environment)
		return;
	g_autoptr(GHashTable) owners = g_hash_table_new_full(dtc_address_hash, dtc_address_equal, g_free, NULL);
	for (guint i = 0; i < environment->captures->len; i++) {
		const struct dtc_environment_capture *capture = g_ptr_array_index(environment->captures, i);
		if (capture->netns)
			note_capture(packets, owners, capture);
	}
}

uint32_t dtc_environment_find_netns(const DtcEnvironment *environment, const char *path)
{
	g_autofree char *name = g_path_get_basename(path);
	const struct dtc_environment_capture *capture =
		environment ? dtc_environment_find_capture(environment, name) : NULL;

	return capture ? (uint32_t)capture->netns : 0;
}
