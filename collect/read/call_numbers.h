/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What system calls are called by their numbers, which differ between machines: for tracers that tell numbers alone. */
#pragma once

#include <glib.h>

/* machine: as uname -m tells it. Static; NULL: not known there. */
const char *dtc_call_number_get_name(const char *machine, gint64 number);
