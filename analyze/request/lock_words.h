/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Futexes at which threads of a process wait for each other: who ends a wait there waits there at other times. That is
 * how a lock is handed on, such as that of an interpreter which lets one of its threads run at a time (Python's), and
 * not how work is handed over: where a thread waits for work, who brings it does not wait.
 */
#pragma once

#include "dtrace-chain/history.h"

typedef struct DtcLockWords DtcLockWords;

/* Of a whole history, in one look at its wakes. Free with dtc_lock_words_free, which takes NULL, too. */
DtcLockWords *dtc_lock_words_new(const DtcHistory *history);
void dtc_lock_words_free(DtcLockWords *words);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcLockWords, dtc_lock_words_free)

/* Whether two futex calls of one process wait at the same place. */
bool dtc_lock_words_is_same(const struct dtc_call *a, const struct dtc_call *b);
/* The futex wait in which a wake (its number) of a thread of its process woke its target, or DTC_NONE. */
uint32_t dtc_lock_words_get_wait(const DtcLockWords *words, uint32_t wake);
/*
 * Whether a thread that ends the wait of another one of its process in a futex call hands a lock on: it ever waited
 * there itself; or tells that it has the lock which that one had handed on: who sleeps there has just woken somebody at
 * a lock, and is woken by one that has just waited there.
 */
bool dtc_lock_words_is_handed(const DtcLockWords *words, uint32_t waker, const struct dtc_call *call);
/*
 * Whether anybody who ever waited where a futex call waits ended a wait of another one there; or it is where who hands
 * a lock on sleeps until the other one has it.
 */
bool dtc_lock_words_is_lock(const DtcLockWords *words, const struct dtc_call *call);
