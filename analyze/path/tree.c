/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/path/tree.h"

#include "analyze/path/lineage.h"
#include "analyze/path/path_build.h"
#include "analyze/path/traverse.h"
#include "collect/packets/table.h"

#include <dtrace-chain/bisect.h>

/* A stretch of work is a node from so much of the wait on that it is a part of, in percent. */
#define STRETCH_PERCENT 1
/* What kept a thread from running, or a message from coming, is one above so much of it, or if it lasted so long. */
#define DELAY_PERCENT 10
#define DELAY_NS 1000000

#define NOT_SHOWN G_MAXUINT    /* for its depth or length */
#define UNTOLD (G_MAXUINT - 1) /* counted only, for its length or that of one above it */

/* A wait that is being explained: its node, and down to where. */
struct open {
	guint blocking;		/* or one of the above */
	struct dtc_blocking as; /* how it is told; nothing if no part of it is long enough */
	int64_t begin;		/* cluster time, of the wait itself: it may lie before the begin of the one above it */
	int64_t bound;		/* the latest begin of it and of all above it */
	int64_t end;
	guint node;
	uint32_t thread;
	enum dtc_cause cause;
};

/* A span in which a waker was not blocked: what it did with its time is why others waited. */
struct stretch {
	guint node;
	uint32_t thread;
	int64_t begin, end; /* cluster time; empty if equal */
	int64_t name_ns;    /* node time of the names */
	int64_t ns[DTC_CAUSES];
};

/* A span of cluster time in which a thread waited. */
struct waited {
	int64_t begin, end;
	uint32_t thread;
};

struct DtcTree {
	const DtcEdges *edges;
	const DtcLinks *links;
	const struct dtc_path_target *target;
	guint max_depth;
	int64_t min_ns, told_ns;
	DtcPath *path;
	DtcTable *untold_waits; /* struct waited: of the target's node, beneath nobody */
	GArray *lineage;	/* of the target, in its span */
	GArray *open;		/* struct open, the innermost last */
	struct stretch stretch;
};

static struct open *get_innermost(const DtcTree *tree)
{
	return tree->open->len ? &g_array_index(tree->open, struct open, tree->open->len - 1) : NULL;
}

/* Nodes are shown down to a depth, and beneath what is shown. */
static bool is_shown(const DtcTree *tree)
{
	const struct open *above = get_innermost(tree);
	return tree->open->len < tree->max_depth && (!above || above->blocking != NOT_SHOWN);
}

/* Whether one that is shown, of that length, is told and not just counted. */
static bool is_told(const DtcTree *tree, int64_t ns)
{
	const struct open *above = get_innermost(tree);
	return ns >= tree->told_ns && (!above || above->blocking != UNTOLD);
}

/* Counts a stretch of work or, if is_wait, a wait. */
static guint leave_untold(DtcTree *tree, guint node, uint32_t thread, int64_t begin, int64_t end, bool is_wait)
{
	const struct waited span = { begin, end, thread };
	if (!tree->open->len && is_wait && node == tree->target->node)
		dtc_table_append(tree->untold_waits, &span);
	dtc_path_count_untold(tree->path, tree->open->len);
	return UNTOLD;
}

static struct dtc_blocking new_blocking(const DtcTree *tree, guint node, uint32_t thread, int64_t name_ns,
					int64_t begin, int64_t end)
{
	const DtcHistory *h = dtc_links_get_history(tree->links, node);
	const struct dtc_thread *t = dtc_history_get_thread(h, thread);
	const struct open *above = get_innermost(tree);
	return (struct dtc_blocking){ .begin = { begin },
				      .end = { end },
				      .node = node,
				      .thread = thread,
				      .tid = t->tid,
				      .pid = t->pid,
				      .comm = dtc_history_get_comm(h, thread, name_ns),
				      .process = dtc_history_get_process(h, thread, name_ns),
				      .evidence = dtc_evidence_of(DTC_REASON_NONE),
				      .ended = { .thread = DTC_NONE, .packet = DTC_NONE },
				      .link = DTC_LINK_EXACT,
				      .parent = above ? above->blocking : G_MAXUINT,
				      .depth = tree->open->len };
}

static int64_t to_node_ns(const DtcTree *tree, guint node, int64_t cluster_ns)
{
	return dtc_clocks_to_node(dtc_links_get_clocks(tree->links), node, (DtcClusterTime){ cluster_ns }).ns;
}

