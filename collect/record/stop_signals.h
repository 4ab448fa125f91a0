/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals that ask a recording to end. They are blocked and asked for, never handled, so that nothing is half done. */
#pragma once

#include <signal.h>

/* SIGINT, SIGTERM, SIGHUP. */
sigset_t dtc_stop_signals_get(void);
/* Blocks them in this thread and those it makes. */
void dtc_stop_signals_block(void);
/* Blocks them and one more (0: none), and gives a signalfd of them; a pipe that nobody reads gives EPIPE from now on.
 */
int dtc_stop_signals_open(int more);
