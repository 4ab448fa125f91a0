/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands for a number that the trace does not give, in its events and in the records made from them. */
#pragma once

#include <stdint.h>

#define DTC_ABSENT INT64_MIN
