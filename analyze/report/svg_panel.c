/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/svg_panel.h"

#include "collect/console/printable.h"

#include <math.h>

#define TEXT_MAX_CHARACTERS 200
#define FAR_AWAY_PIXELS 20000.0

struct unit {
	const char *name;
	double size;
};

static double to_pixels(double value, double begin, double end, int length)
{
	double pixels = length * ((value - begin) / (end - begin));
	return CLAMP(round(pixels * 10) / 10, -FAR_AWAY_PIXELS, FAR_AWAY_PIXELS);
}

double dtc_svg_panel_get_x(const struct dtc_svg_panel *panel, double x)
{
	return to_pixels(x, panel->x_begin, panel->x_end, panel->width);
}

double dtc_svg_panel_get_y(const struct dtc_svg_panel *panel, double y)
{
	return to_pixels(y, panel->y_end, panel->y_begin, panel->height);
}

void dtc_svg_panel_include(struct dtc_svg_panel *panel, double y)
{
	panel->y_begin = MIN(panel->y_begin, y);
	panel->y_end = MAX(panel->y_end, y);
}

void dtc_svg_append_text(GString *out, double x, double y, const char *classes, const char *text)
{
	g_autofree char *printable = dtc_printable(text, TEXT_MAX_CHARACTERS);
	g_autofree char *escaped = g_markup_escape_text(printable, -1);
	g_string_append_printf(out, "<text x=\"%g\" y=\"%g\" class=\"%s\">%s</text>\n", x, y, classes, escaped);
}

/* The unit in which the larger end of an axis has one to three digits before the point. */
static struct unit find_unit(double begin, double end, bool is_rate)
{
	static const struct unit times[] = { { "h", 3600e9 }, { "min", 60e9 }, { "s", 1e9 },
					     { "ms", 1e6 },   { "µs", 1e3 },   { "ns", 1 } };
	static const struct unit rates[] = { { "ppm", 1e3 }, { "ppb", 1 } };
	const struct unit *units = is_rate ? rates : times;
	guint count = is_rate ? G_N_ELEMENTS(rates) : G_N_ELEMENTS(times), i = 0;
	double size = MAX(fabs(begin), fabs(end));
	while (i + 1 < count && size < units[i].size * (units[i].size > 2e9 ? 3 : 1))
		i++;
	return units[i];
}

/* 1, 2 or 5 times a power of ten, so that about wanted of them fit. */
static double find_tick(double length, guint wanted)
{
	double raw = length / wanted, power = pow(10, floor(log10(raw)));
	double digit = raw / power;
	return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static void append_tick(GString *out, double x, double y, const char *classes, double value, double tick,
			bool is_signed)
{
	char text[64];
	if (fabs(value) < tick / 1e6)
		value = 0;
	g_snprintf(text, sizeof(text), is_signed && value != 0 ? "%+.6g" : "%.6g", value);
	dtc_svg_append_text(out, x, y, classes, text);
}

void dtc_svg_panel_append_axes(GString *out, const struct dtc_svg_panel *panel, const char *x_title,
			       const char *y_title, bool is_rate)
{
	struct unit x_unit = find_unit(panel->x_begin, panel->x_end, false);
	struct unit y_unit = find_unit(panel->y_begin, panel->y_end, is_rate);
	double x_tick = find_tick((panel->x_end - panel->x_begin) / x_unit.size, (guint)panel->width / 90);
	double y_tick = find_tick((panel->y_end - panel->y_begin) / y_unit.size, (guint)panel->height / 25);
	double bottom = panel->top + panel->height, right = panel->left + panel->width;
	g_autoptr(GString) grid = g_string_new(NULL);
	for (double i = ceil(panel->x_begin / x_unit.size / x_tick); i * x_tick * x_unit.size <= panel->x_end; i++) {
		double x = panel->left + dtc_svg_panel_get_x(panel, i * x_tick * x_unit.size);
		g_string_append_printf(grid, "M%g %dV%g", x, panel->top, bottom);
		append_tick(out, x, bottom + 14, "t m", i * x_tick, x_tick, false);
	}
	for (double i = ceil(panel->y_begin / y_unit.size / y_tick); i * y_tick * y_unit.size <= panel->y_end; i++) {
		double y = panel->top + dtc_svg_panel_get_y(panel, i * y_tick * y_unit.size);
		g_string_append_printf(grid, "M%d %gH%g", panel->left, y, right);
		append_tick(out, panel->left - 5, y + 4, "t e", i * y_tick, y_tick, true);
	}
	g_string_append_printf(out, "<path class=\"grid\" d=\"%s\"/>\n", grid->str);
	g_string_append_printf(out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
			       panel->left, panel->top, panel->width, panel->height);
	g_autofree char *below = g_strdup_printf("%s (%s)", x_title, x_unit.name);
	g_autofree char *beside = g_strdup_printf("%s (%s)", y_title, y_unit.name);
	dtc_svg_append_text(out, panel->left + panel->width / 2.0, bottom + 29, "t m", below);
	g_string_append_printf(out, "<g transform=\"translate(%d %g) rotate(-90)\">", panel->left - 58,
			       panel->top + panel->height / 2.0);
	dtc_svg_append_text(out, 0, 0, "t m", beside);
	g_string_append(out, "</g>\n");
}

void dtc_svg_panel_begin(GString *out, const struct dtc_svg_panel *panel)
{
	g_string_append_printf(out, "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" overflow=\"hidden\">\n",
			       panel->left, panel->top, panel->width, panel->height);
}

void dtc_svg_panel_end(GString *out)
{
	g_string_append(out, "</svg>\n");
}
