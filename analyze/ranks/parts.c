/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/ranks/parts.h"

struct DtcParts {
	guint count;
	guint taken; /* those before it were taken */
	bool *is_given;
	GBytes **made;
	guint who_count;
	guint *next; /* of each who: behind the last that it was given; 0: none */
};

DtcParts *dtc_parts_new(guint count, guint who_count)
{
	DtcParts *parts = g_new0(DtcParts, 1);

	parts->count = count;
	parts->is_given = g_new0(bool, count + 1);
	parts->made = g_new0(GBytes *, count + 1);
	parts->who_count = who_count;
	parts->next = g_new0(guint, who_count + 1);
	return parts;
}

void dtc_parts_free(DtcParts *parts)
{
	if (!parts)
		return;
	for (guint i = 0; i < parts->count; i++)
		g_bytes_unref(parts->made[i]);
	g_free(parts->made);
	g_free(parts->is_given);
	g_free(parts->next);
	g_free(parts);
}

/* The middle of the longest row that nobody was given, before which somebody is at work; NONE: there is none. */
static guint find_most(const DtcParts *parts)
{
	guint most = 0, most_end = 0, length = 0;

	for (guint i = 0; i < parts->count; i++) {
		length = parts->is_given[i] ? 0 : length + 1;
		if (length > most) {
			most = length;
			most_end = i + 1;
		}
	}
	return most ? most_end - (most + 1) / 2 : DTC_PARTS_NONE;
}

guint dtc_parts_give(DtcParts *parts, guint who)
{
	guint part = who < parts->who_count ? parts->next[who] : DTC_PARTS_NONE;
	bool goes_on = part < parts->count && !parts->is_given[part] && (part || who == 0);

	if (!goes_on)
		part = find_most(parts);
	if (part == DTC_PARTS_NONE)
		return part;
	parts->is_given[part] = true;
	if (who < parts->who_count)
		parts->next[who] = part + 1;
	return part;
}

guint dtc_parts_give_last(DtcParts *parts)
{
	guint part = dtc_parts_give(parts, 0);

	for (guint i = parts->taken; part == DTC_PARTS_NONE && i < parts->count; i++)
		if (!parts->made[i])
			part = i;
	return part;
}

void dtc_parts_put(DtcParts *parts, guint part, GBytes *made)
{
	if (part >= parts->taken && part < parts->count && parts->is_given[part] && !parts->made[part])
		parts->made[part] = g_bytes_ref(made);
}

GBytes *dtc_parts_take(DtcParts *parts, guint *ret_part)
{
	if (parts->taken == parts->count || !parts->made[parts->taken])
		return NULL;
	*ret_part = parts->taken++;
	return g_steal_pointer(&parts->made[*ret_part]);
}
