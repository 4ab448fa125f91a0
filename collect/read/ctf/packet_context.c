/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LTTng declares a structure and uses it, others write it where it is used:
 *
 *   struct packet_context {                              packet.context := struct {
 *       uint64_clock_monotonic_t timestamp_begin;            integer { size = 64; align = 8; } timestamp_begin;
 *       unsigned long events_discarded;                      ...
 *   };                                                   };
 *   packet.context := struct packet_context;
 *
 * Nothing is guessed: what follows on a member whose size is not understood has no known place.
 */
#include "collect/read/ctf/packet_context.h"

#include <stdbool.h>
#include <string.h>

#define USE "packet.context := struct"
#define MAX_MEMBERS 64

/* The text after the brace that opens the context's structure; NULL if there is none. */
static const char *find_members(const char *text)
{
	const char *use = strstr(text, USE);
	if (!use)
		return NULL;
	use += strlen(USE);
	use += strspn(use, " \t\r\n");
	if (*use == '{')
		return use + 1;
	gsize bytes = strcspn(use, "; \t\r\n");
	if (bytes == 0 || bytes > 100)
		return NULL;
	g_autofree char *open = g_strdup_printf("struct %.*s {", (int)bytes, use);
	const char *found = strstr(text, open);
	return found ? found + strlen(open) : NULL;
}

/* Of the type of a member, "uint64_t" or "integer { size = 64; ... }"; 0 if it is not understood. */
static guint get_bits(const char *text, const char *type)
{
	const char *size = strstr(type, "size = ");
	if (g_str_has_prefix(type, "integer") && size)
		return (guint)g_ascii_strtoull(size + strlen("size = "), NULL, 10);
	if (g_str_has_prefix(type, "uint"))
		return (guint)g_ascii_strtoull(type + strlen("uint"), NULL, 10);
	/* "typealias integer { size = 64; ... } := unsigned long;" */
	g_autofree char *alias = g_strdup_printf("} := %s;", type);
	const char *found = strstr(text, alias);
	while (found && found > text && *found != '{')
		found--;
	size = found ? strstr(found, "size = ") : NULL;
	return size ? (guint)g_ascii_strtoull(size + strlen("size = "), NULL, 10) : 0;
}

/* The length of a member up to its semicolon, which is not one inside of braces. */
static gsize measure_member(const char *member)
{
	gsize at = 0;
	for (guint depth = 0; member[at] && (depth > 0 || member[at] != ';'); at++) {
		depth += member[at] == '{';
		depth -= depth > 0 && member[at] == '}';
	}
	return at;
}

static void take_member(struct dtc_ctf_context *context, const char *name, guint bits, int at)
{
	const struct {
		const char *name;
		guint bits;
		int *to;
	} wanted[] = { { "packet_seq_num", 64, &context->sequence },
		       { "events_discarded", 64, &context->discarded },
		       { "cpu_id", 32, &context->cpu } };
	for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++)
		if (strcmp(name, wanted[i].name) == 0 && bits == wanted[i].bits)
			*wanted[i].to = at;
}

struct dtc_ctf_context dtc_packet_context_find(const char *text)
{
	struct dtc_ctf_context context = { -1, -1, -1 };
	const char *at = find_members(text);
	int offset = 0;

	for (guint count = 0; at && count < MAX_MEMBERS; count++) {
		at += strspn(at, " \t\r\n");
		gsize length = measure_member(at);
		if (*at == '}' || at[length] == 0)
			break;
		g_autofree char *member = g_strndup(at, length);
		char *name = strrchr(g_strchomp(member), ' ');
		if (!name)
			break;
		*name++ = 0;
		guint bits = get_bits(text, g_strchomp(member));
		if (bits == 0 || bits > 64 || bits % 8 != 0)
			break;
		take_member(&context, name + (name[0] == '_'), bits, offset);
		offset += (int)bits / 8;
		at += length + 1;
	}
	return context;
}
