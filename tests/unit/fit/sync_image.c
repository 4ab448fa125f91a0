/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a fit found, saved and loaded: a clock that steps, messages that were left out, a node that is not aligned. */
#include "sync/fit/sync_image.h"
#include "sync/match/relation.h"
#include "sync/match/relation_image.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define NODES 4
#define MESSAGES 2000
#define PERIOD_NS 5000000
#define STEP_NS 70000000

static const char *const names[] = { "a", "b", "c", "lonely", NULL };

/* b's clock steps in the middle, c's is ahead; the way takes 30 us and more, and one message each way cannot be. */
static DtcMatches *make_matches(void)
{
	DtcMatches *matches = dtc_matches_new(names, NODES);
	guint64 random = 7;

	for (guint i = 0; i < MESSAGES; i++) {
		random = random * G_GUINT64_CONSTANT(6364136223846793005) + 1442695040888963407u;
		int64_t at = (int64_t)i * PERIOD_NS, way = 30000 + (int64_t)(random >> 48);
		int64_t ahead[] = { 0, i < MESSAGES / 2 ? 0 : STEP_NS, 900000 };
		for (guint to = 1; to < 3; to++) {
			dtc_matches_add(matches, 0, to, at, at + way + ahead[to]);
			dtc_matches_add(matches, to, 0, at + ahead[to] + 1000, at + way + 1000);
		}
		dtc_matches_add(matches, 1, 2, at + ahead[1] + 5000, at + 5000 + way + ahead[2]);
		dtc_matches_add(matches, 2, 1, at + ahead[2] + 7000, at + 7000 + way + ahead[1]);
	}
	dtc_matches_add(matches, 0, 2, 100 * PERIOD_NS, 100 * PERIOD_NS);
	dtc_matches_add_unmatched(matches, 0, 3, 17);
	return matches;
}

static DtcImage *write_image(const DtcImageWriter *writer)
{
	const struct dtc_image_key key = { { 0 } };
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;
	int file = g_file_open_tmp("dtc-sync-XXXXXX", &path, NULL);

	g_assert_true(dtc_image_write(writer, file, &key, &error));
	DtcImage *image = dtc_image_map(file, "image", &key, &error);
	g_assert_no_error(error);
	close(file);
	g_unlink(path);
	return image;
}

static DtcImage *save(const DtcSync *sync)
{
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();

	dtc_sync_save(sync, writer);
	return write_image(writer);
}

static const char *const sections[] = { "sync.pairs",	    "sync.trimmed",	"sync.steps",	    "sync.corners",
					"sync.maps",	    "sync.knots",	"sync.options",	    "sync.groups",
					"sync.group_knots", "sync.group_pairs", "sync.group_bounds" };
static const gsize records[] = { 144, 32, 32, 24, 16, 32, 32, 16, 8, 8, 16 };

static void expect_equal(const DtcImage *a, const DtcImage *b)
{
	for (guint i = 0; i < G_N_ELEMENTS(sections); i++) {
		gsize a_count, b_count;
		const void *in_a = dtc_image_get(a, sections[i], records[i], &a_count, NULL);
		const void *in_b = dtc_image_get(b, sections[i], records[i], &b_count, NULL);
		g_assert_nonnull(in_a);
		g_assert_cmpmem(in_a, a_count * records[i], in_b, b_count * records[i]);
	}
}

static void expect_same_trimmed(const struct dtc_sync_pair *a, const struct dtc_sync_pair *b)
{
	g_assert_cmpuint(a->trimmed_count, ==, b->trimmed_count);
	for (guint i = 0; i < a->trimmed_count; i++) {
		g_assert_cmpuint(a->trimmed[i].from, ==, b->trimmed[i].from);
		g_assert_cmpint(a->trimmed[i].sent_ns, ==, b->trimmed[i].sent_ns);
		g_assert_cmpint(a->trimmed[i].received_ns, ==, b->trimmed[i].received_ns);
		g_assert_cmpint(a->trimmed[i].by_ns, ==, b->trimmed[i].by_ns);
	}
}

