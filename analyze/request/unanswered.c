/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/unanswered.h"

#include "dtrace-chain/hash.h"

/* Writes on a connection that are looked at, and questions there. */
#define WRITES_MAX 256
#define ASKINGS_MAX 64

#define ANYBODY G_MAXUINT /* instead of a request */

/* What a request asked on a connection, or a write. */
struct key {
	guint node;
	uint32_t id; /* of the file, or of the call */
	guint request;
};

struct DtcUnanswered {
	const DtcLinks *links;
	GHashTable *asked;   /* struct key, by file -> index of the last one in reads, and one */
	GArray *reads;	     /* struct asking */
	GHashTable *answers; /* struct key, by write, without request -> the request + 1 */
};

/* A question of a request on a connection. */
struct asking {
	guint request;
	uint32_t read;	    /* DTC_NONE: it was a mistake */
	guint before;	    /* its request's one before there, as in asked; 0: none */
	guint before_there; /* anybody's */
};

static guint key_hash(gconstpointer data)
{
	const struct key *key = data;

	return dtc_hash_pair((guint64)key->node << 32 | key->id, key->request);
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
	const struct key *x = a, *y = b;

	return x->node == y->node && x->id == y->id && x->request == y->request;
}

DtcUnanswered *dtc_unanswered_new(const DtcLinks *links)
{
	DtcUnanswered *unanswered = g_new(DtcUnanswered, 1);

	unanswered->links = links;
	unanswered->asked = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	unanswered->reads = g_array_new(FALSE, FALSE, sizeof(struct asking));
	unanswered->answers = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	return unanswered;
}

void dtc_unanswered_free(DtcUnanswered *unanswered)
{
	if (!unanswered)
		return;
	g_hash_table_unref(unanswered->asked);
	g_array_unref(unanswered->reads);
	g_hash_table_unref(unanswered->answers);
	g_free(unanswered);
}

static const DtcHistory *get_history(const DtcUnanswered *unanswered, guint node)
{
	return dtc_links_get_history(unanswered->links, node);
}

static struct key get_key(const DtcUnanswered *unanswered, guint node, uint32_t read, guint request)
{
	return (struct key){ node, dtc_history_copy_call(get_history(unanswered, node), read).file, request };
}

static guint find_last(const DtcUnanswered *unanswered, const struct key *key)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(unanswered->asked, key));
}

static struct asking *get_asking(const DtcUnanswered *unanswered, guint index)
{
	return &g_array_index(unanswered->reads, struct asking, index - 1);
}

void dtc_unanswered_add(DtcUnanswered *unanswered, guint node, uint32_t read, guint request)
{
	const struct key key = get_key(unanswered, node, read, request), there = { node, key.id, ANYBODY };
	const struct asking asking = { request, read, find_last(unanswered, &key), find_last(unanswered, &there) };

	g_array_append_val(unanswered->reads, asking);
	gpointer index = GUINT_TO_POINTER(unanswered->reads->len);
	g_hash_table_insert(unanswered->asked, g_memdup2(&key, sizeof(key)), index);
	g_hash_table_insert(unanswered->asked, g_memdup2(&there, sizeof(there)), index);
}

void dtc_unanswered_remove(DtcUnanswered *unanswered, guint node, uint32_t read, guint request)
{
	const struct key key = get_key(unanswered, node, read, request);

	for (guint i = find_last(unanswered, &key); i; i = get_asking(unanswered, i)->before)
		if (get_asking(unanswered, i)->read == read)
			get_asking(unanswered, i)->read = DTC_NONE;
}

void dtc_unanswered_answer(DtcUnanswered *unanswered, guint node, uint32_t write, guint request)
{
	const struct key key = { node, write, 0 };

	g_hash_table_insert(unanswered->answers, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(request + 1));
}

guint dtc_unanswered_count_answers(const DtcUnanswered *unanswered)
{
	return g_hash_table_size(unanswered->answers);
}

/* When the last question before a time was read; DTC_TIME_NONE: there is none. */
static int64_t find_asked_ns(const DtcUnanswered *unanswered, const struct key *key, int64_t before_ns)
{
	const DtcHistory *h = get_history(unanswered, key->node);
	int64_t asked_ns = DTC_TIME_NONE;

	for (guint i = find_last(unanswered, key); i; i = get_asking(unanswered, i)->before) {
		uint32_t read = get_asking(unanswered, i)->read;
		int64_t at_ns = read == DTC_NONE ? before_ns : dtc_history_get_call_begin_ns(h, read);
		if (at_ns < before_ns && (asked_ns == DTC_TIME_NONE || at_ns > asked_ns))
			asked_ns = at_ns;
	}
	return asked_ns;
}

bool dtc_unanswered_has(const DtcUnanswered *unanswered, guint node, const struct dtc_call *write, guint request)
{
	const DtcHistory *h = get_history(unanswered, node);
	const struct key key = { node, write->file, request };
	int64_t at_ns = find_asked_ns(unanswered, &key, write->begin_ns);
	if (at_ns == DTC_TIME_NONE)
		return false;
	const DtcFileCalls *calls = dtc_links_get_file_calls(unanswered->links, node, write->file);
	for (guint seen = 0; seen < WRITES_MAX; seen++) {
		uint32_t next = dtc_file_calls_find_moved(calls, true, at_ns);
		if (next == DTC_NONE)
			return false;
		at_ns = dtc_history_get_call_begin_ns(h, next);
		if (at_ns >= write->begin_ns)
			return true;
		const struct key answer = { node, next, 0 };
		guint answered = GPOINTER_TO_UINT(g_hash_table_lookup(unanswered->answers, &answer));
		if (!answered || answered - 1 == request)
			return false;
	}
	dtc_links_note_limit(unanswered->links, DTC_LIMIT_TURN);
	return false;
}

bool dtc_unanswered_is_only(const DtcUnanswered *unanswered, guint node, uint32_t file, guint request,
			    bool (*may_wait)(gconstpointer data, guint other), gconstpointer data)
{
	const struct key there = { node, file, ANYBODY };
	guint i = find_last(unanswered, &there);

	for (guint seen = 0; i && seen < ASKINGS_MAX; seen++, i = get_asking(unanswered, i)->before_there) {
		const struct asking *asking = get_asking(unanswered, i);
		if (asking->read != DTC_NONE && asking->request != request && may_wait(data, asking->request))
			return false;
	}
	return true;
}
