/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of CTF 1.8's metadata, written again: without comments, and with other texts in what tells of the node. */
#pragma once

#include "collect/read/rewrite.h"

/* Of metadata that were parsed. Caller frees with g_string_free. */
GString *dtc_metadata_text_rewrite(const GString *text, const struct dtc_rewrite *rewrite);
