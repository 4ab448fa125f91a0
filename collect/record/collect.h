/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The commands of dtrace-collect. Each parses its options, does its work, prints what came of it on stdout, and gives
 * the exit code: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete.
 */
#pragma once

#include "collect/console/program.h"
#include "collect/redact/redaction.h"
#include "collect/seal/raw.h"

#include <glib.h>
#include <stdbool.h>

#define DTC_COLLECT_INCOMPLETE 3

extern const struct dtc_program dtc_collect_program;

/* Of two exit codes that of both together: that something failed is not hidden by what is incomplete. */
int dtc_collect_get_worse(int one, int other);

int dtc_collect_record(int argc, char **argv);
int dtc_collect_seal(int argc, char **argv);
int dtc_collect_check(int argc, char **argv);
int dtc_collect_cluster(int argc, char **argv);
/* What cluster runs on nodes; in no manual. */
int dtc_collect_agent(int argc, char **argv);

/*
 * Seals NODE, prints what became of it, and gives the exit code. A signal while it does so ends the program with 3, and
 * the raw recording is kept. Signals are blocked already. redaction: by which it is redacted before the raw recording
 * goes, or NULL.
 */
int dtc_collect_seal_node(const char *node_folder, bool keeps_raw, struct dtc_redaction *redaction);
