/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/redact/addresses.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#define KEPT_MAX (1u << 18)

struct DtcAddresses {
	const DtcPseudonyms *words;
	GHashTable *known; /* struct known, its own key */
};

/* What an address becomes; of the shorter ones the last bytes are zero. */
struct known {
	uint8_t kind; /* what its bits are derived for */
	uint8_t address[16];
	uint8_t other[16];
};

/* No bit of a prefix changes, nor does one lead into it. */
struct prefix {
	uint8_t bytes[16];
	guint bits;
};

static const struct prefix prefixes_4[] = {
	{ { 0 }, 8 },	     { { 10 }, 8 },	   { { 127 }, 8 }, { { 169, 254 }, 16 },
	{ { 172, 16 }, 12 }, { { 192, 168 }, 16 }, { { 224 }, 4 }, { { 255, 255, 255, 255 }, 32 },
};
static const struct prefix prefixes_6[] = {
	{ { 0 }, 128 }, { { 0x20 }, 3 }, { { 0xfc }, 7 }, { { 0xfe, 0x80 }, 64 }, { { 0xff, 0x02 }, 16 },
};

#define KIND_IPV4 '4'
#define KIND_IPV6 '6'
#define KIND_MAC 'm'

static gboolean equal_address(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, offsetof(struct known, other)) == 0;
}

static guint hash_address(gconstpointer address)
{
	const uint8_t *bytes = address;
	guint hash = 5381;
	for (guint i = 0; i < offsetof(struct known, other); i++)
		hash = hash * 33 + bytes[i];
	return hash;
}

/* False: it was not met, or is not remembered. */
static bool find_known(const DtcAddresses *addresses, uint8_t kind, uint8_t *address, gsize count)
{
	struct known key = { .kind = kind };
	memcpy(key.address, address, count);
	const struct known *known = g_hash_table_lookup(addresses->known, &key);
	if (known)
		memcpy(address, known->other, count);
	return known;
}

static void keep_known(DtcAddresses *addresses, uint8_t kind, const uint8_t *address, const uint8_t *other, gsize count)
{
	if (g_hash_table_size(addresses->known) >= KEPT_MAX)
		return;
	struct known *known = g_new0(struct known, 1);
	known->kind = kind;
	memcpy(known->address, address, count);
	memcpy(known->other, other, count);
	g_hash_table_add(addresses->known, known);
}

DtcAddresses *dtc_addresses_new(const DtcPseudonyms *words)
{
	DtcAddresses *addresses = g_new0(DtcAddresses, 1);
	addresses->words = words;
	addresses->known = g_hash_table_new_full(hash_address, equal_address, g_free, NULL);
	return addresses;
}

void dtc_addresses_free(DtcAddresses *addresses)
{
	if (!addresses)
		return;
	g_hash_table_unref(addresses->known);
	g_free(addresses);
}

static bool has_bit(const uint8_t *bytes, guint bit)
{
	return bytes[bit / 8] >> (7 - bit % 8) & 1;
}

static bool begins_alike(const uint8_t *a, const uint8_t *b, guint bits)
{
	return memcmp(a, b, bits / 8) == 0 && (bits % 8 == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - bits % 8) == 0);
}

/* The bit is of a prefix that is kept, or decides whether it is. */
static bool is_kept_bit(const uint8_t *address, guint bit, const struct prefix *prefixes, gsize count)
{
	for (gsize i = 0; i < count; i++)
		if (bit < prefixes[i].bits && begins_alike(address, prefixes[i].bytes, bit))
			return true;
	return false;
}

