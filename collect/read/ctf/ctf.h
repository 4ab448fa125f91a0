/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reference back end: directories with CTF 1.8, through babeltrace2. */
#pragma once

#include "collect/read/backend.h"

extern const struct dtc_backend_kind dtc_ctf_backend;
