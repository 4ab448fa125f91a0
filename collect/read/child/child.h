/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A back end in a process of its own, with limits on memory and time: what kills it or what it never ends with costs
 * the rest of one node's trace, not the answer. The child decodes and merges; the items come through a pipe in the
 * order in which the parent, which merges by the same rule, asks for them.
 */
#pragma once

#include "collect/read/backend.h"

/* Reads with the reference back end, in a child if the request has a program for it, else in this process. */
extern const struct dtc_backend_kind dtc_child_backend;

/* The program is run with DTC_READER_CHILD_WORD, the node and the path, and with the pipe as this descriptor. */
#define DTC_CHILD_FD 3
/* What it does then; its exit code. */
int dtc_child_serve(const char *node, const char *path);
