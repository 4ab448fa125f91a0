/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sync/fit/saved.h"

#include "collect/bundle/output.h"
#include "dtrace-chain/error.h"
#include "sync.pb-c.h"
#include "sync/fit/clocks.h"
#include "sync/match/match.h"

#include <math.h>
#include <string.h>

#define MAGIC "DTCSYNC1\n"
#define MAGIC_BYTES (sizeof(MAGIC) - 1)
#define NS_PER_S 1000000000
/* A hand-written rate beyond this is a slip of the pen. */
#define PPM_LIMIT 100000.0

/* --- writing ---------------------------------------------------------------------------------------------------- */

static void fill_node(DtraceChain__NodeClock *node, const DtcClocks *clocks, guint index, const char *name,
		      DtraceChain__ClockKnot *knots, DtraceChain__ClockKnot **pointers)
{
	guint count;
	const struct dtc_clock_knot *from = dtc_clocks_get_knots(clocks, index, &count);
	dtrace_chain__node_clock__init(node);
	node->name = (char *)name;
	node->group = dtc_clocks_get_group(clocks, index);
	node->spread = dtc_clocks_get_spread(clocks, index);
	node->n_knots = count;
	node->knots = pointers;
	for (guint k = 0; k < count; k++) {
		dtrace_chain__clock_knot__init(&knots[k]);
		knots[k].node_ns = from[k].node_ns;
		knots[k].cluster_ns = from[k].cluster_ns;
		knots[k].lo_ns = from[k].lo_ns;
		knots[k].hi_ns = from[k].hi_ns;
		pointers[k] = &knots[k];
	}
}

/* One group's bounds as messages; everything is freed with the array that owns it. */
static DtraceChain__GroupBands *make_bounds(const DtcPairBounds *from, guint group, GPtrArray *owned)
{
	guint knots = dtc_pair_bounds_get_knot_count(from), count = dtc_pair_bounds_get_pair_count(from);
	DtraceChain__GroupBands *to = g_new(DtraceChain__GroupBands, 1);
	DtraceChain__PairBand *pairs = g_new(DtraceChain__PairBand, count + 1);
	DtraceChain__PairBand **pointers = g_new(DtraceChain__PairBand *, count + 1);
	int64_t *times = g_new(int64_t, (gsize)knots * (1 + 2 * (gsize)count)), *at = times;
	g_ptr_array_add(owned, to);
	g_ptr_array_add(owned, pairs);
	g_ptr_array_add(owned, pointers);
	g_ptr_array_add(owned, times);
	dtrace_chain__group_bands__init(to);
	to->group = group;
	to->n_cluster_ns = knots;
	to->cluster_ns = at;
	for (guint k = 0; k < knots; k++)
		*at++ = dtc_pair_bounds_get_knot(from, k);
	to->n_pairs = count;
	to->pairs = pointers;
	for (guint p = 0; p < count; p++) {
		struct dtc_node_pair pair = dtc_pair_bounds_get_pair(from, p);
		dtrace_chain__pair_band__init(&pairs[p]);
		pointers[p] = &pairs[p];
		pairs[p].a = pair.a;
		pairs[p].b = pair.b;
		pairs[p].n_lo_ns = pairs[p].n_hi_ns = knots;
		pairs[p].lo_ns = at;
		pairs[p].hi_ns = at + knots;
		for (guint k = 0; k < knots; k++) {
			struct dtc_bound bound = dtc_pair_bounds_get(from, k, p);
			pairs[p].lo_ns[k] = bound.lo_ns;
			pairs[p].hi_ns[k] = bound.hi_ns;
		}
		at += 2 * (gsize)knots;
	}
	return to;
}

