/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two panels a pair. The first shows what was measured: each message is the difference of two readings, and the clocks'
 * difference runs between the messages one way, which lie above it, and those the other way, which lie below. A
 * straight line is taken off, or a drift of microseconds per second would hide everything else. The second shows the
 * same messages against the chosen line, as close as the certified band is wide.
 *
 * A drawing stays below a few megabytes whatever was recorded: pairs and nodes up to a limit, the least certain ones
 * first, and of the messages in each column those next to the line and a few others.
 */
#include "analyze/report/svg_panel.h"
#include "analyze/report/sync_view.h"
#include "analyze/report/units.h"
#include "sync/fit/clocks.h"

#include <dtrace-chain/sort.h>

#include <math.h>
#include <stdlib.h>

#define PAIRS_SHOWN 12
#define NODES_SHOWN 24
#define UNALIGNED_SHOWN 12
#define TRIMMED_SHOWN 200
#define WIDTH 960
#define LEFT 92
#define PANEL_WIDTH (WIDTH - LEFT - 24)
#define CLOUD_HEIGHT 210
#define RESIDUAL_HEIGHT 150
#define NODE_HEIGHT 110
#define AXIS_HEIGHT 44
/* Columns of a panel; each keeps so many messages of each direction nearest to the line, and so many others. */
#define COLUMNS 280
#define NEAREST 2
#define OTHERS 3
#define SAMPLES 240
#define RATES 48
#define LEAST_RATE_RANGE_PPB 50
/* Knots that are closer than this on the reference's clock are the two sides of a step. */
#define STEP_NS 1000
#define NAME_CHARACTERS 40

/* One of a pair's messages, or of its hulls' corners. */
struct dot {
	double x;	 /* ns since the begin of the pair's messages */
	double measured; /* difference of the clocks that it says, beyond the straight line */
	double left;	 /* cluster time of the receive minus that of the send; negative for messages from b to a */
	bool is_first;	 /* of a hull */
};

/* The chosen line and the band around it. */
struct sample {
	double x;
	double line;   /* beyond the straight line */
	double lo, hi; /* bounds of the residual of two readings at one instant */
};

struct scene {
	GString *out;
	const DtcSync *sync;
	const DtcClocks *clocks;
	const struct dtc_sync_pair *pair;
	int64_t begin_cluster_ns;
	int64_t offset_ns; /* the straight line: b minus a at pair->begin_ns... */
	double slope;	   /* ...and its growth */
};

/* Plain colours first, since not every viewer knows variables; those of a dark screen replace them. */
static const char style[] =
	"<style>\n"
	"svg{font:12px sans-serif}.bg{fill:#fff}.t{fill:#16191d}.s{fill:#59626d}.h{font-weight:bold;font-size:14px}\n"
	".m{text-anchor:middle}.e{text-anchor:end}.grid{stroke:#e4e7eb}.frame{fill:none;stroke:#9aa3ad}\n"
	".band{fill:#9aa3ad;fill-opacity:.28;stroke:#9aa3ad}.ab,.ba,.hab,.hba,.line,.step,.cut{fill:none}\n"
	".ab{stroke:#0b62c4;stroke-width:2.8;stroke-linecap:round}.ba{stroke:#b5480b;stroke-width:1.1}\n"
	".hab{stroke:#0b62c4;stroke-width:1.2}.hba{stroke:#b5480b;stroke-width:1.2;stroke-dasharray:5 3}\n"
	".line{stroke:#16191d;stroke-width:1.6}.step{stroke:#16191d;stroke-dasharray:1 3;stroke-width:1.5}\n"
	".cut{stroke:#c00030;stroke-width:1.8}\n"
	"@media (prefers-color-scheme:dark){.bg{fill:#14181d}.t{fill:#e8ebee}.s{fill:#a3adb8}.grid{stroke:#2a3037}\n"
	".frame{stroke:#56606b}.band{fill:#56606b;stroke:#56606b;fill-opacity:.4}.ab,.hab{stroke:#6fb0ff}\n"
	".ba,.hba{stroke:#ffa45c}.line,.step{stroke:#e8ebee}.cut{stroke:#ff6b81}}\n"
	"</style>\n";

/* --- what is drawn of a pair ------------------------------------------------------------------------------------ */

