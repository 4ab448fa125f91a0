/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words that are made once for many spans are those that would be made for each: of all that the demo's threads did. */
#include "analyze/report/details.h"
#include "analyze/path/path_build.h"
#include "analyze/report/report_of.h"
#include "tests/support/demo.h"

#include <string.h>

struct fixture {
	DtcBundle *bundle;
	DtcFindings *findings;
	DtcEngine *engine;
	GStringChunk *strings;
	guint keep_count;
	GHashTable *digests; /* words -> digest */
};

static void set_up(struct fixture *f)
{
	const struct dtc_engine_options options = { 0 };
	g_autoptr(GError) error = NULL;

	f->findings = dtc_findings_new();
	f->bundle = demo_open();
	f->engine = dtc_engine_new(f->bundle, &options, NULL, f->findings, &error);
	f->strings = g_string_chunk_new(1024);
	f->keep_count = 0;
	f->digests = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_assert_no_error(error);
}

static void tear_down(struct fixture *f)
{
	g_hash_table_unref(f->digests);
	g_string_chunk_free(f->strings);
	dtc_engine_free(f->engine);
	dtc_findings_free(f->findings);
	dtc_bundle_free(f->bundle);
}

static const char *keep(gpointer data, const char *text)
{
	struct fixture *f = data;

	f->keep_count++;
	return text ? g_string_chunk_insert_const(f->strings, text) : NULL;
}

static struct dtc_names get_names(const struct fixture *f)
{
	return (struct dtc_names){ dtc_engine_get_histories(f->engine), dtc_engine_get_node_names(f->engine),
				   dtc_engine_get_node_count(f->engine) };
}

/* Equal words have equal digests, as many as there may be of others; none says that there are no words. */
static void expect_digest(struct fixture *f, const struct dtc_names *names, const struct dtc_evidence *evidence,
			  const char *words)
{
	guint digest = dtc_words_digest_evidence(names, evidence);

	if (digest == DTC_DIGEST_UNKNOWN)
		return;
	if (digest == DTC_DIGEST_NO_WORDS || !words) {
		g_assert_cmpstr(words, ==, NULL);
		g_assert_cmpuint(digest, ==, DTC_DIGEST_NO_WORDS);
		return;
	}
	gpointer known = g_hash_table_lookup(f->digests, words);
	if (known)
		g_assert_cmpuint(GPOINTER_TO_UINT(known), ==, digest);
	else
		g_hash_table_insert(f->digests, g_strdup(words), GUINT_TO_POINTER(digest));
}

/* How many were looked at. */
static guint expect_words(struct fixture *f, DtcDetails *details, const struct dtc_names *names,
			  const struct dtc_evidence *evidence, int64_t span_ns)
{
	g_autofree char *words = dtc_words_for_evidence(names, evidence, span_ns);

	expect_digest(f, names, evidence, words);
	g_assert_cmpstr(dtc_details_get(details, evidence, span_ns), ==, words);
	return 1;
}

static guint look_at_threads(struct fixture *f, DtcDetails *details, const struct dtc_names *names)
{
	guint count = 0;

	for (guint node = 0; node < names->node_count; node++) {
		const DtcHistory *h = names->histories[node];
		for (uint32_t thread = 0; thread < dtc_history_get_thread_count(h); thread++) {
			struct dtc_interval place;
			const struct dtc_interval *v = dtc_history_get_interval_after(h, thread, INT64_MIN, &place);
			for (; v; v = dtc_history_get_next_interval(h, &place)) {
				struct dtc_evidence evidence = dtc_evidence_of_interval(node, v);
				count += expect_words(f, details, names, &evidence, v->end_ns - v->begin_ns);
			}
		}
	}
	return count;
}

/* Each packet that a node sent, as what another one waited for. */
static guint look_at_messages(struct fixture *f, DtcDetails *details, const struct dtc_names *names)
{
	guint count = 0;

	for (guint node = 0; node < names->node_count; node++) {
		const DtcPackets *packets = dtc_history_get_packets(names->histories[node]);
		for (uint32_t i = 0; i < dtc_packets_get_count(packets); i++) {
			struct dtc_evidence evidence = dtc_evidence_of(DTC_REASON_WIRE);
			evidence.sent_node = node;
			evidence.sent_packet = i;
			count += expect_words(f, details, names, &evidence, 1);
		}
	}
	return count;
}

static void test_same_words(void)
{
	struct fixture f;

	set_up(&f);
	const struct dtc_names names = get_names(&f);
	g_autoptr(DtcDetails) details = dtc_details_new(&names, keep, &f);
	guint count = look_at_messages(&f, details, &names);
	count += look_at_threads(&f, details, &names);
	g_assert_cmpuint(count, >, 100000);
	guint made = f.keep_count;
	for (guint reason = DTC_REASON_WIRE; reason < DTC_REASONS; reason++) {
		const struct dtc_evidence evidence = dtc_evidence_of((enum dtc_reason)reason);
		expect_words(&f, details, &names, &evidence, 1);
	}
	g_test_message("%u spans, words made for %u", count, made);
	g_assert_cmpuint(made * 3, <, count);
	g_assert_cmpuint(g_hash_table_size(f.digests), >, 500);
	tear_down(&f);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/report/details/same-words", test_same_words);
	return g_test_run();
}
