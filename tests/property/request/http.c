/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * However a connection's bytes are cut into segments, repeated, overlapped and reordered, the exchanges read from them
 * are the same: as many as were sent, with their ids, their sequence numbers and their ends. And whatever is lost,
 * what is found was sent.
 */
#include "tests/support/made_connection.h"

#define SEEDS 150

struct truth {
	uint32_t request_begin, request_end, response_begin, response_end; /* offsets */
	int status;
};

struct script {
	GRand *random;
	GString *bytes[2];
	GArray *truths;	  /* struct truth */
	GArray *turns[2]; /* guint: where a turn of the side ends in its bytes */
};

static void append_body(struct script *s, enum made_side side, bool may_be_until_close)
{
	GString *to = s->bytes[side];
	guint bytes = (guint)g_rand_int_range(s->random, 0, 3000);
	/* Bodies that look like messages, as logs and proxied captures do. */
	g_autoptr(GString) body = g_string_new(NULL);
	while (body->len < bytes)
		g_string_append(body, g_rand_boolean(s->random) ? "HTTP/1.1 200 OK\r\n\r\n"
								: "GET / HTTP/1.1\r\nX-Request-Id: fake\r\n\r\n");
	g_string_truncate(body, bytes);
	if (g_rand_boolean(s->random)) {
		g_string_append(to, "Transfer-Encoding: chunked\r\n\r\n");
		for (guint at = 0; at < bytes;) {
			guint size = (guint)g_rand_int_range(s->random, 1, 700);
			size = MIN(bytes - at, size);
			g_string_append_printf(to, "%x\r\n", size);
			g_string_append_len(to, body->str + at, size);
			g_string_append(to, "\r\n");
			at += size;
		}
		g_string_append(to, "0\r\n\r\n");
	} else if (bytes > 0 || !may_be_until_close) {
		g_string_append_printf(to, "Content-Length: %u\r\n\r\n", bytes);
		g_string_append_len(to, body->str, bytes);
	} else {
		g_string_append(to, "\r\n");
	}
}

static void script_begin(struct script *s, guint32 seed)
{
	*s = (struct script){
		.random = g_rand_new_with_seed(seed),
		.bytes = { g_string_new(NULL), g_string_new(NULL) },
		.truths = g_array_new(FALSE, FALSE, sizeof(struct truth)),
		.turns = { g_array_new(FALSE, FALSE, sizeof(guint)), g_array_new(FALSE, FALSE, sizeof(guint)) },
	};
	guint count = (guint)g_rand_int_range(s->random, 1, 12);
	for (guint i = 0; i < count; i++) {
		struct truth t = { .request_begin = (uint32_t)s->bytes[CLIENT]->len };
		bool is_head = g_rand_int_range(s->random, 0, 5) == 0;
		g_string_append_printf(s->bytes[CLIENT], "%s /%u HTTP/1.1\r\nX-Request-Id: id-%u\r\n",
				       is_head ? "HEAD" : "POST", i, i);
		append_body(s, CLIENT, true);
		t.request_end = (uint32_t)s->bytes[CLIENT]->len;
		if (g_rand_int_range(s->random, 0, 4) == 0)
			g_string_append(s->bytes[SERVER], "HTTP/1.1 100 Continue\r\n\r\n");
		t.response_begin = (uint32_t)s->bytes[SERVER]->len;
		t.status = 200 + (int)i;
		g_string_append_printf(s->bytes[SERVER], "HTTP/1.1 %d X\r\n", t.status == 204 ? 304 : t.status);
		if (t.status == 204)
			t.status = 304;
		if (is_head || t.status == 304)
			g_string_append(s->bytes[SERVER], "Content-Length: 77\r\n\r\n");
		else
			append_body(s, SERVER, false);
		t.response_end = (uint32_t)s->bytes[SERVER]->len;
		g_array_append_val(s->truths, t);
		/* Pipelining: several requests may be one turn. */
		if (i + 1 == count || g_rand_boolean(s->random))
			for (guint k = 0; k < 2; k++) {
				guint end = (guint)s->bytes[k]->len;
				g_array_append_val(s->turns[k], end);
			}
	}
}

static void script_end(struct script *s)
{
	for (guint k = 0; k < 2; k++) {
		g_string_free(s->bytes[k], TRUE);
		g_array_unref(s->turns[k]);
	}
	g_array_unref(s->truths);
	g_rand_free(s->random);
}

/* Sends bytes [from, to) of a side in random segments, in a random order, some of them again. loss in percent. */
static void send_turn(struct script *s, struct made_connection *c, enum made_side side, uint32_t from, uint32_t to,
		      int loss)
{
	enum { MOST = 64 };
	uint32_t begin[MOST], end[MOST];
	guint count = 0;
	uint32_t at = from;
	while (at < to) {
		uint32_t overlap = (uint32_t)g_rand_int_range(s->random, 0, 20);
		uint32_t bytes = (uint32_t)g_rand_int_range(s->random, 1, 1460);
		begin[count] = at - MIN(at - from, overlap);
		at += count + 1 >= MOST ? to - at : MIN(to - at, bytes);
		end[count++] = at;
	}
	for (guint i = count; i-- > 1;) {
		guint k = (guint)g_rand_int_range(s->random, (gint32)MAX(i, 3) - 3, (gint32)i + 1);
		uint32_t b = begin[i], e = end[i];
		begin[i] = begin[k], end[i] = end[k];
		begin[k] = b, end[k] = e;
	}
	for (guint i = 0; i < count; i++) {
		if (g_rand_int_range(s->random, 0, 100) < loss)
			continue;
		do
			made_segment(c, side, begin[i], s->bytes[side]->str + begin[i], end[i] - begin[i]);
		while (g_rand_int_range(s->random, 0, 8) == 0);
	}
	c->next[side] = c->first[side] + to;
}

