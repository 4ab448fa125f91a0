/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tree of servers: beneath each client who served it, beneath these who served them for that, and so on. A service
 * stands beneath the one in which its client asked for it; one whose client worked for nobody that is known, beneath
 * that client itself, or the host it came from.
 */
#include "analyze/profile/usage_build.h"

#define DEPTH_LIMIT 64 /* as services within services: clocks that are off must not make a circle */

static struct dtc_usage_server *get_server(const struct dtc_usage_build *build, guint index)
{
	return &g_array_index(build->usage->servers, struct dtc_usage_server, index);
}

guint dtc_usage_get_server(struct dtc_usage_build *build, guint parent, guint process, const char *host)
{
	GArray *servers = build->usage->servers;
	g_autofree char *key = g_strdup_printf("%u %u %s", parent, process, host ? host : "");
	guint found = GPOINTER_TO_UINT(g_hash_table_lookup(build->server_index, key));

	if (found)
		return found - 1;
	const struct dtc_usage_server fresh = { .parent = parent,
						.depth = parent == G_MAXUINT ? 0 : get_server(build, parent)->depth + 1,
						.process = process,
						.host = g_strdup(host) };
	g_array_append_val(servers, fresh);
	g_hash_table_insert(build->server_index, g_steal_pointer(&key), GUINT_TO_POINTER(servers->len));
	return servers->len - 1;
}

bool dtc_usage_server_is_deepest(const struct dtc_usage_build *build, guint server)
{
	return get_server(build, server)->depth >= DEPTH_LIMIT;
}

/* Those of a root in which nobody that was asked for takes part go; of the others all stay, so that the sums do. */
static GArray *find_wanted(const struct dtc_usage_build *build)
{
	GArray *wanted = g_array_sized_new(FALSE, TRUE, sizeof(uint8_t), build->usage->servers->len);

	g_array_set_size(wanted, build->usage->servers->len);
	for (guint i = wanted->len; i-- > 0;) {
		const struct dtc_usage_server *server = get_server(build, i);
		uint8_t *own = &g_array_index(wanted, uint8_t, i);
		if (server->process != G_MAXUINT)
			*own |= dtc_usage_get_process(build, server->process)->is_asked;
		if (server->parent != G_MAXUINT)
			g_array_index(wanted, uint8_t, server->parent) |= *own;
	}
	for (guint i = 0; i < wanted->len; i++)
		if (get_server(build, i)->parent != G_MAXUINT)
			g_array_index(wanted, uint8_t, i) =
				g_array_index(wanted, uint8_t, get_server(build, i)->parent);
	return wanted;
}

/* Most CPU time first, then most time, then most requests; then as their rows are. */
static gint compare_servers(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct dtc_usage_server *servers = data;
	const struct dtc_usage_server *x = &servers[*(const guint *)a], *y = &servers[*(const guint *)b];

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? -1 : 1;
	if (x->messages != y->messages)
		return x->messages > y->messages ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return g_strcmp0(x->host, y->host);
}

/* A parent stands before its children: their sums are made from the last one on. */
static void add_up(const struct dtc_usage_build *build)
{
	for (guint i = build->usage->servers->len; i-- > 0;) {
		struct dtc_usage_server *server = get_server(build, i);
		server->total_ns += server->cpu_ns;
		if (server->parent == G_MAXUINT)
			continue;
		struct dtc_usage_server *parent = get_server(build, server->parent);
		parent->total_ns += server->total_ns;
		if (parent->parent == G_MAXUINT) /* a client's own time is not known: what its servers took */
			parent->time_ns += server->time_ns;
	}
}

/* Appends a server after its parent; the next beneath it are pushed last, so that they come first. */
static void lay_down(DtcUsage *usage, GArray *laid, GArray *children[], guint index, guint place, GArray *stack)
{
	struct dtc_usage_server server = g_array_index(usage->servers, struct dtc_usage_server, index);
	GArray *own = children[index];

	server.parent = place;
	g_array_append_val(laid, server);
	for (guint i = own ? own->len : 0; i-- > 0;) {
		const guint pushed[2] = { g_array_index(own, guint, i), laid->len - 1 };
		g_array_append_vals(stack, pushed, 2);
	}
}

void dtc_usage_sort_servers(struct dtc_usage_build *build)
{
	DtcUsage *usage = build->usage;
	guint count = usage->servers->len;
	GArray **children = g_new0(GArray *, count + 1); /* of each, and last the roots */
	g_autoptr(GArray) wanted = find_wanted(build);
	g_autoptr(GArray) stack = g_array_new(FALSE, FALSE, sizeof(guint)); /* server, its parent's place */
	GArray *laid = g_array_sized_new(FALSE, FALSE, sizeof(struct dtc_usage_server), count);

	add_up(build);
	for (guint i = 0; i < count; i++) {
		guint parent = MIN(get_server(build, i)->parent, count);
		if (!g_array_index(wanted, uint8_t, i)) {
			g_free(get_server(build, i)->host);
			continue;
		}
		if (!children[parent])
			children[parent] = g_array_new(FALSE, FALSE, sizeof(guint));
		g_array_append_val(children[parent], i);
	}
	for (guint i = 0; i <= count; i++)
		if (children[i])
			g_array_sort_with_data(children[i], compare_servers, usage->servers->data);
	for (guint i = 0; children[count] && i < children[count]->len; i++) {
		lay_down(usage, laid, children, g_array_index(children[count], guint, i), G_MAXUINT, stack);
		while (stack->len > 0) {
			guint index = g_array_index(stack, guint, stack->len - 2);
			guint place = g_array_index(stack, guint, stack->len - 1);
			g_array_set_size(stack, stack->len - 2);
			lay_down(usage, laid, children, index, place, stack);
		}
	}
	for (guint i = 0; i <= count; i++)
		if (children[i])
			g_array_unref(children[i]);
	g_free(children);
	g_array_unref(usage->servers);
	usage->servers = laid;
}
