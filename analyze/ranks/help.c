/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/ranks/help.h"

#include "analyze/ranks/parts.h"

struct DtcHelp {
	int end;
	guint generation;
	guint rank_count;
	bool *helps; /* by rank */
	GMutex lock;
	/* under the lock */
	bool was_called;
	GBytes *found[DTC_OWNERS_FOUND_COUNT]; /* NULL: not yet */
	bool *wants[DTC_OWNERS_FOUND_COUNT];   /* by rank: it waits for that */
	DtcParts *parts;		       /* NULL: nothing is shared yet */
	guint *waiting;			       /* by rank: parts that it waits for */
	bool is_over;			       /* nothing more is shared */
};

DtcHelp *dtc_help_new(int end, guint generation, guint rank_count, const bool *helps)
{
	DtcHelp *help = g_new0(DtcHelp, 1);

	help->end = end;
	help->generation = generation;
	help->rank_count = rank_count;
	help->helps = g_memdup2(helps, rank_count * sizeof(*helps));
	help->waiting = g_new0(guint, rank_count + 1);
	for (guint i = 0; i < DTC_OWNERS_FOUND_COUNT; i++)
		help->wants[i] = g_new0(bool, rank_count + 1);
	g_mutex_init(&help->lock);
	return help;
}

bool dtc_help_has_any(const DtcHelp *help)
{
	for (guint rank = 0; rank < help->rank_count; rank++)
		if (help->helps[rank])
			return true;
	return false;
}

static struct dtc_letter make_letter(const DtcHelp *help, enum dtc_letter_type type, guint rank, guint of)
{
	return (struct dtc_letter){
		.type = type, .rank = rank, .asker = rank, .generation = help->generation, .of = of, .is_squeezed = 1
	};
}

bool dtc_help_call(DtcHelp *help, GVariant *what)
{
	g_autoptr(GVariant) owned = g_variant_ref_sink(what);
	bool is_sent = true;

	g_mutex_lock(&help->lock);
	for (guint rank = 0; rank < help->rank_count && !help->was_called; rank++)
		if (help->helps[rank] && is_sent)
			is_sent =
				dtc_letter_send_variant(help->end, make_letter(help, DTC_LETTER_HELP, rank, 0), owned);
	help->was_called = true;
	g_mutex_unlock(&help->lock);
	return is_sent;
}

/* ---- what was found ---- */

static bool tell_found(DtcHelp *help, guint rank, enum dtc_owners_found what)
{
	struct dtc_letter letter = make_letter(help, DTC_LETTER_FOUND, rank, what);

	help->wants[what][rank] = false;
	letter.all = g_bytes_get_size(help->found[what]);
	return dtc_letter_send(help->end, &letter, NULL);
}

void dtc_help_give(DtcHelp *help, enum dtc_owners_found what, GBytes *image)
{
	g_mutex_lock(&help->lock);
	if (!help->found[what])
		help->found[what] = g_bytes_ref(image);
	for (guint rank = 0; rank < help->rank_count; rank++)
		if (help->wants[what][rank])
			(void)tell_found(help, rank, what);
	g_mutex_unlock(&help->lock);
}

static bool handle_want(DtcHelp *help, guint rank, guint what)
{
	if (what >= DTC_OWNERS_FOUND_COUNT)
		return true;
	help->wants[what][rank] = true;
	return !help->found[what] || tell_found(help, rank, (enum dtc_owners_found)what);
}

static bool send_pages(const DtcHelp *help, struct dtc_letter letter)
{
	GBytes *image = letter.of < DTC_OWNERS_FOUND_COUNT ? help->found[letter.of] : NULL;
	gsize bytes = 0;
	const char *data = image ? g_bytes_get_data(image, &bytes) : NULL;
	guint64 end = letter.at + letter.all;

	if (!data || end < letter.at || end > bytes)
		return true;
	letter.type = DTC_LETTER_PAGES;
	letter.asker = letter.rank;
	letter.is_squeezed = 1;
	for (; letter.at < end; letter.at += letter.bytes) {
		letter.bytes = (uint32_t)MIN(end - letter.at, DTC_LETTER_DATA_MAX);
		if (!dtc_letter_send(help->end, &letter, data + letter.at))
			return false;
	}
	return true;
}