/* So much of what the time explained now is a part of. */
static int64_t get_part_ns(const DtcTree *tree, int percent)
{
	const struct open *above = get_innermost(tree);
	int64_t window_ns = above ? above->end - above->begin : tree->target->end.ns - tree->target->begin.ns;
	return window_ns * percent / 100;
}

/* The target's own work is no blocking; that of a waker delayed the one above. */
static void end_stretch(DtcTree *tree)
{
	const struct stretch *stretch = &tree->stretch;
	int64_t length_ns = stretch->end - stretch->begin;
	bool is_node = length_ns > 0 && length_ns >= MAX(get_part_ns(tree, STRETCH_PERCENT), tree->min_ns) &&
		       tree->open->len && is_shown(tree);
	if (is_node && !is_told(tree, length_ns)) {
		leave_untold(tree, stretch->node, stretch->thread, stretch->begin, stretch->end, false);
	} else if (is_node) {
		struct dtc_blocking work = new_blocking(tree, stretch->node, stretch->thread, stretch->name_ns,
							stretch->begin, stretch->end);
		int64_t on_cpu_ns = stretch->ns[DTC_CAUSE_RUNNING_USER] + stretch->ns[DTC_CAUSE_RUNNING_KERNEL];
		for (guint i = 0; i < DTC_CAUSES; i++)
			if (stretch->ns[i] > stretch->ns[work.cause])
				work.cause = (enum dtc_cause)i;
		work.evidence.reason = DTC_REASON_ON_CPU;
		work.evidence.on_cpu_ns = on_cpu_ns;
		dtc_path_add_blocking(tree->path, &work);
	}
	tree->stretch = (struct stretch){ 0 };
}

static void add_to_stretch(DtcTree *tree, const struct dtc_segment *s, int64_t begin, int64_t end)
{
	struct stretch *stretch = &tree->stretch;
	if (stretch->node != s->node || stretch->thread != s->thread || stretch->begin != end)
		end_stretch(tree);
	if (stretch->begin == stretch->end) {
		stretch->node = s->node;
		stretch->thread = s->thread;
		stretch->end = end;
		stretch->name_ns = to_node_ns(tree, s->node, end);
	}
	stretch->begin = begin;
	stretch->ns[s->cause] += end - begin;
}

/* One more node for a wait whose upper end now lies beneath another one. */
static guint copy_blocking(DtcTree *tree, const struct open *open, int64_t begin, int64_t end)
{
	const struct open *above = get_innermost(tree);
	struct dtc_blocking copy = open->as;
	if (!is_told(tree, end - begin))
		return leave_untold(tree, open->node, open->thread, begin, end, true);
	copy.begin.ns = begin;
	copy.end.ns = end;
	copy.parent = above ? above->blocking : G_MAXUINT;
	copy.depth = tree->open->len;
	return dtc_path_add_blocking(tree->path, &copy);
}

/* A time, but not before the begin of any wait that is being explained. */
static int64_t get_begin(const DtcTree *tree, int64_t begin)
{
	const struct open *above = get_innermost(tree);
	return above ? MAX(begin, above->bound) : begin;
}

static void add_open(DtcTree *tree, struct open *open)
{
	open->bound = get_begin(tree, open->begin);
	g_array_append_vals(tree->open, open, 1);
}

/*
 * The way came to cluster time at: waits that began there are over. A message's sender was perhaps blocked longer: what
 * is left of that wait stands beside the one that the message ended.
 */
static void come_to(DtcTree *tree, int64_t at)
{
	const struct open *above = get_innermost(tree);
	if (!above || above->bound < at)
		return;
	end_stretch(tree);
	guint first = tree->open->len;
	while (first && g_array_index(tree->open, struct open, first - 1).bound >= at)
		first--;
	guint count = tree->open->len - first;
	g_autofree struct open *ended =
		g_memdup2(&g_array_index(tree->open, struct open, first), count * sizeof(*ended));
	g_array_set_size(tree->open, first);
	for (guint i = 0; i < count; i++) {
		struct open *open = &ended[i];
		if (open->begin >= at)
			continue;
		open->end = at;
		if (open->blocking != NOT_SHOWN)
			open->blocking = is_shown(tree) ? copy_blocking(tree, open, get_begin(tree, open->begin), at)
							: NOT_SHOWN;
		add_open(tree, open);
	}
}

