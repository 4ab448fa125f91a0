/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths of a known shape for tests: segments are named from the earliest to the latest, by their duration. */
#pragma once

#include "analyze/path/path_build.h"
#include "analyze/report/model.h"
#include "collect/packets/packets.h"

struct made_segment {
	int64_t ns;
	guint node;
	int32_t tid;
	const char *process;
	enum dtc_cause cause;
	const char *detail;
	int64_t uncertainty_ns;
};

static inline DtcPath *made_path_new(int64_t begin_ns, const struct made_segment *segments, guint count)
{
	int64_t end_ns = begin_ns;
	for (guint i = 0; i < count; i++)
		end_ns += segments[i].ns;
	DtcPath *path = dtc_path_new((DtcClusterTime){ begin_ns }, (DtcClusterTime){ end_ns });
	int64_t at_ns = end_ns;
	for (guint i = count; i-- > 0;) {
		const struct made_segment *from = &segments[i];
		struct dtc_segment segment = {
			.begin = { at_ns - from->ns },
			.end = { at_ns },
			.node = from->node,
			.thread = from->tid >= 0 ? (uint32_t)from->tid : DTC_NONE,
			.cause = from->cause,
			.evidence = DTC_EVIDENCE_NONE,
			.link = from->uncertainty_ns ? DTC_LINK_INFERRED : DTC_LINK_EXACT,
			.uncertainty_ns = from->uncertainty_ns,
			.tid = from->tid,
			.pid = from->tid,
			.comm = g_strdup(from->process),
			.process = g_strdup(from->process),
			.detail = g_strdup(from->detail),
		};
		at_ns -= from->ns;
		dtc_path_add_segment(path, &segment);
	}
	return path;
}

/* A blocking with the given parent (G_MAXUINT: of the target); gives its index. */
static inline guint made_path_add_blocking(DtcPath *path, guint parent, guint depth, int64_t begin_ns, int64_t end_ns,
					   const char *process, const char *woken_by)
{
	struct dtc_blocking blocking = {
		.begin = { begin_ns },
		.end = { end_ns },
		.tid = 100 + (int32_t)depth,
		.pid = 100,
		.comm = g_strdup(process),
		.process = g_strdup(process),
		.cause = DTC_CAUSE_LOCK,
		.evidence = DTC_EVIDENCE_NONE,
		.detail = g_strdup("futex"),
		.woken_by = g_strdup(woken_by),
		.parent = parent,
		.depth = depth,
	};
	return dtc_path_add_blocking(path, &blocking);
}

/* A report of the path on nodes "alpha", "beta", "gamma" with identical clocks; the path is finished here. */
static inline DtcReport *made_path_report(DtcPath *path, const DtcFindings *findings, const char *request,
					  GError **error)
{
	static const char *const names[] = { "alpha", "beta", "gamma" };
	g_autoptr(DtcClocks) clocks = dtc_clocks_new_identity(3);
	g_autoptr(DtcFindings) none = dtc_findings_new();
	const struct dtc_identity identities[] = {
		{ "x-request-id", request, request },
		{ "traceparent", "4bf92f3577b34da6a3ce929d0e0e4736",
		  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" },
	};
	const struct dtc_report_input input = {
		.node_names = names,
		.node_count = 3,
		.path = path,
		.clocks = clocks,
		.findings = findings ? findings : none,
		.target_node = 0,
		.target_pid = 10,
		.target_tid = 11,
		.target_comm = "asker",
		.target_process = "shop",
		.request = request,
		.identities = identities,
		.identity_count = request ? 2 : 0,
		.method = request ? "GET" : NULL,
		.url = request ? "/cart?item=7" : NULL,
		.status = request ? 200 : 0,
	};
	dtc_path_finish(path);
	return dtc_report_new(&input, error);
}