static void play(struct script *s, struct made_capture *m, int loss)
{
	struct made_connection c;
	made_open(m);
	made_connect_silently(&c, m, 4000, g_rand_int(s->random), g_rand_int(s->random));
	made_shake_hands(&c);
	uint32_t from[2] = { 0, 0 };
	for (guint i = 0; i < s->turns[0]->len; i++)
		for (guint k = 0; k < 2; k++) {
			uint32_t to = g_array_index(s->turns[k], guint, i);
			send_turn(s, &c, k, from[k], to, loss);
			from[k] = to;
		}
	made_end(&c, CLIENT);
	made_end(&c, SERVER);
	made_finish(m);
	/* Sequence numbers as offsets, for the comparison. */
	g_assert_cmpuint(c.next[CLIENT], ==, c.first[CLIENT] + s->bytes[CLIENT]->len + 1);
}

static uint32_t get_first(const struct made_capture *m, const struct dtc_exchange *e, bool response)
{
	const struct dtc_flow *flow = dtc_packets_get_flow(m->packets, e->flow);
	return (response ? dtc_packets_get_flow(m->packets, flow->reverse) : flow)->isn + 1;
}

/* Exchanges are in the order of their first bytes' times, which need not be that of the bytes. */
static const struct dtc_exchange *find(const struct made_capture *m, uint32_t offset)
{
	for (guint i = 0; i < dtc_exchanges_get_count(m->exchanges); i++) {
		const struct dtc_exchange *e = made_get(m, i);
		if (e->has_request && e->request_seq - get_first(m, e, false) == offset)
			return e;
	}
	return NULL;
}

static void test_order(void)
{
	for (guint32 seed = 1; seed <= SEEDS; seed++) {
		struct script s;
		struct made_capture m;
		script_begin(&s, seed);
		play(&s, &m, 0);
		g_assert_cmpuint(dtc_exchanges_get_count(m.exchanges), ==, s.truths->len);
		for (guint i = 0; i < s.truths->len; i++) {
			const struct truth *t = &g_array_index(s.truths, struct truth, i);
			const struct dtc_exchange *e = find(&m, t->request_begin);
			g_autofree char *id = g_strdup_printf("id-%u", i);
			g_assert_nonnull(e);
			g_assert_true(e->request_complete && e->response_complete);
			g_assert_cmpint(e->is_first, ==, i == 0);
			g_assert_cmpuint(e->identity_count, ==, 1);
			g_assert_cmpstr(e->identities[0].id, ==, id);
			g_assert_cmpint(e->status, ==, t->status);
			g_assert_cmpuint(e->request_seq - get_first(&m, e, false), ==, t->request_begin);
			g_assert_cmpuint(e->request_end_seq - get_first(&m, e, false), ==, t->request_end);
			g_assert_cmpuint(e->response_seq - get_first(&m, e, true), ==, t->response_begin);
			g_assert_cmpuint(e->response_end_seq - get_first(&m, e, true), ==, t->response_end);
			g_assert_cmpint(e->request_ns, <=, e->request_end_ns);
			g_assert_cmpint(e->response_ns, <=, e->response_end_ns);
		}
		g_assert_cmpuint(dtc_findings_get_count(m.findings), ==, 0);
		made_close(&m);
		script_end(&s);
	}
}

/* With losses: what is found was sent, at its place, and hardly ever has another request's response. */
static void test_loss(void)
{
	guint found = 0, sent = 0, answered = 0, misled = 0;
	for (guint32 seed = 1; seed <= SEEDS; seed++) {
		struct script s;
		struct made_capture m;
		script_begin(&s, seed);
		play(&s, &m, 5);
		sent += s.truths->len;
		for (guint i = 0; i < dtc_exchanges_get_count(m.exchanges); i++) {
			const struct dtc_exchange *e = made_get(&m, i);
			for (guint k = 0; k < s.truths->len && e->has_request; k++) {
				const struct truth *t = &g_array_index(s.truths, struct truth, k);
				if (e->request_seq - get_first(&m, e, false) != t->request_begin)
					continue;
				g_autofree char *target = g_strdup_printf("/%u", k);
				g_assert_cmpstr(e->target, ==, target);
				found++;
				if (e->has_response && e->response_seq - get_first(&m, e, true) == t->response_begin) {
					g_assert_cmpint(e->status, ==, t->status);
					answered++;
				} else if (e->has_response) {
					misled++; /* pipelined, and what would tell it was lost; or a body's text */
				}
			}
		}
		made_close(&m);
		script_end(&s);
	}
	g_assert_cmpuint(found, <=, sent);
	g_test_message("%u requests, %u found, %u with their responses, %u with others'", sent, found, answered,
		       misled);
	g_assert_cmpuint(found * 10, >, sent * 6);
	g_assert_cmpuint(answered * 10, >, found * 6);
	g_assert_cmpuint(misled * 100, <, found * 5);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/http/order", test_order);
	g_test_add_func("/http/loss", test_loss);
	return g_test_run();
}
