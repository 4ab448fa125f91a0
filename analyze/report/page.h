/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A page from its parts. The parts are files beside this one, built into the program as they were (cmake/embed.cmake);
 * frame.html, frame.js and page.css are the same for every page. The policy of the page allows nothing but its style
 * and scripts, by their hashes.
 */
#pragma once

extern const char dtc_frame_html[];
extern const char dtc_frame_js[];
extern const char dtc_page_css[];
extern const char dtc_clocks_js[];
/* of an answer */
extern const char dtc_page_html[];
extern const char dtc_timeline_js[];
extern const char dtc_page_js[];
/* of all requests */
extern const char dtc_requests_html[];
extern const char dtc_requests_js[];

#define DTC_PAGE_SCRIPTS 3

/* Everything is borrowed for the call. */
struct dtc_page {
	const char *body;		       /* header and main, as HTML: one of the parts above */
	const char *scripts[DTC_PAGE_SCRIPTS]; /* parts, run in this order after frame.js; NULL: none */
	const char *title;		       /* text */
	const char *plain;		       /* text, for readers without scripts */
	const char *data;		       /* JSON */
};

/* The whole page; caller owns. */
char *dtc_page_make(const struct dtc_page *page);