static int64_t get_difference(const struct scene *scene, int64_t a_ns)
{
	DtcClusterTime at = dtc_clocks_to_cluster(scene->clocks, scene->pair->a, (DtcNodeTime){ a_ns });
	return dtc_clocks_to_node(scene->clocks, scene->pair->b, at).ns - a_ns;
}

static double beyond_straight(const struct scene *scene, int64_t a_ns, int64_t difference_ns)
{
	return (double)(difference_ns - scene->offset_ns) - scene->slope * (double)(a_ns - scene->pair->begin_ns);
}

/* The two readings that a message, or a corner of a hull, sets against each other. */
static struct dot make_dot(const struct scene *scene, int64_t a_ns, int64_t b_ns)
{
	int64_t on_a = dtc_clocks_to_cluster_ns(scene->clocks, scene->pair->a, a_ns);
	int64_t on_b = dtc_clocks_to_cluster_ns(scene->clocks, scene->pair->b, b_ns);
	return (struct dot){
		.x = (double)(on_a - scene->begin_cluster_ns),
		.measured = beyond_straight(scene, a_ns, b_ns - a_ns),
		.left = (double)(on_b - on_a),
	};
}

static GArray *collect_messages(const struct scene *scene, const struct dtc_message *messages, guint count, bool is_ab)
{
	GArray *dots = g_array_sized_new(FALSE, FALSE, sizeof(struct dot), count);
	for (guint i = 0; i < count; i++) {
		struct dot dot = make_dot(scene, is_ab ? messages[i].sent_ns : messages[i].received_ns,
					  is_ab ? messages[i].received_ns : messages[i].sent_ns);
		g_array_append_val(dots, dot);
	}
	return dots;
}

static GArray *collect_hull(const struct scene *scene, bool is_ab)
{
	GArray *dots = g_array_new(FALSE, FALSE, sizeof(struct dot));
	for (guint i = 0; i < scene->pair->corner_count; i++) {
		const struct dtc_sync_corner *corner = &scene->pair->corners[i];
		struct dot dot = make_dot(scene, corner->a_ns, corner->b_ns);
		dot.is_first = corner->is_first;
		if (corner->is_ab == is_ab)
			g_array_append_val(dots, dot);
	}
	return dots;
}

static GArray *collect_trimmed(const struct scene *scene)
{
	GArray *dots = g_array_new(FALSE, FALSE, sizeof(struct dot));
	for (guint i = 0; i < MIN(scene->pair->trimmed_count, TRIMMED_SHOWN); i++) {
		const struct dtc_sync_trimmed *trimmed = &scene->pair->trimmed[i];
		bool is_ab = trimmed->from == scene->pair->a;
		struct dot dot = make_dot(scene, is_ab ? trimmed->sent_ns : trimmed->received_ns,
					  is_ab ? trimmed->received_ns : trimmed->sent_ns);
		g_array_append_val(dots, dot);
	}
	return dots;
}

/* The map over the pair's span, and right before and after its steps. */
static GArray *collect_samples(const struct scene *scene)
{
	const struct dtc_sync_pair *pair = scene->pair;
	g_autoptr(GArray) instants = g_array_new(FALSE, FALSE, sizeof(int64_t));
	for (guint i = 0; i <= SAMPLES; i++) {
		int64_t a_ns = pair->begin_ns + (int64_t)((__int128)(pair->end_ns - pair->begin_ns) * i / SAMPLES);
		g_array_append_val(instants, a_ns);
	}
	for (guint i = 0; i < pair->step_count; i++) {
		int64_t both[2] = { pair->steps[i].a_ns, pair->steps[i].a_ns + 1 };
		g_array_append_vals(instants, both, 2);
	}
	g_array_sort(instants, dtc_compare_int64);
	GArray *samples = g_array_new(FALSE, FALSE, sizeof(struct sample));
	for (guint i = 0; i < instants->len; i++) {
		int64_t a_ns = g_array_index(instants, int64_t, i), lo = 0, hi = 0;
		DtcClusterTime at = dtc_clocks_to_cluster(scene->clocks, pair->a, (DtcNodeTime){ a_ns });
		dtc_clocks_get_difference(scene->clocks, pair->a, pair->b, at, &lo, &hi);
		/* readings at one instant are apart by what the maps are wrong, the other way round */
		struct sample sample = { (double)(at.ns - scene->begin_cluster_ns),
					 beyond_straight(scene, a_ns, get_difference(scene, a_ns)), -(double)hi,
					 -(double)lo };
		g_array_append_val(samples, sample);
	}
	return samples;
}

