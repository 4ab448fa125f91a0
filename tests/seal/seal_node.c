/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seals a node and says what came of it, for the tests beside it. usage: seal-node NODE [THREADS] */
#include "collect/seal/raw.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	struct dtc_seal_options options = { .creator = "dtrace-collect 0.1.0", .keeps_raw = true };
	struct dtc_seal_summary summary = { 0 };

	if (argc < 2)
		return 2;
	options.thread_count = argc > 2 ? (guint)atoi(argv[2]) : 0;
	bool is_sealed = dtc_seal_node(argv[1], &options, findings, &summary, &error);
	for (guint i = 0; i < dtc_findings_get_count(findings); i++)
		printf("finding: %s\n", dtc_findings_get(findings, i)->text);
	if (!is_sealed) {
		printf("error: %s\n", error->message);
		return 1;
	}
	printf("events=%" G_GUINT64_FORMAT " lost=%" G_GUINT64_FORMAT " repaired=%" G_GUINT64_FORMAT "\n",
	       summary.events, summary.lost_events, summary.repaired_switches);
	return 0;
}
