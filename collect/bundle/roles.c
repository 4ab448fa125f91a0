/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/bundle/roles.h"

#include <string.h>

#define HOST "host"
#define GUEST "guest"

/* ---- who is who ---- */

/* What a node is known by; looked up once, for as many machines as there are. */
struct own {
	const char *told; /* or NULL */
	const char *uuid;
	GHashTable *cards;
};

static const char *get_own(const struct dtc_role_source *source, const char *key)
{
	const char *text = source->environment ? dtc_environment_find(source->environment->machine, key) : NULL;

	return text ? text : "";
}

/* As a set; free with g_hash_table_unref. */
static GHashTable *list_cards(const struct dtc_role_source *source)
{
	GHashTable *cards = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autofree char **own = g_strsplit(get_own(source, DTC_ENVIRONMENT_MACS), ",", -1);

	for (char **mac = own; *mac; mac++)
		g_hash_table_add(cards, *mac);
	return cards;
}

static bool has_card(GHashTable *own, const struct dtc_environment_guest *guest)
{
	for (char **mac = guest->macs; *mac; mac++)
		if (**mac && g_hash_table_contains(own, *mac))
			return true;
	return false;
}

static bool is_called(const struct dtc_environment_guest *guest, const char *told)
{
	g_autofree char *pid = g_strdup_printf("%u", guest->pid);

	return strcmp(guest->name, told) == 0 || strcmp(pid, told) == 0;
}

/* By what the host's virtual machine is that node; NULL: it is not. A UUID that is another one says so. */
static const char *compare(const struct own *own, const struct dtc_environment_guest *guest)
{
	if (own->told)
		return is_called(guest, own->told) ? "name" : NULL;
	if (*guest->uuid && *own->uuid)
		return strcmp(guest->uuid, own->uuid) == 0 ? "UUID" : NULL;
	return has_card(own->cards, guest) ? "network card" : NULL;
}

static void add_note(GPtrArray *notes, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void add_note(GPtrArray *notes, const char *format, ...)
{
	va_list words;

	if (!notes)
		return;
	va_start(words, format);
	g_ptr_array_add(notes, g_strdup_vprintf(format, words));
	va_end(words);
}

/* How many virtual machines may be that node; the last of them. */
static guint find_machines(const struct dtc_role_source *sources, guint count, guint node, struct dtc_role *ret_role)
{
	g_autoptr(GHashTable) cards = list_cards(&sources[node]);
	const struct own own = { sources[node].told, get_own(&sources[node], DTC_ENVIRONMENT_UUID), cards };
	guint found = 0;

	for (guint host = 0; host < count; host++) {
		const GPtrArray *guests = sources[host].environment ? sources[host].environment->guests : NULL;
		for (guint i = 0; guests && host != node && i < guests->len; i++) {
			const struct dtc_environment_guest *guest = g_ptr_array_index(guests, i);
			const char *known_by = compare(&own, guest);
			if (!known_by)
				continue;
			*ret_role = (struct dtc_role){ node, host, guest, known_by };
			found++;
		}
	}
	return found;
}

/* A virtual machine is one node. */
static void drop_doubles(const struct dtc_role_source *sources, GArray *roles, GPtrArray *notes)
{
	g_autofree bool *is_double = g_new0(bool, roles->len + 1);

	for (guint i = 0; i < roles->len; i++) {
		const struct dtc_role *role = &g_array_index(roles, struct dtc_role, i);
		for (guint k = 0; k < roles->len; k++)
			is_double[i] |= k != i && g_array_index(roles, struct dtc_role, k).as == role->as;
	}
	for (guint i = roles->len; i-- > 0;) {
		const struct dtc_role *role = &g_array_index(roles, struct dtc_role, i);
		if (!is_double[i])
			continue;
		add_note(notes,
			 "%s and another node are the same virtual machine of %s, by its %s: neither is taken for it",
			 sources[role->guest].node, sources[role->host].node, role->known_by);
		g_array_remove_index(roles, i);
	}
}

GArray *dtc_roles_find(const struct dtc_role_source *sources, guint count, GPtrArray *notes)
{
	GArray *roles = g_array_new(FALSE, TRUE, sizeof(struct dtc_role));

	for (guint node = 0; node < count; node++) {
		struct dtc_role role;
		guint found = find_machines(sources, count, node, &role);
		if (found == 1)
			g_array_append_val(roles, role);
		else if (found > 1)
			add_note(notes, "%s may be any of %u virtual machines: name it by --guest %s=NAME",
				 sources[node].node, found, sources[node].node);
		else if (sources[node].told)
			add_note(notes, "%s is no guest: no node runs a virtual machine '%s'", sources[node].node,
				 sources[node].told);
	}
	drop_doubles(sources, roles, notes);
	return roles;
}

/* ---- the manifest ---- */

static void set_text(char **to, const char *text)
{
	g_free(*to);
	*to = g_strdup(text);
}

void dtc_roles_write(DtcManifest *manifest, const struct dtc_role_source *sources, const GArray *roles)
{
	for (guint i = 0; i < roles->len; i++) {
		const struct dtc_role *role = &g_array_index(roles, struct dtc_role, i);
		struct dtc_manifest_node *guest = dtc_manifest_find_node(manifest, sources[role->guest].node);
		struct dtc_manifest_node *host = dtc_manifest_find_node(manifest, sources[role->host].node);
		if (!guest || !host)
			continue;
		if (!*host->role) /* a guest that is a host stays a guest */
			set_text(&host->role, HOST);
		set_text(&guest->role, GUEST);
		set_text(&guest->host, host->name);
		g_array_set_size(guest->vcpu_tids, 0);
		g_array_append_vals(guest->vcpu_tids, role->as->vcpu_tids->data, role->as->vcpu_tids->len);
	}
}
