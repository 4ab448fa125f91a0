/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/fast/forms.h"

#define MAX_FORMS 64
#define MAX_WAYS 256
#define MAX_DEPTH 256
#define MAX_FIELDS 16384 /* of all forms */

/* Members that come next, and where it goes on after them. */
struct todo {
	const struct dtc_layout *structure;
	guint next; /* 0: it was not entered */
	const struct todo *after;
};

/* The place that was come to. */
struct place {
	uint32_t align, bits;
	guint stretch;
	guint depth; /* of calls */
};

struct maker {
	GArray *forms, *ways, *fields;
	GArray *trail; /* struct dtc_form_field: the fields before the place */
};

static int add_fields(struct maker *maker, struct place place, struct todo here);

static bool align_place(struct place *place, uint32_t align)
{
	if (place->bits == 0)
		place->align = MAX(place->align, align);
	place->bits = (uint32_t)dtc_align_bits(place->bits, align);
	return align <= place->align;
}

static void note_field(struct maker *maker, const struct place *place, const struct dtc_layout *layout, guint option)
{
	struct dtc_form_field field = { layout, place->bits, option, place->stretch };
	g_array_append_val(maker->trail, field);
}

/* The number in this stretch whose value is in a slot. */
static bool find_number(const struct maker *maker, const struct place *place, int32_t slot,
			struct dtc_step_number *ret_number)
{
	for (guint i = maker->trail->len; i > 0; i--) {
		const struct dtc_form_field *field = &g_array_index(maker->trail, struct dtc_form_field, i - 1);
		if (field->stretch != place->stretch)
			return false;
		if (field->layout->slot == slot && field->layout->kind == DTC_TYPE_INTEGER)
			return dtc_step_make_number(field->layout, place->align, field->at, 0, ret_number);
	}
	return false;
}

/* The number of a new way from the place on; -1: there are too many. */
static int begin_way(struct maker *maker, const struct place *place, enum dtc_form_way_kind kind)
{
	struct dtc_form_way way = { .kind = (uint8_t)kind, .align = place->align, .bits = place->bits };
	if (maker->ways->len == MAX_WAYS || place->align % 8 != 0)
		return -1;
	memset(way.next, 0xff, sizeof(way.next));
	g_array_append_val(maker->ways, way);
	return (int)maker->ways->len - 1;
}

static struct dtc_form_way *get_way(const struct maker *maker, int number)
{
	return &g_array_index(maker->ways, struct dtc_form_way, number);
}

static int end_form(struct maker *maker, const struct place *place)
{
	const GArray *trail = maker->trail;
	struct dtc_form form = { place->stretch + 1, maker->fields->len, trail->len };
	int number = begin_way(maker, place, DTC_WAY_END);
	if (number < 0 || maker->forms->len == MAX_FORMS || trail->len > MAX_FIELDS - maker->fields->len)
		return -1;
	g_array_append_val(maker->forms, form);
	g_array_append_vals(maker->fields, trail->data, trail->len);
	get_way(maker, number)->form = (uint8_t)maker->forms->len;
	return number;
}

/* What comes after a field of any length, in a new stretch, of which it is known that it begins at such a bit. */
static int begin_stretch(struct maker *maker, const struct place *place, int number, uint32_t align, struct todo here)
{
	int next = add_fields(maker, (struct place){ align, 0, place->stretch + 1, place->depth + 1 }, here);
	get_way(maker, number)->next[0] = (int16_t)next;
	return next < 0 ? -1 : number;
}

static int add_string(struct maker *maker, struct place *place, const struct dtc_layout *string, struct todo here)
{
	if (string->type->unit_bytes > 1 || !align_place(place, string->align) || place->bits % 8 != 0)
		return -1;
	int number = begin_way(maker, place, DTC_WAY_STRING);
	note_field(maker, place, string, 0);
	return number < 0 ? -1 : begin_stretch(maker, place, number, 8, here);
}

static int add_list(struct maker *maker, struct place *place, const struct dtc_layout *list, struct todo here)
{
	const struct dtc_layout *element = list->element;
	struct dtc_step_number length;
	if (element->fixed_bits <= 0 || element->fixed_bits % element->align != 0 || !align_place(place, list->align) ||
	    !find_number(maker, place, list->source, &length))
		return -1;
	int number = begin_way(maker, place, DTC_WAY_LIST);
	if (number < 0)
		return -1;
	get_way(maker, number)->number = length;
	get_way(maker, number)->element_bits = (uint32_t)element->fixed_bits;
	note_field(maker, place, list, 0);
	bool is_bytes = place->bits % 8 == 0 && element->fixed_bits % 8 == 0;
	return begin_stretch(maker, place, number, is_bytes ? 8 : 1, here);
}

