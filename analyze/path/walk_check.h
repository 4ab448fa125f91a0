/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * That paths would be contiguous and span their targets, as dtc_path_check has it: verified while their ways are taken,
 * and nothing of them is kept.
 */
#pragma once

#include "analyze/path/walk.h"

/* Errors as of dtc_path_walk and dtc_path_check. */
bool dtc_path_check_walk(const DtcEdges *edges, const struct dtc_path_target *target, GError **error);
/*
 * The same of many, in threads: what of their ways is the same is taken once. Of each its error, or NULL; caller owns
 * these.
 */
void dtc_path_check_walks(const DtcLinks *links, const struct dtc_path_target *targets, guint count, GError **errors);
