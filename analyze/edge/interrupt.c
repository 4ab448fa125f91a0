/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In a guest an interrupt waits until its vCPU runs: the host's trace tells since when it was pending, when the vCPU
 * entered the guest with it, and which thread of the host raised it (vmhost: a disk of the guest is a thread of QEMU).
 */
#include "analyze/edge/edges_build.h"

void dtc_edge_complete_interrupt(const DtcLinks *links, const struct dtc_wake *wake, struct dtc_edge *edge)
{
	edge->has_interrupt =
		dtc_host_find_interrupt(links, edge->node, wake->thread, wake->waking_ns, &edge->interrupt);
}
