/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An alignment that was made before. It is a history, too, if one of several recordings: its key is made of theirs, of
 * what the cluster file says of guests, and of the options of the fit, and of nothing that a question could be. Kept
 * are the maps, what was found of each pair and of each node's capture clock, and the findings; not the messages,
 * which are many and which few look at: those who do make it anew (dtc_alignment_complete).
 */
#pragma once

#include "analyze/engine/align.h"

/* Takes what is kept; false: there is nothing, and nothing has changed. */
bool dtc_alignment_find(struct dtc_alignment *alignment, const struct dtc_align_input *input, DtcFindings *findings);
/* Keeps it with the findings of its making, if all recordings are kept, too. */
void dtc_alignment_keep(const struct dtc_alignment *alignment, const struct dtc_align_input *input,
			const DtcFindings *findings);
/* The same for another process that has these recordings, but for the findings. NULL: there is no room for it. */
GBytes *dtc_alignment_to_bytes(const struct dtc_alignment *alignment, const struct dtc_align_input *input);
/* False with an error leaves in it what was loaded until then. */
bool dtc_alignment_load(struct dtc_alignment *alignment, const struct dtc_align_input *input, const DtcImage *image,
			DtcFindings *findings, GError **error);
/* The nodes of an image that is one, "backend, web", that the caller frees; NULL: it is none. */
char *dtc_alignment_describe_image(const DtcImage *image);
