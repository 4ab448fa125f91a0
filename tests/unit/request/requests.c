/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which exchanges become one request, and what finds it. */
#include "analyze/request/requests.h"
#include "dtrace-chain/error.h"

#include <string.h>

/* Adds an exchange at a time on a node with "source=id" pairs, separated by blanks. */
static void add(DtcExchanges *exchanges, guint node, int64_t time_ns, const char *pairs)
{
	g_auto(GStrv) parts = g_strsplit(pairs, " ", -1);
	struct dtc_identity identities[8];
	struct dtc_exchange e = { .node = node,
				  .request_ns = time_ns,
				  .request_seq = (uint32_t)time_ns,
				  .has_request = true,
				  .method = "GET",
				  .target = "/",
				  .identities = identities };
	for (guint i = 0; parts[i] && *parts[i]; i++) {
		char *equals = strchr(parts[i], '=');
		*equals = '\0';
		identities[e.identity_count++] = (struct dtc_identity){ parts[i], equals + 1, equals + 1 };
	}
	g_assert_true(dtc_exchanges_add(exchanges, &e));
}

static const struct dtc_request *find(const DtcRequests *requests, const char *id)
{
	guint index;
	GError *error = NULL;
	g_assert_true(dtc_request_find(requests, id, &index, &error));
	g_assert_no_error(error);
	return dtc_requests_get(requests, index);
}

static void check_error(const DtcRequests *requests, const char *id, int code, const char *part)
{
	guint index = 77;
	g_autoptr(GError) error = NULL;
	g_assert_false(dtc_request_find(requests, id, &index, &error));
	g_assert_error(error, DTC_ANALYZE_ERROR, code);
	g_assert_nonnull(strstr(error->message, part));
	g_assert_nonnull(strchr(error->message, '\n'));
	g_assert_cmpuint(index, ==, 77);
}

/* One request on three nodes with a request id and a trace id: one row, found by both. */
static void test_one_row(void)
{
	g_autoptr(DtcExchanges) exchanges = dtc_exchanges_new(0);
	add(exchanges, 0, 100, "traceparent=t1 x-request-id=r1");
	add(exchanges, 1, 101, "x-request-id=r1");
	add(exchanges, 1, 102, "traceparent=t1");
	add(exchanges, 2, 103, "traceparent=t1 x-correlation-id=c1");
	add(exchanges, 2, 90, "x-request-id=r0");
	add(exchanges, 2, 80, "");
	g_autoptr(DtcRequests) requests = dtc_requests_new(exchanges, NULL);
	g_assert_cmpuint(dtc_requests_get_count(requests), ==, 2);
	g_assert_cmpstr(dtc_requests_get(requests, 0)->id, ==, "r0");
	const struct dtc_request *r = find(requests, "r1");
	g_assert_cmpuint(r->exchange_count, ==, 4);
	g_assert_cmpstr(r->id, ==, "r1");
	g_assert_cmpstr(r->source, ==, "x-request-id");
	g_assert_cmpuint(r->identity_count, ==, 3);
	g_assert_cmpstr(r->identities[0].id, ==, "r1");
	g_assert_true(find(requests, "t1") == r);
	g_assert_true(find(requests, " c1\n") == r);
}

/* A trace of several requests stays several requests. */
static void test_shared_trace(void)
{
	g_autoptr(DtcExchanges) exchanges = dtc_exchanges_new(0);
	add(exchanges, 0, 100, "x-request-id=ra traceparent=shared");
	add(exchanges, 0, 200, "x-request-id=rb traceparent=shared");
	add(exchanges, 1, 150, "traceparent=shared");
	add(exchanges, 1, 160, "traceparent=shared");
	add(exchanges, 1, 170, "traceparent=shared x-correlation-id=rb"); /* the other id tells */
	g_autoptr(DtcRequests) requests = dtc_requests_new(exchanges, NULL);
	g_assert_cmpuint(dtc_requests_get_count(requests), ==, 3);
	g_assert_cmpuint(find(requests, "ra")->exchange_count, ==, 1);
	g_assert_cmpuint(find(requests, "rb")->exchange_count, ==, 2);
	check_error(requests, "shared", DTC_ERROR_USAGE, "fits 3 requests");
	check_error(requests, "shared", DTC_ERROR_USAGE, "'ra', 'rb', 'shared'");
}

/* A proxy gives its own X-Request-Id and answers with both; a constant in a response joins nothing. */
static void test_second_id(void)
{
	g_autoptr(DtcExchanges) exchanges = dtc_exchanges_new(0);
	for (int i = 0; i < 3; i++) {
		g_autofree char *outer =
			g_strdup_printf("x-request-id=out%d x-request-id=in%d x-request-id=constant", i, i);
		g_autofree char *inner = g_strdup_printf("x-request-id=in%d", i);
		add(exchanges, 0, 100 * i, outer);
		add(exchanges, 1, 100 * i + 1, inner);
	}
	g_autoptr(DtcRequests) requests = dtc_requests_new(exchanges, NULL);
	g_assert_cmpuint(dtc_requests_get_count(requests), ==, 3);
	g_assert_cmpuint(find(requests, "out1")->exchange_count, ==, 2);
	g_assert_true(find(requests, "in1") == find(requests, "out1"));
	check_error(requests, "constant", DTC_ERROR_USAGE, "fits 3 requests");
}