/* What stands between two waits and is none of the work of a thread. */
static bool is_work(enum dtc_cause cause)
{
	return cause == DTC_CAUSE_RUNNING_USER || cause == DTC_CAUSE_RUNNING_KERNEL || cause == DTC_CAUSE_IRQ ||
	       cause == DTC_CAUSE_SOFTIRQ;
}

static void add_part(DtcTree *tree, const struct dtc_segment *s, const struct dtc_interval *interval, int64_t begin,
		     int64_t end)
{
	const struct open *above = get_innermost(tree);
	if (s->thread == DTC_NONE)
		return;
	if (above && above->node == s->node && above->thread == s->thread &&
	    (above->cause == s->cause || s->cause == DTC_CAUSE_UNKNOWN))
		return; /* the node above says it, or more */
	bool is_wait = interval && dtc_state_is_wait(interval->state);
	bool is_long = s->end.ns - s->begin.ns >= DELAY_NS || end - begin > get_part_ns(tree, DELAY_PERCENT);
	if (interval && !is_wait && (is_work(s->cause) || !is_long)) {
		add_to_stretch(tree, s, begin, end);
		return;
	}
	end_stretch(tree);
	bool is_node = is_wait || (!is_work(s->cause) && is_long);
	if (!is_node || end - begin < tree->min_ns || !is_shown(tree))
		return;
	if (!is_told(tree, end - begin)) {
		leave_untold(tree, s->node, s->thread, begin, end, is_wait);
		return;
	}
	struct dtc_blocking leaf = new_blocking(tree, s->node, s->thread, to_node_ns(tree, s->node, end), begin, end);
	leaf.cause = s->cause;
	leaf.link = s->link;
	leaf.evidence = s->evidence;
	if (is_wait)
		leaf.ended.by = DTC_ENDED_BY_WAKE;
	dtc_path_add_blocking(tree->path, &leaf);
}

void dtc_tree_explain(DtcTree *tree, const struct dtc_segment *segment, const struct dtc_interval *interval)
{
	int64_t end = segment->end.ns;
	while (end > segment->begin.ns) {
		come_to(tree, end);
		int64_t begin = get_begin(tree, segment->begin.ns);
		add_part(tree, segment, interval, begin, end);
		end = begin;
	}
}

/* The sender of the message that ended a wait; of a SYN-ACK a kernel: nobody's code had a part in that. */
static struct dtc_end get_sender(const DtcLinks *links, const struct dtc_edge *edge)
{
	struct dtc_sender sender;
	if (!dtc_edge_find_origin(links, edge, &sender))
		return (struct dtc_end){ .by = DTC_ENDED_BY_MESSAGE, .thread = DTC_NONE, .packet = DTC_NONE };
	return (struct dtc_end){ .by = sender.relayed ? DTC_ENDED_BY_KERNEL : DTC_ENDED_BY_MESSAGE,
				 .node = sender.node,
				 .thread = sender.thread,
				 .packet = sender.packet,
				 .at_ns = sender.written_ns };
}

static struct dtc_end get_end(const DtcTree *tree, const struct dtc_visit *visit)
{
	const struct dtc_edge *edge = visit->edge;
	if (visit->host)
		return (struct dtc_end){ DTC_ENDED_BY_HOST, visit->host->node, DTC_NONE, DTC_NONE, 0 };
	if (!edge)
		return (struct dtc_end){ DTC_ENDED_BY_THREAD, visit->node, visit->by, DTC_NONE, visit->by_ns };
	if (edge->has_sender && edge->arrival.is_local)
		return (struct dtc_end){ DTC_ENDED_BY_THREAD, edge->sender.node, edge->sender.thread, DTC_NONE,
					 edge->sender.written_ns };
	if (edge->has_sender)
		return get_sender(tree->links, edge);
	if (edge->wake == DTC_NONE && edge->from_thread != DTC_NONE)
		return (struct dtc_end){ DTC_ENDED_BY_THREAD, edge->from_node, edge->from_thread, DTC_NONE,
					 edge->from_ns };
	if (visit->wait)
		return (struct dtc_end){ .by = DTC_ENDED_BY_WAKE, .thread = DTC_NONE, .packet = DTC_NONE };
	return (struct dtc_end){ .by = DTC_ENDED_BY_MESSAGE, .thread = DTC_NONE, .packet = DTC_NONE };
}

