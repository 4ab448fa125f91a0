/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A recording that was read before. What was read is kept in a store, under a key that is made of all that the reading
 * depends on: the program, the files, what the recorder says of them, the name of the node, and the options that change
 * what is read. A recording that could not be read, or of which something was refused by the machine, is not kept, nor
 * one whose files changed while they were read or just before.
 */
#pragma once

#include "analyze/engine/recording.h"

/* Where what is read may be kept. */
struct dtc_recording_place {
	struct dtc_image_key key;
	gint64 since_us; /* when the key was made */
	bool has_key;	 /* false: it is neither found nor kept */
	bool is_settled; /* the files had not changed for a while; else it is not kept */
};

void dtc_recording_place_init(struct dtc_recording_place *place, const struct dtc_recording *recording);
/* Takes what is kept there; false: there is nothing, and nothing has changed. */
bool dtc_recording_find(struct dtc_recording *recording, const struct dtc_recording_place *place);
/* Where records grow that will be kept there; NULL: they will not, or the store has none. Caller owns. */
DtcSpace *dtc_recording_open_space(const struct dtc_recording *recording, const struct dtc_recording_place *place);
/*
 * Makes the image that the recording's options want; that space, if there is one, has most of it. It is not kept. An
 * error is the reading's, then: there is no room for it.
 */
void dtc_recording_make_image(struct dtc_recording *recording, DtcSpace *space);
/* Takes what is in an image; false with an error, and nothing is taken. */
bool dtc_recording_load(struct dtc_recording *recording, DtcImage *image, GError **error);
/* Keeps what was read, if it can be kept; that space, if there is one, has most of it. */
void dtc_recording_keep(struct dtc_recording *recording, const struct dtc_recording_place *place, DtcSpace *space);
/* The counts of what is kept, and what the reader found; false: there is nothing, or no store. */
bool dtc_recording_find_counts(struct dtc_census_source *source, const DtcBundle *bundle, DtcStore *store);

/* The node has an image in place of its trace, or of its captures. */
bool dtc_recording_is_image(const struct dtc_bundle_node *node, bool is_capture);
/* Takes what is in that image; reading.error is set if it cannot be. */
void dtc_recording_open_image(struct dtc_recording *recording);
/* Whose image it is, by names that the caller frees; false: of nobody. */
bool dtc_recording_describe_image(const DtcImage *image, char **ret_node, char **ret_path, bool *ret_is_capture);
/* Writes what was read, which is all there is of it, as such an image: a new file. */
bool dtc_recording_write_image(struct dtc_recording *recording, const char *path, GError **error);
