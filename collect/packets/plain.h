/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The records of a capture in the classic format, as this machine's tcpdump writes it, read in blocks: libpcap asks for
 * the header and the bytes of each record by themselves, which costs more than all else that is done with a packet.
 * Nothing odd is judged here. Where a record is cut, larger than it may be or of no usual time, and at the end of the
 * file, there is no next one, and libpcap goes on from there, or says what is wrong.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct DtcPlain DtcPlain;

struct dtc_plain_record {
	int64_t second;
	int64_t fraction_ns; /* as the file has it: it may be beyond a second */
	uint32_t captured_bytes;
	uint32_t wire_bytes;
	const uint8_t *bytes; /* borrowed until the next */
};

/*
 * Of an open file, which stays the caller's and is read without moving its offset. No record has more than most_bytes.
 * NULL: it is another format, or another machine's.
 */
DtcPlain *dtc_plain_new(int file, uint32_t most_bytes);
void dtc_plain_free(DtcPlain *plain);
/* False: the rest is not for us. */
bool dtc_plain_next(DtcPlain *plain, struct dtc_plain_record *ret_record);
/* Where in the file the next record begins. */
guint64 dtc_plain_get_position(const DtcPlain *plain);
