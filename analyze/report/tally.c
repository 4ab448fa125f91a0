/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/tally.h"

#include "analyze/report/halves.h"
#include "analyze/report/verdict.h"

#define NONE G_MAXUINT

/* A process of a node, or what stands for one. */
struct who {
	struct dtc_report_thread names; /* but for the thread */
	guint node;
	const char *process; /* as the history has it */
	guint next;	     /* of the same node */
	guint tier;
	guint machine;
};

struct tier {
	const char *name;
	const struct dtc_report_thread *service; /* the first step's that was done for it; NULL: none was */
	guint first_cell;
	int64_t service_ns; /* of all steps that were */
};

/* What a tier spent for a cause. */
struct cell {
	guint tier;
	enum dtc_cause cause;
	guint next; /* of the tier */
	guint last; /* step */
	guint step_count;
	guint longest; /* step, the first of those; who it was is the row's process */
	int64_t ns;
};

struct machine {
	const char *node;
	guint32 families; /* those that it has */
	int64_t ns[DTC_FAMILIES];
	guint nearest; /* who, of the steps that were looked at */
};

struct step {
	int64_t ns;
	guint who;
	guint service; /* who */
	guint before;  /* in its cell */
	bool is_kernel;
};

struct DtcTallier {
	guint *first_who; /* by node, and one for those that are not there; NONE */
	guint node_count;
	GArray *whos;	  /* struct who */
	GArray *tiers;	  /* struct tier */
	GArray *cells;	  /* struct cell */
	GArray *machines; /* struct machine */
	GArray *steps;	  /* struct step */
	GArray *waitings; /* struct dtc_waiting */
	GArray *of_cell;  /* struct dtc_half_step */
	GArray *ordered;  /* struct dtc_report_machine */
	GArray *parts;	  /* struct dtc_report_part */
	DtcHalves *halves;
	bool lacks_service; /* a step of the kernel, for which nobody waited */
};

void dtc_tally_free(struct dtc_tally *tally)
{
	if (!tally)
		return;
	g_free(tally->shares);
	g_free(tally->tiers);
	dtc_name_book_unref(tally->names);
	g_free(tally);
}

DtcTallier *dtc_tallier_new(guint node_count)
{
	DtcTallier *tallier = g_new0(DtcTallier, 1);

	tallier->node_count = node_count;
	tallier->first_who = g_new(guint, node_count + 1);
	for (guint i = 0; i <= node_count; i++)
		tallier->first_who[i] = NONE;
	tallier->whos = g_array_new(FALSE, FALSE, sizeof(struct who));
	tallier->tiers = g_array_new(FALSE, FALSE, sizeof(struct tier));
	tallier->cells = g_array_new(FALSE, FALSE, sizeof(struct cell));
	tallier->machines = g_array_new(FALSE, FALSE, sizeof(struct machine));
	tallier->steps = g_array_new(FALSE, FALSE, sizeof(struct step));
	tallier->waitings = g_array_new(FALSE, FALSE, sizeof(struct dtc_waiting));
	tallier->of_cell = g_array_new(FALSE, FALSE, sizeof(struct dtc_half_step));
	tallier->ordered = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_machine));
	tallier->parts = g_array_new(FALSE, FALSE, sizeof(struct dtc_report_part));
	tallier->halves = dtc_halves_new();
	return tallier;
}

void dtc_tallier_free(DtcTallier *tallier)
{
	if (!tallier)
		return;
	g_free(tallier->first_who);
	g_array_unref(tallier->whos);
	g_array_unref(tallier->tiers);
	g_array_unref(tallier->cells);
	g_array_unref(tallier->machines);
	g_array_unref(tallier->steps);
	g_array_unref(tallier->waitings);
	g_array_unref(tallier->of_cell);
	g_array_unref(tallier->ordered);
	g_array_unref(tallier->parts);
	dtc_halves_free(tallier->halves);
	g_free(tallier);
}

/* --- names: a handful in a path, each with one address --- */

