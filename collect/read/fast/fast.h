/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directories with CTF 1.8, decoded here. */
#pragma once

#include "collect/read/backend.h"

extern const struct dtc_backend_kind dtc_fast_backend;
