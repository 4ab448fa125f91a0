/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/packer.h"

#include <string.h>

/*
 * seal: offset  bytes
 *            0      4  0x184D2A5D, little endian: a skippable zstd frame
 *            4      4  40, little endian: bytes that follow
 *            8      8  "dtcb-sha"
 *           16     32  SHA-256 of everything before the seal
 */
static const uint8_t seal_head[] = { 0x5d, 0x2a, 0x4d, 0x18, 40, 0, 0, 0, 'd', 't', 'c', 'b', '-', 's', 'h', 'a' };
_Static_assert(sizeof(seal_head) + DTC_PACK_SHA256_BYTES == DTC_PACK_SEAL_BYTES, "as its table has it");

void dtc_pack_seal_make(GChecksum *checksum, uint8_t ret_seal[DTC_PACK_SEAL_BYTES])
{
	gsize length = DTC_PACK_SHA256_BYTES;

	memcpy(ret_seal, seal_head, sizeof(seal_head));
	g_checksum_get_digest(checksum, ret_seal + sizeof(seal_head), &length);
	g_checksum_reset(checksum);
}

const uint8_t *dtc_pack_seal_get_sha256(const uint8_t seal[DTC_PACK_SEAL_BYTES])
{
	return memcmp(seal, seal_head, sizeof(seal_head)) == 0 ? seal + sizeof(seal_head) : NULL;
}
