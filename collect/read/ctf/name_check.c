/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/name_check.h"

#include "collect/read/spellings.h"

#include <string.h>

#define CALL_ENTRY "syscall_entry_"
#define CALL_EXIT "syscall_exit_"
/* Who records entries alone has no exit at all. */
#define PAIRS_MIN 8

struct check {
	GHashTable *names;
	const char *node;
	DtcFindings *findings;
};

static bool is_name_byte(char byte)
{
	return g_ascii_isalnum(byte) || byte == '_';
}

/* Sets the text to each name that is one bit from it until test says yes; the text is that name then. */
static bool find_neighbour(char *text, bool (*test)(const struct check *, const char *), const struct check *check)
{
	for (char *at = text; *at; at++)
		for (guint bit = 0; bit < 7; bit++) {
			*at = (char)(*at ^ (1 << bit));
			if (is_name_byte(*at) && test(check, text))
				return true;
			*at = (char)(*at ^ (1 << bit));
		}
	return false;
}

static bool is_declared(const struct check *check, const char *name)
{
	return g_hash_table_contains(check->names, name);
}

/* ... and means something, so that it would be missed. */
static bool is_missed(const struct check *check, const char *name)
{
	return !is_declared(check, name) && dtc_spelling_find_event(name).kind != DTC_EVENT_OTHER;
}

/* The other half of a system call's pair, NULL for other names. Caller frees. */
static char *get_partner(const char *name)
{
	if (g_str_has_prefix(name, CALL_ENTRY))
		return g_strconcat(CALL_EXIT, name + strlen(CALL_ENTRY), NULL);
	if (g_str_has_prefix(name, CALL_EXIT))
		return g_strconcat(CALL_ENTRY, name + strlen(CALL_EXIT), NULL);
	return NULL;
}

static guint count_pairs(const struct check *check)
{
	GHashTableIter iter;
	void *name;
	guint count = 0;
	g_hash_table_iter_init(&iter, check->names);
	while (g_hash_table_iter_next(&iter, &name, NULL)) {
		g_autofree char *partner = g_str_has_prefix(name, CALL_ENTRY) ? get_partner(name) : NULL;
		count += partner && is_declared(check, partner);
	}
	return count;
}

/* Has no partner that is declared, and so may be damaged. */
static bool is_alone(const struct check *check, const char *name)
{
	g_autofree char *partner = get_partner(name);
	return is_declared(check, name) && !(partner && is_declared(check, partner));
}

/* Of a call without its partner: is there one that is nearly it? Either may be the damaged one. */
static void check_call(const struct check *check, const char *name)
{
	g_autofree char *neighbour = get_partner(name);
	if (is_declared(check, neighbour) || !find_neighbour(neighbour, is_alone, check))
		return;
	bool is_first = strcmp(name, neighbour) < 0;
	dtc_findings_add_coded(check->findings, DTC_FINDING_METADATA_DAMAGED, DTC_SEVERITY_ERROR, true, check->node,
			       "the file 'metadata' is damaged: the events '%s' and '%s' are one bit from a pair",
			       is_first ? name : neighbour, is_first ? neighbour : name);
}

static void check_other(const struct check *check, const char *name)
{
	g_autofree char *neighbour = g_strdup(name);
	if (dtc_spelling_find_event(name).kind == DTC_EVENT_OTHER && find_neighbour(neighbour, is_missed, check))
		dtc_findings_add_coded(check->findings, DTC_FINDING_METADATA_DAMAGED, DTC_SEVERITY_ERROR, true,
				       check->node,
				       "the file 'metadata' is damaged: it declares an event '%s', one bit from '%s'",
				       name, neighbour);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

void dtc_name_check(GHashTable *names, const char *node, DtcFindings *findings)
{
	const struct check check = { names, node, findings };
	bool has_pairs = count_pairs(&check) >= PAIRS_MIN;
	g_autoptr(GList) sorted = g_list_sort(g_hash_table_get_keys(names), compare_names);
	for (const GList *at = sorted; at; at = at->next) {
		const char *name = at->data;
		bool is_call = g_str_has_prefix(name, CALL_ENTRY) || g_str_has_prefix(name, CALL_EXIT);
		if (is_call && has_pairs)
			check_call(&check, name);
		else if (!is_call)
			check_other(&check, name);
	}
}
