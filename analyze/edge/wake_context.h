/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In what the one who woke a thread was, at that instant: its mode, its system call, the interrupt on top of it. */
#pragma once

#include "dtrace-chain/history.h"

enum dtc_wake_mode {
	DTC_WAKE_IN_UNKNOWN,	/* the trace does not tell */
	DTC_WAKE_IN_USER,	/* user mode, as far as events tell: how it came into the kernel, none does */
	DTC_WAKE_IN_CALL,	/* a system call */
	DTC_WAKE_IN_RETURN,	/* on the way back from one that had returned: deferred work, as a file's last close */
	DTC_WAKE_IN_PAGE_FAULT, /* after a page fault, and no event since says that it had ended */
	DTC_WAKE_IN_KERNEL,	/* a kernel thread; a thread that is born or exits */
	DTC_WAKE_IN_SOFTIRQ,
	DTC_WAKE_IN_IRQ,
	DTC_WAKE_MODES
};
/* "unknown", "user", "syscall", "return", "page-fault", "kernel", "softirq", "irq" */
const char *dtc_wake_mode_to_string(enum dtc_wake_mode mode);

struct dtc_wake_context {
	enum dtc_wake_mode mode;
	uint32_t thread; /* that had the CPU: the waker, or whom the interrupt came upon; DTC_NONE: not known */
	uint32_t call;	 /* that thread's system call, or DTC_NONE; an interrupt need not have to do with it.
			    RETURN: the one that had returned */
	uint32_t ref;	 /* SOFTIRQ: vector; IRQ: string; else DTC_NONE */
};

/* Some binary searches; from user mode also a look at the node's page faults since the thread was there. */
struct dtc_wake_context dtc_wake_get_context(const DtcHistory *history, const struct dtc_wake *wake);
/* The name of the interrupt that it was in; NULL: in none, or in one that is not told. Borrowed. */
const char *dtc_wake_context_get_interrupt(const DtcHistory *history, const struct dtc_wake_context *context);
