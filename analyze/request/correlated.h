/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which answer on a connection is for which question, where it carries the questions of many and no frames tell: an
 * answer bears something of its question, which no other has (a correlation id, where to reply, a key). By shingles
 * (exchange/shingles.h): the read with which a question has most in common, if that has most in common with it, too.
 */
#pragma once

#include "analyze/edge/links.h"

/* The call that read the answer to what a write asked on its connection; DTC_NONE: bytes do not tell. */
uint32_t dtc_correlated_find_answer(const DtcLinks *links, guint node, uint32_t question);
