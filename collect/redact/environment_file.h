/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NODE/environment, redacted: what is not known to be a number or of the program is replaced word by word. */
#pragma once

#include "collect/bundle/environment.h"
#include "collect/redact/redaction.h"

/* renamed: from names of captures to their new names (strings). Caller owns. */
DtcEnvironment *dtc_environment_redact(struct dtc_redaction *redaction, const DtcEnvironment *environment,
				       GHashTable *renamed);
