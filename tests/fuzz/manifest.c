/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The manifest of a bundle from anywhere, and a cluster file. What is read as a manifest is written as the same bytes;
 * since a seal keeps random changes out, the bytes are also taken as the sealed ones.
 */
#include "dtrace-chain/manifest.h"
#include "collect/bundle/paths.h"
#include "collect/bundle/scratch.h"
#include "dtrace-chain/cluster.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_bytes(GByteArray *to, guint field, const void *data, gsize bytes)
{
	guint8 head = (guint8)(field << 3 | 2);
	gsize rest = bytes;
	g_byte_array_append(to, &head, 1);
	do {
		guint8 digit = (guint8)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
		g_byte_array_append(to, &digit, 1);
		rest >>= 7;
	} while (rest);
	g_byte_array_append(to, data, (guint)bytes);
}

static void read_manifest(const void *data, gsize bytes)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcManifest) manifest = dtc_manifest_from_bytes("fuzz", data, bytes, &error);

	if (!manifest == !error)
		abort();
	if (!manifest)
		return;
	for (guint i = 0; i < manifest->files->len; i++)
		if (!dtc_bundle_path_check(
			    ((const struct dtc_manifest_file *)g_ptr_array_index(manifest->files, i))->path))
			abort();
	g_autoptr(GBytes) once = dtc_manifest_to_bytes(manifest);
	gsize size;
	const void *again = g_bytes_get_data(once, &size);
	g_autoptr(DtcManifest) second = dtc_manifest_from_bytes("fuzz", again, size, NULL);
	g_autoptr(GBytes) twice = second ? dtc_manifest_to_bytes(second) : NULL;
	if (!twice || !g_bytes_equal(once, twice))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char magic[] = "dtrace-chain bundle";
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autoptr(GByteArray) sealed = g_byte_array_new();
	guint8 sha256[32];
	gsize length = sizeof(sha256);

	if (size > 1 << 20)
		return 0;
	read_manifest(data, size);
	g_checksum_update(checksum, data, (gssize)size);
	g_checksum_get_digest(checksum, sha256, &length);
	add_bytes(sealed, 1, magic, strlen(magic));
	add_bytes(sealed, 2, data, size);
	add_bytes(sealed, 3, sha256, sizeof(sha256));
	read_manifest(sealed->data, sealed->len);

	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *path = g_build_filename(dtc_scratch_get_path(scratch), "fuzz.conf", NULL);
	g_autoptr(GError) error = NULL;
	if (!g_file_set_contents(path, (const char *)data, (gssize)size, NULL))
		return 0;
	g_autoptr(DtcCluster) cluster = dtc_cluster_read(path, &error);
	if (!cluster == !error)
		abort();
	if (cluster)
		dtc_cluster_get_tier(cluster, "nginx", "web");
	return 0;
}
