/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a report says at a glance: on which machine the time went, in which family of causes, and what most of each part
 * was. A sum of the steps, so that the head says nothing that the rows below it do not.
 */
#pragma once

#include "dtrace-chain/report.h"

/* Fills machines, parts and verdict of a report that has its steps and rows. Costs one sort of the steps. */
void dtc_verdict_add(DtcReport *report);
