/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/names.h"

struct DtcNames {
	GPtrArray *list;   /* owned strings */
	GHashTable *index; /* borrowed string -> index */
};

DtcNames *dtc_names_new(void)
{
	DtcNames *names = g_new0(DtcNames, 1);
	names->list = g_ptr_array_new_with_free_func(g_free);
	names->index = g_hash_table_new(g_str_hash, g_str_equal);
	return names;
}

void dtc_names_free(DtcNames *names)
{
	if (!names)
		return;
	g_hash_table_unref(names->index);
	g_ptr_array_unref(names->list);
	g_free(names);
}

guint dtc_names_add(DtcNames *names, const char *name)
{
	void *index;
	if (g_hash_table_lookup_extended(names->index, name, NULL, &index))
		return GPOINTER_TO_UINT(index);
	if (names->list->len > DTC_NAMES_MAX)
		return DTC_NAMES_MAX;
	char *copy = g_strdup(names->list->len == DTC_NAMES_MAX ? "(further names)" : name);
	guint next = names->list->len;
	g_ptr_array_add(names->list, copy);
	g_hash_table_insert(names->index, copy, GUINT_TO_POINTER(next));
	return next;
}

guint dtc_names_get_count(const DtcNames *names)
{
	return names->list->len;
}

const char *dtc_names_get(const DtcNames *names, guint index)
{
	return index < names->list->len ? g_ptr_array_index(names->list, index) : "";
}
