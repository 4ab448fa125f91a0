/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/serving_image.h"

#include "analyze/request/life.h"
#include "analyze/request/serving_build.h"

struct saved_worker {
	uint32_t node;
	uint32_t thread;
	uint32_t has_marks; /* it does not only inherit */
	uint32_t span_count;
	uint32_t owned_count;
	uint32_t spare;
};

struct saved_life {
	struct dtc_life life;
	uint32_t request;
	uint32_t spare;
};

GBytes *dtc_serving_to_bytes(const DtcServing *serving)
{
	g_autoptr(GArray) workers = g_array_new(FALSE, FALSE, sizeof(struct saved_worker));
	g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(struct dtc_served));
	g_autoptr(GArray) owned = g_array_new(FALSE, FALSE, sizeof(struct dtc_owned));
	g_autoptr(GArray) lives = g_array_new(FALSE, FALSE, sizeof(struct saved_life));
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	GHashTableIter iter;
	gpointer key, value;

	g_assert(serving->is_sealed);
	g_hash_table_iter_init(&iter, serving->workers);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct worker *worker = value;
		const struct saved_worker saved = { worker->node,	worker->thread,	    worker->is_scanned,
						    worker->spans->len, worker->owned->len, 0 };
		g_array_append_val(workers, saved);
		g_array_append_vals(spans, worker->spans->data, worker->spans->len);
		g_array_append_vals(owned, worker->owned->data, worker->owned->len);
	}
	g_hash_table_iter_init(&iter, serving->lives);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct saved_life saved = { *(const struct dtc_life *)value, GPOINTER_TO_UINT(key), 0 };
		g_array_append_val(lives, saved);
	}
	dtc_image_add(writer, "serving.lives", sizeof(struct saved_life), lives->data, lives->len);
	dtc_image_add(writer, "serving.workers", sizeof(struct saved_worker), workers->data, workers->len);
	dtc_image_add(writer, "serving.spans", sizeof(struct dtc_served), spans->data, spans->len);
	dtc_image_add(writer, "serving.owned", sizeof(struct dtc_owned), owned->data, owned->len);
	dtc_image_add(writer, "serving.hops", sizeof(struct dtc_followed_hop), serving->hops->data, serving->hops->len);
	dtc_image_add(writer, "serving.askings", sizeof(struct asking), serving->askings->data, serving->askings->len);
	dtc_image_add(writer, "serving.takings", sizeof(struct taking), serving->takings->data, serving->takings->len);
	return dtc_image_to_bytes(writer, NULL);
}

/* False with an error: there are no such records. */
static bool append(GArray *to, const DtcImage *image, const char *section, GError **error)
{
	gsize count;
	const void *records = dtc_image_get(image, section, g_array_get_element_size(to), &count, error);

	if (records && count)
		g_array_append_vals(to, records, (guint)count);
	return records != NULL;
}

/* What is left of the records of all workers. */
struct rest {
	const struct dtc_served *spans;
	const struct dtc_owned *owned;
	gsize span_count, owned_count;
};

static bool load_worker(DtcServing *serving, const struct saved_worker *saved, struct rest *rest)
{
	if (saved->node >= dtc_links_get_node_count(serving->links) || saved->span_count > rest->span_count ||
	    saved->owned_count > rest->owned_count)
		return false;
	struct worker *worker = dtc_serving_add_worker(serving, saved->node, saved->thread);
	worker->is_scanned = saved->has_marks; /* which ones nobody asks any more */
	g_array_append_vals(worker->spans, rest->spans, saved->span_count);
	g_array_append_vals(worker->owned, rest->owned, saved->owned_count);
	rest->spans += saved->span_count;
	rest->span_count -= saved->span_count;
	rest->owned += saved->owned_count;
	rest->owned_count -= saved->owned_count;
	return true;
}

static bool load_lives(DtcServing *serving, const DtcImage *image, GError **error)
{
	gsize count;
	const struct saved_life *lives =
		dtc_image_get(image, "serving.lives", sizeof(struct saved_life), &count, error);

	for (gsize i = 0; lives && i < count; i++)
		g_hash_table_insert(serving->lives, GUINT_TO_POINTER(lives[i].request),
				    g_memdup2(&lives[i].life, sizeof(lives[i].life)));
	return lives != NULL;
}

DtcServing *dtc_serving_load(const DtcLinks *links, const DtcImage *image, GError **error)
{
	g_autoptr(DtcServing) serving = dtc_serving_new(links);
	struct rest rest = { 0 };
	gsize count;
	const struct saved_worker *workers =
		dtc_image_get(image, "serving.workers", sizeof(struct saved_worker), &count, error);

	if (!workers)
		return NULL;
	rest.spans = dtc_image_get(image, "serving.spans", sizeof(struct dtc_served), &rest.span_count, error);
	rest.owned = rest.spans
			     ? dtc_image_get(image, "serving.owned", sizeof(struct dtc_owned), &rest.owned_count, error)
			     : NULL;
	if (!rest.owned || !load_lives(serving, image, error) || !append(serving->hops, image, "serving.hops", error) ||
	    !append(serving->askings, image, "serving.askings", error) ||
	    !append(serving->takings, image, "serving.takings", error))
		return NULL;
	for (gsize i = 0; i < count; i++)
		if (!load_worker(serving, &workers[i], &rest)) {
			dtc_image_refuse(image, error, "a thread in it is none");
			return NULL;
		}
	serving->is_sealed = true;
	return g_steal_pointer(&serving);
}
