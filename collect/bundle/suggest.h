/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "did you mean": the known word that is nearest to a mistyped one. */
#pragma once

#include <glib.h>

/* Borrowed from words (NULL-terminated); NULL if none is alike: more than a third of the word would have to change. */
const char *dtc_suggest(const char *word, const char *const *words);