static void replace(DtcAddresses *addresses, uint8_t *address, guint bits, const struct prefix *prefixes,
		    gsize prefix_count)
{
	uint8_t before[17] = { 0 }, after[16] = { 0 }, noise, kind = bits == 32 ? KIND_IPV4 : KIND_IPV6;
	if (find_known(addresses, kind, address, bits / 8))
		return;
	for (guint bit = 0; bit < bits; bit++) {
		bool is_set = has_bit(address, bit);
		before[16] = (uint8_t)bit;
		if (!is_kept_bit(address, bit, prefixes, prefix_count)) {
			dtc_pseudonyms_derive(addresses->words, (char)kind, before, sizeof(before), &noise, 1);
			is_set ^= noise & 1;
		}
		after[bit / 8] |= (uint8_t)(is_set << (7 - bit % 8));
		before[bit / 8] |= (uint8_t)(has_bit(address, bit) << (7 - bit % 8));
	}
	keep_known(addresses, kind, address, after, bits / 8);
	memcpy(address, after, bits / 8);
}

void dtc_addresses_replace_ipv4(DtcAddresses *addresses, uint8_t address[4])
{
	if (address[0] != 0 && address[0] != 127)
		replace(addresses, address, 32, prefixes_4, G_N_ELEMENTS(prefixes_4));
}

void dtc_addresses_replace_ipv6(DtcAddresses *addresses, uint8_t address[16])
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	if (memcmp(address, mapped, sizeof(mapped)) == 0)
		dtc_addresses_replace_ipv4(addresses, address + 12);
	else
		replace(addresses, address, 128, prefixes_6, G_N_ELEMENTS(prefixes_6));
}

/* Two halves that change each other in turn, but for the two bits that say what kind it is. */
void dtc_addresses_replace_mac(DtcAddresses *addresses, uint8_t mac[6])
{
	static const uint8_t none[6] = { 0 }, all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	uint8_t before[6];
	if (memcmp(mac, none, 6) == 0 || memcmp(mac, all, 6) == 0 || find_known(addresses, KIND_MAC, mac, 6))
		return;
	memcpy(before, mac, sizeof(before));
	for (guint round = 0; round < 8; round++) {
		const uint8_t *from = mac + (round % 2 ? 0 : 3);
		uint8_t *to = mac + (round % 2 ? 3 : 0);
		uint8_t data[4] = { (uint8_t)round, from[0], from[1], from[2] }, noise[3];
		if (round % 2) /* the bits that stay are of no half */
			data[1] &= 0xfc;
		dtc_pseudonyms_derive(addresses->words, KIND_MAC, data, sizeof(data), noise, sizeof(noise));
		to[0] ^= round % 2 ? noise[0] : noise[0] & 0xfc;
		to[1] ^= noise[1];
		to[2] ^= noise[2];
	}
	keep_known(addresses, KIND_MAC, before, mac, sizeof(before));
}

char *dtc_addresses_replace_mac_string(DtcAddresses *addresses, const char *text)
{
	uint8_t mac[6];
	for (guint i = 0; i < 6; i++, text += 3) {
		if (!g_ascii_isxdigit(text[0]) || !g_ascii_isxdigit(text[1]) || text[2] != (i < 5 ? ':' : 0))
			return g_strdup("");
		mac[i] = (uint8_t)(g_ascii_xdigit_value(text[0]) << 4 | g_ascii_xdigit_value(text[1]));
	}
	dtc_addresses_replace_mac(addresses, mac);
	return g_strdup_printf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

char *dtc_addresses_replace_string(DtcAddresses *addresses, const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "/", 2);
	uint8_t address[16];
	char shown[INET6_ADDRSTRLEN];
	bool is_4 = parts[0] && inet_pton(AF_INET, parts[0], address) == 1;
	guint64 bits = 0;

	if (!is_4 && (!parts[0] || inet_pton(AF_INET6, parts[0], address) != 1))
		return g_strdup("");
	if (parts[1] && !g_ascii_string_to_unsigned(parts[1], 10, 0, 128, &bits, NULL))
		return g_strdup("");
	if (is_4)
		dtc_addresses_replace_ipv4(addresses, address);
	else
		dtc_addresses_replace_ipv6(addresses, address);
	inet_ntop(is_4 ? AF_INET : AF_INET6, address, shown, sizeof(shown));
	return parts[1] ? g_strdup_printf("%s/%u", shown, (guint)bits) : g_strdup(shown);
}