static guint find_tier(DtcTallier *tallier, const char *name)
{
	const struct tier fresh = { .name = name, .first_cell = NONE };

	for (guint i = 0; i < tallier->tiers->len; i++)
		if (g_array_index(tallier->tiers, struct tier, i).name == name)
			return i;
	g_array_append_val(tallier->tiers, fresh);
	return tallier->tiers->len - 1;
}

static guint find_machine(DtcTallier *tallier, const char *node)
{
	const struct machine fresh = { .node = node, .nearest = NONE };

	for (guint i = 0; i < tallier->machines->len; i++)
		if (g_array_index(tallier->machines, struct machine, i).node == node)
			return i;
	g_array_append_val(tallier->machines, fresh);
	return tallier->machines->len - 1;
}

static guint find_who(DtcTallier *tallier, DtcNameBook *names, guint node, const char *process)
{
	guint *first = &tallier->first_who[MIN(node, tallier->node_count)];

	for (guint i = *first; i != NONE; i = g_array_index(tallier->whos, struct who, i).next)
		if (g_array_index(tallier->whos, struct who, i).process == process)
			return i;
	struct who who = {
		.names = dtc_name_book_get_thread(names, dtc_name_book_get_node(names, node), NULL, process, -1, -1),
		.node = MIN(node, tallier->node_count),
		.process = process,
		.next = *first,
	};
	who.tier = find_tier(tallier, who.names.tier);
	who.machine = find_machine(tallier, who.names.node);
	g_array_append_val(tallier->whos, who);
	*first = tallier->whos->len - 1;
	return *first;
}

static const struct who *get_who(const DtcTallier *tallier, guint who)
{
	return &g_array_index(tallier->whos, struct who, who);
}

static struct step *get_step(const DtcTallier *tallier, guint step)
{
	return &g_array_index(tallier->steps, struct step, step);
}

/* --- sums --- */

static struct cell *find_cell(DtcTallier *tallier, guint tier, enum dtc_cause cause)
{
	guint *first = &g_array_index(tallier->tiers, struct tier, tier).first_cell;
	const struct cell fresh = { .tier = tier, .cause = cause, .next = *first, .last = NONE, .longest = NONE };

	for (guint i = *first; i != NONE; i = g_array_index(tallier->cells, struct cell, i).next)
		if (g_array_index(tallier->cells, struct cell, i).cause == cause)
			return &g_array_index(tallier->cells, struct cell, i);
	*first = tallier->cells->len;
	g_array_append_val(tallier->cells, fresh);
	return &g_array_index(tallier->cells, struct cell, *first);
}

static void add_step(DtcTallier *tallier, const struct dtc_report_input *input, const struct dtc_segment *segment)
{
	const char *process = dtc_report_name_process(segment->process, segment->cause);
	guint index = tallier->steps->len;
	struct step step = {
		.ns = segment->end.ns - segment->begin.ns,
		.who = find_who(tallier, input->name_book, segment->node, process),
		.service = NONE,
		.is_kernel = segment->is_kernel,
	};
	const struct who *who = get_who(tallier, step.who);
	struct machine *machine = &g_array_index(tallier->machines, struct machine, who->machine);
	enum dtc_family family = dtc_family_of_cause(segment->cause);
	struct cell *cell = find_cell(tallier, who->tier, segment->cause);

	machine->families |= 1u << family;
	machine->ns[family] += step.ns;
	if (cell->longest == NONE || step.ns > get_step(tallier, cell->longest)->ns)
		cell->longest = index;
	cell->ns += step.ns;
	cell->step_count++;
	step.before = cell->last;
	cell->last = index;
	if (!step.is_kernel)
		step.service = step.who;
	const struct dtc_waiter *waiter = step.is_kernel ? dtc_report_find_waiter(input, segment) : NULL;
	if (waiter) {
		int64_t at_ns = dtc_clocks_to_node(input->clocks, waiter->node, segment->end).ns;
		const char *its = dtc_history_get_process(input->histories[waiter->node], waiter->thread, at_ns);
		step.service =
			find_who(tallier, input->name_book, waiter->node, dtc_report_name_process(its, segment->cause));
	}
	tallier->lacks_service |= step.service == NONE;
	g_array_append_val(tallier->steps, step);
}