/* What an option of a variant holds, and what comes after it. */
static int add_option(struct maker *maker, const struct place *place, const struct dtc_layout *variant, guint option,
		      const struct todo *here)
{
	const struct dtc_layout *inner = variant->members[option].layout;
	struct place inside = *place;
	guint before = maker->trail->len;
	inside.depth++;
	if (inner->kind != DTC_TYPE_STRUCT)
		return -1;
	note_field(maker, place, variant, option);
	int number = add_fields(maker, inside, (struct todo){ inner, 0, here });
	g_array_set_size(maker->trail, before);
	return number;
}

static int add_variant(struct maker *maker, struct place *place, const struct dtc_layout *variant, struct todo here)
{
	struct dtc_step_number selector;
	int8_t options[DTC_STEP_OPTIONS];
	if (!align_place(place, variant->align) || !find_number(maker, place, variant->source, &selector))
		return -1;
	int number = begin_way(maker, place, DTC_WAY_VARIANT);
	if (number < 0)
		return -1;
	get_way(maker, number)->number = selector;
	dtc_step_list_options(variant, options);
	for (guint value = 0; value < DTC_STEP_OPTIONS; value++) {
		guint same = 0;
		while (options[same] != options[value])
			same++;
		int next = options[value] < 0 ? -1
			   : same < value     ? get_way(maker, number)->next[same]
					      : add_option(maker, place, variant, (guint)options[value], &here);
		get_way(maker, number)->next[value] = (int16_t)next;
	}
	return number;
}

static bool add_fixed(struct maker *maker, struct place *place, const struct dtc_layout *field, uint32_t bits)
{
	if (bits >= G_MAXINT32 - place->bits - field->align || maker->trail->len == MAX_FIELDS ||
	    !align_place(place, field->align))
		return false;
	note_field(maker, place, field, 0);
	place->bits += bits;
	return true;
}

static int add_varying(struct maker *maker, struct place *place, const struct dtc_layout *field, struct todo here)
{
	switch (field->kind) {
	case DTC_TYPE_STRING:
		return add_string(maker, place, field, here);
	case DTC_TYPE_SEQUENCE:
		return add_list(maker, place, field, here);
	case DTC_TYPE_VARIANT:
		return add_variant(maker, place, field, here);
	case DTC_TYPE_STRUCT:
		place->depth++;
		return add_fields(maker, *place, (struct todo){ field, 0, &here });
	default:
		return -1;
	}
}

/* All that is to come from the place on; the number of the way there, -1: it has none. */
static int add_fields(struct maker *maker, struct place place, struct todo here)
{
	if (place.depth > MAX_DEPTH)
		return -1;
	for (;;) {
		uint32_t bits;
		if (here.next == 0 && !align_place(&place, here.structure->align))
			return -1;
		if (here.next == here.structure->member_count) {
			if (!here.after)
				return end_form(maker, &place);
			here = *here.after;
			continue;
		}
		const struct dtc_layout *field = here.structure->members[here.next++].layout;
		if (!dtc_step_is_fixed(field, &bits))
			return add_varying(maker, &place, field, here);
		if (!add_fixed(maker, &place, field, bits))
			return -1;
	}
}

static bool add_all(struct maker *maker, const struct dtc_layout *const *structures, guint count)
{
	struct todo todo[8];
	const struct todo *after = NULL;
	g_assert(count <= G_N_ELEMENTS(todo));
	for (guint i = count; i > 0; i--) {
		if (!structures[i - 1])
			continue;
		if (structures[i - 1]->kind != DTC_TYPE_STRUCT)
			return false;
		todo[i - 1] = (struct todo){ structures[i - 1], 0, after };
		after = &todo[i - 1];
	}
	return after && add_fields(maker, (struct place){ .align = 1 }, *after) >= 0 && maker->forms->len > 0;
}

struct dtc_forms *dtc_forms_new(const struct dtc_layout *const *structures, guint count)
{
	struct maker maker = {
		.forms = g_array_new(FALSE, TRUE, sizeof(struct dtc_form)),
		.ways = g_array_new(FALSE, TRUE, sizeof(struct dtc_form_way)),
		.fields = g_array_sized_new(FALSE, TRUE, sizeof(struct dtc_form_field), 1),
		.trail = g_array_new(FALSE, TRUE, sizeof(struct dtc_form_field)),
	};
	struct dtc_forms *forms = g_new0(struct dtc_forms, 1);
	bool is_good = add_all(&maker, structures, count);
	forms->count = maker.forms->len;
	forms->list = (struct dtc_form *)(void *)g_array_free(maker.forms, FALSE);
	forms->ways = (struct dtc_form_way *)(void *)g_array_free(maker.ways, FALSE);
	forms->fields = (struct dtc_form_field *)(void *)g_array_free(maker.fields, FALSE);
	g_array_unref(maker.trail);
	if (!is_good)
		g_clear_pointer(&forms, dtc_forms_free);
	return forms;
}

