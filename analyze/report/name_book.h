/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What nodes, threads and evidence are called: worked out once for all reports of the same recordings, in each of which
 * a few dozens of names stand at thousands of steps. Texts are printable and of bounded length; equal ones have one
 * address, and live as long as the book.
 */
#pragma once

#include "analyze/report/words.h"
#include "dtrace-chain/cluster.h"
#include "dtrace-chain/report.h"

#include <glib.h>

typedef struct DtcNameBook DtcNameBook;

/* What names give is borrowed for as long as new names are asked for; cluster names tiers, or is NULL. Caller owns. */
DtcNameBook *dtc_name_book_new(const struct dtc_names *names, const DtcCluster *cluster);
DtcNameBook *dtc_name_book_ref(DtcNameBook *book);
void dtc_name_book_unref(DtcNameBook *book);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcNameBook, dtc_name_book_unref)

/* "?" for one that is not there. */
const char *dtc_name_book_get_node(DtcNameBook *book, guint node);
/*
 * node is a name of this book; comm (or NULL) and process are strings of a history or of the program, each of which has
 * one place as long as new names are asked for.
 */
struct dtc_report_thread dtc_name_book_get_thread(DtcNameBook *book, const char *node, const char *comm,
						  const char *process, int32_t pid, int32_t tid);
/* NULL of none and of an empty one. */
const char *dtc_name_book_keep_text(DtcNameBook *book, const char *text);
/* As dtc_words_for_evidence. */
const char *dtc_name_book_get_detail(DtcNameBook *book, const struct dtc_evidence *evidence, int64_t span_ns);
/* What a segment was, and for whom the thread worked in it. */
const char *dtc_name_book_get_detail_of(DtcNameBook *book, const struct dtc_segment *segment);
/* As dtc_words_digest_evidence; DTC_DIGEST_UNKNOWN also if it was for another request. */
guint dtc_name_book_digest_detail_of(const DtcNameBook *book, const struct dtc_segment *segment);
