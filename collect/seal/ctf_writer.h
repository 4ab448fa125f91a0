/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stream file of CTF 1.8 as LTTng writes it: packets with LTTng's header and context, event headers of its large
 * form. One packet is in memory at a time. A failed write is kept and told at the end.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTC_CTF_UUID_BYTES 16

typedef struct DtcCtfWriter DtcCtfWriter;

/* Creates the file, which must not exist; begin_ns: no event is before. Caller owns. */
DtcCtfWriter *dtc_ctf_writer_new(const char *path, const uint8_t uuid[DTC_CTF_UUID_BYTES], uint64_t instance,
				 uint32_t cpu, int64_t begin_ns, GError **error);
void dtc_ctf_writer_free(DtcCtfWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcCtfWriter, dtc_ctf_writer_free)
/* Room for the fields of an event, at most max_bytes; times never go back. */
uint8_t *dtc_ctf_writer_begin_event(DtcCtfWriter *writer, uint32_t id, int64_t time_ns, size_t max_bytes);
void dtc_ctf_writer_end_event(DtcCtfWriter *writer, size_t bytes);
/* So many events were lost after the last one and before that time. */
void dtc_ctf_writer_lose(DtcCtfWriter *writer, uint64_t count, int64_t before_ns);
/* The next event begins a packet. */
void dtc_ctf_writer_end_packet(DtcCtfWriter *writer);
/*
 * So many were lost somewhere between the packet's begin and that time, which no event after has reached: ends the
 * packet there, even if nothing is in it, since readers take them for lost in all the time of the packet that counts
 * them.
 */
void dtc_ctf_writer_lose_within(DtcCtfWriter *writer, uint64_t count, int64_t until_ns);
/* Writes what is left and makes it durable. */
bool dtc_ctf_writer_finish(DtcCtfWriter *writer, uint64_t *ret_bytes, GError **error);

/* The declarations of all this, without the clock and the environment. */
void dtc_ctf_declare_types(GString *tsdl, const char *uuid);
void dtc_ctf_declare_stream(GString *tsdl);
