/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/summary_image.h"

/* Strings are numbers of one list; NO_STRING: NULL. */
#define NO_STRING UINT32_MAX

struct saved_share {
	uint32_t tier, node, process, detail;
	uint32_t cause;
	uint32_t spare;
	int64_t ns;
};

struct saved_tier {
	uint32_t tier, node, process;
	uint32_t spare;
	int64_t ns;
};

struct saved_row {
	uint32_t id, method, url, node, comm, process, tier;
	int32_t status;
	int32_t pid, tid;
	uint32_t share_count, tier_count;
	int64_t begin_ns, duration_ns;
	uint32_t is_complete, is_anonymous;
	/* the verdict */
	uint32_t is_single, single, family;
	uint32_t machine, waited_for, waited_tier, waited_candidate;
	uint32_t spare;
	int64_t waited_ns, waited_tier_ns, waited_candidate_ns;
};

/* ---- saving ---- */

struct saving {
	GPtrArray *strings;
	GHashTable *numbers; /* address of a string, of which a summary has each once -> its number + 1 */
};

static uint32_t save_string(const struct saving *saving, const char *string)
{
	guint number = string ? GPOINTER_TO_UINT(g_hash_table_lookup(saving->numbers, string)) : 0;

	if (!string)
		return NO_STRING;
	if (!number) {
		g_ptr_array_add(saving->strings, (gpointer)string);
		number = saving->strings->len;
		g_hash_table_insert(saving->numbers, (gpointer)string, GUINT_TO_POINTER(number));
	}
	return number - 1;
}

static void save_verdict(struct saved_row *saved, const struct dtc_report_verdict *verdict, const struct saving *saving)
{
	saved->is_single = verdict->is_single;
	saved->single = verdict->single;
	saved->family = (uint32_t)verdict->family;
	saved->machine = save_string(saving, verdict->machine);
	saved->waited_for = save_string(saving, verdict->waited_for);
	saved->waited_tier = save_string(saving, verdict->waited_tier);
	saved->waited_candidate = save_string(saving, verdict->waited_candidate);
	saved->waited_ns = verdict->waited_ns;
	saved->waited_tier_ns = verdict->waited_tier_ns;
	saved->waited_candidate_ns = verdict->waited_candidate_ns;
}

static struct saved_row save_row(const struct dtc_summary_row *row, const struct saving *saving)
{
	struct saved_row saved = {
		.id = save_string(saving, row->id),
		.method = save_string(saving, row->method),
		.url = save_string(saving, row->url),
		.node = save_string(saving, row->node),
		.comm = save_string(saving, row->comm),
		.process = save_string(saving, row->process),
		.tier = save_string(saving, row->tier),
		.status = row->status,
		.pid = row->pid,
		.tid = row->tid,
		.share_count = row->share_count,
		.tier_count = row->tier_count,
		.begin_ns = row->begin_ns,
		.duration_ns = row->duration_ns,
		.is_complete = row->complete,
		.is_anonymous = row->is_anonymous,
	};
	save_verdict(&saved, &row->verdict, saving);
	return saved;
}

static void save_parts(const DtcSummary *summary, const struct dtc_summary_row *row, const struct saving *saving,
		       GArray *shares, GArray *tiers)
{
	for (guint i = 0; i < row->share_count; i++) {
		const struct dtc_share *share = dtc_summary_get_share(summary, row, i);
		const struct saved_share saved = {
			save_string(saving, share->tier),
			save_string(saving, share->node),
			save_string(saving, share->process),
			save_string(saving, share->detail),
			(uint32_t)share->cause,
			0,
			share->ns,
		};
		g_array_append_val(shares, saved);
	}
	for (guint i = 0; i < row->tier_count; i++) {
		const struct dtc_tier_share *tier = dtc_summary_get_tier(summary, row, i);
		const struct saved_tier saved = { save_string(saving, tier->tier), save_string(saving, tier->node),
						  save_string(saving, tier->process), 0, tier->ns };
		g_array_append_val(tiers, saved);
	}
}

