/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/exchange/hpack.h"

#include <nghttp2/nghttp2.h>

/* A table as large as a peer may have asked for; what is larger is not read. */
#define TABLE_MAX_BYTES (64u << 10)
/* As large as it is until a peer asks for more (6.5.2), and what the smallest entry takes of it (RFC 7541, 4.1). */
#define TABLE_BYTES 4096u
#define ENTRY_BYTES 33u
/* Of one block, unpacked. */
#define HEADERS_MAX 256u

struct DtcHpack {
	nghttp2_hd_inflater *inflater;
};

/* "literal header field with incremental indexing, new name", of one byte that no name has, without a value */
static const uint8_t unknown_entry[] = { 0x40, 1, '?', 0 };

static bool is_unknown(const nghttp2_nv *header)
{
	return header->namelen == 1 && header->name[0] == '?';
}

bool dtc_hpack_read(DtcHpack *hpack, const uint8_t *block, gsize bytes, dtc_hpack_take take, void *data)
{
	guint count = 0;

	if (!bytes)
		return true;
	for (;;) {
		nghttp2_nv header;
		int flags = 0;
		ssize_t used = nghttp2_hd_inflate_hd2(hpack->inflater, &header, &flags, block, bytes, 1);
		if (used < 0 || (gsize)used > bytes)
			return false;
		block += used;
		bytes -= (gsize)used;
		if (flags & NGHTTP2_HD_INFLATE_EMIT) {
			if (count++ == HEADERS_MAX)
				return false;
			if (take && !is_unknown(&header))
				take(data, (const char *)header.name, header.namelen, (const char *)header.value,
				     header.valuelen);
		}
		if (flags & NGHTTP2_HD_INFLATE_FINAL)
			return nghttp2_hd_inflate_end_headers(hpack->inflater) == 0 && bytes == 0;
		if (!(flags & NGHTTP2_HD_INFLATE_EMIT) && bytes == 0)
			return false;
	}
}

DtcHpack *dtc_hpack_new(bool of_begin)
{
	DtcHpack *hpack = g_new0(DtcHpack, 1);

	if (nghttp2_hd_inflate_new(&hpack->inflater) != 0)
		g_error("no memory for the headers of a connection");
	nghttp2_hd_inflate_change_table_size(hpack->inflater, TABLE_MAX_BYTES);
	for (guint i = 0; !of_begin && i < TABLE_BYTES / ENTRY_BYTES; i++)
		(void)dtc_hpack_read(hpack, unknown_entry, sizeof(unknown_entry), NULL, NULL);
	return hpack;
}

void dtc_hpack_free(DtcHpack *hpack)
{
	if (!hpack)
		return;
	nghttp2_hd_inflate_del(hpack->inflater);
	g_free(hpack);
}
