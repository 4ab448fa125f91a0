/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What dtrace-chain and its commands are for, in words. A test runs the examples. */
#pragma once

#include "collect/console/program.h"

extern const struct dtc_program dtc_chain_program;