/* Thins messages to what can be seen, nearest to the line first; what one column lacks another does not get. */
static GArray *thin(const GArray *dots, double length)
{
	struct column {
		guint nearest[NEAREST]; /* index plus one */
		guint others;
	};
	g_autofree struct column *columns = g_new0(struct column, COLUMNS);
	GArray *kept = g_array_new(FALSE, FALSE, sizeof(struct dot));
	for (guint pass = 0; pass < 2; pass++) {
		for (guint i = 0; i < dots->len; i++) {
			const struct dot *dot = &g_array_index(dots, struct dot, i);
			struct column *column = &columns[(guint)CLAMP(dot->x / length * COLUMNS, 0, COLUMNS - 1)];
			guint place = 0;
			if (pass == 0) {
				while (place < NEAREST && column->nearest[place] &&
				       fabs(g_array_index(dots, struct dot, column->nearest[place] - 1).left) <=
					       fabs(dot->left))
					place++;
				for (guint k = NEAREST - 1; k > place; k--)
					column->nearest[k] = column->nearest[k - 1];
				if (place < NEAREST)
					column->nearest[place] = i + 1;
				continue;
			}
			while (place < NEAREST && column->nearest[place] != i + 1)
				place++;
			if (place < NEAREST || column->others++ < OTHERS)
				g_array_append_val(kept, *dot);
		}
	}
	return kept;
}

/* How far from the line nine of ten messages lie at most. */
static double get_usual_distance(const GArray *dots)
{
	g_autofree double *sizes = g_new(double, dots->len + 1);
	for (guint i = 0; i < dots->len; i++)
		sizes[i] = fabs(g_array_index(dots, struct dot, i).left);
	dtc_sort_double(sizes, dots->len);
	return dots->len ? sizes[(dots->len - 1) * 9 / 10] : 0;
}

/* --- drawing a pair --------------------------------------------------------------------------------------------- */

static void append_dots(GString *out, const struct dtc_svg_panel *panel, const GArray *dots, bool is_residual,
			bool is_ab)
{
	g_string_append_printf(out, "<path class=\"%s\" d=\"", is_ab ? "ab" : "ba");
	for (guint i = 0; i < dots->len; i++) {
		const struct dot *dot = &g_array_index(dots, struct dot, i);
		double x = dtc_svg_panel_get_x(panel, dot->x);
		double y = dtc_svg_panel_get_y(panel, is_residual ? dot->left : dot->measured);
		if (y < -3 || y > panel->height + 3)
			continue;
		/* round points one way, open angles the other: to be told apart without colour */
		if (is_ab)
			g_string_append_printf(out, "M%g %gh0", x, y);
		else
			g_string_append_printf(out, "M%g %gl2-3 2 3", x - 2, y + 1.5);
	}
	g_string_append(out, "\"/>\n");
}

static void append_hull(GString *out, const struct dtc_svg_panel *panel, const GArray *corners, bool is_residual,
			bool is_ab)
{
	g_string_append_printf(out, "<path class=\"%s\" d=\"", is_ab ? "hab" : "hba");
	for (guint i = 0; i < corners->len; i++) {
		const struct dot *corner = &g_array_index(corners, struct dot, i);
		g_string_append_printf(out, "%c%g %g", i == 0 || corner->is_first ? 'M' : 'L',
				       dtc_svg_panel_get_x(panel, corner->x),
				       dtc_svg_panel_get_y(panel, is_residual ? corner->left : corner->measured));
	}
	g_string_append(out, "\"/>\n");
}

static void append_band(GString *out, const struct dtc_svg_panel *panel, const GArray *samples, bool is_residual)
{
	g_string_append(out, "<path class=\"band\" d=\"M");
	for (guint side = 0; side < 2; side++) {
		for (guint i = 0; i < samples->len; i++) {
			const struct sample *sample =
				&g_array_index(samples, struct sample, side ? samples->len - 1 - i : i);
			double line = is_residual ? 0 : sample->line;
			g_string_append_printf(out, "%g %g ", dtc_svg_panel_get_x(panel, sample->x),
					       dtc_svg_panel_get_y(panel, line + (side ? sample->lo : sample->hi)));
		}
	}
	g_string_append(out, "Z\"/>\n");
}