bool dtc_clocks_save(const DtcClocks *clocks, const char *const *names, const char *path, GError **error)
{
	guint node_count = dtc_clocks_get_node_count(clocks), count;
	gsize knot_count = 0, used = 0;
	for (guint i = 0; i < node_count; i++) {
		dtc_clocks_get_knots(clocks, i, &count);
		knot_count += count;
	}
	g_autofree DtraceChain__NodeClock *nodes = g_new(DtraceChain__NodeClock, node_count + 1);
	g_autofree DtraceChain__NodeClock **node_pointers = g_new(DtraceChain__NodeClock *, node_count + 1);
	g_autofree DtraceChain__ClockKnot *knots = g_new(DtraceChain__ClockKnot, knot_count + 1);
	g_autofree DtraceChain__ClockKnot **knot_pointers = g_new(DtraceChain__ClockKnot *, knot_count + 1);
	for (guint i = 0; i < node_count; i++) {
		fill_node(&nodes[i], clocks, i, names[i], knots + used, knot_pointers + used);
		used += nodes[i].n_knots;
		node_pointers[i] = &nodes[i];
	}
	DtraceChain__Alignment alignment = DTRACE_CHAIN__ALIGNMENT__INIT;
	alignment.reference = node_count ? (char *)names[dtc_clocks_get_reference(clocks)] : (char *)"";
	alignment.n_nodes = node_count;
	alignment.nodes = node_pointers;
	g_autoptr(GPtrArray) owned = g_ptr_array_new_with_free_func(g_free), bounds = g_ptr_array_new();
	for (guint group = 0; group <= node_count; group++) {
		const DtcPairBounds *from = dtc_clocks_get_pair_bounds(clocks, group);
		if (from)
			g_ptr_array_add(bounds, make_bounds(from, group, owned));
	}
	alignment.n_bands = bounds->len;
	alignment.bands = (DtraceChain__GroupBands **)bounds->pdata;
	gsize size = MAGIC_BYTES + dtrace_chain__alignment__get_packed_size(&alignment);
	g_autofree uint8_t *bytes = g_malloc(size);
	memcpy(bytes, MAGIC, MAGIC_BYTES);
	dtrace_chain__alignment__pack(&alignment, bytes + MAGIC_BYTES);
	return dtc_output_write(path, bytes, size, error);
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

static guint find_name(const char *const *names, guint count, const char *name)
{
	guint i = 0;
	while (i < count && strcmp(names[i], name) != 0)
		i++;
	return i;
}

static bool is_valid(const DtraceChain__NodeClock *node)
{
	if (!node->n_knots || node->n_knots > G_MAXINT32 || !dtc_clock_is_spread(node->spread))
		return false;
	for (gsize k = 0; k < node->n_knots; k++) {
		const DtraceChain__ClockKnot *knot = node->knots[k], *last = k ? node->knots[k - 1] : NULL;
		if (!dtc_match_is_time(knot->node_ns) || !dtc_match_is_time(knot->cluster_ns) ||
		    !dtc_match_is_time(knot->lo_ns) || !dtc_match_is_time(knot->hi_ns) ||
		    knot->lo_ns > knot->cluster_ns || knot->cluster_ns > knot->hi_ns ||
		    (last && (last->node_ns >= knot->node_ns || last->cluster_ns >= knot->cluster_ns)))
			return false;
	}
	return true;
}

static void set_damaged(GError **error, const char *path, const char *what)
{
	g_set_error(error, DTC_SYNC_ERROR, DTC_ERROR_DAMAGED,
		    "'%s' is not a saved alignment: %s\nwrite it again with %s", path, what,
		    "`dtrace-chain sync --save FILE`");
}

static bool are_valid_bounds(const DtraceChain__GroupBands *bounds, gsize place_count)
{
	if (!bounds->n_cluster_ns || bounds->n_cluster_ns > G_MAXINT32 || bounds->n_pairs > G_MAXINT32)
		return false;
	for (gsize k = 0; k < bounds->n_cluster_ns; k++)
		if (!dtc_match_is_time(bounds->cluster_ns[k]) ||
		    (k && bounds->cluster_ns[k - 1] >= bounds->cluster_ns[k]))
			return false;
	for (gsize p = 0; p < bounds->n_pairs; p++) {
		const DtraceChain__PairBand *pair = bounds->pairs[p];
		if (pair->a >= place_count || pair->b >= place_count || pair->a == pair->b ||
		    pair->n_lo_ns != bounds->n_cluster_ns || pair->n_hi_ns != bounds->n_cluster_ns)
			return false;
		for (gsize k = 0; k < bounds->n_cluster_ns; k++)
			if (pair->lo_ns[k] > pair->hi_ns[k] || pair->lo_ns[k] >= DTC_BOUND_UNKNOWN_NS ||
			    pair->hi_ns[k] <= -DTC_BOUND_UNKNOWN_NS)
				return false;
	}
	return true;
}

/* Pairs of which both nodes were asked for; place[i] is the node at place i of the file, count if it was not. */
static DtcPairBounds *take_bounds(const DtraceChain__GroupBands *from, const guint *place, guint count)
{
	g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(struct dtc_node_pair));
	g_autoptr(GPtrArray) taken = g_ptr_array_new();
	for (gsize p = 0; p < from->n_pairs; p++) {
		struct dtc_node_pair pair = { place[from->pairs[p]->a], place[from->pairs[p]->b] };
		if (pair.a == count || pair.b == count)
			continue;
		g_array_append_val(pairs, pair);
		g_ptr_array_add(taken, from->pairs[p]);
	}
	DtcPairBounds *bounds =
		dtc_pair_bounds_new(from->cluster_ns, (guint)from->n_cluster_ns,
				    (const struct dtc_node_pair *)(const void *)pairs->data, pairs->len);
	for (guint p = 0; p < pairs->len; p++) {
		const DtraceChain__PairBand *pair = taken->pdata[p];
		for (guint k = 0; k < from->n_cluster_ns; k++)
			dtc_pair_bounds_set(bounds, k, p, (struct dtc_bound){ pair->lo_ns[k], pair->hi_ns[k] });
	}
	return bounds;
}

