/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which segments of a path are ids. */
#include "analyze/exchange/url_pattern.h"

#include <glib.h>

static void test_patterns(void)
{
	static const struct {
		const char *url;
		const char *pattern;
	} cases[] = {
		{ "/", "/" },
		{ "", "" },
		{ "*", "*" },
		{ "/disk?ms=81", "/disk" },
		{ "/cart/8123/items?page=2#top", "/cart/*/items" },
		{ "/cart/77/items", "/cart/*/items" },
		{ "/api/v1/app2/utf-8/2fa", "/api/v1/app2/utf-8/2fa" },
		{ "/o/3f2504e0-4f89-11d3-9a0c-0305e82c3301/", "/o/*/" },
		{ "/commit/deadbeef0", "/commit/*" },
		{ "/feedface", "/feedface" },
		{ "/r/req-0111", "/r/*" },
		{ "/day/2026-11-20", "/day/*" },
		{ "/t/eyJhbGciOiJIUzI1NiJ9abc", "/t/*" },
		{ "/internationalisation-settings", "/internationalisation-settings" },
		{ "http://shop.example/cart/9", "http://shop.example/cart/*" },
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *pattern = dtc_url_fold(cases[i].url);
		g_assert_cmpstr(pattern, ==, cases[i].pattern);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/url-pattern/patterns", test_patterns);
	return g_test_run();
}
