/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/in_flight.h"

/* Beyond that the oldest ones are lost, or were answered by somebody else. */
#define IN_FLIGHT_MAX 256

struct DtcInFlight {
	GArray *requests; /* guint, in the order in which they were asked */
	guint unknown;
};

DtcInFlight *dtc_in_flight_new(guint unknown)
{
	DtcInFlight *flight = g_new(DtcInFlight, 1);

	flight->requests = g_array_new(FALSE, FALSE, sizeof(guint));
	flight->unknown = unknown;
	return flight;
}

void dtc_in_flight_free(DtcInFlight *flight)
{
	if (!flight)
		return;
	g_array_unref(flight->requests);
	g_free(flight);
}

static guint get(const DtcInFlight *flight, guint index)
{
	return g_array_index(flight->requests, guint, index);
}

void dtc_in_flight_add(DtcInFlight *flight, guint request)
{
	if (flight->requests->len == IN_FLIGHT_MAX)
		g_array_remove_index(flight->requests, 0);
	g_array_append_val(flight->requests, request);
}

static guint find(const DtcInFlight *flight, guint request)
{
	guint i = 0;

	while (i < flight->requests->len && get(flight, i) != request)
		i++;
	return i;
}

void dtc_in_flight_end(DtcInFlight *flight, guint request)
{
	if (request == flight->unknown && dtc_in_flight_is_mixed(flight))
		for (guint k = 0; k < flight->requests->len; k++)
			g_array_index(flight->requests, guint, k) = flight->unknown;
	guint i = find(flight, request);
	if (i == flight->requests->len) /* perhaps one of those that nobody knows */
		i = find(flight, flight->unknown);
	if (i < flight->requests->len)
		g_array_remove_index(flight->requests, i);
}

void dtc_in_flight_forget(DtcInFlight *flight, bool (*is_over)(gconstpointer data, guint request), gconstpointer data)
{
	for (guint i = flight->requests->len; i-- > 0;)
		if (get(flight, i) != flight->unknown && is_over(data, get(flight, i)))
			g_array_remove_index(flight->requests, i);
}

bool dtc_in_flight_is_mixed(const DtcInFlight *flight)
{
	for (guint i = 1; i < flight->requests->len; i++)
		if (get(flight, i) != get(flight, 0))
			return true;
	return false;
}

bool dtc_in_flight_get_last(const DtcInFlight *flight, guint *ret_request)
{
	if (!flight->requests->len)
		return false;
	*ret_request = get(flight, flight->requests->len - 1);
	return true;
}