void dtc_summary_save(const DtcSummary *summary, DtcImageWriter *writer)
{
	g_autoptr(GPtrArray) strings = g_ptr_array_new();
	g_autoptr(GHashTable) numbers = g_hash_table_new(g_direct_hash, g_direct_equal);
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct saved_row));
	g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(struct saved_share));
	g_autoptr(GArray) tiers = g_array_new(FALSE, FALSE, sizeof(struct saved_tier));
	const struct saving saving = { strings, numbers };

	for (guint i = 0; i < summary->rows->len; i++) {
		const struct dtc_summary_row *row = &g_array_index(summary->rows, struct dtc_summary_row, i);
		const struct saved_row saved = save_row(row, &saving);
		g_array_append_val(rows, saved);
		save_parts(summary, row, &saving, shares, tiers);
	}
	dtc_image_add_copy(writer, "summary.rows", sizeof(struct saved_row), rows->data, rows->len);
	dtc_image_add_copy(writer, "summary.shares", sizeof(struct saved_share), shares->data, shares->len);
	dtc_image_add_copy(writer, "summary.tiers", sizeof(struct saved_tier), tiers->data, tiers->len);
	dtc_image_add_strings(writer, "summary.strings", (const char *const *)strings->pdata, strings->len);
}

/* ---- loading ---- */

struct loading {
	DtcSummary *summary;
	const struct saved_row *rows;
	const struct saved_share *shares;
	const struct saved_tier *tiers;
	gsize row_count, share_count, tier_count, string_count;
	const char **strings;
	const char **kept; /* the same in the summary; NULL: not yet */
};

static bool get_sections(struct loading *loading, const DtcImage *image, GError **error)
{
	loading->rows = dtc_image_get(image, "summary.rows", sizeof(struct saved_row), &loading->row_count, error);
	if (loading->rows)
		loading->shares = dtc_image_get(image, "summary.shares", sizeof(struct saved_share),
						&loading->share_count, error);
	if (loading->shares)
		loading->tiers =
			dtc_image_get(image, "summary.tiers", sizeof(struct saved_tier), &loading->tier_count, error);
	if (loading->tiers)
		loading->strings = dtc_image_get_strings(image, "summary.strings", &loading->string_count, error);
	return loading->strings != NULL;
}

static bool is_there(const struct loading *loading, uint32_t string)
{
	return string < loading->string_count;
}

static bool is_there_or_none(const struct loading *loading, uint32_t string)
{
	return string == NO_STRING || string < loading->string_count;
}

static bool is_row(const struct loading *loading, const struct saved_row *row)
{
	return is_there(loading, row->id) && is_there_or_none(loading, row->method) &&
	       is_there_or_none(loading, row->url) && is_there_or_none(loading, row->node) &&
	       is_there_or_none(loading, row->comm) && is_there_or_none(loading, row->process) &&
	       is_there_or_none(loading, row->tier) && is_there_or_none(loading, row->machine) &&
	       is_there_or_none(loading, row->waited_for) && is_there_or_none(loading, row->waited_tier) &&
	       is_there_or_none(loading, row->waited_candidate);
}

/* Every number in it means something, and the rows have all of the parts. */
static bool is_whole(const struct loading *loading)
{
	guint64 shares = 0, tiers = 0;

	for (gsize i = 0; i < loading->row_count; i++) {
		if (!is_row(loading, &loading->rows[i]))
			return false;
		shares += loading->rows[i].share_count;
		tiers += loading->rows[i].tier_count;
	}
	for (gsize i = 0; i < loading->share_count; i++) {
		const struct saved_share *share = &loading->shares[i];
		if (!is_there(loading, share->tier) || !is_there_or_none(loading, share->node) ||
		    !is_there_or_none(loading, share->process) || !is_there_or_none(loading, share->detail))
			return false;
	}
	for (gsize i = 0; i < loading->tier_count; i++) {
		const struct saved_tier *tier = &loading->tiers[i];
		if (!is_there(loading, tier->tier) || !is_there_or_none(loading, tier->node) ||
		    !is_there_or_none(loading, tier->process))
			return false;
	}
	return shares == loading->share_count && tiers == loading->tier_count;
}

