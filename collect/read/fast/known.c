/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/known.h"

#include "collect/read/ctf/name_check.h"
#include "collect/read/spellings.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define KEPT_MAX 8 /* kinds of nodes in a cluster */
#define KEPT_MAX_BYTES ((gsize)64 << 20)
#define OWN_MAX_BYTES 65536 /* of one value */
#define TAIL_BYTES 16384    /* by which it is guessed whether metadata are the ones that are being parsed */

struct dtc_known_metadata {
	gatomicrefcount references;
	GString *text;
	struct dtc_trace_declaration *declaration;
	struct dtc_trace_layout *layout;
	GHashTable *odd_names; /* or NULL */
	bool declares[DTC_EVENT_KINDS];
	gsize bytes; /* of all that */
};

struct DtcKnown {
	GMutex mutex;
	GCond parsed;
	GQueue kept;	     /* struct dtc_known_metadata, the one that was used last first */
	gsize bytes;	     /* of those */
	GHashTable *parsing; /* a set of tails' hashes */
	guint64 kept_count;  /* ever */
	guint64 parse_count;
};

/* ---- what is shared ---- */

static void release(struct dtc_known_metadata *metadata)
{
	if (!metadata || !g_atomic_ref_count_dec(&metadata->references))
		return;
	g_clear_pointer(&metadata->odd_names, g_hash_table_unref);
	dtc_trace_layout_free(metadata->layout);
	dtc_trace_declaration_free(metadata->declaration);
	g_string_free(metadata->text, TRUE);
	g_free(metadata);
}

static void look_at_names(struct dtc_known_metadata *metadata)
{
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	for (guint i = 0; i < metadata->layout->stream_count; i++) {
		const struct dtc_stream_layout *stream = &metadata->layout->streams[i];
		for (guint k = 0; k < stream->event_count; k++) {
			const char *name = stream->events[k].declaration->name;
			if (name)
				g_hash_table_add(names, (char *)name);
			metadata->declares[name ? dtc_spelling_find_event(name).kind : DTC_EVENT_OTHER] = true;
		}
	}
	dtc_name_check(names, "", findings);
	if (dtc_findings_get_count(findings) > 0)
		metadata->odd_names = g_steal_pointer(&names);
}

static struct dtc_known_metadata *parse(GString *text, GError **error)
{
	struct dtc_known_metadata *metadata = g_new0(struct dtc_known_metadata, 1);
	g_atomic_ref_count_init(&metadata->references);
	metadata->text = text;
	metadata->declaration = dtc_declaration_parse(text->str, text->len, error);
	if (metadata->declaration)
		metadata->layout = dtc_layout_compile(metadata->declaration, error);
	if (!metadata->declaration || !metadata->layout) {
		release(metadata);
		return NULL;
	}
	look_at_names(metadata);
	metadata->bytes = text->allocated_len + dtc_arena_get_used(metadata->declaration->arena);
	return metadata;
}

/* ---- one node's ---- */

/* Whether a text is that of the metadata but for its own values, which are set in the declaration. */
static bool set_own(const struct dtc_known_metadata *metadata, const GString *text,
		    struct dtc_trace_declaration *declaration)
{
	const struct dtc_trace_declaration *from = metadata->declaration;
	struct dtc_own_place place = { text->str, text->len, 0, 0 };
	gsize there = 0;
	g_hash_table_unref(declaration->environment);
	declaration->environment = g_hash_table_new(g_str_hash, g_str_equal);
	declaration->has_uuid = false;
	memset(declaration->uuid, 0, sizeof(declaration->uuid));
	for (guint i = 0; i < from->own_count; i++) {
		const struct dtc_own_value *value = &from->own_values[i];
		gsize same = value->at - there;
		place.at = place.end + same;
		if (text->len - place.end < same ||
		    memcmp(text->str + place.end, metadata->text->str + there, same) != 0 ||
		    !(from->is_version_2 ? dtc_ctf2_read_own : dtc_tsdl_read_own)(declaration, value, &place) ||
		    place.end - place.at > OWN_MAX_BYTES)
			return false;
		there = value->at + value->bytes;
	}
	return text->len - place.end == metadata->text->len - there &&
	       memcmp(text->str + place.end, metadata->text->str + there, text->len - place.end) == 0;
}

/* The trace of a text that declares what the metadata do, NULL: their own; false if it does not. */
static bool derive(struct dtc_known_metadata *metadata, const GString *text, struct dtc_known_trace *ret_trace)
{
	struct dtc_trace_declaration *declaration = dtc_trace_declaration_derive(metadata->declaration);
	if (!text || set_own(metadata, text, declaration))
		ret_trace->layout = dtc_layout_derive(metadata->layout, declaration);
	if (!ret_trace->layout) {
		dtc_trace_declaration_free(declaration);
		return false;
	}
	ret_trace->declaration = declaration;
	ret_trace->metadata = metadata;
	g_atomic_ref_count_inc(&metadata->references);
	return true;
}

/* ---- those of all nodes ---- */

DtcKnown *dtc_known_new(void)
{
	DtcKnown *known = g_new0(DtcKnown, 1);
	g_mutex_init(&known->mutex);
	g_cond_init(&known->parsed);
	g_queue_init(&known->kept);
	known->parsing = g_hash_table_new(NULL, NULL);
	return known;
}

static void drop_last(DtcKnown *known)
{
	struct dtc_known_metadata *last = g_queue_pop_tail(&known->kept);
	known->bytes -= last->bytes;
	release(last);
}

