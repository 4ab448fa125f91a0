/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layout (Documentation/bpf/btf.rst), in the machine's own byte order:
 *   header  magic 2 (0xeb9f), version 1, flags 1, header length 4, types' offset 4 and length 4, strings' offset 4 and
 *           length 4; offsets count from the header's end
 *   type    name 4 (in the strings), info 4 (members: bits 0-15; kind: 24-28; bit 31: members have bit fields), size or
 *           type 4; then by kind (below). Types are numbered from 1.
 *   member  name 4, type 4, offset in bits 4 (with bit fields: their size in the upper 8 bits)
 */
#include "collect/record/btf.h"

#include "dtrace-chain/error.h"

#include <string.h>

#define MAGIC 0xeb9f
#define HEADER_BYTES 24
#define TYPE_BYTES 12
#define MEMBER_BYTES 12
/* Anonymous structures in anonymous structures: the kernel's are four deep. */
#define DEPTH_MAX 16

enum kind {
	KIND_INT = 1,
	KIND_ARRAY = 3,
	KIND_STRUCT = 4,
	KIND_UNION = 5,
	KIND_ENUM = 6,
	KIND_FUNC_PROTO = 13,
	KIND_VAR = 14,
	KIND_DATASEC = 15,
	KIND_DECL_TAG = 17,
	KIND_ENUM64 = 19,
	KIND_MAX = KIND_ENUM64,
};

struct type {
	guint32 name;
	guint32 info;
	guint32 size;
};

struct member {
	guint32 name;
	guint32 type;
	guint32 offset;
};

struct DtcBtf {
	GBytes *bytes;
	const guint8 *types; /* borrowed from bytes */
	gsize types_bytes;
	const char *strings;
	gsize strings_bytes;
	GArray *places; /* gsize by type number: where it lies in types; of 0 nowhere */
};

static guint get_kind(const struct type *type)
{
	return type->info >> 24 & 0x1f;
}

static guint get_count(const struct type *type)
{
	return type->info & 0xffff;
}

/* Bytes behind the type's head. */
static gsize get_tail(const struct type *type)
{
	gsize count = get_count(type);

	switch (get_kind(type)) {
	case KIND_INT:
	case KIND_VAR:
	case KIND_DECL_TAG:
		return 4;
	case KIND_ARRAY:
		return 12;
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_DATASEC:
	case KIND_ENUM64:
		return count * 12;
	case KIND_ENUM:
	case KIND_FUNC_PROTO:
		return count * 8;
	default:
		return 0;
	}
}

static struct type get_type(const DtcBtf *btf, gsize place)
{
	struct type type;

	memcpy(&type, btf->types + place, sizeof(type));
	return type;
}

/* "" if it is beyond the strings. */
static const char *get_string(const DtcBtf *btf, guint32 name)
{
	return name < btf->strings_bytes ? btf->strings + name : "";
}

/* Finds where each type lies; false if one does not fit, or is of a kind that came later: what follows is not known. */
static bool index_types(DtcBtf *btf)
{
	gsize place = 0;

	btf->places = g_array_new(FALSE, TRUE, sizeof(gsize));
	g_array_set_size(btf->places, 1);
	while (place < btf->types_bytes) {
		if (btf->types_bytes - place < TYPE_BYTES)
			return false;
		struct type type = get_type(btf, place);
		if (get_kind(&type) == 0 || get_kind(&type) > KIND_MAX ||
		    get_tail(&type) > btf->types_bytes - place - TYPE_BYTES)
			return false;
		g_array_append_val(btf->places, place);
		place += TYPE_BYTES + get_tail(&type);
	}
	return true;
}

/* Sets what lies where; false if it is not within the bytes. */
static bool split(DtcBtf *btf)
{
	gsize size;
	const guint8 *bytes = g_bytes_get_data(btf->bytes, &size);
	guint16 magic;
	guint32 words[5]; /* header length, types, their length, strings, their length */

	if (size < HEADER_BYTES)
		return false;
	memcpy(&magic, bytes, sizeof(magic));
	memcpy(words, bytes + 4, sizeof(words));
	if (magic != MAGIC || words[0] < HEADER_BYTES || words[0] > size)
		return false;
	gsize rest = size - words[0];
	if (words[1] > rest || words[2] > rest - words[1] || words[3] > rest || words[4] > rest - words[3] ||
	    words[4] == 0 || bytes[words[0] + (gsize)words[3] + words[4] - 1] != 0)
		return false;
	btf->types = bytes + words[0] + words[1];
	btf->types_bytes = words[2];
	btf->strings = (const char *)bytes + words[0] + words[3];
	btf->strings_bytes = words[4];
	return true;
}

DtcBtf *dtc_btf_new(GBytes *bytes, GError **error)
{
	DtcBtf *btf = g_new0(DtcBtf, 1);

	btf->bytes = bytes;
	if (split(btf) && index_types(btf))
		return btf;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
		    "the kernel's type information cannot be read: it is no BTF, or of a later kind\n"
		    "packets are joined with their events, and paths are those of open files");
	dtc_btf_free(btf);
	return NULL;
}

DtcBtf *dtc_btf_read(const char *path, GError **error)
{
	g_autoptr(GError) io_error = NULL;
	char *text;
	gsize size;

	if (g_file_get_contents(path, &text, &size, &io_error))
		return dtc_btf_new(g_bytes_new_take(text, size), error);
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND,
		    "cannot read the kernel's type information: %s\nthe kernel needs CONFIG_DEBUG_INFO_BTF",
		    io_error->message);
	return NULL;
}

void dtc_btf_free(DtcBtf *btf)
{
	if (!btf)
		return;
	g_bytes_unref(btf->bytes);
	if (btf->places)
		g_array_unref(btf->places);
	g_free(btf);
}

static bool is_aggregate(const struct type *type)
{
	return get_kind(type) == KIND_STRUCT || get_kind(type) == KIND_UNION;
}

static bool find_in(const DtcBtf *btf, guint32 number, const char *wanted, guint depth, guint64 *ret_bits)
{
	if (number >= btf->places->len || number == 0 || depth == DEPTH_MAX)
		return false;
	gsize place = g_array_index(btf->places, gsize, number);
	struct type type = get_type(btf, place);
	if (!is_aggregate(&type))
		return false;
	for (guint i = 0; i < get_count(&type); i++) {
		struct member member;
		memcpy(&member, btf->types + place + TYPE_BYTES + (gsize)i * MEMBER_BYTES, sizeof(member));
		bool has_bits = type.info >> 31;
		guint32 bits = has_bits ? member.offset & 0xffffff : member.offset;
		const char *name = get_string(btf, member.name);
		guint64 inner = 0;
		if (*name ? strcmp(name, wanted) != 0 : !find_in(btf, member.type, wanted, depth + 1, &inner))
			continue;
		*ret_bits = bits + inner;
		return !has_bits || member.offset >> 24 == 0;
	}
	return false;
}

bool dtc_btf_find_member(const DtcBtf *btf, const char *structure, const char *member, guint *ret_offset)
{
	for (guint i = 1; i < btf->places->len; i++) {
		struct type type = get_type(btf, g_array_index(btf->places, gsize, i));
		guint64 bits;
		if (get_kind(&type) != KIND_STRUCT || strcmp(get_string(btf, type.name), structure) != 0)
			continue;
		if (find_in(btf, i, member, 0, &bits) && bits % 8 == 0 && bits / 8 <= G_MAXUINT) {
			*ret_offset = (guint)(bits / 8);
			return true;
		}
	}
	return false;
}
