/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A panel of a drawing: a frame with axes that name their units, and paths inside it. Values are nanoseconds on both
 * axes (parts per billion where the scale says so). Coordinates inside are the panel's own, and what leaves it is cut
 * off by the viewer.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

struct dtc_svg_panel {
	int left, top, width, height; /* of the frame, pixels */
	double x_begin, x_end;	      /* what the axes span; begin < end */
	double y_begin, y_end;
};

/* Pixels from the frame's left and top edge, rounded to tenths, and never so far out that a number gets long. */
double dtc_svg_panel_get_x(const struct dtc_svg_panel *panel, double x);
double dtc_svg_panel_get_y(const struct dtc_svg_panel *panel, double y);

/* Frame, ticks and titles around the panel. is_rate: the vertical axis is in parts per billion. */
void dtc_svg_panel_append_axes(GString *out, const struct dtc_svg_panel *panel, const char *x_title,
			       const char *y_title, bool is_rate);
/* What comes between these two is inside of the panel. */
void dtc_svg_panel_begin(GString *out, const struct dtc_svg_panel *panel);
void dtc_svg_panel_end(GString *out);

/* Makes room for y, so that all of it can be seen. */
void dtc_svg_panel_include(struct dtc_svg_panel *panel, double y);

/* A line of text in a class of the drawing's style; strangers' names become printable and are cut to max characters. */
void dtc_svg_append_text(GString *out, double x, double y, const char *classes, const char *text);
