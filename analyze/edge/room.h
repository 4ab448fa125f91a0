/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loops that write only when a poll has told them that a socket has room (libevent's bufferevents, Twisted,
 * beanstalkd): they read, ask for that with EPOLL_CTL_MOD, poll, which returns at once, and write. What they write is
 * for what they read in the turn before.
 */
#pragma once

#include "analyze/edge/links.h"

/* The first of the polls that a write came behind in that way; the write if there is none. */
uint32_t dtc_room_find_poll(const DtcLinks *links, guint node, uint32_t write);
