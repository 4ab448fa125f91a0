/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds a request by what a user typed: whole, in another case, its begin, or a part. */
#include "analyze/exchange/identity.h"
#include "analyze/request/requests.h"
#include "dtrace-chain/error.h"

#include <string.h>

#define MAX_LISTED 10
#define MAX_CLOSEST 3

enum fit { FIT_WHOLE, FIT_WHOLE_ANY_CASE, FIT_BEGIN_OF_ID, FIT_BEGIN, FIT_PART_OF_ID, FIT_PART, FITS };

static bool text_fits(const char *text, const char *wanted, enum fit fit)
{
	switch (fit) {
	case FIT_WHOLE:
		return strcmp(text, wanted) == 0;
	case FIT_WHOLE_ANY_CASE:
		return g_ascii_strcasecmp(text, wanted) == 0;
	case FIT_BEGIN_OF_ID:
	case FIT_BEGIN:
		return g_str_has_prefix(text, wanted);
	default:
		return strstr(text, wanted) != NULL;
	}
}

static bool request_fits(const struct dtc_request *request, const char *wanted, enum fit fit)
{
	if (fit == FIT_BEGIN_OF_ID || fit == FIT_PART_OF_ID)
		return text_fits(request->id, wanted, fit);
	for (guint i = 0; i < request->identity_count; i++)
		if (text_fits(request->identities[i].id, wanted, fit) ||
		    text_fits(request->identities[i].value, wanted, fit))
			return true;
	return false;
}

static int compare_ids(gconstpointer a, gconstpointer b, gpointer requests)
{
	return strcmp(dtc_requests_get(requests, *(const guint *)a)->id,
		      dtc_requests_get(requests, *(const guint *)b)->id);
}

static void set_ambiguous(const DtcRequests *requests, const char *wanted, GArray *found, GError **error)
{
	g_array_sort_with_data(found, compare_ids, (gpointer)requests);
	g_autoptr(GString) list = g_string_new(NULL);
	for (guint i = 0; i < MIN(found->len, MAX_LISTED); i++)
		g_string_append_printf(list, "%s'%s'", i ? ", " : "",
				       dtc_requests_get(requests, g_array_index(found, guint, i))->id);
	if (found->len > MAX_LISTED)
		g_string_append_printf(list, " and %u more", found->len - MAX_LISTED);
	g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE, "'%s' fits %u requests\nname one of %s", wanted,
		    found->len, list->str);
}

/* Characters that both begin and end with. */
static guint get_likeness(const char *a, const char *b)
{
	gsize a_bytes = strlen(a), b_bytes = strlen(b), least = MIN(a_bytes, b_bytes), begin = 0, end = 0;
	while (begin < least && a[begin] == b[begin])
		begin++;
	while (end < least - begin && a[a_bytes - 1 - end] == b[b_bytes - 1 - end])
		end++;
	return (guint)(begin + end);
}

static void append_closest(GString *hint, const DtcRequests *requests, const char *wanted)
{
	const char *closest[MAX_CLOSEST] = { NULL };
	guint likeness[MAX_CLOSEST] = { 0 };
	for (guint row = 0; row < dtc_requests_get_count(requests); row++) {
		const char *id = dtc_requests_get(requests, row)->id;
		guint like = get_likeness(id, wanted), place = MAX_CLOSEST;
		while (place > 0 && (!closest[place - 1] || likeness[place - 1] < like))
			place--;
		if (place == MAX_CLOSEST)
			continue;
		memmove(closest + place + 1, closest + place, (MAX_CLOSEST - 1 - place) * sizeof(*closest));
		memmove(likeness + place + 1, likeness + place, (MAX_CLOSEST - 1 - place) * sizeof(*likeness));
		closest[place] = id;
		likeness[place] = like;
	}
	g_string_append(hint, likeness[0] > 0 ? "closest: " : "for example ");
	for (guint i = 0; i < MAX_CLOSEST && closest[i]; i++)
		g_string_append_printf(hint, "%s'%s'", i ? ", " : "", closest[i]);
}

static void set_not_found(const DtcRequests *requests, const char *wanted, GError **error)
{
	const DtcExchanges *exchanges = dtc_requests_get_exchanges(requests);
	guint row_count = dtc_requests_get_count(requests), exchange_count = dtc_exchanges_get_count(exchanges);
	g_autoptr(GString) hint = g_string_new(NULL);
	if (row_count > 0) {
		g_string_append_printf(hint, "the captures have %u request%s; ", row_count, row_count == 1 ? "" : "s");
		append_closest(hint, requests, wanted);
	} else if (exchange_count > 0) {
		g_string_append_printf(hint,
				       "the captures have %u HTTP exchanges, but none carries an id; name the header "
				       "that does with --id-header",
				       exchange_count);
	} else if (dtc_exchanges_get_capture_count(exchanges) > 0) {
		g_string_append(hint, "the captures hold no readable HTTP (TLS is not readable); tell "
				      "where the id is with --mark-regex or --spans, or ask by --connection or "
				      "--thread NODE:TID");
	} else {
		g_string_append(hint, "the bundle has no packet captures, which carry the ids; put NODE.pcap beside "
				      "the node's directory, or ask by --thread NODE:TID");
	}
	g_set_error(error, DTC_ANALYZE_ERROR, row_count ? DTC_ERROR_USAGE : DTC_ERROR_NOT_FOUND,
		    "no request has the id '%s'\n%s", wanted, hint->str);
}

bool dtc_request_find(const DtcRequests *requests, const char *id, guint *ret_index, GError **error)
{
	g_autofree char *stripped = g_strstrip(g_strdup(id));
	char wanted[DTC_REQUEST_TEXT_BYTES + 1]; /* as ids from the wire are written */
	dtc_identity_clean(stripped, strlen(stripped), wanted);
	if (!*wanted) {
		g_set_error(error, DTC_ANALYZE_ERROR, DTC_ERROR_USAGE,
			    "the request id is empty\ngive the value "
			    "of X-Request-Id or another id of the request, or its begin");
		return false;
	}
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(guint));
	for (enum fit fit = 0; fit < FITS && found->len == 0; fit++)
		for (guint row = 0; row < dtc_requests_get_count(requests); row++)
			if (request_fits(dtc_requests_get(requests, row), wanted, fit))
				g_array_append_val(found, row);
	if (found->len == 0) {
		set_not_found(requests, wanted, error);
		return false;
	}
	if (found->len > 1) {
		set_ambiguous(requests, wanted, found, error);
		return false;
	}
	*ret_index = g_array_index(found, guint, 0);
	return true;
}
