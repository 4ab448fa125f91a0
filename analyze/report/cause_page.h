/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What docs/causes.md says of a cause, for a terminal and for pages: it is part of the program. */
#pragma once

#include "dtrace-chain/path.h"

#include <glib.h>

/* The sections there are: every cause by its number, then what people look for although it is none. */
guint dtc_cause_page_get_count(void);
const char *dtc_cause_page_get_name(guint index);
/* A section: a heading, paragraphs and items, broken at spaces to the width. Caller owns. */
char *dtc_cause_page_to_text(guint index, guint width, bool has_color, bool has_utf8);
/* The same for a page in the browser: one paragraph or item per line, items with "- " before them. Caller owns. */
char *dtc_cause_page_to_lines(guint index);
/* Every cause with the first sentence of its section. Caller owns. */
char *dtc_cause_page_list(guint width, bool has_color, bool has_utf8);
