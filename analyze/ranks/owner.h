/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process that owns nodes: it opens bundles as it sees them, reads what of them is assigned to it, and serves parts
 * of what it has read, one request after the other, until nobody is at the other end. What it has read it keeps, so
 * that an asker that begins again is answered at once.
 */
#pragma once

/* Returns at the end. program: that reads as a child of this process (analyze/engine/open.h). */
void dtc_owner_serve(int end, const char *program);
