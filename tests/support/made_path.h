/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Paths of a known shape for tests: segments are named from the earliest to the latest, by their duration. What they
 * and who ended a blocking are called are strings of a history that all nodes share: an interrupt says just its name,
 * and a thread its own.
 */
#pragma once

#include "analyze/history/records.h"
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

/* The names that were used so far, in the order of their ids. */
static inline GPtrArray *made_path_names(void)
{
	static GPtrArray *names;
	if (!names)
		names = g_ptr_array_new();
	return names;
}

static inline uint32_t made_path_name(const char *text)
{
	guint at;
	gpointer interned = (gpointer)g_intern_string(text);
	if (g_ptr_array_find(made_path_names(), interned, &at))
		return at;
	g_ptr_array_add(made_path_names(), interned);
	return made_path_names()->len - 1;
}

/* Threads bear the names: thread and string have the same id. Caller owns. */
static inline DtcHistory *made_path_history(void)
{
	DtcHistory *h = dtc_history_new();
	for (guint i = 0; i < made_path_names()->len; i++) {
		const struct dtc_thread thread = {
			.tid = 140, .pid = 140, .leader = i, .parent = DTC_NONE, .idle_cpu = -1
		};
		const struct dtc_name_record name = {
			.thread = i, .string = dtc_history_add_string(h, g_ptr_array_index(made_path_names(), i))
		};
		g_assert_cmpuint(name.string, ==, i);
		g_array_append_val(h->threads, thread);
		dtc_table_append(h->names, &name);
	}
	dtc_history_seal(h);
	return h;
}

static inline struct dtc_evidence made_path_evidence(const char *detail)
{
	if (!detail)
		return dtc_evidence_of(DTC_REASON_NONE);
	static GPtrArray *intervals; /* they outlive every path */
	if (!intervals)
		intervals = g_ptr_array_new();
	struct dtc_interval *interval = g_new0(struct dtc_interval, 1);
	interval->state = DTC_STATE_IRQ;
	interval->call = DTC_NONE;
	interval->ref = made_path_name(detail);
	g_ptr_array_add(intervals, interval);
	return dtc_evidence_of_interval(0, interval);
}

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
			.evidence = made_path_evidence(from->detail),
			.link = from->uncertainty_ns ? DTC_LINK_INFERRED : DTC_LINK_EXACT,
			.uncertainty_ns = from->uncertainty_ns,
			.tid = from->tid,
			.pid = from->tid,
			.comm = g_intern_string(from->process),
			.process = g_intern_string(from->process),
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
		.comm = g_intern_string(process),
		.process = g_intern_string(process),
		.cause = DTC_CAUSE_LOCK,
		.evidence = made_path_evidence("futex"),
		.ended = { .by = woken_by ? DTC_ENDED_BY_THREAD : DTC_ENDED_BY_NOBODY,
			   .thread = woken_by ? made_path_name(woken_by) : DTC_NONE,
			   .packet = DTC_NONE },
		.parent = parent,
		.depth = depth,
	};
	return dtc_path_add_blocking(path, &blocking);
}

/* What a report or a tally of the path on nodes "alpha", "beta", "gamma" with identical clocks is made of. */
struct made_input {
	DtcClocks *clocks;
	DtcFindings *none;
	DtcHistory *history;
	const DtcHistory *histories[3];
	struct dtc_identity identities[2];
	struct dtc_report_input input;
};

/* The path is finished here. Caller clears. */
static inline void made_input_init(struct made_input *made, DtcPath *path, const DtcFindings *findings,
				   const char *request)
{
	static const char *const names[] = { "alpha", "beta", "gamma" };

	made->clocks = dtc_clocks_new_identity(3);
	made->none = dtc_findings_new();
	made->history = made_path_history();
	for (guint i = 0; i < 3; i++)
		made->histories[i] = made->history;
	made->identities[0] = (struct dtc_identity){ "x-request-id", request, request };
	made->identities[1] = (struct dtc_identity){ "traceparent", "4bf92f3577b34da6a3ce929d0e0e4736",
						     "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" };
	made->input = (struct dtc_report_input){
		.origin_ns = INT64_MIN,
		.node_names = names,
		.node_count = 3,
		.path = path,
		.clocks = made->clocks,
		.findings = findings ? findings : made->none,
		.histories = made->histories,
		.target_node = 0,
		.target_pid = 10,
		.target_tid = 11,
		.target_comm = "asker",
		.target_process = "shop",
		.request = request,
		.identities = made->identities,
		.identity_count = request ? 2 : 0,
		.method = request ? "GET" : NULL,
		.url = request ? "/cart?item=7" : NULL,
		.status = request ? 200 : 0,
	};
	dtc_path_finish(path);
}

static inline void made_input_clear(struct made_input *made)
{
	dtc_history_free(made->history);
	dtc_findings_free(made->none);
	dtc_clocks_free(made->clocks);
}

static inline DtcReport *made_path_report(DtcPath *path, const DtcFindings *findings, const char *request,
					  GError **error)
{
	struct made_input made;

	made_input_init(&made, path, findings, request);
	DtcReport *report = dtc_report_new(&made.input, error);
	made_input_clear(&made);
	return report;
}
