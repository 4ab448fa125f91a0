/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the events of kernel tracers are called: names and fields of LTTng 2.0 to 2.13 and of perf/ftrace, mapped onto
 * the kinds and slots of event.h. Data, and a look-up that is made once per event class, never per event. A reader's
 * back end knows field classes; this file knows names.
 */
#pragma once

#include "collect/read/event.h"

#include <stdbool.h>
#include <stdint.h>

enum dtc_field_type {
	DTC_FIELD_INTEGER, /* to v[slot] */
	DTC_FIELD_FD,	   /* to v[slot], unless shown in base 16: then it is the user's pointer, not a descriptor */
	DTC_FIELD_TEXT,	   /* to text[slot], if it is a string in the trace */
	DTC_FIELD_ADDRESS, /* array of integers of 4 (IPv4) or 16 bytes (IPv6): to address */
	DTC_FIELD_HEADER,  /* integer, to headers; slot: enum dtc_header_field */
	DTC_FIELD_READY,   /* the list of a poll that returns: to ready */
	DTC_FIELD_DATA,	   /* a structure with epoll's data: to v[slot] */
};

/*
 * A field of an event. The list of a kind is in order of preference: the first spelling that the class has takes the
 * slot, and a member that was taken is not taken again for a later slot.
 */
struct dtc_field_spelling {
	const char *name; /* without leading underscores; NULL ends a list */
	uint8_t type;	  /* enum dtc_field_type */
	uint8_t slot;
	int8_t element; /* of an array of integers; DTC_SCALAR: the member itself */
};
#define DTC_SCALAR (-1)

struct dtc_event_spelling {
	enum dtc_event_kind kind;
	const struct dtc_field_spelling *fields;
	const char *call;    /* SYSCALL_*: the call's name inside the event's name; NULL: not in the name */
	bool call_by_number; /* SYSCALL_*: the number in DTC_CALL_NUMBER names the call */
	bool is_compat;	     /* 32-bit call on a 64-bit kernel: other numbers */
	enum dtc_vector vector;
};

/* The meaning of an event's name; unknown names are DTC_EVENT_OTHER without fields. Never fails. */
struct dtc_event_spelling dtc_spelling_find_event(const char *name);

/* The name without leading underscores, which tracers add or leave out. */
const char *dtc_spelling_skip_underscores(const char *name);

/* Names a system call by its number: those that tracers' tables lack by ours, others "syscall_N". */
#define DTC_CALL_NAME_BYTES 40
void dtc_spelling_name_call(int64_t number, bool is_compat, char ret_name[DTC_CALL_NAME_BYTES]);

/* Fields inside the header variants of net events. */
enum dtc_header_field {
	DTC_HEADER_IHL,
	DTC_HEADER_TOTAL_LENGTH,
	DTC_HEADER_ID,
	DTC_HEADER_FRAGMENT,
	DTC_HEADER_PROTOCOL,
	DTC_HEADER_PAYLOAD_LENGTH, /* IPv6 */
	DTC_HEADER_SOURCE,
	DTC_HEADER_DESTINATION,
	DTC_HEADER_SOURCE_PORT,
	DTC_HEADER_DESTINATION_PORT,
	DTC_HEADER_SEQ,
	DTC_HEADER_ACK,
	DTC_HEADER_DATA_OFFSET,
	DTC_HEADER_FLAGS,
	DTC_HEADER_WINDOW,
	DTC_HEADER_UDP_LENGTH,
	DTC_HEADER_INET_FLAGS, /* inet_sock_local_*: 16 bits around the flags, in the order of C bit fields */
	DTC_HEADER_FIELDS
};

enum dtc_header_layer { DTC_LAYER_IPV4, DTC_LAYER_IPV6, DTC_LAYER_TCP, DTC_LAYER_UDP, DTC_LAYER_OTHER };

/* The layer that an option of a header variant holds, and the field that a member of that layer is (or -1). */
enum dtc_header_layer dtc_spelling_find_layer(const char *option);
int dtc_spelling_find_header_field(enum dtc_header_layer layer, const char *member);
/* The members of a net event that are variants over the network header and over the transport header. */
extern const char dtc_spelling_network_header[];
extern const char dtc_spelling_transport_header[];
