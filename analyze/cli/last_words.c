/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/last_words.h"

#include "analyze/cli/lost_file.h"

#include <glib.h>
#include <stdio.h>
#include <unistd.h>

/* What cannot go on for lack of memory or room says so with g_error, and would end with a signal. */
static void end_with_message(const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
	/* babeltrace2 asks for 2^31 elements where a length in an event is damaged, and uses what it did not get */
	if (level & G_LOG_LEVEL_CRITICAL) {
		fprintf(stderr,
			"dtrace-chain: the decoder cannot go on: %s\nhint: a length in a trace is damaged: copy it "
			"again "
			"from its node, or leave that node out with --nodes\n",
			message);
		_exit(1);
	}
	if (!(level & G_LOG_LEVEL_ERROR)) {
		g_log_default_handler(domain, level, message, data);
		return;
	}
	fprintf(stderr, "dtrace-chain: %s\nhint: give it more memory and disk, or ask for fewer nodes with --nodes\n",
		message);
	_exit(1);
}

void dtc_last_words_prepare(void)
{
	g_log_set_default_handler(end_with_message, NULL);
	dtc_lost_file_catch();
}