/* Groups as saved, but the first node's that is asked for becomes 0 if the saved reference is not among the names. */
static DtcClocks *take_alignment(const DtraceChain__Alignment *alignment, const char *path, const char *const *names,
				 guint count, GError **error)
{
	guint reference = find_name(names, count, alignment->reference), main_group = 0;
	g_autofree const DtraceChain__NodeClock **found = g_new0(const DtraceChain__NodeClock *, count + 1);
	g_autofree guint *place = g_new(guint, alignment->n_nodes + 1);
	for (gsize i = 0; i < alignment->n_nodes; i++) {
		guint node = find_name(names, count, alignment->nodes[i]->name);
		if (!is_valid(alignment->nodes[i])) {
			set_damaged(error, path, "its knots are out of order or range");
			return NULL;
		}
		if (node < count)
			found[node] = alignment->nodes[i];
		place[i] = node;
	}
	for (gsize i = 0; i < alignment->n_bands; i++) {
		if (!are_valid_bounds(alignment->bands[i], alignment->n_nodes)) {
			set_damaged(error, path, "its bands are out of order or range");
			return NULL;
		}
	}
	for (guint i = 0; i < count && reference == count; i++) {
		if (found[i] && found[i]->group == 0)
			reference = i;
	}
	for (guint i = 0; i < count && reference == count; i++) {
		if (found[i]) {
			reference = i;
			main_group = found[i]->group;
		}
	}
	if (reference == count) {
		g_set_error(error, DTC_SYNC_ERROR, DTC_ERROR_NOT_FOUND,
			    "no node of the bundle is in '%s'\nit was saved for another bundle", path);
		return NULL;
	}
	DtcClocks *clocks = dtc_clocks_new(count, reference);
	guint others = 1;
	for (gsize i = 0; i < alignment->n_nodes; i++)
		others = MAX(others, MIN(alignment->nodes[i]->group, (guint)G_MAXINT32) + 1);
	for (guint i = 0; i < count; i++) {
		if (!found[i])
			continue;
		g_autofree struct dtc_clock_knot *knots = g_new(struct dtc_clock_knot, found[i]->n_knots);
		for (gsize k = 0; k < found[i]->n_knots; k++)
			knots[k] = (struct dtc_clock_knot){ found[i]->knots[k]->node_ns, found[i]->knots[k]->cluster_ns,
							    found[i]->knots[k]->lo_ns, found[i]->knots[k]->hi_ns };
		dtc_clocks_set_node(clocks, i, found[i]->group == main_group ? 0 : found[i]->group, knots,
				    (guint)found[i]->n_knots, found[i]->spread);
	}
	for (guint i = 0; i < count; i++) {
		struct dtc_clock_knot origin = { 0, 0, 0, 0 };
		if (!found[i])
			dtc_clocks_set_node(clocks, i, others++, &origin, 1, 0);
	}
	for (gsize i = 0; i < alignment->n_bands; i++) {
		guint group = alignment->bands[i]->group == main_group ? 0 : alignment->bands[i]->group;
		if (group <= count && !dtc_clocks_get_pair_bounds(clocks, group))
			dtc_clocks_take_pair_bounds(clocks, group, take_bounds(alignment->bands[i], place, count));
	}
	return clocks;
}

