/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which fields of a kernel trace are names, addresses or payload, and what becomes of them. */
#pragma once

#include "collect/redact/redaction.h"

/* Writes the trace at path into the existing, empty folder. */
bool dtc_trace_redact(struct dtc_redaction *redaction, const char *node, const char *path, const char *folder,
		      GError **error);
