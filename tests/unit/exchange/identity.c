/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Header values become ids: forms, placeholders, and what strangers put into them. */
#include "analyze/exchange/identity.h"

#include <string.h>

static bool match(const char *header, const char *value, const char **ret_source, char *ret_id, char *ret_value)
{
	const char *const more[] = { "X-Session", NULL };
	g_autoptr(DtcIdentityHeaders) headers = dtc_identity_headers_new(more);
	static char source_copy[64];
	const char *source;
	if (!dtc_identity_headers_match(headers, header, strlen(header), value, strlen(value), &source, ret_id,
					ret_value))
		return false;
	g_strlcpy(source_copy, source, sizeof(source_copy));
	*ret_source = source_copy;
	return true;
}

static void test_forms(void)
{
	static const struct {
		const char *header, *value, *source, *id;
	} cases[] = {
		{ "X-Request-ID", "abc", "x-request-id", "abc" },
		{ "x-request-id", "-", NULL, NULL },
		{ "x-request-id", "", NULL, NULL },
		{ "x-request-idx", "abc", NULL, NULL },
		{ "x-request-i", "abc", NULL, NULL },
		{ "X-Session", "s", "x-session", "s" },
		{ "X-Correlation-Id", "c", "x-correlation-id", "c" },
		{ "traceparent", "00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "traceparent",
		  "4bf92f3577b34da6a3ce929d0e0e4736" },
		{ "traceparent", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", NULL, NULL },
		{ "traceparent", "garbage", "traceparent", "garbage" },
		{ "traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736", "traceparent",
		  "00-4bf92f3577b34da6a3ce929d0e0e4736" },
		{ "b3", "80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1", "b3",
		  "80f198ee56343ba864fe8b2a57d3eff7" },
		{ "b3", "A0f198ee56343ba8-e457b5a2e4d86bd1", "b3", "a0f198ee56343ba8" },
		{ "b3", "0", NULL, NULL },
		{ "b3", "d", NULL, NULL },
		{ "X-B3-TraceId", "80f198ee56343ba8", "x-b3-traceid", "80f198ee56343ba8" },
		{ "uber-trace-id", "abc123:def:0:1", "uber-trace-id", "abc123" },
		{ "uber-trace-id", "abc123%3Adef%3A0%3A1", "uber-trace-id", "abc123" },
		{ "uber-trace-id", "0:0:0:0", NULL, NULL },
		{ "sw8", "1-dHJhY2UuMS4y-c2VnLjE=-3-c3Zj-aW5z-L2E=-eA==", "sw8", "trace.1.2" },
		{ "sw8", "1--x", "sw8", "1--x" },
		{ "cookie", "abc", NULL, NULL },
	};
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const char *source = NULL;
		char id[DTC_REQUEST_TEXT_BYTES + 1], value[DTC_REQUEST_TEXT_BYTES + 1];
		bool found = match(cases[i].header, cases[i].value, &source, id, value);
		g_assert_cmpint(found, ==, cases[i].source != NULL);
		if (!found)
			continue;
		g_assert_cmpstr(source, ==, cases[i].source);
		g_assert_cmpstr(id, ==, cases[i].id);
		g_assert_cmpstr(value, ==, cases[i].value);
	}
}

static void test_clean(void)
{
	static const struct {
		const char *bytes, *text;
	} cases[] = {
		{ "plain", "plain" },
		{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "a\x1b[2Jb\x7f\t", "a\\x1b[2Jb\\x7f\\x09" },
		{ "\xff\xc3", "\\xff\\xc3" },				 /* no UTF-8, cut UTF-8 */
		{ "\xc0\xaf\xed\xa0\x80", "\\xc0\\xaf\\xed\\xa0\\x80" }, /* overlong, surrogate */
		{ "\xc2\x9b", "\\xc2\\x9b" },				 /* a control sequence of terminals */
		{ "\xe2\x80\xae!\xe2\x80\xa8", "\\xe2\\x80\\xae!\\xe2\\x80\\xa8" }, /* turns text; separates lines */
	};
	char text[DTC_REQUEST_TEXT_BYTES + 1];
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		dtc_identity_clean(cases[i].bytes, strlen(cases[i].bytes), text);
		g_assert_cmpstr(text, ==, cases[i].text);
		g_assert_true(g_utf8_validate(text, -1, NULL));
	}
	dtc_identity_clean("a\0b", 3, text);
	g_assert_cmpstr(text, ==, "a\\x00b");
}

/* Long values are cut, but two of them do not become one; the longest that fits stays as it is. */
static void test_long(void)
{
	char bytes[1000], one[DTC_REQUEST_TEXT_BYTES + 1], two[DTC_REQUEST_TEXT_BYTES + 1];
	static const char *const fillers[] = { "x", "\xc3\xa9", "\x01", "\xf0\x9f\x98\x80" };
	for (guint f = 0; f < G_N_ELEMENTS(fillers); f++) {
		gsize step = strlen(fillers[f]);
		for (gsize i = 0; i + step <= sizeof(bytes); i += step)
			memcpy(bytes + i, fillers[f], step);
		gsize count = sizeof(bytes) / step * step;
		dtc_identity_clean(bytes, count, one);
		bytes[count - 1] ^= 1;
		dtc_identity_clean(bytes, count, two);
		g_assert_cmpuint(strlen(one), <=, DTC_REQUEST_TEXT_BYTES);
		g_assert_cmpuint(strlen(one), >, DTC_REQUEST_TEXT_BYTES - 8);
		g_assert_cmpstr(one, !=, two);
		g_assert_true(strncmp(one, two, 200) == 0);
		g_assert_true(g_utf8_validate(one, -1, NULL));
	}
	memset(bytes, 'y', sizeof(bytes));
	dtc_identity_clean(bytes, DTC_REQUEST_TEXT_BYTES, one);
	g_assert_true(strspn(one, "y") == DTC_REQUEST_TEXT_BYTES);
	dtc_identity_clean(bytes, DTC_REQUEST_TEXT_BYTES + 1, one);
	g_assert_cmpuint(strspn(one, "y"), ==, DTC_REQUEST_TEXT_BYTES - 17);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/identity/forms", test_forms);
	g_test_add_func("/identity/clean", test_clean);
	g_test_add_func("/identity/long", test_long);
	return g_test_run();
}
