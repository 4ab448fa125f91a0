/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits that were cut by wakeups in vain. Who waits for a lock in timed sleeps (HotSpot's `synchronized`, with growing
 * timeouts; a condition that is looked at again) is woken by its timer, finds that nothing has changed, and waits for
 * the same thing again: that is one wait, and whoever ends its last part is why all of it lasted. The same goes for who
 * waits for descriptors, is interrupted by a signal, and waits on (PostgreSQL's lock, when it looks for deadlocks), or
 * for a lock: another request's child has ended (uwsgi, whose threads queue for work). And for a call in which the
 * kernel itself looks again from time to time (the open of a file of which another process has a lease).
 */
#pragma once

#include "dtrace-chain/history.h"

/*
 * How long before a wait began its thread had begun to wait for the same thing: waits at the same futex that ended with
 * their timeout, with no call between but of a mutex that nobody waits for, or with a signal, whose handler does no
 * more than to say that it came; waits with the same epoll descriptor that ended with a signal, with nothing between
 * that moves a byte of a file or connection; waits in the same other call that a timer ended. In all of them with less
 * running between than waiting on one side of it. 0: it had not. Costs a look at each such wait and what lies between,
 * which is looked at so far only: ret_is_limited (or NULL) then is true, else as it was.
 */
int64_t dtc_in_vain_get_ns(const DtcHistory *history, const struct dtc_interval *wait, bool *ret_is_limited);
