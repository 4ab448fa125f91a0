/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Were the traces of a bundle recorded where their names say? */
#pragma once

#include "analyze/engine/census.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/finding.h"

/*
 * Compares what the traces (sources: struct dtc_census_source, or what begins with one, after dtc_census_describe) say
 * of where they were recorded: one trace under two names is an error; two nodes with one
 * host name or one boot, or a host name that is another node's name, is a warning. A host name that merely differs from
 * the node's says nothing: people name nodes as they like.
 */
void dtc_origins_check(const DtcBundle *bundle, const GPtrArray *sources, DtcFindings *findings);
