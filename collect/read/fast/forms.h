/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The forms that events of a class can have: each is one choice of all variants in them. Fields of fixed size lie at
 * places that are known from a begin: that of the event, or the end of a string or list before them. What lies behind
 * one begin is a stretch. Whoever goes from begin to begin, and at selectors of variants the way that they say, comes
 * to an event's end and knows its form then, and what is in an event of a known form is found without another look at
 * lengths and selectors.
 *
 * Classes that have fields of other kinds, or too many forms, have none, and single events may have none of their
 * class's: those are for steps.h, which passes everything.
 */
#pragma once

#include "collect/read/fast/steps.h"

enum dtc_form_way_kind { DTC_WAY_END, DTC_WAY_STRING, DTC_WAY_LIST, DTC_WAY_VARIANT };

/* How it goes on from a place of an event. */
struct dtc_form_way {
	uint8_t kind;			/* enum dtc_form_way_kind */
	uint8_t form;			/* at the end */
	uint32_t align;			/* of the stretch */
	uint32_t bits;			/* from its begin to here */
	uint32_t element_bits;		/* of a list */
	struct dtc_step_number number;	/* a list's length, a variant's selector */
	int16_t next[DTC_STEP_OPTIONS]; /* by the selector's value, -1: not known; else the first is meant */
};

/* A field of an event of a form. */
struct dtc_form_field {
	const struct dtc_layout *layout;
	uint32_t at;	 /* bits from the stretch's begin */
	uint32_t option; /* of a variant: which one it is */
	guint stretch;
};

struct dtc_form {
	guint stretch_count;
	guint field_first, field_count; /* those in structures inside of it, too */
};

struct dtc_forms {
	guint count;		   /* they are numbered from 1 */
	struct dtc_form *list;	   /* from 0 */
	struct dtc_form_way *ways; /* the first is the begin's */
	struct dtc_form_field *fields;
};

/* The structures one behind the other, NULL among them, as events of a class; NULL: it has no forms. Caller owns. */
struct dtc_forms *dtc_forms_new(const struct dtc_layout *const *structures, guint count);
void dtc_forms_free(struct dtc_forms *forms);

/* An event that was passed. */
struct dtc_formed {
	uint64_t end;  /* bits */
	uint16_t last; /* bytes from its begin, which is aligned, to that of its last stretch */
	uint8_t form;
};

/* Behind what is looked at there is as much in the packet, so that words can be loaded anywhere. */
#define DTC_FORM_SLACK_BITS 128

#define DTC_FORM_CHECKS 6

/* Bytes that say that an event is as long, and of the same form, as the one before it. */
struct dtc_form_check {
	uint64_t mask, value;
	uint32_t at; /* bytes from the event's begin */
};

/*
 * How the last event of a class was: the next one often has the same texts, lengths and selectors. That it has them can
 * be told with no look that waits for another one, while the way to an event's end goes from place to place.
 */
struct dtc_form_guess {
	guint class; /* whose; not this one: nothing is known */
	guint count;
	uint32_t align;
	uint8_t form;
	uint16_t last;
	uint64_t bits;
	struct dtc_form_check checks[DTC_FORM_CHECKS];
};

/*
 * Goes to the end of an event of a class, and remembers how; false if it has no form, or the packet's end (bits) is too
 * near.
 */
bool dtc_forms_pass(const struct dtc_forms *forms, guint class, const uint8_t *data, uint64_t at, uint64_t end,
		    struct dtc_form_guess *guess, struct dtc_formed *ret);

/* The same with what was remembered; false if the event may be another. */
static inline bool dtc_form_guess_holds(const struct dtc_form_guess *guess, guint class, const uint8_t *data,
					uint64_t at, uint64_t end, struct dtc_formed *ret)
{
	uint64_t begin = dtc_align_bits(at, guess->align), to = begin + guess->bits, other = 0;
	const struct dtc_form_check *check = guess->checks, *behind = check + guess->count;
	if (guess->class != class || to + DTC_FORM_SLACK_BITS > end)
		return false;
	for (; check < behind; check++) {
		uint64_t word;
		memcpy(&word, data + begin / 8 + check->at, sizeof(word));
		other |= (word & check->mask) ^ check->value;
	}
	*ret = (struct dtc_formed){ to, guess->last, guess->form };
	return other == 0;
}