/* Signed decimal with a unit into nanoseconds, exactly; *end is set behind it. */
static bool parse_span(const char *text, int64_t *ret_ns, const char **end)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", NS_PER_S } };
	bool negative = *text == '-';
	const char *at = text + (*text == '-' || *text == '+');
	const char *digits = at;
	__int128 whole = 0, part = 0;
	int decimals = 0;
	for (; g_ascii_isdigit(*at); at++) {
		whole = whole * 10 + (*at - '0');
		if (whole > DTC_MATCH_TIME_LIMIT)
			return false;
	}
	if (at == digits)
		return false;
	if (*at == '.') {
		for (at++; g_ascii_isdigit(*at); at++) {
			if (decimals == 9)
				continue;
			part = part * 10 + (*at - '0');
			decimals++;
		}
	}
	for (guint i = 0; i < G_N_ELEMENTS(units); i++) {
		gsize length = strlen(units[i].name);
		if (strncmp(at, units[i].name, length) != 0 || g_ascii_isalpha(at[length]))
			continue;
		__int128 ns = part * units[i].ns;
		while (decimals-- > 0)
			ns /= 10;
		ns += whole * units[i].ns;
		if (ns >= DTC_MATCH_TIME_LIMIT)
			return false;
		*ret_ns = negative ? -(int64_t)ns : (int64_t)ns;
		*end = at + length;
		return true;
	}
	return false;
}

struct written {
	bool is_given;
	int64_t offset_ns, error_ns;
	double rate;
};

/* "OFFSET [RATEppm] [~ERROR]"; NULL, or what is wrong. Caller owns. */
static char *parse_line(char **words, struct written *ret_written)
{
	struct written written = { .is_given = true };
	const char *end;
	if (!words[0])
		return g_strdup("has no offset");
	if (!parse_span(words[0], &written.offset_ns, &end) || *end)
		return g_strdup_printf("has '%s' where an offset with a unit is expected", words[0]);
	for (char **word = words + 1; *word; word++) {
		if (**word == '~') {
			if (!parse_span(*word + 1, &written.error_ns, &end) || *end || written.error_ns < 0)
				return g_strdup_printf("has '%s' where ~ and a span with a unit are expected", *word);
		} else {
			char *unit;
			double ppm = g_ascii_strtod(*word, &unit);
			if (unit == *word || strcmp(unit, "ppm") != 0 || !(fabs(ppm) <= PPM_LIMIT))
				return g_strdup_printf("has '%s', which is neither a rate in ppm nor ~ and a span",
						       *word);
			written.rate = ppm * 1e-6;
		}
	}
	*ret_written = written;
	return NULL;
}

static bool parse_text(const char *text, const char *path, const char *const *names, guint count,
		       struct written *written, guint *ret_reference, bool *ret_has_reference, GError **error)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i]; i++) {
		char *comment = strchr(lines[i], '#');
		if (comment)
			*comment = '\0';
		g_auto(GStrv) all = g_strsplit_set(lines[i], " \t\r", -1);
		g_autoptr(GPtrArray) words = g_ptr_array_new();
		for (char **word = all; *word; word++)
			if (**word)
				g_ptr_array_add(words, *word);
		g_ptr_array_add(words, NULL);
		char **word = (char **)words->pdata;
		if (!word[0])
			continue;
		bool is_reference = strcmp(word[0], "reference") == 0 && word[1] && !word[2];
		guint node = find_name(names, count, is_reference ? word[1] : word[0]);
		struct written line;
		g_autofree char *wrong = is_reference ? NULL : parse_line(word + 1, &line);
		if (is_reference && *ret_has_reference)
			wrong = g_strdup("names a second reference");
		else if (!wrong && !is_reference && node < count && written[node].is_given)
			wrong = g_strdup_printf("is the second one for '%s'", word[0]);
		if (wrong) {
			g_set_error(error, DTC_SYNC_ERROR, DTC_ERROR_DAMAGED,
				    "line %u of '%s' %s\nexpected 'NODE OFFSET [RATEppm] [~ERROR]', e.g. %s", i + 1,
				    path, wrong, "'web +37.5s 51ppm ~20us'");
			return false;
		}
		if (is_reference) {
			*ret_reference = node;
			*ret_has_reference = true;
		} else if (node < count) {
			written[node] = line; /* nodes that were not selected may be in the file too */
		}
	}
	return true;
}

