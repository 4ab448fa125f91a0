/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/types.h"

#include "dtrace-chain/error.h"

#include <string.h>

#define FEW_MEMBERS 16 /* are compared with each other */

static const char *find_twice_of_few(const struct dtc_type *type)
{
	for (guint i = 1; i < type->member_count; i++)
		for (guint k = 0; k < i; k++)
			if (type->members[i].name[0] && strcmp(type->members[i].name, type->members[k].name) == 0)
				return type->members[i].name;
	return NULL;
}

const char *dtc_type_find_twice(const struct dtc_type *type)
{
	if (type->member_count <= FEW_MEMBERS)
		return find_twice_of_few(type);
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < type->member_count; i++)
		if (type->members[i].name[0] && !g_hash_table_add(names, (char *)type->members[i].name))
			return type->members[i].name;
	return NULL;
}

struct dtc_trace_declaration *dtc_trace_declaration_new(void)
{
	struct dtc_trace_declaration *declaration = g_new0(struct dtc_trace_declaration, 1);
	declaration->arena = dtc_arena_new(DTC_METADATA_MAX_MEMORY);
	declaration->streams = g_hash_table_new(g_int64_hash, g_int64_equal);
	declaration->environment = g_hash_table_new(g_str_hash, g_str_equal);
	return declaration;
}

struct dtc_trace_declaration *dtc_trace_declaration_derive(const struct dtc_trace_declaration *from)
{
	struct dtc_trace_declaration *declaration = g_memdup2(from, sizeof(*from));
	gsize bytes = from->clock_count * sizeof(*from->clocks);
	declaration->is_derived = true;
	declaration->arena = dtc_arena_new(DTC_METADATA_MAX_MEMORY);
	declaration->environment = g_hash_table_ref(from->environment);
	declaration->clocks = dtc_arena_take(declaration->arena, bytes); /* it is empty, and what it is of had room */
	if (bytes > 0)
		memcpy(declaration->clocks, from->clocks, bytes);
	return declaration;
}

void dtc_trace_declaration_free(struct dtc_trace_declaration *declaration)
{
	GHashTableIter iter;
	void *value;
	if (!declaration)
		return;
	if (!declaration->is_derived) {
		g_hash_table_iter_init(&iter, declaration->streams);
		while (g_hash_table_iter_next(&iter, NULL, &value))
			g_hash_table_unref(((struct dtc_stream_declaration *)value)->events);
		g_hash_table_unref(declaration->streams);
	}
	g_hash_table_unref(declaration->environment);
	dtc_arena_free(declaration->arena);
	g_free(declaration);
}

bool dtc_declaration_is_version_2(const char *text, gsize bytes)
{
	gsize at = 0;
	while (at < bytes && g_ascii_isspace(text[at]))
		at++;
	/* what separates the texts of a JSON sequence, or the first of them; TSDL begins with neither */
	return at < bytes && (text[at] == '\x1e' || text[at] == '{');
}

struct dtc_trace_declaration *dtc_declaration_parse(const char *text, gsize bytes, GError **error)
{
	if (bytes > DTC_METADATA_MAX_BYTES) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "it has more than %" G_GSIZE_FORMAT " bytes",
			    DTC_METADATA_MAX_BYTES);
		return NULL;
	}
	return dtc_declaration_is_version_2(text, bytes) ? dtc_ctf2_parse(text, bytes, error)
							 : dtc_tsdl_parse(text, bytes, error);
}
