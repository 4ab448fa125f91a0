/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records of many owners that come in any order and are read owner by owner: each owner has a chain of blocks that
 * double up to a page. Every record is written once where it belongs, and once more when all are laid in a row.
 */
#pragma once

#include "collect/packets/table.h"

#include <stdint.h>

typedef struct DtcGrouper DtcGrouper;

DtcGrouper *dtc_grouper_new(void);
void dtc_grouper_free(DtcGrouper *grouper);
/* Appends 8 bytes to an owner's; gives how many the owner had before. Owners are small numbers. */
uint32_t dtc_grouper_add(DtcGrouper *grouper, uint32_t owner, uint64_t record);
uint32_t dtc_grouper_get_count(const DtcGrouper *grouper, uint32_t owner);
/* Appends all of an owner to a table of records of 8 bytes. */
void dtc_grouper_copy(const DtcGrouper *grouper, uint32_t owner, DtcTable *to);