static void append_line(GString *out, const struct dtc_svg_panel *panel, const GArray *samples, bool is_residual)
{
	g_string_append(out, "<path class=\"line\" d=\"M");
	for (guint i = 0; i < samples->len; i++) {
		const struct sample *sample = &g_array_index(samples, struct sample, i);
		g_string_append_printf(out, "%g %g ", dtc_svg_panel_get_x(panel, sample->x),
				       dtc_svg_panel_get_y(panel, is_residual ? 0 : sample->line));
	}
	g_string_append(out, "\"/>\n");
}

/* What lies beyond the frame is an arrowhead at its edge. */
static void append_trimmed(GString *out, const struct dtc_svg_panel *panel, const GArray *trimmed, bool is_residual)
{
	if (!trimmed->len)
		return;
	g_string_append(out, "<path class=\"cut\" d=\"");
	for (guint i = 0; i < trimmed->len; i++) {
		const struct dot *dot = &g_array_index(trimmed, struct dot, i);
		double x = dtc_svg_panel_get_x(panel, dot->x);
		double y = dtc_svg_panel_get_y(panel, is_residual ? dot->left : dot->measured);
		if (y < 0)
			g_string_append_printf(out, "M%g 9l4-7 4 7z", x - 4);
		else if (y > panel->height)
			g_string_append_printf(out, "M%g %dl4 7 4-7z", x - 4, panel->height - 9);
		else
			g_string_append_printf(out, "M%g %gl7 7m0-7l-7 7", x - 3.5, y - 3.5);
	}
	g_string_append(out, "\"/>\n");
}

static void append_steps(const struct scene *scene, const struct dtc_svg_panel *panel, bool has_text)
{
	for (guint i = 0; i < scene->pair->step_count; i++) {
		const struct dtc_sync_step *step = &scene->pair->steps[i];
		DtcClusterTime at = dtc_clocks_to_cluster(scene->clocks, scene->pair->a, (DtcNodeTime){ step->a_ns });
		double x = dtc_svg_panel_get_x(panel, (double)(at.ns - scene->begin_cluster_ns));
		g_string_append_printf(scene->out, "<path class=\"step\" d=\"M%g 0V%d\"/>\n", x, panel->height);
		if (!has_text)
			continue;
		g_autofree char *size = dtc_duration_format(ABS(step->change_ns));
		g_autofree char *text = g_strdup_printf("step %s%s", step->change_ns < 0 ? "−" : "+", size);
		bool is_right = x > panel->width * 0.8;
		dtc_svg_append_text(scene->out, x + (is_right ? -4 : 4), 13, is_right ? "t e" : "t", text);
	}
}

static char *get_name(const DtcSync *sync, guint node)
{
	g_autofree char *valid = g_utf8_make_valid(dtc_sync_get_node_name(sync, node), -1);
	if (g_utf8_strlen(valid, -1) <= NAME_CHARACTERS)
		return g_steal_pointer(&valid);
	g_autofree char *cut = g_utf8_substring(valid, 0, NAME_CHARACTERS - 1);
	return g_strdup_printf("%s…", cut);
}

static void append_heading(const struct scene *scene, int top)
{
	const struct dtc_sync_pair *pair = scene->pair;
	g_autofree char *a = get_name(scene->sync, pair->a), *b = get_name(scene->sync, pair->b);
	g_autofree char *title = g_strdup_printf("%s ↔ %s", a, b);
	g_autofree char *widths[3] = { 0 };
	dtc_svg_append_text(scene->out, LEFT, top, "t h", title);
	for (guint i = 0; i < 3; i++)
		widths[i] = dtc_duration_format(pair->width_ns[i] / 2);
	g_autofree char *numbers =
		g_strdup_printf("%" G_GUINT64_FORMAT " messages there, %" G_GUINT64_FORMAT
				" back; %u left out, %u %s; certified ±%s at "
				"the start, ±%s in the middle, ±%s at the end",
				pair->messages_ab, pair->messages_ba, pair->trimmed_count, pair->step_count,
				pair->step_count == 1 ? "step" : "steps", widths[0], widths[1], widths[2]);
	for (guint i = 0; i < 3; i++)
		g_clear_pointer(&widths[i], g_free);
	dtc_svg_append_text(scene->out, LEFT, top + 17, "s", numbers);
	g_autofree char *straight = g_strdup_printf(
		"straight line: clock of %s − clock of %s = %+.9f s at the first message, %+.6g µs more every "
		"second",
		b, a, (double)scene->offset_ns / 1e9, scene->slope * 1e6);
	dtc_svg_append_text(scene->out, LEFT, top + 33, "s", straight);
}

