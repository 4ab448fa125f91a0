/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/slow.h"

#include <arpa/inet.h>
#include <string.h>

/* More connections at a time are not watched: the one that is idle for longest goes, or else waits for longest. */
#define MAX_CONNECTIONS 65536

struct end {
	uint8_t address[16];
	uint16_t port;
};

/* The client first. */
struct connection {
	struct end client, server;
	int64_t asked_ns; /* the request that is open; 0: none is */
	GList link;	  /* its place in one of the queues of struct DtcSlow */
	bool is_waiting;  /* which one that is */
	bool is_left;	  /* by the client */
	bool is_closed;	  /* by the server: what the client still sends asks for nothing */
	bool has_next;	  /* the next is known */
	uint32_t next;	  /* sequence number behind all that the client has sent */
};

struct DtcSlow {
	struct dtc_slow_limit limit;
	GHashTable *connections; /* struct connection, its own key */
	GQueue waiting; /* those that have a request open, and not told yet; the one that was asked first first */
	GQueue idle;	/* all others, by when they became so */
};

static guint hash_end(const struct end *end)
{
	guint hash = end->port;

	for (gsize i = 0; i < sizeof(end->address); i++)
		hash = hash * 31 + end->address[i];
	return hash;
}

static guint hash_connection(gconstpointer key)
{
	const struct connection *connection = key;

	return hash_end(&connection->client) * 65599 + hash_end(&connection->server);
}

static gboolean are_equal(gconstpointer a, gconstpointer b)
{
	const struct connection *x = a, *y = b;

	return memcmp(&x->client, &y->client, sizeof(x->client)) == 0 &&
	       memcmp(&x->server, &y->server, sizeof(x->server)) == 0;
}

DtcSlow *dtc_slow_new(const struct dtc_slow_limit *limit)
{
	DtcSlow *slow = g_new0(DtcSlow, 1);

	slow->limit = *limit;
	slow->connections = g_hash_table_new_full(hash_connection, are_equal, g_free, NULL);
	g_queue_init(&slow->waiting);
	g_queue_init(&slow->idle);
	return slow;
}

void dtc_slow_free(DtcSlow *slow)
{
	if (!slow)
		return;
	g_hash_table_unref(slow->connections);
	g_free(slow);
}

static void take_out(DtcSlow *slow, struct connection *connection)
{
	g_queue_unlink(connection->is_waiting ? &slow->waiting : &slow->idle, &connection->link);
}

static void put(DtcSlow *slow, struct connection *connection, bool is_waiting)
{
	connection->is_waiting = is_waiting;
	g_queue_push_tail_link(is_waiting ? &slow->waiting : &slow->idle, &connection->link);
}

static void forget(DtcSlow *slow, struct connection *connection)
{
	take_out(slow, connection);
	g_hash_table_remove(slow->connections, connection);
}

static void make_room(DtcSlow *slow)
{
	GQueue *queue = g_queue_is_empty(&slow->idle) ? &slow->waiting : &slow->idle;

	if (g_hash_table_size(slow->connections) >= MAX_CONNECTIONS)
		forget(slow, g_queue_peek_head(queue));
}

static struct end make_end(const uint8_t address[16], uint16_t port)
{
	struct end end = { .port = port };

	memcpy(end.address, address, sizeof(end.address));
	return end;
}

/* The connection that was seen with either end as its client, or NULL. */
static struct connection *find(const DtcSlow *slow, const struct end *source, const struct end *destination)
{
	const struct connection forth = { .client = *source, .server = *destination };
	const struct connection back = { .client = *destination, .server = *source };
	gpointer found = NULL;

	if (!g_hash_table_lookup_extended(slow->connections, &forth, &found, NULL))
		g_hash_table_lookup_extended(slow->connections, &back, &found, NULL);
	return found;
}

static bool is_from_client(const DtcSlow *slow, const struct dtc_headers *headers)
{
	if (headers->tcp_flags & DTC_TCP_SYN)
		return !(headers->tcp_flags & DTC_TCP_ACK);
	if (slow->limit.port && headers->source_port != headers->destination_port)
		return headers->destination_port == slow->limit.port;
	return headers->source_port > headers->destination_port;
}

static struct connection *add(DtcSlow *slow, const struct end *source, const struct end *destination,
			      bool is_from_client)
{
	struct connection *connection = g_new0(struct connection, 1);

	make_room(slow);
	connection->link.data = connection;
	connection->client = is_from_client ? *source : *destination;
	connection->server = is_from_client ? *destination : *source;
	g_hash_table_add(slow->connections, connection);
	put(slow, connection, false);
	return connection;
}

static char *tell_end(const struct end *end)
{
	static const uint8_t mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	char text[INET6_ADDRSTRLEN] = "";

	if (memcmp(end->address, mapped, sizeof(mapped)) == 0) {
		inet_ntop(AF_INET, end->address + sizeof(mapped), text, sizeof(text));
		return g_strdup_printf("%s:%u", text, end->port);
	}
	inet_ntop(AF_INET6, end->address, text, sizeof(text));
	return g_strdup_printf("[%s]:%u", text, end->port);
}

