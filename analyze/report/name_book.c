/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/name_book.h"

#include "analyze/report/details.h"
#include "collect/console/printable.h"

/* Where the names of a thread come from. */
struct origin {
	const char *node;
	const char *comm;
	const char *process;
};

struct named {
	struct origin origin; /* first: the key */
	struct dtc_report_thread thread;
};

struct DtcNameBook {
	guint references;
	struct dtc_names names;
	const DtcCluster *cluster;
	GStringChunk *strings;
	const char **nodes;  /* by node; NULL: not asked for yet */
	GHashTable *threads; /* struct named */
	DtcDetails *details;
};

static guint origin_hash(gconstpointer data)
{
	const struct origin *origin = data;
	return (g_direct_hash(origin->node) * 31 + g_direct_hash(origin->comm)) * 31 + g_direct_hash(origin->process);
}

static gboolean origin_equal(gconstpointer a, gconstpointer b)
{
	const struct origin *x = a, *y = b;
	return x->node == y->node && x->comm == y->comm && x->process == y->process;
}

static const char *keep(DtcNameBook *book, const char *text, guint max)
{
	if (dtc_printable_is_plain(text, max))
		return g_string_chunk_insert_const(book->strings, text);
	g_autofree char *printable = dtc_printable(text, max);
	return g_string_chunk_insert_const(book->strings, printable);
}

const char *dtc_name_book_keep_text(DtcNameBook *book, const char *text)
{
	return text && *text ? keep(book, text, DTC_PRINTABLE_MAX) : NULL;
}

static const char *keep_words(gpointer book, const char *text)
{
	return dtc_name_book_keep_text(book, text);
}

DtcNameBook *dtc_name_book_new(const struct dtc_names *names, const DtcCluster *cluster)
{
	DtcNameBook *book = g_new0(DtcNameBook, 1);

	book->references = 1;
	book->names = *names;
	book->cluster = cluster;
	book->strings = g_string_chunk_new(4096);
	book->nodes = g_new0(const char *, (gsize)names->node_count + 1);
	book->threads = g_hash_table_new_full(origin_hash, origin_equal, g_free, NULL);
	book->details = dtc_details_new(names, keep_words, book);
	return book;
}

DtcNameBook *dtc_name_book_ref(DtcNameBook *book)
{
	book->references++;
	return book;
}

void dtc_name_book_unref(DtcNameBook *book)
{
	if (!book || --book->references)
		return;
	dtc_details_free(book->details);
	g_hash_table_unref(book->threads);
	g_free(book->nodes);
	g_string_chunk_free(book->strings);
	g_free(book);
}

const char *dtc_name_book_get_node(DtcNameBook *book, guint node)
{
	if (node >= book->names.node_count)
		return keep(book, "?", DTC_PRINTABLE_NAME_MAX);
	if (!book->nodes[node])
		book->nodes[node] = keep(book, book->names.node_names[node], DTC_PRINTABLE_NAME_MAX);
	return book->nodes[node];
}

static struct dtc_report_thread name_thread(DtcNameBook *book, const struct origin *origin)
{
	const char *node = origin->node, *comm = origin->comm;
	struct dtc_report_thread thread = {
		.node = node,
		.comm = comm && *comm ? keep(book, comm, DTC_PRINTABLE_NAME_MAX) : NULL,
		.process = keep(book, origin->process, DTC_PRINTABLE_NAME_MAX),
	};
	const char *named = book->cluster ? dtc_cluster_get_tier(book->cluster, thread.process, node) : NULL;
	g_autofree char *tier = g_strconcat(thread.process, "@", node, NULL);
	thread.tier =
		named ? keep(book, named, DTC_PRINTABLE_NAME_MAX) : g_string_chunk_insert_const(book->strings, tier);
	return thread;
}

struct dtc_report_thread dtc_name_book_get_thread(DtcNameBook *book, const char *node, const char *comm,
						  const char *process, int32_t pid, int32_t tid)
{
	const struct origin origin = { node, comm, process };
	struct named *named = g_hash_table_lookup(book->threads, &origin);

	if (!named) {
		named = g_new0(struct named, 1);
		*named = (struct named){ origin, name_thread(book, &origin) };
		g_hash_table_add(book->threads, named);
	}
	struct dtc_report_thread thread = named->thread;
	thread.pid = pid;
	thread.tid = tid;
	return thread;
}

const char *dtc_name_book_get_detail(DtcNameBook *book, const struct dtc_evidence *evidence, int64_t span_ns)
{
	return dtc_details_get(book->details, evidence, span_ns);
}

guint dtc_name_book_digest_detail_of(const DtcNameBook *book, const struct dtc_segment *segment)
{
	if (segment->busy_with || segment->candidate)
		return DTC_DIGEST_UNKNOWN;
	return dtc_words_digest_evidence(&book->names, &segment->evidence);
}

const char *dtc_name_book_get_detail_of(DtcNameBook *book, const struct dtc_segment *segment)
{
	g_autofree char *whose = dtc_words_for_whose(segment);
	int64_t span_ns = segment->end.ns - segment->begin.ns;

	if (!whose)
		return dtc_name_book_get_detail(book, &segment->evidence, span_ns);
	g_autofree char *words = dtc_words_for_evidence(&book->names, &segment->evidence, span_ns);
	g_autofree char *both = words ? g_strdup_printf("%s: %s", whose, words) : NULL;
	return dtc_name_book_keep_text(book, both ? both : whose);
}
