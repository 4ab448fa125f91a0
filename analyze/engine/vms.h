/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every virtual CPU did, by host; and what nodes whose host was not traced show of it by themselves. */
#pragma once

#include "analyze/engine/selection.h"
#include "analyze/profile/machines.h"

struct dtc_vms_node {
	guint node;
	struct dtc_cluster_span span;
	GArray *cpus;	/* owned: struct dtc_vm_cpu that it carries as a host */
	GArray *silent; /* owned: struct dtc_vm_silent_cpu; NULL where its host was traced and tells */
};

/* Array of struct dtc_vms_node. from and to: as in struct dtc_subject, or NULL. NULL with an error as of
 * dtc_selection_find. Borrows from engine. Free with g_array_unref. */
GArray *dtc_vms_new(const DtcEngine *engine, const char *from, const char *to, DtcFindings *findings, GError **error);
