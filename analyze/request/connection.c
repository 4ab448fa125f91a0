/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/connection.h"

struct connection *dtc_connection_new(bool is_server)
{
	struct connection *c = g_new0(struct connection, 1);

	c->request = STRANGER;
	c->other = DTC_NO_REQUEST;
	c->is_server = is_server;
	return c;
}

void dtc_connection_free(gpointer connection)
{
	struct connection *c = connection;

	if (c->asked)
		g_array_unref(c->asked);
	g_free(c);
}

static guint find_asked(const struct connection *c, guint request)
{
	guint i = 0, count = dtc_connection_count_asked(c);

	while (i < count && dtc_connection_get_asked(c, i) != request)
		i++;
	return i;
}

void dtc_connection_add_asked(struct connection *c, guint request)
{
	if (dtc_connection_has_asked(c, request))
		return;
	if (!c->asked)
		c->asked = g_array_new(FALSE, FALSE, sizeof(guint));
	g_array_append_val(c->asked, request);
}

void dtc_connection_end_asked(const struct connection *c, guint request)
{
	guint i = find_asked(c, request);

	if (i < dtc_connection_count_asked(c))
		g_array_remove_index(c->asked, i);
}

bool dtc_connection_has_asked(const struct connection *c, guint request)
{
	return find_asked(c, request) < dtc_connection_count_asked(c);
}

guint dtc_connection_count_asked(const struct connection *c)
{
	return c->asked ? c->asked->len : 0;
}

guint dtc_connection_get_asked(const struct connection *c, guint index)
{
	return g_array_index(c->asked, guint, index);
}

bool dtc_connection_is_shared(const struct connection *c)
{
	return dtc_connection_count_asked(c) > 1;
}
