/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packed bundles without a library: a tar archive in a zstd frame whose blocks hold the bytes as they are. What records
 * on nodes shall need little, and `dtrace-chain bundle create` makes the same bundle smaller.
 */
#pragma once

#include "collect/bundle/packer.h"

extern const struct dtc_packer_kind dtc_packer_stored;