static DtcClocks *read_text(const char *text, const char *path, const char *const *names, const int64_t *begin_ns,
			    guint count, GError **error)
{
	guint reference = count, given = 0;
	bool has_reference = false;
	g_autofree struct written *written = g_new0(struct written, count + 1);
	if (!parse_text(text, path, names, count, written, &reference, &has_reference, error))
		return NULL;
	for (guint i = 0; i < count; i++) {
		given += written[i].is_given;
		if (!has_reference && reference == count && !written[i].is_given)
			reference = i;
	}
	if (!given && reference >= count) {
		g_set_error(error, DTC_SYNC_ERROR, DTC_ERROR_NOT_FOUND,
			    "no node of the bundle is in '%s'\nexpected 'NODE OFFSET [RATEppm] [~ERROR]'", path);
		return NULL;
	}
	/* a reference that was not selected still is whose time the others are on */
	bool is_here = reference < count;
	for (guint i = 0; i < count && reference == count; i++)
		if (written[i].is_given)
			reference = i;
	DtcClocks *clocks = dtc_clocks_new(count, reference);
	for (guint i = 0; i < count; i++) {
		/* a second knot a thousand seconds later carries the rate */
		const int64_t run = 1000 * (int64_t)NS_PER_S;
		int64_t begin = dtc_match_is_time(begin_ns[i]) ? begin_ns[i] : 0, at = begin - written[i].offset_ns;
		if ((is_here && i == reference) || !written[i].is_given || !dtc_match_is_time(at))
			continue;
		int64_t later = at + run - llrint((double)run * written[i].rate / (1 + written[i].rate));
		int64_t more = written[i].error_ns;
		struct dtc_clock_knot knots[2] = { { begin, at, at - more, at + more },
						   { begin + run, later, later - more, later + more } };
		dtc_clocks_set_node(clocks, i, 0, knots, 2, 0);
	}
	return clocks;
}

DtcClocks *dtc_clocks_read_file(const char *path, const char *const *names, const int64_t *begin_ns, guint node_count,
				GError **error)
{
	g_autoptr(GError) cause = NULL;
	g_autofree char *bytes = NULL;
	gsize size;
	if (!g_file_get_contents(path, &bytes, &size, &cause)) {
		g_set_error(error, DTC_SYNC_ERROR, DTC_ERROR_UNREADABLE,
			    "cannot read '%s': %s\n--sync takes a file that %s", path, cause->message,
			    "`dtrace-chain sync --save FILE` wrote, or a text");
		return NULL;
	}
	if (size < MAGIC_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0) {
		if (memchr(bytes, '\0', size) || !g_utf8_validate(bytes, (gssize)size, NULL)) {
			set_damaged(error, path, "neither its form nor a text");
			return NULL;
		}
		return read_text(bytes, path, names, begin_ns, node_count, error);
	}
	DtraceChain__Alignment *alignment =
		dtrace_chain__alignment__unpack(NULL, size - MAGIC_BYTES, (const uint8_t *)bytes + MAGIC_BYTES);
	if (!alignment) {
		set_damaged(error, path, "it is cut off or damaged");
		return NULL;
	}
	DtcClocks *clocks = take_alignment(alignment, path, names, node_count, error);
	dtrace_chain__alignment__free_unpacked(alignment, NULL);
	return clocks;
}