/* How far the bounds are from the line in most places: not around steps and not at the ends. */
static double get_usual_bound(const GArray *samples)
{
	if (!samples->len)
		return 1;
	g_autofree double *bounds = g_new(double, samples->len);
	for (guint i = 0; i < samples->len; i++) {
		const struct sample *sample = &g_array_index(samples, struct sample, i);
		bounds[i] = MAX(sample->hi, -sample->lo);
	}
	dtc_sort_double(bounds, samples->len);
	return MAX(bounds[(samples->len - 1) * 3 / 4], 1);
}

/* The messages but the slowest, and the band where it is not far wider. */
static void set_cloud_range(struct dtc_svg_panel *panel, const GArray *samples, const GArray *const dots[2])
{
	double bound = 1.2 * get_usual_bound(samples);
	double above = MAX(get_usual_distance(dots[0]), bound), below = MAX(get_usual_distance(dots[1]), bound);
	panel->y_begin = INFINITY;
	panel->y_end = -INFINITY;
	for (guint i = 0; i < samples->len; i++) {
		const struct sample *sample = &g_array_index(samples, struct sample, i);
		dtc_svg_panel_include(panel, sample->line + above);
		dtc_svg_panel_include(panel, sample->line - below);
	}
}

static int append_pair(GString *out, const DtcSync *sync, const struct dtc_sync_pair *pair,
		       const struct dtc_match_pair *match, int top)
{
	struct scene scene = { .out = out, .sync = sync, .clocks = dtc_sync_get_clocks(sync), .pair = pair };
	DtcClusterTime begin = dtc_clocks_to_cluster(scene.clocks, pair->a, (DtcNodeTime){ pair->begin_ns });
	DtcClusterTime end = dtc_clocks_to_cluster(scene.clocks, pair->a, (DtcNodeTime){ pair->end_ns });
	scene.begin_cluster_ns = begin.ns;
	scene.offset_ns = get_difference(&scene, pair->begin_ns);
	double gained = (double)(get_difference(&scene, pair->end_ns) - scene.offset_ns);
	for (guint i = 0; i < pair->step_count; i++)
		gained -= (double)pair->steps[i].change_ns;
	scene.slope = gained / MAX((double)(pair->end_ns - pair->begin_ns), 1);

	struct dtc_svg_panel cloud = {
		LEFT, top + 58, PANEL_WIDTH, CLOUD_HEIGHT, 0, MAX((double)(end.ns - begin.ns), 1), 0, 0
	};
	g_autoptr(GArray) samples = collect_samples(&scene), trimmed = collect_trimmed(&scene);
	g_autoptr(GArray) there = collect_messages(&scene, match->ab, match->ab_count, true);
	g_autoptr(GArray) back = collect_messages(&scene, match->ba, match->ba_count, false);
	g_autoptr(GArray) few_there = thin(there, cloud.x_end), few_back = thin(back, cloud.x_end);
	g_autoptr(GArray) hull_there = collect_hull(&scene, true), hull_back = collect_hull(&scene, false);
	set_cloud_range(&cloud, samples, (const GArray *const[2]){ there, back });
	struct dtc_svg_panel residual = cloud;
	residual.top += cloud.height + AXIS_HEIGHT;
	residual.height = RESIDUAL_HEIGHT;
	residual.y_end = 1.6 * get_usual_bound(samples);
	residual.y_begin = -residual.y_end;

	append_heading(&scene, top + 14);
	for (guint i = 0; i < 2; i++) {
		const struct dtc_svg_panel *panel = i ? &residual : &cloud;
		dtc_svg_panel_append_axes(out, panel, "time since the pair's first message",
					  i ? "residual" : "beyond the straight line", false);
		dtc_svg_panel_begin(out, panel);
		append_band(out, panel, samples, i == 1);
		append_dots(out, panel, few_there, i == 1, true);
		append_dots(out, panel, few_back, i == 1, false);
		append_hull(out, panel, hull_there, i == 1, true);
		append_hull(out, panel, hull_back, i == 1, false);
		append_line(out, panel, samples, i == 1);
		append_steps(&scene, panel, i == 0);
		append_trimmed(out, panel, trimmed, i == 1);
		dtc_svg_panel_end(out);
	}
	return residual.top + residual.height + AXIS_HEIGHT + 20;
}

