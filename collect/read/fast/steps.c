/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/steps.h"

/* Steps that are being made, and the one that is not closed yet. */
struct maker {
	const GArray *wanted; /* struct dtc_rule, or NULL */
	GArray *steps, *lengths, *numbers, *rules;
	struct dtc_layout_step open;
};

static void begin_step(struct maker *maker, uint32_t align)
{
	maker->open = (struct dtc_layout_step){ .align = align,
						.length_first = maker->lengths->len,
						.number_first = maker->numbers->len,
						.rule_first = maker->rules->len };
}

static void close_step(struct maker *maker, uint32_t align)
{
	g_array_append_val(maker->steps, maker->open);
	begin_step(maker, align);
}

/* ---- what is wanted ---- */

bool dtc_step_make_number(const struct dtc_layout *layout, uint32_t align, uint32_t at, uint8_t slot,
			  struct dtc_step_number *ret_number)
{
	uint32_t offset = at % 8;
	if (layout->kind != DTC_TYPE_INTEGER || layout->is_reversed || layout->bits == 0 || align % 8 != 0 ||
	    offset + layout->bits > 64)
		return false;
	*ret_number = (struct dtc_step_number){
		.at = at / 8,
		.slot = slot,
		.left = (uint8_t)(layout->is_big_endian ? offset : 64 - offset - layout->bits),
		.right = (64 - layout->bits) & 63,
		.is_big_endian = layout->is_big_endian,
		.is_signed = layout->is_signed,
	};
	return true;
}

static bool is_plain_rule(const struct dtc_rule *rule)
{
	return rule->operation == DTC_OPERATION_NUMBER || rule->operation == DTC_OPERATION_FIELD;
}

static void place_rules(struct maker *maker, const struct dtc_layout *layout, uint32_t at)
{
	if (layout->slot >= 0 && layout->kind == DTC_TYPE_INTEGER) {
		struct dtc_step_length length = { .at = at, .slot = layout->slot, .layout = layout };
		length.is_number = dtc_step_make_number(layout, maker->open.align, at, 0, &length.number);
		g_array_append_val(maker->lengths, length);
		maker->open.length_count++;
	}
	for (guint i = 0; maker->wanted && i < maker->wanted->len; i++) {
		struct dtc_rule rule = g_array_index(maker->wanted, struct dtc_rule, i);
		struct dtc_step_number number;
		if (rule.layout != layout)
			continue;
		rule.at = at;
		if (is_plain_rule(&rule) && dtc_step_make_number(layout, maker->open.align, at, rule.slot, &number)) {
			g_array_append_val(maker->numbers, number);
			maker->open.number_count++;
		} else {
			g_array_append_val(maker->rules, rule);
			maker->open.rule_count++;
		}
	}
}

static void place_field_rules(struct maker *maker, const struct dtc_layout *layout)
{
	maker->open.field_rule_first = maker->rules->len;
	for (guint i = 0; maker->wanted && i < maker->wanted->len; i++) {
		struct dtc_rule rule = g_array_index(maker->wanted, struct dtc_rule, i);
		if (rule.layout != layout)
			continue;
		rule.at = 0;
		g_array_append_val(maker->rules, rule);
		maker->open.field_rule_count++;
	}
}

/* ---- fields ---- */

bool dtc_step_is_fixed(const struct dtc_layout *layout, uint32_t *ret_bits)
{
	if (layout->kind == DTC_TYPE_INTEGER && !layout->is_clock) {
		*ret_bits = layout->bits;
		return true;
	}
	*ret_bits = (uint32_t)layout->fixed_bits;
	return layout->fixed_bits >= 0;
}

