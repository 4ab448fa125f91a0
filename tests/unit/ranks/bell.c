/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bell rings for who has its name, until it is hushed, however often; and only near. */
#include "analyze/ranks/bell.h"

#include <poll.h>
#include <string.h>

static bool rings(const DtcBell *bell)
{
	struct pollfd file = { dtc_bell_get_file(bell), POLLIN, 0 };

	return poll(&file, 1, 0) > 0;
}

static void test_ring(void)
{
	struct dtc_bell_name own, other;
	g_autoptr(DtcBell) bell = dtc_bell_new(&own);
	g_autoptr(DtcBell) far = dtc_bell_new(&other);

	g_assert_true(dtc_bell_is_near(bell, &other));
	g_assert_true(dtc_bell_is_near(bell, &own));
	g_assert_false(rings(bell));
	for (guint i = 0; i < 1000; i++) /* nobody waits */
		dtc_bell_ring(far, &own);
	g_assert_true(rings(bell));
	g_assert_false(rings(far));
	dtc_bell_hush(bell);
	g_assert_false(rings(bell));
	dtc_bell_hush(bell);
	dtc_bell_ring(bell, &own);
	g_assert_true(rings(bell));
}

static void test_far(void)
{
	struct dtc_bell_name own, other = { .machine = "another" };
	const struct dtc_bell_name nowhere = { 0 };
	g_autoptr(DtcBell) bell = dtc_bell_new(&own);

	g_assert_false(dtc_bell_is_near(bell, &other));
	g_assert_false(dtc_bell_is_near(bell, &nowhere));
	other = own;
	other.machine[strlen(other.machine) - 1] ^= 1; /* another name space of the same machine */
	g_assert_false(dtc_bell_is_near(bell, &other));
	other = own;
	memset(other.socket, 'x', sizeof(other.socket)); /* one that is gone */
	dtc_bell_ring(bell, &other);
	g_assert_false(rings(bell));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bell/ring", test_ring);
	g_test_add_func("/bell/far", test_far);
	return g_test_run();
}