/* --- drawing a node --------------------------------------------------------------------------------------------- */

/* Samples of a node's map: the distance from a straight line over its whole span, with the map's bounds. */
static GArray *collect_deviation(const DtcClocks *clocks, guint node, double *ret_slope)
{
	guint count;
	const struct dtc_clock_knot *knots = dtc_clocks_get_knots(clocks, node, &count);
	const struct dtc_clock_knot *first = &knots[0];
	*ret_slope = dtc_clocks_get_rate(clocks, node);
	GArray *samples = g_array_new(FALSE, FALSE, sizeof(struct sample));
	guint stride = MAX(1, count / SAMPLES);
	for (guint k = 0; k < count; k++) {
		/* a step is two knots right after each other */
		bool is_step = (k + 1 < count && knots[k + 1].cluster_ns - knots[k].cluster_ns < STEP_NS) ||
			       (k && knots[k].cluster_ns - knots[k - 1].cluster_ns < STEP_NS);
		if (k % stride && k + 1 < count && !is_step)
			continue;
		double x = (double)(knots[k].cluster_ns - first->cluster_ns);
		double gained =
			(double)((knots[k].node_ns - first->node_ns) - (knots[k].cluster_ns - first->cluster_ns));
		struct sample sample = { x, gained - *ret_slope * x, (double)(knots[k].cluster_ns - knots[k].hi_ns),
					 (double)(knots[k].cluster_ns - knots[k].lo_ns) };
		g_array_append_val(samples, sample);
	}
	return samples;
}

/* Mean rates over pieces that are long enough that rounding to whole nanoseconds does not show. */
static void append_rate(GString *out, struct dtc_svg_panel *panel, const GArray *samples, double slope)
{
	struct piece {
		double begin, end, rate;
	};
	g_autoptr(GString) path = g_string_new(NULL);
	g_autoptr(GArray) pieces = g_array_new(FALSE, FALSE, sizeof(struct piece));
	const struct sample *from = &g_array_index(samples, struct sample, 0);
	double least = panel->x_end / RATES;
	panel->y_begin = INFINITY;
	panel->y_end = -INFINITY;
	for (guint i = 1; i < samples->len; i++) {
		const struct sample *to = &g_array_index(samples, struct sample, i), *next = to + 1;
		bool is_last = i + 1 == samples->len, is_step = !is_last && next->x - to->x < STEP_NS;
		if (!is_last && !is_step && to->x - from->x < least)
			continue;
		struct piece piece = { from->x, to->x, (slope + (to->line - from->line) / (to->x - from->x)) * 1e9 };
		if (to->x - from->x >= least / 2 || !pieces->len) {
			g_array_append_val(pieces, piece);
			dtc_svg_panel_include(panel, piece.rate - LEAST_RATE_RANGE_PPB);
			dtc_svg_panel_include(panel, piece.rate + LEAST_RATE_RANGE_PPB);
		}
		from = to;
		if (is_step) { /* what happens there is no rate */
			from = next;
			i++;
		}
	}
	for (guint i = 0; i < pieces->len; i++) {
		const struct piece *piece = &g_array_index(pieces, struct piece, i);
		g_string_append_printf(path, "M%g %gH%g", dtc_svg_panel_get_x(panel, piece->begin),
				       dtc_svg_panel_get_y(panel, piece->rate), dtc_svg_panel_get_x(panel, piece->end));
	}
	if (!pieces->len)
		return;
	dtc_svg_panel_append_axes(out, panel, "time since the map's begin", "rate", true);
	dtc_svg_panel_begin(out, panel);
	g_string_append_printf(out, "<path class=\"line\" d=\"%s\"/>\n", path->str);
	dtc_svg_panel_end(out);
}