/* Ids that swap their places do not go round in circles. */
static void test_swapped_ids(void)
{
	g_autoptr(DtcExchanges) exchanges = dtc_exchanges_new(0);
	add(exchanges, 0, 1, "x-request-id=a x-request-id=b");
	add(exchanges, 0, 2, "x-request-id=b x-request-id=a");
	add(exchanges, 0, 3, "x-request-id=b x-request-id=c");
	g_autoptr(DtcRequests) requests = dtc_requests_new(exchanges, NULL);
	g_assert_cmpuint(dtc_requests_get_count(requests), >=, 1);
	guint total = 0;
	for (guint i = 0; i < dtc_requests_get_count(requests); i++)
		total += dtc_requests_get(requests, i)->exchange_count;
	g_assert_cmpuint(total, ==, 3);
}

static void test_wide_ids_only(void)
{
	g_autoptr(DtcExchanges) exchanges = dtc_exchanges_new(0);
	add(exchanges, 0, 1, "x-correlation-id=c uber-trace-id=u1");
	add(exchanges, 0, 2, "x-correlation-id=c uber-trace-id=u2");
	add(exchanges, 1, 3, "uber-trace-id=u2");
	add(exchanges, 1, 4, "x-mine=m uber-trace-id=u2"); /* a header of the user tells better than a trace */
	g_autoptr(DtcRequests) requests = dtc_requests_new(exchanges, NULL);
	g_assert_cmpuint(dtc_requests_get_count(requests), ==, 2);
	g_assert_cmpstr(find(requests, "u1")->id, ==, "u1");
	g_assert_cmpstr(find(requests, "u2")->id, ==, "m");
	g_assert_cmpuint(find(requests, "u2")->exchange_count, ==, 3);
}

static void test_parts(void)
{
	g_autoptr(DtcExchanges) exchanges = dtc_exchanges_new(0);
	for (int i = 0; i < 40; i++) {
		g_autofree char *pairs = g_strdup_printf("x-request-id=req-%04d traceparent=%032d", i, 1000 + i);
		add(exchanges, 0, i, pairs);
	}
	add(exchanges, 0, 99, "x-request-id=Abc\\x07def");
	g_autoptr(DtcRequests) requests = dtc_requests_new(exchanges, NULL);
	g_assert_cmpstr(find(requests, "req-0003")->id, ==, "req-0003");
	g_assert_cmpstr(find(requests, "REQ-0003")->id, ==, "req-0003");
	g_assert_cmpstr(find(requests, "0031")->id, ==, "req-0031");
	g_assert_cmpstr(find(requests, "00000000000000000000000000001005")->id, ==, "req-0005");
	g_assert_cmpstr(find(requests, "1007")->id, ==, "req-0007");
	g_assert_cmpstr(find(requests, "Ab")->id, ==, "Abc\\x07def");
	g_assert_cmpstr(find(requests, "Abc\adef")->id, ==, "Abc\\x07def"); /* as it was sent */
	check_error(requests, "req-000", DTC_ERROR_USAGE, "fits 10 requests");
	check_error(requests, "req-00", DTC_ERROR_USAGE, "'req-0009' and 30 more");
	check_error(requests, "", DTC_ERROR_USAGE, "empty");
	check_error(requests, " ", DTC_ERROR_USAGE, "empty");
	check_error(requests, "zzz", DTC_ERROR_USAGE, "41 requests; for example 'req-0000'");
	check_error(requests, "req-0131", DTC_ERROR_USAGE, "41 requests; closest: 'req-0031'");
}

static void test_nothing(void)
{
	g_autoptr(DtcExchanges) exchanges = dtc_exchanges_new(0);
	g_autoptr(DtcRequests) none = dtc_requests_new(exchanges, NULL);
	check_error(none, "x", DTC_ERROR_NOT_FOUND, "no packet captures");
	dtc_exchanges_add_capture(exchanges);
	check_error(none, "x", DTC_ERROR_NOT_FOUND, "no readable HTTP");
	add(exchanges, 0, 1, "");
	g_autoptr(DtcRequests) requests = dtc_requests_new(exchanges, NULL);
	g_assert_cmpuint(dtc_requests_get_count(requests), ==, 0);
	check_error(requests, "x", DTC_ERROR_NOT_FOUND, "--id-header");
}

/* Sets of several nodes moved together give what one set gives. */
static void test_move(void)
{
	g_autoptr(DtcExchanges) all = dtc_exchanges_new(0);
	for (guint node = 0; node < 3; node++) {
		g_autoptr(DtcExchanges) exchanges = dtc_exchanges_new(0);
		dtc_exchanges_add_capture(exchanges);
		add(exchanges, node, 10 - node, "x-request-id=r traceparent=t");
		dtc_exchanges_move(all, exchanges);
		g_assert_cmpuint(dtc_exchanges_get_count(exchanges), ==, 0);
		add(exchanges, node, 1, "x-request-id=again"); /* still usable */
	}
	g_assert_cmpuint(dtc_exchanges_get_capture_count(all), ==, 3);
	g_autoptr(DtcRequests) requests = dtc_requests_new(all, NULL);
	g_assert_cmpuint(dtc_requests_get_count(requests), ==, 1);
	g_assert_cmpuint(find(requests, "t")->exchange_count, ==, 3);
	g_assert_cmpuint(find(requests, "t")->identity_count, ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/requests/one-row", test_one_row);
	g_test_add_func("/requests/shared-trace", test_shared_trace);
	g_test_add_func("/requests/second-id", test_second_id);
	g_test_add_func("/requests/swapped-ids", test_swapped_ids);
	g_test_add_func("/requests/wide-ids-only", test_wide_ids_only);
	g_test_add_func("/requests/parts", test_parts);
	g_test_add_func("/requests/nothing", test_nothing);
	g_test_add_func("/requests/move", test_move);
	return g_test_run();
}