static enum dtc_reason get_reason(const struct dtc_visit *visit)
{
	switch (visit->kind) {
	case DTC_VISIT_ASKED:
		return DTC_REASON_ASKED;
	case DTC_VISIT_WORK:
		return DTC_REASON_NOT_YET_QUEUED;
	case DTC_VISIT_GIVEN:
		return DTC_REASON_NOT_YET_GIVEN;
	case DTC_VISIT_WAIT:
	case DTC_VISIT_HOST: /* it brings its own */
		break;
	}
	return DTC_REASON_OWN;
}

static struct dtc_evidence get_evidence(const struct dtc_visit *visit)
{
	const struct dtc_edge *edge = visit->edge;
	if (visit->host)
		return *visit->host;
	struct dtc_evidence evidence = dtc_evidence_of_interval(visit->node, visit->wait);
	evidence.reason = get_reason(visit);
	evidence.by_node = visit->node;
	evidence.by_thread = visit->by;
	if (!edge)
		return evidence;
	if (edge->has_arrival) {
		evidence.packet = edge->arrival.packet;
		evidence.file = edge->arrival.file;
	}
	if (edge->has_sender) {
		evidence.sent_node = edge->sender.node;
		evidence.sent_packet = edge->sender.packet;
		evidence.sent_call = edge->sender.call;
	}
	if (edge->from_thread != DTC_NONE) {
		evidence.by_node = edge->from_node;
		evidence.by_thread = edge->from_thread;
	}
	return evidence;
}

static enum dtc_link_quality get_link(const struct dtc_visit *visit)
{
	if (visit->edge)
		return visit->edge->link;
	return visit->kind == DTC_VISIT_GIVEN ? DTC_LINK_INFERRED : DTC_LINK_EXACT;
}

/* The target, or one of its parents before its birth. */
static bool is_of_target(const DtcTree *tree, guint node, uint32_t thread)
{
	for (guint i = 0; node == tree->target->node && i < tree->lineage->len; i++)
		if (dtc_lineage_get(tree->lineage, i)->thread == thread)
			return true;
	return false;
}

void dtc_tree_wait(DtcTree *tree, const struct dtc_visit *visit)
{
	come_to(tree, visit->end.ns);
	/* a server that waited for the question delayed nobody: what its client did meanwhile stands for itself */
	bool is_target = !tree->open->len && is_of_target(tree, visit->node, visit->thread);
	if (visit->came_by_itself && !is_target)
		return;
	end_stretch(tree);
	struct open open = { .blocking = NOT_SHOWN,
			     .begin = visit->begin.ns,
			     .end = visit->end.ns,
			     .node = visit->node,
			     .thread = visit->thread,
			     .cause = visit->cause };
	if (is_shown(tree) && open.end - open.begin >= tree->min_ns) {
		int64_t begin = get_begin(tree, open.begin);
		if (open.end - open.begin >= tree->told_ns) {
			open.as = new_blocking(tree, visit->node, visit->thread,
					       to_node_ns(tree, visit->node, open.end), begin, open.end);
			open.as.cause = visit->cause;
			open.as.evidence = get_evidence(visit);
			open.as.ended = get_end(tree, visit);
			open.as.link = get_link(visit);
		}
		open.blocking = is_told(tree, open.end - begin)
					? dtc_path_add_blocking(tree->path, &open.as)
					: leave_untold(tree, visit->node, visit->thread, begin, open.end, true);
	}
	add_open(tree, &open);
}

static void explain(gpointer data, const struct dtc_segment *segment, const struct dtc_interval *interval)
{
	dtc_tree_explain(data, segment, interval);
}

static void wait(gpointer data, const struct dtc_visit *visit)
{
	dtc_tree_wait(data, visit);
}

DtcTree *dtc_tree_new(const DtcEdges *edges, const struct dtc_path_target *target,
		      const struct dtc_path_options *options, DtcPath *path)
{
	DtcTree *tree = g_new0(DtcTree, 1);
	*tree = (DtcTree){ .edges = edges,
			   .links = dtc_edges_get_links(edges),
			   .target = target,
			   .max_depth = options && options->max_depth ? options->max_depth : G_MAXUINT,
			   .min_ns = options ? MAX(options->min_blocking_ns, 1) : 1,
			   .told_ns = options ? options->told_ns : 0,
			   .path = path,
			   .untold_waits = dtc_table_new(sizeof(struct waited)),
			   .open = g_array_new(FALSE, FALSE, sizeof(struct open)) };
	tree->lineage = dtc_lineage_new(dtc_links_get_history(tree->links, target->node), target->thread,
					(DtcNodeTime){ to_node_ns(tree, target->node, target->begin.ns) },
					(DtcNodeTime){ to_node_ns(tree, target->node, target->end.ns) });
	return tree;
}

