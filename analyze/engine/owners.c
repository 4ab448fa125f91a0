/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/engine/owners.h"

#include "analyze/engine/findings_image.h"
#include "analyze/engine/owned_answer.h"
#include "analyze/engine/recording_image.h"

#include <string.h>

void dtc_owners_answer_clear(struct dtc_owners_answer *answer)
{
	dtc_image_unref(answer->told);
	dtc_image_unref(answer->content);
	*answer = (struct dtc_owners_answer){ 0 };
}

/* ---- questions ---- */

static bool ask(const DtcBundle *bundle, enum dtc_owners_question what, GVariant *of, GError **error)
{
	guint number;
	const struct dtc_owners *owners = dtc_bundle_get_owners(bundle, &number);
	g_autoptr(GVariant) question = g_variant_ref_sink(g_variant_new("(uv)", (guint32)what, of));

	return !owners || owners->ask(owners->data, number, question, error);
}

/* "(mayt)": the folder of the store, and how large it may be. */
static GVariant *pack_store(const DtcStore *store)
{
	return g_variant_new("(m^ayt)", store ? dtc_store_get_directory(store) : NULL,
			     store ? dtc_store_get_max_bytes(store) : 0);
}

static GVariant *pack_windows(const DtcBundle *bundle, const struct dtc_window_span *windows)
{
	GVariantBuilder list;

	g_variant_builder_init(&list, G_VARIANT_TYPE("a(ayxx)"));
	for (guint i = 0; windows && i < dtc_bundle_get_count(bundle); i++)
		g_variant_builder_add(&list, "(^ayxx)", dtc_bundle_get_node(bundle, i)->name, windows[i].begin_ns,
				      windows[i].end_ns);
	return g_variant_builder_end(&list);
}

bool dtc_owners_ask_recordings(const DtcBundle *bundle, const struct dtc_recordings_options *options, GError **error)
{
	static const char *const none[] = { NULL };

	guint number;
	const struct dtc_owners *owners = dtc_bundle_get_owners(bundle, &number);

	if (!ask(bundle, DTC_OWNERS_RECORDING,
		 g_variant_new("(@(mayt)^aayb@a(ayxx))", pack_store(options->store),
			       options->id_headers ? options->id_headers : none, options->windows != NULL,
			       pack_windows(bundle, options->windows)),
		 error))
		return false;
	if (options->calls_help && owners && owners->help)
		owners->help->call(owners->data, number);
	return true;
}

const struct dtc_owners *dtc_owners_get_helped(const DtcBundle *bundle)
{
	guint number;
	const struct dtc_owners *owners = dtc_bundle_get_owners(bundle, &number);

	return owners && owners->help ? owners : NULL;
}

bool dtc_owners_ask_counts(const DtcBundle *bundle, DtcStore *store, GError **error)
{
	return ask(bundle, DTC_OWNERS_COUNTS, pack_store(store), error);
}

bool dtc_owners_ask_begins(const DtcBundle *bundle, GError **error)
{
	return ask(bundle, DTC_OWNERS_BEGIN, g_variant_new("()"), error);
}

bool dtc_owners_ask_splits(const DtcBundle *bundle, enum dtc_split_by by, GError **error)
{
	return ask(bundle, DTC_OWNERS_SPLIT, g_variant_new("(u)", (guint32)by), error);
}

bool dtc_owners_ask_briefs(const DtcBundle *bundle, GError **error)
{
	return ask(bundle, DTC_OWNERS_BRIEF, g_variant_new("()"), error);
}

/* Of a node: its steps and the map of its clock. */
static GVariant *pack_axis(const char *name, const struct dtc_usage_node *axis, const DtcClocks *clocks, guint node)
{
	guint knot_count;
	const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, node, &knot_count);

	return g_variant_new("(^ayxxxu@a(xxxx))", name, axis->counted.begin.ns, axis->counted.end.ns, axis->begin.ns,
			     axis->interval_count,
			     g_variant_new_fixed_array(G_VARIANT_TYPE("(xxxx)"), knots, knot_count, sizeof(*knots)));
}

bool dtc_owners_ask_memories(const DtcBundle *bundle, const DtcUsage *usage, const DtcClocks *clocks, GError **error)
{
	GVariantBuilder list;

	g_variant_builder_init(&list, G_VARIANT_TYPE("a(ayxxxua(xxxx))"));
	for (guint i = 0; i < dtc_bundle_get_count(bundle); i++)
		if (usage->nodes[i].has_history)
			g_variant_builder_add_value(
				&list, pack_axis(dtc_bundle_get_node(bundle, i)->name, &usage->nodes[i], clocks, i));
	return ask(bundle, DTC_OWNERS_MEMORY, g_variant_new("(xa(ayxxxua(xxxx)))", usage->interval_ns, &list), error);
}

/* ---- answers ---- */

static bool take(const DtcBundle *bundle, const struct dtc_reading *reading, struct dtc_owners_answer *ret_answer,
		 GError **error)
{
	guint number;
	const struct dtc_owners *owners = dtc_bundle_get_owners(bundle, &number);

	return owners->take(owners->data, number, reading->node->name, reading->is_capture, ret_answer, error);
}

void dtc_owners_take_recording(struct dtc_recording *recording)
{
	struct dtc_reading *reading = &recording->source.reading;
	struct dtc_owners_answer answer = { 0 };

	if (!take(recording->bundle, reading, &answer, &reading->error))
		return;
	(void)dtc_owned_load_recording(recording, answer.told, answer.content);
	dtc_owners_answer_clear(&answer);
}

void dtc_owners_take_counts(struct dtc_census_source *source, const DtcBundle *bundle)
{
	struct dtc_owners_answer answer = { 0 };

	if (!take(bundle, &source->reading, &answer, &source->reading.error))
		return;
	(void)dtc_owned_load_counts(source, answer.told);
	dtc_owners_answer_clear(&answer);
}

void dtc_owners_take_split(struct dtc_split *split, const DtcBundle *bundle)
{
	struct dtc_owners_answer answer = { 0 };

	if (!take(bundle, &split->reading, &answer, &split->reading.error))
		return;
	(void)dtc_owned_load_split(split, answer.told);
	dtc_owners_answer_clear(&answer);
}

void dtc_owners_take_memory(struct dtc_memory *memory, const DtcBundle *bundle)
{
	struct dtc_owners_answer answer = { 0 };

	if (!take(bundle, &memory->reading, &answer, &memory->reading.error))
		return;
	(void)dtc_owned_load_memory(memory, answer.told);
	dtc_owners_answer_clear(&answer);
}

void dtc_owners_take_brief(const DtcBundle *bundle, guint node, struct dtc_node_brief *ret_brief)
{
	const struct dtc_reading reading = { .node = dtc_bundle_get_node(bundle, node) };
	struct dtc_owners_answer answer = { 0 };

	*ret_brief = (struct dtc_node_brief){ 0 };
	if (take(bundle, &reading, &answer, NULL))
		dtc_node_brief_load(ret_brief, answer.told);
	dtc_owners_answer_clear(&answer);
}

bool dtc_owners_take_begin(const DtcBundle *bundle, guint node, struct dtc_window_begin *ret_begin)
{
	const struct dtc_bundle_node *from = dtc_bundle_get_node(bundle, node);
	const struct dtc_reading reading = { .node = from, .is_capture = !from->kernel_path && !from->kernel_image };
	struct dtc_owners_answer answer = { 0 };
	bool is_told = take(bundle, &reading, &answer, NULL) && dtc_owned_load_begin(answer.told, ret_begin);

	dtc_owners_answer_clear(&answer);
	return is_told;
}
