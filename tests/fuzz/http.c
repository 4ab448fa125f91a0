/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HTTP from packets that anybody may have sent. The input is a list of packets, each (control, distance in the sequence
 * as two bytes, length, payload); control bits: 1 from the server, 2 SYN, 4 FIN, 8 RST, 16 no ACK, 32 only half of it
 * captured, 64 another port, 128 a far jump in the sequence.
 */
#include "analyze/exchange/http.h"
#include "analyze/request/requests.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

static void check_text(const char *text)
{
	REQUIRE(strlen(text) <= DTC_REQUEST_TEXT_BYTES);
	REQUIRE(g_utf8_validate(text, -1, NULL));
	for (const char *p = text; *p; p++)
		REQUIRE((guint8)*p >= 0x20 && *p != 0x7f);
}

static void check_exchange(const struct dtc_exchange *e)
{
	check_text(e->method);
	check_text(e->target);
	for (guint i = 0; i < e->identity_count; i++) {
		check_text(e->identities[i].id);
		check_text(e->identities[i].value);
		REQUIRE(*e->identities[i].id);
	}
	REQUIRE(e->has_request || e->has_response);
	REQUIRE(e->request_ns <= e->request_end_ns);
	REQUIRE(e->has_response == (e->response_ns != DTC_TIME_NONE));
	REQUIRE(e->response_ns <= e->response_end_ns);
	REQUIRE(!e->response_complete || e->has_response);
	REQUIRE(e->status == 0 || (e->status >= 100 && e->status <= 999));
}

static void check_requests(const DtcExchanges *exchanges)
{
	g_autoptr(DtcRequests) requests = dtc_requests_new(exchanges, NULL);
	for (guint i = 0; i < dtc_requests_get_count(requests); i++) {
		const struct dtc_request *r = dtc_requests_get(requests, i);
		REQUIRE(r->exchange_count > 0 && r->identity_count > 0);
		guint index;
		g_autoptr(GError) error = NULL;
		if (dtc_request_find(requests, r->id, &index, &error))
			REQUIRE(error == NULL && index < dtc_requests_get_count(requests));
		else
			REQUIRE(error != NULL);
	}
}

static DtcExchanges *scan(const uint8_t *data, size_t size)
{
	const struct dtc_http_options options = { .max_waiting_bytes = 4096, .max_exchange_bytes = 1 << 20 };
	g_autoptr(DtcPackets) packets = dtc_packets_new();
	g_autoptr(DtcHttp) http = dtc_http_new(0, packets, &options);
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	uint32_t next[2] = { 1000, 0xffffff00u };
	int64_t now_ns = 1;
	while (size >= 4) {
		uint8_t control = data[0], length = data[3];
		uint32_t distance = (uint32_t)(int16_t)(data[1] | data[2] << 8);
		guint from = control & 1;
		data += 4;
		size -= 4;
		length = (uint8_t)MIN(length, size);
		/* A copy of its own, so that a sanitizer sees a read beyond the packet. */
		g_autofree uint8_t *payload = g_memdup2(data, length);
		struct dtc_captured captured = { .time_ns = now_ns++, .payload = payload };
		struct dtc_headers *h = &captured.headers;
		h->source[15] = (uint8_t)(1 + from);
		h->destination[15] = (uint8_t)(2 - from);
		h->source_port = from ? 80 : (uint16_t)(4000 + !!(control & 64));
		h->destination_port = from ? (uint16_t)(4000 + !!(control & 64)) : 80;
		h->ip_version = 6;
		h->protocol = DTC_PROTOCOL_TCP;
		h->has_transport = true;
		h->tcp_flags = (uint8_t)((control & 2 ? DTC_TCP_SYN : 0) | (control & 4 ? DTC_TCP_FIN : 0) |
					 (control & 8 ? DTC_TCP_RST : 0) | (control & 16 ? 0 : DTC_TCP_ACK));
		h->seq = next[from] + (control & 128 ? distance << 16 : distance);
		h->ack = next[!from];
		h->payload_bytes = length;
		captured.payload_captured_bytes = control & 32 ? length / 2 : length;
		next[from] = h->seq + length + !!(control & 2) + !!(control & 4);
		dtc_http_add(http, dtc_packets_add(packets, captured.time_ns, DTC_SENT, 0, 0, h), &captured);
		data += length;
		size -= length;
	}
	return dtc_http_finish(http, "n", findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(DtcExchanges) once = scan(data, size);
	g_autoptr(DtcExchanges) again = scan(data, size);
	REQUIRE(dtc_exchanges_get_count(once) == dtc_exchanges_get_count(again));
	for (guint i = 0; i < dtc_exchanges_get_count(once); i++) {
		check_exchange(dtc_exchanges_get(once, i));
		REQUIRE(dtc_exchanges_get(once, i)->request_seq == dtc_exchanges_get(again, i)->request_seq);
	}
	check_requests(once);
	return 0;
}
