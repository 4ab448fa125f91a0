/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the page as they were when the program was built (cmake/embed.cmake); zero-terminated text. */
#pragma once

extern const char dtc_page_html[];
extern const char dtc_page_css[];
extern const char dtc_page_js[];
extern const char dtc_timeline_js[];
