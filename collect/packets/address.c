/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/packets/packets.h"

#include <string.h>

bool dtc_address_is_loopback(const uint8_t address[16])
{
	static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t v6[16] = { [15] = 1 };
	return (memcmp(address, v4_prefix, 12) == 0 && address[12] == 127) || memcmp(address, v6, 16) == 0;
}

guint dtc_address_hash(gconstpointer address)
{
	guint32 words[4];
	memcpy(words, address, sizeof(words));
	return words[0] ^ words[1] ^ words[2] ^ words[3] * 31;
}

gboolean dtc_address_equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, 16) == 0;
}
