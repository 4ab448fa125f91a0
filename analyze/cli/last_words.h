/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the analysis cannot go on, because there is no memory or a mapped file is gone, it ends with a message and 1,
 * not with a signal. What asks the allocator is in memory.c.
 */
#pragma once

void dtc_last_words_prepare(void);
