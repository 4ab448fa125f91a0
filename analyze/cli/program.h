/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-chain, but for how its process begins: a table of commands (command.h), of which the arguments name one. */
#pragma once

struct dtc_owners;

/*
 * Prints the answer and gives the exit code; standard output is closed. owners: who reads the recordings
 * (analyze/engine/owners.h), or NULL: this process.
 */
int dtc_cli_run(int argc, char **argv, const struct dtc_owners *owners);
