/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records that outgrow the heap are in a file, whose descriptor is not kept longer than they grow. */
#include "collect/packets/table.h"

static guint count_open_files(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GDir) files = g_dir_open("/proc/self/fd", 0, &error);
	guint count = 0;
	g_assert_no_error(error);
	while (g_dir_read_name(files))
		count++;
	return count;
}

static void append(DtcTable *table, guint begin, guint end)
{
	for (guint i = begin; i < end; i++) {
		guint64 record = (guint64)i * 7919;
		dtc_table_append(table, &record);
	}
}

static void check(const DtcTable *table, guint count)
{
	g_assert_cmpuint(table->len, ==, count);
	for (guint i = 0; i < count; i++)
		g_assert_cmpuint(*DTC_AT(table, guint64, i), ==, (guint64)i * 7919);
}

static void test_settle(void)
{
	guint before = count_open_files();
	g_autoptr(DtcTable) few = dtc_table_new(sizeof(guint64)), many = dtc_table_new(sizeof(guint64));
	append(few, 0, 100);
	append(many, 0, 100000);
	g_assert_cmpuint(count_open_files(), ==, before + 1);
	dtc_table_settle(few);
	dtc_table_settle(many);
	g_assert_cmpuint(count_open_files(), ==, before);
	check(few, 100);
	check(many, 100000);
	append(few, 100, 30000);
	append(many, 100000, 300000);
	check(few, 30000);
	check(many, 300000);
	dtc_table_settle(many);
	dtc_table_settle(few);
	g_assert_cmpuint(count_open_files(), ==, before);
	check(many, 300000);
}

/* What is made for each of many answers opens no file until it is large. */
static void test_on_heap(void)
{
	guint before = count_open_files();
	g_autoptr(DtcTable) table = dtc_table_new_on_heap(sizeof(guint64), 1 << 20);
	append(table, 0, 100000);
	g_assert_cmpuint(count_open_files(), ==, before);
	append(table, 100000, 300000);
	g_assert_cmpuint(count_open_files(), ==, before + 1);
	check(table, 300000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/table/settle", test_settle);
	g_test_add_func("/table/on-heap", test_on_heap);
	return g_test_run();
}
