/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fields.h"

/*
 * The probe of LTTng 2.1 copied the 16 bits behind the acknowledgement as the C bit fields of struct tcphdr lie on
 * x86: data offset in the low byte, then the flags with FIN as the highest bit. A SYN reads 0x400a, a SYN-ACK 0x480a.
 */
static uint8_t reverse_flags(uint64_t value)
{
	uint8_t flags = 0;
	for (guint bit = 0; bit < 8; bit++)
		if (value & (UINT64_C(0x8000) >> bit))
			flags |= (uint8_t)(1u << bit);
	return flags;
}

void dtc_headers_set_field(struct dtc_headers *headers, guint field, uint64_t value)
{
	switch (field) {
	case DTC_HEADER_SEQ:
		headers->seq = (uint32_t)value;
		break;
	case DTC_HEADER_ACK:
		headers->ack = (uint32_t)value;
		break;
	case DTC_HEADER_WINDOW:
		headers->window = (uint16_t)value;
		break;
	case DTC_HEADER_INET_FLAGS:
		headers->tcp_flags = reverse_flags(value);
		break;
	default:
		break;
	}
}

void dtc_headers_set(struct dtc_event *event, const struct dtc_header_values *ip,
		     const struct dtc_header_values *transport)
{
	dtc_headers_fill(event, ip, transport);
}
