/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/stop_signals.h"

#include <stddef.h>
#include <sys/signalfd.h>

sigset_t dtc_stop_signals_get(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	return signals;
}

void dtc_stop_signals_block(void)
{
	sigset_t signals = dtc_stop_signals_get();

	pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

int dtc_stop_signals_open(int more)
{
	sigset_t signals = dtc_stop_signals_get();

	if (more)
		sigaddset(&signals, more);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}
