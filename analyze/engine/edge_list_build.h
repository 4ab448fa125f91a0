/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside the list of edges: what each of its sources has next, and what an item of it says. */
#pragma once

#include "analyze/engine/edge_list.h"

/* Items of one kind from one place, in the order of time. */
struct dtc_edge_source {
	enum dtc_edge_item_kind kind;
	guint node;
	uint32_t next;	/* index of the item that comes next: a wake, tail, work, stay or span */
	uint32_t count; /* where the source ends */
	int64_t at_ns;	/* when the next item ends, node time */
	uint32_t place; /* SERVED: the thread; VCPU: the CPU of the guest */
	bool is_ended;
	struct dtc_local_bytes bytes;	  /* LOCAL_BYTES: the next pair */
	struct dtc_local_bytes_walk walk; /* LOCAL_BYTES */
	const struct dtc_served *spans;	  /* SERVED */
	struct dtc_guest_cpu vcpu;	  /* VCPU */
	const struct dtc_interval *tails; /* OPEN */
};

/* What all sources are asked with. */
struct dtc_edge_lister {
	const DtcEdges *edges;
	const DtcLinks *links;
	const struct dtc_edge_part *parts;
	const DtcServing *serving; /* or NULL */
	GHashTable *followed;	   /* who serves which request by a followed hop: struct dtc_edge_server */
};

struct dtc_edge_server {
	guint request;
	guint node;
	uint32_t thread;
};

/* To the next item that is wanted, beginning with the one at source->next; sets at_ns, or is_ended. */
void dtc_edge_source_seek(const struct dtc_edge_lister *lister, struct dtc_edge_source *source);
/* Behind the item at source->next. */
void dtc_edge_source_leave(const struct dtc_edge_lister *lister, struct dtc_edge_source *source);
/* The item at source->next. */
void dtc_edge_source_get(const struct dtc_edge_lister *lister, const struct dtc_edge_source *source,
			 struct dtc_edge_item *ret_item);