void dtc_step_list_options(const struct dtc_layout *variant, int8_t options[DTC_STEP_OPTIONS])
{
	uint64_t slots[1];
	struct dtc_layout alone = *variant;
	const struct dtc_decoder decoder = { .slots = slots };
	const struct dtc_layout *inner;
	uint32_t option;
	alone.source = 0;
	for (guint value = 0; value < DTC_STEP_OPTIONS; value++) {
		slots[0] = value;
		bool is_known = dtc_decode_select(&decoder, &alone, &option, &inner) && option <= INT8_MAX;
		options[value] = is_known ? (int8_t)option : -1;
	}
}

static void set_variant(struct dtc_layout_step *step, const struct dtc_layout *variant)
{
	step->kind = DTC_STEP_VARIANT;
	step->source = variant->source;
	dtc_step_list_options(variant, step->option_of);
	step->options = g_new0(struct dtc_steps *, variant->member_count + 1);
	for (guint i = 0; i < variant->member_count; i++) {
		const struct dtc_layout *inner = variant->members[i].layout;
		if (inner->kind == DTC_TYPE_STRUCT)
			step->options[i] = dtc_steps_new(&inner, 1, NULL);
	}
}

static void set_kind(struct dtc_layout_step *step, const struct dtc_layout *field)
{
	const struct dtc_layout *element = field->element;
	step->field = field;
	step->kind = DTC_STEP_OTHER;
	if (field->kind == DTC_TYPE_STRING && field->type->unit_bytes <= 1) {
		step->kind = DTC_STEP_STRING;
	} else if (field->kind == DTC_TYPE_SEQUENCE && element->fixed_bits > 0 &&
		   element->fixed_bits % element->align == 0) {
		step->kind = DTC_STEP_LIST;
		step->source = field->source;
		step->element_bits = (uint32_t)element->fixed_bits;
	} else if (field->kind == DTC_TYPE_VARIANT) {
		set_variant(step, field);
	}
}

/* Room for so many bits at that alignment: in the open run, or in a new one if it depends on where the run begins. */
static void align_run(struct maker *maker, uint32_t align)
{
	struct dtc_layout_step *open = &maker->open;
	if (open->run_bits == 0 && open->length_count + open->number_count + open->rule_count == 0)
		open->align = MAX(open->align, align);
	if (align > open->align)
		close_step(maker, align);
	open->run_bits = (uint32_t)dtc_align_bits(open->run_bits, align);
}

static void add_member(struct maker *maker, const struct dtc_layout *layout)
{
	uint32_t bits;
	if (dtc_step_is_fixed(layout, &bits) && bits < G_MAXINT32 - maker->open.run_bits - layout->align) {
		align_run(maker, layout->align);
		place_rules(maker, layout, maker->open.run_bits);
		maker->open.run_bits += bits;
		return;
	}
	set_kind(&maker->open, layout);
	place_field_rules(maker, layout);
	close_step(maker, 1);
}

static void add_structure(struct maker *maker, const struct dtc_layout *structure)
{
	if (structure->kind != DTC_TYPE_STRUCT) {
		add_member(maker, structure);
		return;
	}
	align_run(maker, structure->align);
	for (guint i = 0; i < structure->member_count; i++)
		add_member(maker, structure->members[i].layout);
}

static void set_wanted(struct dtc_steps *steps, const GArray *list)
{
	for (guint i = list->len; i > 0 && steps->wanted_count == 0; i--) {
		const struct dtc_layout_step *step = &g_array_index(list, struct dtc_layout_step, i - 1);
		if (step->number_count + step->rule_count + step->field_rule_count == 0)
			continue;
		steps->wanted_count = i;
		steps->is_last_wanted_string = step->kind == DTC_STEP_STRING && step->field_rule_count > 0;
	}
}

/* An empty one has memory, too: an offset of 0 from NULL is undefined in C. */
static GArray *make_list(guint bytes)
{
	return g_array_sized_new(FALSE, TRUE, bytes, 1);
}

