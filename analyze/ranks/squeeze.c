/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/ranks/squeeze.h"

#include <zlib.h>

gsize dtc_squeeze(const void *data, gsize bytes, bool is_slow, void *to)
{
	uLongf squeezed = bytes;

	return compress2(to, &squeezed, data, bytes, is_slow ? Z_DEFAULT_COMPRESSION : Z_BEST_SPEED) == Z_OK &&
			       squeezed < bytes
		       ? squeezed
		       : 0;
}

bool dtc_unsqueeze(const void *data, gsize bytes, void *to, gsize to_bytes)
{
	uLongf length = to_bytes;

	return uncompress(to, &length, data, bytes) == Z_OK && length == to_bytes;
}
