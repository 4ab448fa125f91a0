/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The clock that a CTF trace declares: what its manifest says about it. The text is searched, not compiled, so that a
 * trace that cannot be read any more still tells.
 */
#pragma once

#include "dtrace-chain/manifest.h"

#include <stdbool.h>

/* The first clock of the metadata in the directory; false if there is none. Clear with dtc_clock_class_clear. */
bool dtc_clock_class_read(const char *kernel_path, struct dtc_clock_class *ret_clock);
/* The same from text; it need not end with a zero. */
bool dtc_clock_class_parse(const char *text, gsize bytes, struct dtc_clock_class *ret_clock);