static int append_node(GString *out, const DtcSync *sync, guint node, int top)
{
	double slope;
	g_autoptr(GArray) samples = collect_deviation(dtc_sync_get_clocks(sync), node, &slope);
	const struct sample *last = &g_array_index(samples, struct sample, samples->len - 1);
	struct dtc_svg_panel panel = { LEFT, top + 44, PANEL_WIDTH / 2 - 50, NODE_HEIGHT, 0, MAX(last->x, 1), -1, 1 };
	for (guint i = samples->len / 8; i < samples->len - samples->len / 8; i++) {
		const struct sample *sample = &g_array_index(samples, struct sample, i);
		dtc_svg_panel_include(&panel, sample->line + 1.2 * sample->lo);
		dtc_svg_panel_include(&panel, sample->line + 1.2 * sample->hi);
	}
	g_autofree char *name = get_name(sync, node);
	g_autofree char *title = g_strdup_printf("drift of %s", name);
	dtc_svg_append_text(out, LEFT, top + 14, "t h", title);
	g_autofree char *text =
		g_strdup_printf("left: beyond a straight line of %+.4f ppm against the reference's clock, "
				"with the certified bounds; right: the rate against it",
				slope * 1e6);
	dtc_svg_append_text(out, LEFT, top + 31, "s", text);
	dtc_svg_panel_append_axes(out, &panel, "time since the map's begin", "deviation", false);
	dtc_svg_panel_begin(out, &panel);
	append_band(out, &panel, samples, false);
	append_line(out, &panel, samples, false);
	dtc_svg_panel_end(out);
	struct dtc_svg_panel rate = panel;
	rate.left += PANEL_WIDTH / 2 + 50;
	append_rate(out, &rate, samples, slope);
	return panel.top + NODE_HEIGHT + AXIS_HEIGHT + 14;
}

/* --- which, and the whole --------------------------------------------------------------------------------------- */

struct choice {
	guint index;
	bool is_odd; /* steps, or messages left out */
	int64_t width_ns;
};

static int compare_choices(const void *left, const void *right)
{
	const struct choice *p = left, *q = right;
	if (p->is_odd != q->is_odd)
		return p->is_odd ? -1 : 1;
	if (p->width_ns != q->width_ns)
		return p->width_ns > q->width_ns ? -1 : 1;
	return (p->index > q->index) - (p->index < q->index);
}

static int compare_places(const void *left, const void *right)
{
	const struct choice *p = left, *q = right;
	return (p->index > q->index) - (p->index < q->index);
}

/* Keeps limit of them, those worth a look, in their own order. */
static void choose(GArray *choices, guint limit)
{
	if (choices->len > limit) {
		g_array_sort(choices, compare_choices);
		g_array_set_size(choices, limit);
		g_array_sort(choices, compare_places);
	}
}

static int append_pairs(GString *out, const DtcSync *sync, const DtcMatches *matches, int top)
{
	g_autoptr(GArray) choices = g_array_new(FALSE, FALSE, sizeof(struct choice));
	for (guint i = 0; i < dtc_sync_get_pair_count(sync); i++) {
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
		struct choice choice = { i, pair->step_count || pair->trimmed_count, pair->width_ns[1] };
		if (pair->status == DTC_PAIR_ALIGNED)
			g_array_append_val(choices, choice);
	}
	guint count = choices->len;
	choose(choices, PAIRS_SHOWN);
	if (choices->len < count) {
		g_autofree char *text = g_strdup_printf("%u of %u aligned pairs are drawn: first those with steps or "
							"messages left out, then the least certain ones",
							choices->len, count);
		dtc_svg_append_text(out, LEFT, top + 14, "t", text);
		top += 30;
	}
	for (guint i = 0; i < choices->len; i++) {
		guint index = g_array_index(choices, struct choice, i).index;
		struct dtc_match_pair match;
		dtc_matches_get_pair(matches, index, &match);
		top = append_pair(out, sync, dtc_sync_get_pair(sync, index), &match, top);
	}
	if (!count) {
		dtc_svg_append_text(out, LEFT, top + 14, "t",
				    "No two clocks could be aligned: there is nothing to draw.");
		top += 30;
	}
	return top;
}