/* ---- parts ---- */

static bool send_part(DtcHelp *help, guint rank)
{
	guint part = help->is_over ? DTC_PARTS_NONE : dtc_parts_give(help->parts, rank);
	struct dtc_letter letter =
		make_letter(help, DTC_LETTER_PART, rank, part == DTC_PARTS_NONE ? DTC_LETTER_NO_PART : part);

	return dtc_letter_send(help->end, &letter, NULL);
}

/* To those that wait for some. */
static void send_parts(DtcHelp *help)
{
	for (guint rank = 0; rank < help->rank_count; rank++)
		for (; help->waiting[rank]; help->waiting[rank]--)
			(void)send_part(help, rank);
}

static bool handle_work(DtcHelp *help, guint rank)
{
	if (help->parts || help->is_over)
		return send_part(help, rank);
	help->waiting[rank]++;
	return true;
}

bool dtc_help_handle(DtcHelp *help, const struct dtc_letter *letter, GBytes *message)
{
	bool is_sent = true;

	if (letter->rank >= help->rank_count)
		return true;
	g_mutex_lock(&help->lock);
	switch (letter->type) {
	case DTC_LETTER_WANT:
		is_sent = handle_want(help, letter->rank, letter->of);
		break;
	case DTC_LETTER_FETCH_FOUND:
		is_sent = send_pages(help, *letter);
		break;
	case DTC_LETTER_WORK:
		is_sent = handle_work(help, letter->rank);
		break;
	case DTC_LETTER_MADE:
		if (help->parts && message)
			dtc_parts_put(help->parts, letter->of, message);
		break;
	default:
		break;
	}
	g_mutex_unlock(&help->lock);
	return is_sent;
}

/* What a helper made of it may be of no use; what is made here is. */
static bool use(const struct dtc_owners_work *work, guint part, GBytes *made, GError **error)
{
	if (work->take(work->data, made, NULL))
		return true;
	g_autoptr(GBytes) again = work->make(work->data, part, error);
	return again && work->take(work->data, again, error);
}

/* Of those that have come. */
static bool use_some(DtcHelp *help, DtcParts *parts, const struct dtc_owners_work *work, GError **error)
{
	GBytes *made;
	guint part;

	do {
		g_mutex_lock(&help->lock);
		made = dtc_parts_take(parts, &part);
		g_mutex_unlock(&help->lock);
		g_autoptr(GBytes) owned = made;
		if (owned && !use(work, part, owned, error))
			return false;
	} while (made);
	return true;
}

static bool do_parts(DtcHelp *help, DtcParts *parts, const struct dtc_owners_work *work, GError **error)
{
	while (use_some(help, parts, work, error)) {
		g_mutex_lock(&help->lock);
		guint part = dtc_parts_give_last(parts);
		g_mutex_unlock(&help->lock);
		if (part == DTC_PARTS_NONE)
			return use_some(help, parts, work, error);
		g_autoptr(GBytes) made = work->make(work->data, part, error);
		if (!made)
			return false;
		g_mutex_lock(&help->lock);
		dtc_parts_put(parts, part, made);
		g_mutex_unlock(&help->lock);
	}
	return false;
}

bool dtc_help_share(DtcHelp *help, const struct dtc_owners_work *work, GError **error)
{
	g_autoptr(DtcParts) parts = dtc_parts_new(work->part_count, help->rank_count);

	g_mutex_lock(&help->lock);
	if (!help->is_over)
		help->parts = parts;
	send_parts(help);
	g_mutex_unlock(&help->lock);
	bool is_done = do_parts(help, parts, work, error);
	g_mutex_lock(&help->lock);
	help->is_over = true;
	help->parts = NULL;
	send_parts(help);
	g_mutex_unlock(&help->lock);
	return is_done;
}