void dtc_forms_free(struct dtc_forms *forms)
{
	if (!forms)
		return;
	g_free(forms->list);
	g_free(forms->ways);
	g_free(forms->fields);
	g_free(forms);
}

/* ---- passing ---- */

/* Of so many bytes of an event from a place on. */
static void add_check(struct dtc_form_guess *guess, const uint8_t *data, uint64_t begin, uint64_t at, uint64_t mask)
{
	uint64_t word;
	if (guess->count == DTC_FORM_CHECKS) {
		guess->class = G_MAXUINT;
		return;
	}
	memcpy(&word, data + at, sizeof(word));
	guess->checks[guess->count++] = (struct dtc_form_check){ mask, word & mask, (uint32_t)(at - begin) };
}

static void check_bytes(struct dtc_form_guess *guess, const uint8_t *data, uint64_t begin, uint64_t at, uint64_t bytes)
{
	for (; bytes > 0 && guess->class != G_MAXUINT; at += 8) {
		uint64_t mask = 0, count = MIN(bytes, sizeof(mask));
		memset(&mask, 0xff, count);
		add_check(guess, data, begin, at, mask);
		bytes -= count;
	}
}

static void check_number(struct dtc_form_guess *guess, const uint8_t *data, uint64_t begin, uint64_t at,
			 const struct dtc_step_number *number)
{
	uint64_t mask = (~UINT64_C(0) >> number->right) << (number->right - number->left);
	add_check(guess, data, begin, at, number->is_big_endian ? GUINT64_TO_BE(mask) : GUINT64_TO_LE(mask));
}

/* From a place of an event to the begin of the stretch that is next, or the same one; NULL: that is not known. */
static const struct dtc_form_way *follow(const struct dtc_forms *forms, const struct dtc_form_way *way,
					 const uint8_t *data, uint64_t first, uint64_t end, uint64_t *begin,
					 struct dtc_form_guess *guess)
{
	uint64_t to = *begin + way->bits, at = *begin / 8 + way->number.at, word;
	if (way->kind == DTC_WAY_STRING) {
		const uint8_t *text = data + to / 8;
		const uint8_t *zero = (const uint8_t *)memchr(text, 0, (end - to - DTC_FORM_SLACK_BITS) / 8);
		if (!zero) /* or near the packet's end */
			return NULL;
		*begin = to + (uint64_t)(zero + 1 - text) * 8;
		check_bytes(guess, data, first / 8, to / 8, (uint64_t)(zero + 1 - text));
		return &forms->ways[way->next[0]];
	}
	memcpy(&word, data + at, sizeof(word));
	uint64_t value = dtc_step_extract(word, &way->number);
	check_number(guess, data, first / 8, at, &way->number);
	if (way->kind == DTC_WAY_LIST) {
		if (value > (end - to) / way->element_bits)
			return NULL;
		*begin = to + value * way->element_bits;
		return &forms->ways[way->next[0]];
	}
	return value < DTC_STEP_OPTIONS && way->next[value] >= 0 ? &forms->ways[way->next[value]] : NULL;
}

bool dtc_forms_pass(const struct dtc_forms *forms, guint class, const uint8_t *data, uint64_t at, uint64_t end,
		    struct dtc_form_guess *guess, struct dtc_formed *ret)
{
	const struct dtc_form_way *way = forms->ways;
	uint64_t first = dtc_align_bits(at, way->align), begin = first;
	*guess = (struct dtc_form_guess){ .class = class, .align = way->align };
	while (way) {
		begin = dtc_align_bits(begin, way->align);
		uint64_t to = begin + way->bits, last = (begin - first) / 8;
		if (to + DTC_FORM_SLACK_BITS > end)
			break;
		if (way->kind == DTC_WAY_END) {
			guess->form = way->form;
			guess->last = (uint16_t)last;
			guess->bits = to - first;
			*ret = (struct dtc_formed){ to, guess->last, guess->form };
			if (last > UINT16_MAX)
				break;
			return true;
		}
		way = follow(forms, way, data, first, end, &begin, guess);
	}
	guess->class = G_MAXUINT;
	return false;
}
