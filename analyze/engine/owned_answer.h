/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an owner tells of a recording beside what was read of it, as an image: made there (owned.h), taken here. */
#pragma once

#include "analyze/engine/memory.h"
#include "analyze/engine/recording.h"
#include "analyze/engine/split.h"
#include "collect/image/image.h"

/* NULL with an error: the machine has no room for it. Caller owns. */
GBytes *dtc_owned_save_recording(const struct dtc_recording *recording, GError **error);
GBytes *dtc_owned_save_counts(const struct dtc_census_source *source, GError **error);
GBytes *dtc_owned_save_begin(const struct dtc_window_begin *begin, GError **error);
GBytes *dtc_owned_save_split(const struct dtc_split *split, GError **error);
GBytes *dtc_owned_save_memory(const struct dtc_memory *memory, GError **error);

/* Results and reading.error are set; false: it is not as it should be, which is reading.error, too. */
bool dtc_owned_load_recording(struct dtc_recording *recording, const DtcImage *told, DtcImage *content);
bool dtc_owned_load_counts(struct dtc_census_source *source, const DtcImage *told);
bool dtc_owned_load_split(struct dtc_split *split, const DtcImage *told);
bool dtc_owned_load_memory(struct dtc_memory *memory, const DtcImage *told);
bool dtc_owned_load_begin(const DtcImage *told, struct dtc_window_begin *ret_begin);