static char *tell(const struct connection *connection, const char *what, int64_t since_ns)
{
	g_autofree char *client = tell_end(&connection->client);
	g_autofree char *server = tell_end(&connection->server);

	return g_strdup_printf("%s %.0f ms: %s asked %s", what, (double)since_ns / 1e6, client, server);
}

static char *answer(DtcSlow *slow, struct connection *connection, int64_t time_ns)
{
	int64_t took_ns = connection->asked_ns ? time_ns - connection->asked_ns : 0;

	connection->asked_ns = 0;
	take_out(slow, connection);
	put(slow, connection, false);
	return took_ns >= slow->limit.limit_ns ? tell(connection, "answered after", took_ns) : NULL;
}

static void ask(DtcSlow *slow, struct connection *connection, int64_t time_ns)
{
	if (connection->asked_ns != 0 || connection->is_closed)
		return;
	connection->asked_ns = time_ns;
	take_out(slow, connection);
	put(slow, connection, true);
}

/*
 * Whether a client's packet has bytes that it had not sent before: segments are sent again, and a keep-alive has the
 * last byte again (RFC 9293, 3.8.4; Windows). Where the begin was not seen a byte alone may be that.
 */
static bool is_new(struct connection *connection, const struct dtc_headers *headers)
{
	uint32_t end = headers->seq + headers->payload_bytes;
	bool is_new = connection->has_next ? (int32_t)(end - connection->next) > 0 : headers->payload_bytes > 1;

	if (is_new || !connection->has_next)
		connection->next = end;
	connection->has_next = true;
	return is_new;
}

/*
 * At a FIN or RST. One that waits for an answer stays: a server that says goodbye has answered. One that only the
 * server has closed stays too, for a client's own goodbye (TLS) must not look like a request on a new one.
 */
static bool is_over(struct connection *connection, bool is_client, uint8_t tcp_flags)
{
	connection->is_left |= is_client;
	connection->is_closed |= !is_client;
	return connection->asked_ns == 0 && (connection->is_left || tcp_flags & DTC_TCP_RST);
}

char *dtc_slow_look(DtcSlow *slow, const struct dtc_captured *packet)
{
	const struct dtc_headers *headers = &packet->headers;

	if (headers->ip_version == 0 || headers->protocol != DTC_PROTOCOL_TCP || !headers->has_transport ||
	    (slow->limit.port && headers->source_port != slow->limit.port &&
	     headers->destination_port != slow->limit.port))
		return NULL;
	const struct end source = make_end(headers->source, headers->source_port);
	const struct end destination = make_end(headers->destination, headers->destination_port);
	struct connection *connection = find(slow, &source, &destination);
	bool is_opened = (headers->tcp_flags & (DTC_TCP_SYN | DTC_TCP_ACK)) == DTC_TCP_SYN;
	char *text = NULL;

	if (connection && is_opened) { /* the same ports again */
		forget(slow, connection);
		connection = NULL;
	}
	if (!connection && (is_opened || headers->payload_bytes > 0))
		connection = add(slow, &source, &destination, is_from_client(slow, headers));
	if (!connection)
		return NULL;
	if (is_opened) {
		connection->next = headers->seq + 1;
		connection->has_next = true;
	}
	bool is_client = memcmp(&connection->client, &source, sizeof(source)) == 0;
	bool is_end = headers->tcp_flags & (DTC_TCP_FIN | DTC_TCP_RST);
	if (is_client && headers->payload_bytes > 0 && is_new(connection, headers))
		ask(slow, connection, packet->time_ns);
	else if (!is_client && (headers->payload_bytes > 0 || is_end))
		text = answer(slow, connection, packet->time_ns);
	if (is_end && is_over(connection, is_client, headers->tcp_flags))
		forget(slow, connection);
	return text;
}

/* The clock was stepped back. */
static void ask_anew(DtcSlow *slow, int64_t now_ns)
{
	for (GList *link = slow->waiting.head; link; link = link->next) {
		struct connection *connection = link->data;
		connection->asked_ns = MIN(connection->asked_ns, now_ns);
	}
}

char *dtc_slow_find_unanswered(DtcSlow *slow, int64_t now_ns)
{
	struct connection *first = g_queue_peek_head(&slow->waiting);

	if (first && first->asked_ns > now_ns)
		ask_anew(slow, now_ns);
	int64_t since_ns = first ? now_ns - first->asked_ns : 0;
	if (!first || since_ns < slow->limit.patience_ns || since_ns < slow->limit.limit_ns)
		return NULL;
	take_out(slow, first);
	put(slow, first, false);
	return tell(first, "not answered for", since_ns);
}
