/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who owns which node. */
#include "analyze/ranks/assign.h"

#include <stdbool.h>

static void add(GArray *nodes, const char *name, guint64 bytes, const char *readers, const char *seers)
{
	struct dtc_assign_node node = { name, bytes, g_array_new(FALSE, FALSE, sizeof(guint)),
					g_array_new(FALSE, FALSE, sizeof(guint)), DTC_ASSIGN_NOBODY };

	for (; *readers; readers++) {
		guint rank = (guint)(*readers - '0');
		g_array_append_val(node.readers, rank);
	}
	for (; *seers; seers++) {
		guint rank = (guint)(*seers - '0');
		g_array_append_val(node.seers, rank);
	}
	g_array_append_val(nodes, node);
}

static void clear(void *data)
{
	g_array_unref(((struct dtc_assign_node *)data)->readers);
	g_array_unref(((struct dtc_assign_node *)data)->seers);
}

static GArray *begin(void)
{
	GArray *nodes = g_array_new(FALSE, FALSE, sizeof(struct dtc_assign_node));

	g_array_set_clear_func(nodes, clear);
	return nodes;
}

static guint get(const GArray *nodes, guint index)
{
	return g_array_index(nodes, struct dtc_assign_node, index).owner;
}

static void test_largest_first(void)
{
	g_autoptr(GArray) nodes = begin();

	add(nodes, "a", 30, "01", "01");
	add(nodes, "b", 50, "01", "01");
	add(nodes, "c", 30, "01", "01");
	add(nodes, "d", 10, "01", "01");
	dtc_assign(nodes, 2);
	g_assert_cmpuint(get(nodes, 1), ==, 0);
	g_assert_cmpuint(get(nodes, 0), ==, 1);
	g_assert_cmpuint(get(nodes, 2), ==, 1);
	g_assert_cmpuint(get(nodes, 3), ==, 0);
}

/* Only who can read; who merely sees is asked where nobody can, so that it is told why. */
static void test_readers(void)
{
	g_autoptr(GArray) nodes = begin();

	add(nodes, "a", 30, "2", "012");
	add(nodes, "b", 30, "2", "012");
	add(nodes, "c", 30, "", "1");
	add(nodes, "d", 30, "", "");
	dtc_assign(nodes, 3);
	g_assert_cmpuint(get(nodes, 0), ==, 2);
	g_assert_cmpuint(get(nodes, 1), ==, 2);
	g_assert_cmpuint(get(nodes, 2), ==, 1);
	g_assert_cmpuint(get(nodes, 3), ==, DTC_ASSIGN_NOBODY);
}

/* What had an owner keeps it, and counts. */
static void test_again(void)
{
	g_autoptr(GArray) nodes = begin();

	add(nodes, "a", 100, "01", "01");
	add(nodes, "b", 10, "01", "01");
	g_array_index(nodes, struct dtc_assign_node, 0).owner = 1;
	dtc_assign(nodes, 2);
	g_assert_cmpuint(get(nodes, 0), ==, 1);
	g_assert_cmpuint(get(nodes, 1), ==, 0);
}

static void test_empty_nodes(void)
{
	g_autoptr(GArray) nodes = begin();

	add(nodes, "a", 0, "01", "01");
	add(nodes, "b", 0, "01", "01");
	dtc_assign(nodes, 2);
	g_assert_cmpuint(get(nodes, 0), !=, get(nodes, 1));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/assign/largest-first", test_largest_first);
	g_test_add_func("/assign/readers", test_readers);
	g_test_add_func("/assign/again", test_again);
	g_test_add_func("/assign/empty-nodes", test_empty_nodes);
	return g_test_run();
}
