/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A node's part in the matching, in brief: for who matches packets that are far away. Of each passage there are the
 * ends, a digest of what its packets bear, and the times that its messages have on this node if the other node saw the
 * same packets in the same order. Then nothing else of them is needed; which is so of most connections, and of all
 * without loss. Of others the packets themselves are asked for. Long passages are spelled out: loss is likely there,
 * and what was not lost is most of them.
 *
 * A digest has 48 bits: of two passages with equal ends and different packets one in 10^14 has the same.
 */
#pragma once

#include "collect/image/image.h"
#include "sync/match/passage.h"

struct dtc_node_counts {
	guint64 kernel[2], captured[2]; /* packets with headers, by direction */
	guint64 bare[2];		/* the kernel's without headers */
	guint64 numbered[2];		/* of these, with numbers of TCP */
};

struct dtc_brief_passage {
	struct dtc_passage passage; /* flow: of the node's packets */
	struct dtc_flow flow; /* ends, protocol and has_isn, and isn if it is told; of the rest nothing is known */
	bool has_number;      /* isn is told: ports were used again, or there is no digest */
	guint reverse;	  /* one more than the passage that was sent on the same connection, of one received; or 0 */
	guint64 digest;	  /* of packets and initial numbers, its own and those of the reverse; none if it is spelled out
			   */
	guint time_first; /* of the times: of its messages, or of all its packets if it is spelled out */
	guint time_count;
	DtcPackets *packets; /* owned; spelled out, in the order of the flow: what is compared, and no time. Or NULL */
	guint unmatched, ambiguous_sent, ambiguous_received; /* of dtc_passage_result */
	int8_t first_sent, last_sent;			     /* of dtc_node_source_count_turns */
};

struct DtcBrief {
	struct dtc_node_counts counts;
	struct dtc_relation relation;
	GArray *passages; /* struct dtc_brief_passage; in the order of dtc_node_source_list */
	DtcTable *times;  /* int64_t; node time */
};

/* Of a node whose packets are here. scratch: or NULL. Caller owns. */
DtcBrief *dtc_brief_make(const struct dtc_match_source *source, DtcSpace *scratch);
/* Borrowed. */
const struct dtc_relation *dtc_brief_get_relation(const DtcBrief *brief);
void dtc_brief_save(const DtcBrief *brief, DtcImageWriter *writer);
/* Every packet that it refers to is there; else it is another's. */
bool dtc_brief_is_of(const DtcBrief *brief, const struct dtc_match_source *source);
/* Caller owns; NULL with DAMAGED. */
DtcBrief *dtc_brief_load(const DtcImage *image, GError **error);
void dtc_brief_free(DtcBrief *brief);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcBrief, dtc_brief_free)