static void test_same(void)
{
	g_autoptr(DtcMatches) matches = make_matches();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, NULL, findings, &error);
	g_assert_no_error(error);
	g_autoptr(DtcImage) image = save(sync);
	g_autoptr(DtcSync) loaded = dtc_sync_load(image, names, NODES, &error);
	g_assert_no_error(error);
	g_autoptr(DtcImage) again = save(loaded);
	expect_equal(image, again);

	const struct dtc_sync_pair *stepped = dtc_sync_get_pair(loaded, 0), *other = dtc_sync_get_pair(loaded, 1);
	g_assert_cmpuint(dtc_sync_get_pair_count(loaded), ==, dtc_sync_get_pair_count(sync));
	g_assert_cmpuint(stepped->step_count, ==, 1);
	g_assert_cmpint(ABS(stepped->steps[0].change_ns - STEP_NS), <, 1000000);
	g_assert_cmpuint(other->trimmed_count, >, 0);
	expect_same_trimmed(other, dtc_sync_get_pair(sync, 1));
	g_assert_cmpuint(other->corner_count, >, 0);
	g_assert_false(dtc_sync_is_complete(loaded));
	g_assert_cmpstr(dtc_sync_get_node_name(loaded, 3), ==, "lonely");
	for (guint i = 0; i < 3; i++) {
		int64_t lo[2], hi[2];
		DtcClusterTime at = { (int64_t)i * MESSAGES / 2 * PERIOD_NS };
		g_assert_true(dtc_clocks_get_difference(dtc_sync_get_clocks(sync), 1, 2, at, &lo[0], &hi[0]));
		g_assert_true(dtc_clocks_get_difference(dtc_sync_get_clocks(loaded), 1, 2, at, &lo[1], &hi[1]));
		g_assert_cmpint(lo[0], ==, lo[1]);
		g_assert_cmpint(hi[0], ==, hi[1]);
	}
}

/* Of other nodes it is none. */
static void test_refused(void)
{
	g_autoptr(DtcMatches) matches = make_matches();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, NULL, findings, NULL);
	g_autoptr(DtcImage) image = save(sync);

	g_assert_null(dtc_sync_load(image, names, NODES - 1, &error));
	g_assert_nonnull(error);
}

/* A writer with the sections of an image, but one byte of one of them is another. Caller owns. */
static DtcImage *change(const DtcImage *image, guint section, gsize at, uint8_t byte)
{
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();

	for (guint i = 0; i < G_N_ELEMENTS(sections); i++) {
		gsize count;
		const void *data = dtc_image_get(image, sections[i], records[i], &count, NULL);
		g_autofree uint8_t *copy = g_memdup2(data, count * records[i] + 1);
		if (i == section)
			copy[at] = byte;
		dtc_image_add_copy(writer, sections[i], records[i], copy, count);
	}
	return write_image(writer);
}

static guint find_section(const char *name)
{
	guint i = 0;
	while (strcmp(sections[i], name) != 0)
		i++;
	return i;
}

/* What was written by somebody else: nodes that are not there, times out of order or beyond all time. */
static void test_hostile(void)
{
	static const struct {
		const char *section;
		gsize at; /* a byte of the first record */
		uint8_t byte;
	} changes[] = {
		{ "sync.group_pairs", 3, 0x7f },  /* the node that it is of */
		{ "sync.group_pairs", 4, 0 },	  /* the node itself */
		{ "sync.group_bounds", 7, 0x7f }, /* the least above the most */
		{ "sync.group_knots", 7, 0x7f },  /* after its successor */
		{ "sync.knots", 7, 0x80 },	  /* before all time */
		{ "sync.knots", 15, 0x7f },	  /* the cluster's time above its bound */
		{ "sync.maps", 15, 0xff },	  /* a spread below zero */
		{ "sync.maps", 4, 0 },		  /* no knot */
		{ "sync.pairs", 3, 0x7f },
		{ "sync.pairs", 8, 0x7f },
		{ "sync.options", 0, 0x7f },
	};
	g_autoptr(DtcMatches) matches = make_matches();
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	g_autoptr(DtcSync) sync = dtc_fit_clocks(matches, NULL, findings, NULL);
	g_autoptr(DtcImage) image = save(sync);

	for (guint i = 0; i < G_N_ELEMENTS(changes); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(DtcImage) changed =
			change(image, find_section(changes[i].section), changes[i].at, changes[i].byte);
		g_assert_null(dtc_sync_load(changed, names, NODES, &error));
		g_assert_nonnull(error);
	}
}