void dtc_tree_free(DtcTree *tree)
{
	if (!tree)
		return;
	dtc_table_free(tree->untold_waits);
	g_array_unref(tree->open);
	g_array_unref(tree->lineage);
	g_free(tree);
}

/* The way came to its begin. */
static void end_way(DtcTree *tree, DtcClusterTime begin)
{
	come_to(tree, begin.ns);
	end_stretch(tree);
}

static void take_way(DtcTree *tree, const struct dtc_traversal *of)
{
	const struct dtc_visitor visitor = { .explain = explain, .wait = wait, .named_ns = tree->told_ns };
	dtc_traverse(tree->edges, of, &visitor, tree);
	end_way(tree, of->begin);
}

static gint compare_begin(gconstpointer a, gconstpointer b)
{
	const struct waited *x = a, *y = b;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The spans of a thread's own waits that stand in the tree already, by time: they do not overlap. */
static GArray *collect_waits(const DtcTree *tree, uint32_t thread)
{
	GArray *spans = g_array_new(FALSE, FALSE, sizeof(struct waited));
	for (guint i = 0; i < dtc_path_get_blocking_count(tree->path); i++) {
		const struct dtc_blocking *b = dtc_path_get_blocking(tree->path, i);
		struct waited span = { b->begin.ns, b->end.ns, b->thread };
		if (b->parent == G_MAXUINT && b->node == tree->target->node && b->thread == thread &&
		    b->ended.by != DTC_ENDED_BY_NOBODY)
			g_array_append_val(spans, span);
	}
	for (guint i = 0; i < tree->untold_waits->len; i++) {
		const struct waited *span = DTC_AT(tree->untold_waits, struct waited, i);
		if (span->thread == thread)
			g_array_append_vals(spans, span, 1);
	}
	g_array_sort(spans, compare_begin);
	return spans;
}

static bool is_covered(const GArray *spans, int64_t begin, int64_t end)
{
	guint after = DTC_BISECT(i, 0, spans->len, g_array_index(spans, struct waited, i).begin <= begin);
	return after && g_array_index(spans, struct waited, after - 1).end >= end;
}

/* The waits of the target, or of a parent of it, that end in its part of the span and that the tree does not have. */
static void add_waits_of(DtcTree *tree, const struct dtc_lineage_part *part)
{
	const struct dtc_path_target *target = tree->target;
	const DtcHistory *h = dtc_links_get_history(tree->links, target->node);
	const DtcClocks *clocks = dtc_links_get_clocks(tree->links);
	int64_t at_ns = part->end.ns;
	g_autoptr(GArray) known = collect_waits(tree, part->thread);
	struct dtc_interval place = { .thread = DTC_NONE };
	while (at_ns > part->begin.ns) {
		const struct dtc_interval *v = dtc_history_find_interval_near(h, part->thread, at_ns, &place);
		if (!v)
			break;
		at_ns = v->begin_ns;
		/* a wait that goes on behind the span did not delay what it explains */
		if (!dtc_state_is_wait(v->state) || v->end_ns > part->end.ns)
			continue;
		struct dtc_traversal of = {
			.node = target->node,
			.thread = part->thread,
			.begin = { MAX(dtc_clocks_to_cluster_ns(clocks, target->node, v->begin_ns), target->begin.ns) },
			.end = dtc_clocks_to_cluster(clocks, target->node, (DtcNodeTime){ v->end_ns }),
			.end_ns = v->end_ns,
			.call = DTC_NONE,
			.serving = target->serving,
			.owner = target->owner,
		};
		if (of.end.ns - of.begin.ns >= tree->min_ns && !is_covered(known, of.begin.ns, of.end.ns))
			take_way(tree, &of);
	}
}

static void add_other_waits(DtcTree *tree)
{
	for (guint i = 0; i < tree->lineage->len; i++)
		add_waits_of(tree, dtc_lineage_get(tree->lineage, i));
}

void dtc_tree_finish(DtcTree *tree)
{
	end_way(tree, tree->target->begin);
	add_other_waits(tree);
}

void dtc_tree_add_waits(const DtcEdges *edges, const struct dtc_path_target *target,
			const struct dtc_path_options *options, DtcPath *path)
{
	g_autoptr(DtcTree) tree = dtc_tree_new(edges, target, options, path);
	add_other_waits(tree);
}
