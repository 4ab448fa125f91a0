/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program owes to the process it runs in, before and after its work. */
#pragma once

/*
 * Makes sure of standard input, output and error (what is closed would be given to the next file that is opened, and an
 * answer written into it), that children can be waited for (who ignores SIGCHLD hands that on), and asks for as many
 * open files as the machine allows: a trace has a file per CPU.
 */
void dtc_process_prepare(void);
/* The exit code: code, or 1 with a message if not all of the output could be written. */
int dtc_process_finish(const char *program, int code);
