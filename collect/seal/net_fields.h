/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The headers of a packet in net_dev_queue and net_if_receive_skb: LTTng's layout, and where they are from. */
#pragma once

#include "collect/packets/join.h"

#include <stddef.h>
#include <stdint.h>

/* network header with its type, transport header with its type, namespace, source */
#define DTC_NET_FIELDS_MAX_BYTES (1 + 40 + 1 + 20 + 4 + 1)

/* Members of the event's structure. Static. */
const char *dtc_net_fields_get_tsdl(void);
/* to has room for DTC_NET_FIELDS_MAX_BYTES. How many bytes it wrote. */
size_t dtc_net_fields_encode(const struct dtc_wire_headers *headers, enum dtc_header_source source, uint8_t *to);
