/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What docs/causes.md says of a cause, for a terminal: the page is part of the program. */
#pragma once

#include "dtrace-chain/path.h"

#include <glib.h>

/* Its section: a heading, paragraphs and items, broken at spaces to the width. Caller owns. */
char *dtc_cause_page_to_text(enum dtc_cause cause, guint width, bool has_color, bool has_utf8);
/* Every cause with the first sentence of its section. Caller owns. */
char *dtc_cause_page_list(guint width, bool has_color, bool has_utf8);
