/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How the agent comes to a node: a script for whatever POSIX shell is there, which finds the program or takes it from
 * its standard input, makes the folder, becomes root if it can, and runs the agent. It speaks the agent's language
 * (channel.h):
 *
 *   boot need MACHINE       the program is lacking: exactly its bytes are to follow
 *   boot run FOLDER ROOT    the agent begins; ROOT: "root", "sudo", or "user" if it has no more rights
 *   boot failed REASON      it ends here, and nothing is left
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

struct dtc_boot {
	const char *place;   /* the folder in which the agent's is made */
	const char *resumed; /* the agent's folder, if another one was there before; else NULL */
	guint64 program_bytes;
	bool copies;	 /* the program, whatever is there */
	bool needs_sudo; /* without it nothing is done */
};

/* What the shell is to run. Caller owns. */
char *dtc_boot_get_script(const struct dtc_boot *boot);
/* What `dtrace-collect agent version` prints: the same on both sides, or the program is another one. */
const char *dtc_boot_get_version(void);