static void add_waiting(DtcTallier *tallier, DtcNameBook *names, const struct dtc_segment *segment, guint step)
{
	const struct dtc_waiting waiting = {
		.busy_with = dtc_name_book_keep_text(names, segment->busy_with),
		.tier = get_who(tallier, get_step(tallier, step)->who)->names.tier,
		.candidate = dtc_name_book_keep_text(names, segment->candidate),
		.ns = get_step(tallier, step)->ns,
	};

	if (waiting.busy_with)
		g_array_append_val(tallier->waitings, waiting);
}

static void add_steps(DtcTallier *tallier, const struct dtc_report_input *input)
{
	guint count = dtc_path_get_segment_count(input->path);

	for (guint i = 0; i < count; i++) {
		const struct dtc_segment *segment = dtc_path_get_segment(input->path, i);
		add_step(tallier, input, segment);
		if (segment->busy_with)
			add_waiting(tallier, input->name_book, segment, i);
	}
}

/* As of a report: the kernel worked for who went on after it on its machine, else who was before, else for itself. */
static void set_services(DtcTallier *tallier)
{
	guint count = tallier->steps->len;

	for (guint i = 0; tallier->lacks_service && i < 2 * count; i++) {
		struct step *step = get_step(tallier, i < count ? count - 1 - i : i - count);
		struct machine *machine =
			&g_array_index(tallier->machines, struct machine, get_who(tallier, step->who)->machine);
		if (i == count)
			for (guint k = 0; k < tallier->machines->len; k++)
				g_array_index(tallier->machines, struct machine, k).nearest = NONE;
		if (!step->is_kernel)
			machine->nearest = step->who;
		else if (step->service == NONE)
			step->service = machine->nearest;
	}
	for (guint i = 0; i < count; i++) {
		struct step *step = get_step(tallier, i);
		const struct who *who = get_who(tallier, step->service == NONE ? step->who : step->service);
		struct tier *tier = &g_array_index(tallier->tiers, struct tier, who->tier);
		if (!tier->service)
			tier->service = &who->names;
		tier->service_ns += step->ns;
	}
}

static void set_verdict(DtcTallier *tallier, int64_t duration_ns, struct dtc_report_verdict *verdict)
{
	for (guint i = 0; i < tallier->machines->len; i++) {
		const struct machine *machine = &g_array_index(tallier->machines, struct machine, i);
		struct dtc_report_machine to = { .node = machine->node, .part_first = tallier->parts->len };
		for (guint family = 0; family < DTC_FAMILIES; family++) {
			const struct dtc_report_part part = { .family = (enum dtc_family)family,
							      .ns = machine->ns[family] };
			if (!(machine->families & 1u << family))
				continue;
			g_array_append_val(tallier->parts, part);
			to.part_count++;
			to.ns += part.ns;
		}
		if (to.part_count) /* else it is only named */
			g_array_append_val(tallier->ordered, to);
	}
	dtc_verdict_set(verdict, tallier->ordered, tallier->parts, duration_ns);
	dtc_verdict_set_waited(verdict, tallier->waitings);
}

/* --- what becomes of it --- */

static const char *get_detail(gpointer data, guint step)
{
	const struct dtc_report_input *input = data;

	return dtc_name_book_get_detail_of(input->name_book, dtc_path_get_segment(input->path, step));
}

static guint get_digest(gpointer data, guint step)
{
	const struct dtc_report_input *input = data;

	return dtc_name_book_digest_detail_of(input->name_book, dtc_path_get_segment(input->path, step));
}

