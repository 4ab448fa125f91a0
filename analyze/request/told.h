/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Worker processes: they sleep until another process tells them what to do, by a pipe or a FIFO, an eventfd, a message
 * queue, a signal, or a socket whose other end is not known: of connections bytes are followed (serving.h). A lock or a
 * semaphore that processes share tells nothing, nor does a signal in the middle of its work: with that it is given one
 * (the latches of PostgreSQL, behind which a set of epoll of its own is; NOTIFY comes where it waits for its clients).
 *
 * Who wakes such a sleep must be in the call that tells: of several readers of a pipe, the one that leaves bytes there
 * wakes the next one, and does not know whose they are (pipe_read of fs/pipe.c).
 */
#pragma once

#include "dtrace-chain/history.h"

/*
 * Whether a wake tells a thread of another process what to do, and when that has done it: it waits, or looks, for the
 * next in the same way, or it or the trace ends. Of a thread that slept since before the trace it must be seen to wait
 * so again. Looks at the calls until then.
 */
bool dtc_told_find(const DtcHistory *history, const struct dtc_wake *wake, int64_t *ret_done_ns);