struct dtc_steps *dtc_steps_new(const struct dtc_layout *const *structures, guint count, const GArray *wanted)
{
	struct maker maker = { .wanted = wanted };
	struct dtc_steps *steps = g_new0(struct dtc_steps, 1);
	maker.steps = make_list(sizeof(struct dtc_layout_step));
	maker.lengths = make_list(sizeof(struct dtc_step_length));
	maker.numbers = make_list(sizeof(struct dtc_step_number));
	maker.rules = make_list(sizeof(struct dtc_rule));
	begin_step(&maker, 1);
	for (guint i = 0; i < count; i++)
		if (structures[i])
			add_structure(&maker, structures[i]);
	if (maker.open.run_bits > 0 || maker.open.align > 1 || maker.steps->len == 0)
		close_step(&maker, 1);
	steps->count = maker.steps->len;
	set_wanted(steps, maker.steps);
	steps->steps = (struct dtc_layout_step *)(void *)g_array_free(maker.steps, FALSE);
	steps->lengths = (struct dtc_step_length *)(void *)g_array_free(maker.lengths, FALSE);
	steps->numbers = (struct dtc_step_number *)(void *)g_array_free(maker.numbers, FALSE);
	steps->rules = (struct dtc_rule *)(void *)g_array_free(maker.rules, FALSE);
	return steps;
}

void dtc_steps_free(struct dtc_steps *steps)
{
	if (!steps)
		return;
	for (guint i = 0; i < steps->count; i++) {
		const struct dtc_layout_step *step = &steps->steps[i];
		for (guint k = 0; step->options && k < step->field->member_count; k++)
			dtc_steps_free(step->options[k]);
		g_free(step->options);
	}
	g_free(steps->steps);
	g_free(steps->lengths);
	g_free(steps->numbers);
	g_free(steps->rules);
	g_free(steps);
}

/* ---- passing ---- */

bool dtc_steps_select(const struct dtc_layout_step *step, const struct dtc_decoder *decoder, uint32_t *ret_option,
		      const struct dtc_layout **ret_inner)
{
	uint64_t value = decoder->slots[step->source];
	if (value >= DTC_STEP_OPTIONS || step->option_of[value] < 0)
		return dtc_decode_select(decoder, step->field, ret_option, ret_inner);
	*ret_option = (uint32_t)step->option_of[value];
	*ret_inner = step->field->members[*ret_option].layout;
	return true;
}

static bool pass_list(const struct dtc_layout_step *step, struct dtc_decoder *decoder)
{
	uint64_t at = dtc_align_bits(decoder->at, step->field->align);
	uint64_t length = decoder->slots[step->source];
	if (at > decoder->end || length > (decoder->end - at) / step->element_bits)
		return false;
	decoder->at = at + length * step->element_bits;
	return true;
}

bool dtc_steps_pass_field(const struct dtc_layout_step *step, struct dtc_decoder *decoder)
{
	const struct dtc_layout *inner;
	uint32_t option;
	gsize bytes;
	switch ((enum dtc_step_kind)step->kind) {
	case DTC_STEP_RUN:
		return true;
	case DTC_STEP_STRING:
		return dtc_decode_string(decoder, step->field, &bytes) != NULL;
	case DTC_STEP_LIST:
		return pass_list(step, decoder);
	case DTC_STEP_VARIANT:
		if (!dtc_steps_select(step, decoder, &option, &inner))
			return false;
		return step->options[option] ? dtc_steps_pass(step->options[option], decoder)
					     : dtc_decode_pass(decoder, inner);
	default:
		return dtc_decode_pass(decoder, step->field);
	}
}

bool dtc_steps_pass(const struct dtc_steps *steps, struct dtc_decoder *decoder)
{
	for (guint i = 0; i < steps->count; i++) {
		const struct dtc_layout_step *step = &steps->steps[i];
		uint64_t begin;
		if (!dtc_step_begin(step, decoder, &begin))
			return false;
		dtc_step_take_lengths(steps, step, decoder, begin);
		decoder->at = begin + step->run_bits;
		if (!dtc_steps_pass_field(step, decoder))
			return false;
	}
	return true;
}
