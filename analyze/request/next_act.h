/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread does next with an answer that it read: the turn of its loop that read it writes something, and that
 * belongs to whoever had asked. From act to act this leads to the answer that a server gives in the end, and so back to
 * whose question that was: for what is asked on a pooled connection, where what was read last is another request's.
 */
#pragma once

#include "analyze/edge/links.h"

/*
 * The write of an answer to a client that the answer to a question leads to; question is a call that wrote it.
 * DTC_NONE: nothing came back, another thread read it, or what was done with it in that turn cannot be told from what
 * was done with other bytes.
 */
uint32_t dtc_next_act_find_answer(const DtcLinks *links, guint node, uint32_t question);
/* The same from the read of an answer on. */
uint32_t dtc_next_act_find_led_to(const DtcLinks *links, guint node, uint32_t read);
/*
 * To which peer, as a stream (streams.h), the thread of a call writes next on that socket of datagrams, if it neither
 * waits for what comes next, nor reads, nor writes elsewhere before, and not to several with one call; else 0.
 */
uint32_t dtc_next_act_find_peer(const DtcLinks *links, guint node, uint32_t call);