void dtc_known_forget(DtcKnown *known)
{
	if (!known)
		return;
	g_mutex_lock(&known->mutex);
	while (known->kept.length > 0)
		drop_last(known);
	g_mutex_unlock(&known->mutex);
}

void dtc_known_free(DtcKnown *known)
{
	if (!known)
		return;
	dtc_known_forget(known);
	g_hash_table_unref(known->parsing);
	g_cond_clear(&known->parsed);
	g_mutex_clear(&known->mutex);
	g_free(known);
}

guint64 dtc_known_get_parse_count(DtcKnown *known)
{
	g_mutex_lock(&known->mutex);
	guint64 count = known->parse_count;
	g_mutex_unlock(&known->mutex);
	return count;
}

static guint hash_tail(const GString *text)
{
	gsize bytes = MIN(text->len, TAIL_BYTES);
	guint hash = 5381;
	for (gsize i = text->len - bytes; i < text->len; i++)
		hash = hash * 33 + (guint8)text->str[i];
	return hash;
}

/* The kept ones, each with a reference for the caller: they are compared without the lock. */
static guint list_kept(const DtcKnown *known, struct dtc_known_metadata *ret_kept[KEPT_MAX])
{
	guint count = 0;
	for (const GList *at = known->kept.head; at; at = at->next) {
		ret_kept[count] = at->data;
		g_atomic_ref_count_inc(&ret_kept[count++]->references);
	}
	return count;
}

static void move_to_front(DtcKnown *known, struct dtc_known_metadata *metadata)
{
	GList *link = g_queue_find(&known->kept, metadata);
	if (!link)
		return;
	g_queue_unlink(&known->kept, link);
	g_queue_push_head_link(&known->kept, link);
}

/* With the lock, which is left while texts are compared. */
static bool find(DtcKnown *known, const GString *text, struct dtc_known_trace *ret_trace)
{
	struct dtc_known_metadata *kept[KEPT_MAX];
	guint count = list_kept(known, kept);
	g_mutex_unlock(&known->mutex);
	for (guint i = 0; i < count && !ret_trace->metadata; i++)
		derive(kept[i], text, ret_trace);
	g_mutex_lock(&known->mutex);
	if (ret_trace->metadata)
		move_to_front(known, ret_trace->metadata);
	for (guint i = 0; i < count; i++)
		release(kept[i]);
	return ret_trace->metadata != NULL;
}

static void keep(DtcKnown *known, struct dtc_known_metadata *metadata)
{
	if (metadata->declaration->is_alone || metadata->bytes > KEPT_MAX_BYTES)
		return;
	g_atomic_ref_count_inc(&metadata->references);
	g_queue_push_head(&known->kept, metadata);
	known->bytes += metadata->bytes;
	known->kept_count++;
	while (known->kept.length > KEPT_MAX || known->bytes > KEPT_MAX_BYTES)
		drop_last(known);
}

/* As find, and waits for metadata that may be the same and are being parsed. */
static bool find_or_wait(DtcKnown *known, gpointer tail, const GString *text, struct dtc_known_trace *ret_trace)
{
	for (;;) {
		guint64 kept_count = known->kept_count;
		if (find(known, text, ret_trace))
			return true;
		if (g_hash_table_contains(known->parsing, tail))
			g_cond_wait(&known->parsed, &known->mutex);
		else if (kept_count == known->kept_count)
			return false;
	}
}

/* NULL if they were found meanwhile; else they are kept. With the lock, which is left while they are parsed. */
static struct dtc_known_metadata *find_or_parse(DtcKnown *known, GString *text, struct dtc_known_trace *ret_trace,
						GError **error)
{
	gpointer tail = GUINT_TO_POINTER(hash_tail(text));
	if (find_or_wait(known, tail, text, ret_trace)) {
		g_string_free(text, TRUE);
		return NULL;
	}
	g_hash_table_add(known->parsing, tail);
	known->parse_count++;
	g_mutex_unlock(&known->mutex);
	struct dtc_known_metadata *metadata = parse(text, error);
	g_mutex_lock(&known->mutex);
	g_hash_table_remove(known->parsing, tail);
	g_cond_broadcast(&known->parsed);
	if (metadata)
		keep(known, metadata);
	return metadata;
}

/* Of metadata that were just parsed. */
static bool derive_own(struct dtc_known_metadata *metadata, struct dtc_known_trace *ret_trace, GError **error)
{
	bool is_done = derive(metadata, NULL, ret_trace);
	if (!is_done)
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED, "it declares more than there is room for");
	return is_done;
}

bool dtc_known_open(DtcKnown *known, GString *text, struct dtc_known_trace *ret_trace, GError **error)
{
	struct dtc_known_metadata *metadata;
	*ret_trace = (struct dtc_known_trace){ .metadata = NULL };
	if (known) {
		g_mutex_lock(&known->mutex);
		metadata = find_or_parse(known, text, ret_trace, error);
		g_mutex_unlock(&known->mutex);
	} else {
		metadata = parse(text, error);
	}
	bool is_open = ret_trace->metadata || (metadata && derive_own(metadata, ret_trace, error));
	release(metadata);
	return is_open;
}

void dtc_known_close(struct dtc_known_trace *trace)
{
	dtc_trace_layout_free(trace->layout);
	dtc_trace_declaration_free(trace->declaration);
	release(trace->metadata);
	*trace = (struct dtc_known_trace){ .metadata = NULL };
}

const bool *dtc_known_get_declared(const struct dtc_known_trace *trace)
{
	return trace->metadata->declares;
}

GHashTable *dtc_known_get_odd_names(const struct dtc_known_trace *trace)
{
	return trace->metadata->odd_names;
}
