/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside the table of work: loops of one process that call each other by an eventfd or a pipe of each (BIND, Netty). A
 * loop that is called by one write works for whom the writer worked, until it reads something else or polls. Only where
 * one thread alone reads there: what a runtime that schedules by itself does next, it takes from any other thread.
 */
#pragma once

#include "analyze/request/serving_build.h"

/* Whether a call writes to an eventfd or a pipe. */
bool dtc_calling_is_call(const DtcHistory *history, const struct dtc_call *call);
/* A thread wrote so while it worked for a request, which may be another one: as of a span. */
void dtc_calling_note(DtcServing *serving, guint node, uint32_t call, guint request, guint other);
/* Marks the read that took what such a write gave, if it took nothing else. */
void dtc_calling_deliver(DtcServing *serving, const struct message *message);