static void expect_no_relation(const struct dtc_relation *relation)
{
	g_autoptr(DtcMatches) matches = dtc_matches_new(names, NODES);
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autoptr(GError) error = NULL;

	*dtc_matches_get_relation(matches, 1) = *relation;
	dtc_relations_save(matches, writer);
	g_autoptr(DtcImage) image = write_image(writer);
	g_assert_null(dtc_relations_load(image, names, NODES, &error));
	g_assert_nonnull(error);
}

static void test_hostile_relations(void)
{
	static const struct dtc_relation_knot in_order[] = { { 1, 0 }, { 2, 0 } },
					      out_of_order[] = { { 1, 0 }, { 1, 0 } }, late[] = { { INT64_MAX, 0 } },
					      far[] = { { 1, INT64_MIN } };
	const struct {
		const struct dtc_relation_knot *knots;
		guint count;
		int64_t error_ns;
		double rate;
	} stories[] = {
		{ out_of_order, 2, 0, 1 }, { late, 1, 0, 1 },	   { far, 1, 0, 1 },
		{ in_order, 2, -1, 1 },	   { in_order, 2, 0, -1 }, { in_order, 2, 0, NAN },
	};

	for (guint i = 0; i < G_N_ELEMENTS(stories); i++) {
		const struct dtc_relation relation = {
			.knots = g_memdup2(stories[i].knots, stories[i].count * sizeof(*stories[i].knots)),
			.count = stories[i].count,
			.error_ns = stories[i].error_ns,
			.rate = stories[i].rate,
		};
		expect_no_relation(&relation);
	}
}

static void test_relations(void)
{
	const struct dtc_relation_knot knots[] = { { 1000, 10 }, { 2000, 20 } };
	g_autoptr(DtcMatches) matches = dtc_matches_new(names, NODES);
	g_autoptr(DtcImageWriter) writer = dtc_image_writer_new();
	g_autoptr(GError) error = NULL;
	int64_t node_ns;

	dtc_matches_get_relation(matches, 0)->identity = true;
	*dtc_matches_get_relation(matches, 2) = (struct dtc_relation){
		.knots = g_memdup2(knots, sizeof(knots)), .count = 2, .error_ns = 5, .rate = 1.5
	};
	dtc_relations_save(matches, writer);
	g_autoptr(DtcImage) image = write_image(writer);
	g_autoptr(DtcMatches) loaded = dtc_relations_load(image, names, NODES, &error);
	g_assert_no_error(error);
	g_assert_true(dtc_matches_capture_to_node(loaded, 0, 77, &node_ns) && node_ns == 77);
	g_assert_false(dtc_matches_capture_to_node(loaded, 1, 77, &node_ns));
	g_assert_true(dtc_matches_capture_to_node(loaded, 2, 1500, &node_ns) && node_ns == 1485);
	g_assert_cmpfloat(dtc_matches_get_capture_rate(loaded, 2), ==, 1.5);
	g_assert_cmpint(dtc_matches_get_capture_error_ns(loaded, 2), ==, 5);
	g_assert_cmpuint(dtc_matches_get_pair_count(loaded), ==, 0);
	g_assert_null(dtc_relations_load(image, names, NODES - 1, NULL));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fit/sync-image/same", test_same);
	g_test_add_func("/fit/sync-image/refused", test_refused);
	g_test_add_func("/fit/sync-image/relations", test_relations);
	g_test_add_func("/fit/sync-image/hostile", test_hostile);
	g_test_add_func("/fit/sync-image/hostile-relations", test_hostile_relations);
	return g_test_run();
}