/* Pairs without a drawing, in words. */
static int append_unaligned(GString *out, const DtcSync *sync, int top)
{
	guint shown = 0;
	for (guint i = 0; i < dtc_sync_get_pair_count(sync) && shown < UNALIGNED_SHOWN; i++) {
		const struct dtc_sync_pair *pair = dtc_sync_get_pair(sync, i);
		if (pair->status == DTC_PAIR_ALIGNED || pair->status == DTC_PAIR_NONE)
			continue;
		g_autofree char *a = get_name(sync, pair->a), *b = get_name(sync, pair->b);
		g_autofree char *text = g_strdup_printf(
			"not drawn: %s ↔ %s is %s, %" G_GUINT64_FORMAT " messages there, %" G_GUINT64_FORMAT " back", a,
			b, dtc_pair_status_to_string(pair->status), pair->messages_ab, pair->messages_ba);
		dtc_svg_append_text(out, LEFT, top + 14, "t", text);
		top += 18;
		shown++;
	}
	return shown ? top + 12 : top;
}

static int append_nodes(GString *out, const DtcSync *sync, int top)
{
	const DtcClocks *clocks = dtc_sync_get_clocks(sync);
	g_autoptr(GArray) choices = g_array_new(FALSE, FALSE, sizeof(struct choice));
	for (guint i = 0; i < dtc_sync_get_node_count(sync); i++) {
		guint knots;
		const struct dtc_clock_knot *knot = dtc_clocks_get_knots(clocks, i, &knots) + knots / 2;
		struct choice choice = { i, false, knot->hi_ns - knot->lo_ns };
		/* who is a group's reference has a map without width */
		if (knots > 1 && choice.width_ns > 0)
			g_array_append_val(choices, choice);
	}
	guint count = choices->len;
	choose(choices, NODES_SHOWN);
	if (choices->len < count) {
		g_autofree char *text =
			g_strdup_printf("%u of %u nodes are drawn: the least certain ones", choices->len, count);
		dtc_svg_append_text(out, LEFT, top + 14, "t", text);
		top += 30;
	}
	for (guint i = 0; i < choices->len; i++)
		top = append_node(out, sync, g_array_index(choices, struct choice, i).index, top);
	return top;
}

static int append_legend(GString *out, const DtcSync *sync, int top)
{
	static const struct {
		const char *class, *path, *text;
	} items[] = {
		{ "ab", "M6-4h0m6 0h0m6 0h0", "message from the first to the second" },
		{ "ba", "M4-2.5l2-3 2 3m4 0l2-3 2 3", "message back" },
		{ "hab", "M0-4H22", "hull of those there" },
		{ "hba", "M0-4H22", "hull of those back" },
		{ "line", "M0-4H22", "chosen clock" },
		{ "band", "M0-9H22V1H0Z", "certified" },
		{ "step", "M11-11V3", "step" },
		{ "cut", "M7-8l7 7m0-7l-7 7", "left out" },
	};
	static const int places[] = { 0, 264, 396, 548, 0, 124, 224, 300 };
	g_autofree char *reference = get_name(sync, (guint)dtc_sync_get_options(sync)->reference);
	g_autofree char *title =
		g_strdup_printf("Clocks of %u nodes against %s's", dtc_sync_get_node_count(sync), reference);
	dtc_svg_append_text(out, LEFT, top + 14, "t h", title);
	for (guint i = 0; i < G_N_ELEMENTS(items); i++) {
		g_string_append_printf(out, "<g transform=\"translate(%d %d)\"><path class=\"%s\" d=\"%s\"/>",
				       LEFT + places[i], top + (i < 4 ? 38 : 56), items[i].class, items[i].path);
		dtc_svg_append_text(out, 28, 0, "s", items[i].text);
		g_string_append(out, "</g>\n");
	}
	return top + 78;
}

char *dtc_sync_to_svg(const DtcSync *sync, const DtcMatches *matches)
{
	g_autoptr(GString) body = g_string_new(NULL);
	int top = 10;
	if (dtc_sync_get_node_count(sync))
		top = append_legend(body, sync, top);
	top = append_pairs(body, sync, matches, top);
	top = append_unaligned(body, sync, top);
	top = append_nodes(body, sync, top);
	GString *out = g_string_new(NULL);
	g_string_append_printf(out,
			       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
			       "%d\">\n%s<rect class=\"bg\" width=\"100%%\" height=\"100%%\"/>\n%s</svg>\n",
			       WIDTH, top + 10, WIDTH, top + 10, style, body->str);
	return g_string_free(out, FALSE);
}