/* One step that is more than half tells alone, as nearly always. */
static const char *find_detail(DtcTallier *tallier, const struct dtc_report_input *input, const struct cell *cell)
{
	if (2 * get_step(tallier, cell->longest)->ns > cell->ns)
		return get_detail((gpointer)input, cell->longest);
	const struct dtc_step_words words = { (gpointer)input, get_digest, get_detail };
	g_array_set_size(tallier->of_cell, 0);
	for (guint i = cell->last; i != NONE; i = get_step(tallier, i)->before) {
		const struct dtc_half_step step = { .ns = get_step(tallier, i)->ns, .step = i };
		g_array_append_val(tallier->of_cell, step);
	}
	return dtc_halves_find(tallier->halves, tallier->of_cell, cell->ns, &words);
}

static void list_shares(DtcTallier *tallier, const struct dtc_report_input *input, struct dtc_tally *tally)
{
	tally->row.share_count = tallier->cells->len;
	tally->shares = g_new(struct dtc_share, tallier->cells->len);
	for (guint i = 0; i < tallier->cells->len; i++) {
		const struct cell *cell = &g_array_index(tallier->cells, struct cell, i);
		const struct dtc_report_thread *names = &get_who(tallier, get_step(tallier, cell->longest)->who)->names;
		tally->shares[i] = (struct dtc_share){
			.tier = names->tier,
			.node = names->node,
			.process = names->process,
			.detail = find_detail(tallier, input, cell),
			.cause = cell->cause,
			.ns = cell->ns,
		};
	}
	tally->tiers = g_new(struct dtc_tier_share, tallier->tiers->len);
	for (guint i = 0; i < tallier->tiers->len; i++) {
		const struct tier *tier = &g_array_index(tallier->tiers, struct tier, i);
		if (tier->service)
			tally->tiers[tally->row.tier_count++] =
				(struct dtc_tier_share){ tier->name, tier->service->node, tier->service->process,
							 tier->service_ns };
	}
}

static struct dtc_summary_row make_row(const struct dtc_report_input *input)
{
	DtcNameBook *names = input->name_book;
	const char *id = dtc_name_book_keep_text(names, input->request);
	const struct dtc_report_thread target =
		dtc_name_book_get_thread(names, dtc_name_book_get_node(names, input->target_node), input->target_comm,
					 dtc_report_name_process(input->target_process, DTC_CAUSE_UNKNOWN),
					 input->target_pid, input->target_tid);

	return (struct dtc_summary_row){
		.id = id ? id : "",
		.method = dtc_name_book_keep_text(names, input->method),
		.url = dtc_name_book_keep_text(names, input->url),
		.status = input->status,
		.node = target.node,
		.comm = target.comm,
		.process = target.process,
		.tier = target.tier,
		.pid = target.pid,
		.tid = target.tid,
		.begin_ns = dtc_path_get_begin(input->path).ns,
		.duration_ns = dtc_path_get_end(input->path).ns - dtc_path_get_begin(input->path).ns,
		.complete = dtc_findings_get_complete(input->findings),
		.is_anonymous = input->identity_count == 0,
	};
}

/* Forgets the one before. */
static void begin(DtcTallier *tallier)
{
	for (guint i = 0; i < tallier->whos->len; i++)
		tallier->first_who[get_who(tallier, i)->node] = NONE;
	g_array_set_size(tallier->whos, 0);
	g_array_set_size(tallier->tiers, 0);
	g_array_set_size(tallier->cells, 0);
	g_array_set_size(tallier->machines, 0);
	g_array_set_size(tallier->steps, 0);
	g_array_set_size(tallier->waitings, 0);
	g_array_set_size(tallier->ordered, 0);
	g_array_set_size(tallier->parts, 0);
	tallier->lacks_service = false;
}

struct dtc_tally *dtc_tallier_add_up(DtcTallier *tallier, const struct dtc_report_input *input)
{
	struct dtc_tally *tally = g_new0(struct dtc_tally, 1);

	begin(tallier);
	tally->names = dtc_name_book_ref(input->name_book);
	tally->row = make_row(input);
	add_steps(tallier, input);
	set_services(tallier);
	set_verdict(tallier, tally->row.duration_ns, &tally->row.verdict);
	list_shares(tallier, input, tally);
	return tally;
}
