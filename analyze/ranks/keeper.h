/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who starts the asker, and another one if an owner is lost. What an asker prints is held back in files without names
 * until it is known to be whole.
 */
#pragma once

/*
 * Waits for the first letter of that end, which tells how many ranks there are, runs dtc_cli_run in processes of their
 * own, and gives the exit code of the last one. -1: there was no such letter, and nothing is to be done.
 */
int dtc_keeper_run(int end, int argc, char **argv);