static const char *load_string(const struct loading *loading, uint32_t string)
{
	if (string == NO_STRING)
		return NULL;
	if (!loading->kept[string])
		loading->kept[string] =
			g_string_chunk_insert_const(loading->summary->strings, loading->strings[string]);
	return loading->kept[string];
}

static struct dtc_report_verdict load_verdict(const struct loading *loading, const struct saved_row *saved)
{
	return (struct dtc_report_verdict){
		.is_single = saved->is_single != 0,
		.single = saved->single,
		.machine = load_string(loading, saved->machine),
		.family = (enum dtc_family)saved->family,
		.waited_for = load_string(loading, saved->waited_for),
		.waited_tier = load_string(loading, saved->waited_tier),
		.waited_ns = saved->waited_ns,
		.waited_tier_ns = saved->waited_tier_ns,
		.waited_candidate = load_string(loading, saved->waited_candidate),
		.waited_candidate_ns = saved->waited_candidate_ns,
	};
}

static void load_row(const struct loading *loading, const struct saved_row *saved)
{
	DtcSummary *summary = loading->summary;
	const struct dtc_summary_row row = {
		.id = load_string(loading, saved->id),
		.method = load_string(loading, saved->method),
		.url = load_string(loading, saved->url),
		.status = saved->status,
		.node = load_string(loading, saved->node),
		.comm = load_string(loading, saved->comm),
		.process = load_string(loading, saved->process),
		.tier = load_string(loading, saved->tier),
		.pid = saved->pid,
		.tid = saved->tid,
		.begin_ns = saved->begin_ns,
		.duration_ns = saved->duration_ns,
		.share_first = summary->shares->len,
		.share_count = saved->share_count,
		.tier_first = summary->tiers->len,
		.tier_count = saved->tier_count,
		.verdict = load_verdict(loading, saved),
		.complete = saved->is_complete != 0,
		.is_anonymous = saved->is_anonymous != 0,
	};

	g_array_append_val(summary->rows, row);
}

/* Of the next row. */
static void load_parts(struct loading *loading, const struct saved_row *row)
{
	for (guint i = 0; i < row->share_count; i++) {
		const struct saved_share *saved = loading->shares++;
		const struct dtc_share share = { .tier = load_string(loading, saved->tier),
						 .node = load_string(loading, saved->node),
						 .process = load_string(loading, saved->process),
						 .detail = load_string(loading, saved->detail),
						 .cause = (enum dtc_cause)saved->cause,
						 .ns = saved->ns };
		dtc_table_append(loading->summary->shares, &share);
	}
	for (guint i = 0; i < row->tier_count; i++) {
		const struct saved_tier *saved = loading->tiers++;
		const struct dtc_tier_share tier = { load_string(loading, saved->tier),
						     load_string(loading, saved->node),
						     load_string(loading, saved->process), saved->ns };
		dtc_table_append(loading->summary->tiers, &tier);
	}
}

bool dtc_summary_load(DtcSummary *summary, const DtcImage *image, GError **error)
{
	struct loading loading = { .summary = summary };

	if (!get_sections(&loading, image, error))
		return false;
	g_autofree const char **strings = loading.strings;
	if (!is_whole(&loading))
		return dtc_image_refuse(image, error, "a row in it is none");
	g_autofree const char **kept = g_new0(const char *, loading.string_count + 1);
	loading.kept = kept;
	for (gsize i = 0; i < loading.row_count; i++) {
		load_row(&loading, &loading.rows[i]);
		load_parts(&loading, &loading.rows[i]);
	}
	return true;
}
