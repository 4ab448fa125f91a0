/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes that one thread writes and another one reads on the same node, through an eventfd, a pipe or a pair of sockets:
 * which write gave what a read took. It is a message like a packet, also when the reader did not sleep for it.
 *
 * A pipe gives its bytes in the order in which they came, so writes and reads are paired by position, counted from the
 * call that made it; one read may take several writes, and several reads one. A read of an eventfd takes all that was
 * written since the one before. The other end of a connection between two sockets is as sure as it was found.
 *
 * Nothing implausible is believed: a write that begins after the read has returned gave it nothing, and the count goes
 * on behind that read. When a read slept, or returned that there was nothing, all that was written before was taken.
 */
#pragma once

#include "dtrace-chain/history.h"
#include "dtrace-chain/path.h"

/* A read that took bytes of another thread's write; calls of the node's history. */
struct dtc_local_bytes {
	uint32_t write;
	uint32_t read;
	uint64_t bytes;
	enum dtc_link_quality link; /* INFERRED: calls overlapped, and their order at the file is not known */
};

/* A walk over the pairs of one file, in the order in which its reads began. Costs one look at each call. */
struct dtc_local_bytes_walk {
	const DtcHistory *history;
	const uint32_t *reads; /* borrowed: the calls on the file, and those on the end that feeds it */
	const uint32_t *writes;
	uint32_t read_count;
	uint32_t write_count;
	uint32_t read; /* index of the next one */
	uint32_t write;
	uint64_t taken; /* bytes before the next read, and before the next write */
	uint64_t given;
	bool is_counter; /* an eventfd */
	bool has_given;	 /* the next read has been given bytes already */
	bool is_inferred;
};

/*
 * Whether threads call each other through a file: an eventfd or a pipe, or a pair of sockets that one call made, or of
 * which one process has both ends. What else comes by a socket is a connection's.
 */
bool dtc_local_bytes_is_local(const DtcHistory *history, uint32_t file);
/* Of a pipe from before the trace all files bear one name, that of its inode. */
bool dtc_local_bytes_is_named(const DtcHistory *history, uint32_t file);
/* The writes to what is read on the file, in order of their begin; NULL if nothing is known to feed it. Borrowed. */
const uint32_t *dtc_local_bytes_get_writes(const DtcHistory *history, uint32_t file, uint32_t *ret_count);
/* False if nothing is known to feed the file. */
bool dtc_local_bytes_begin(struct dtc_local_bytes_walk *walk, const DtcHistory *history, uint32_t file);
/*
 * Of a pipe from before the trace, which has one name and several files: all calls on these, in order of their begin,
 * borrowed for the walk. What it still held is not known, so that the pairs are INFERRED.
 */
void dtc_local_bytes_begin_named(struct dtc_local_bytes_walk *walk, const DtcHistory *history, const uint32_t *calls,
				 uint32_t count);
/* False after the last pair. */
bool dtc_local_bytes_next(struct dtc_local_bytes_walk *walk, struct dtc_local_bytes *ret_bytes);
