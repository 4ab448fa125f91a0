/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a node records: a CTF trace with a stream for each CPU, as LTTng writes it, and a capture of its packets
 * (nanosecond pcap, Ethernet). Buffers are written when they are full, and files are open only then: thousands of nodes
 * need no thousands of descriptors. A failed write ends the program: half a cluster is good for nothing.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Where trace clocks begin: nodes' clocks differ from it by seconds. */
#define SIM_EPOCH_NS G_GINT64_CONSTANT(1795000000000000000)

enum sim_event {
	SIM_SCHED_SWITCH,
	SIM_SCHED_WAKING,
	SIM_IRQ_ENTRY,
	SIM_IRQ_EXIT,
	SIM_SOFTIRQ_ENTRY,
	SIM_SOFTIRQ_EXIT,
	SIM_HRTIMER_ENTRY,
	SIM_HRTIMER_EXIT,
	SIM_NET_QUEUE,
	SIM_NET_RECEIVE,
	SIM_BLOCK_ISSUE,
	SIM_BLOCK_COMPLETE,
	SIM_DUMP_PROCESS,
	SIM_DUMP_INTERFACE,
	SIM_DUMP_END,
	SIM_ENTRY_ACCEPT4,
	SIM_EXIT_ACCEPT4,
	SIM_ENTRY_SOCKET,
	SIM_EXIT_SOCKET,
	SIM_ENTRY_CONNECT,
	SIM_EXIT_CONNECT,
	SIM_ENTRY_RECVFROM,
	SIM_EXIT_RECVFROM,
	SIM_ENTRY_SENDTO,
	SIM_EXIT_SENDTO,
	SIM_ENTRY_CLOSE,
	SIM_EXIT_CLOSE,
	SIM_ENTRY_NANOSLEEP,
	SIM_EXIT_NANOSLEEP,
	SIM_ENTRY_FSYNC,
	SIM_EXIT_FSYNC,
	SIM_ENTRY_FUTEX,
	SIM_EXIT_FUTEX,
	SIM_EVENTS
};

#define SIM_FRAME_BYTES 400

struct sim_frame {
	uint16_t size;
	uint8_t bytes[SIM_FRAME_BYTES]; /* Ethernet, IPv4, TCP, payload */
};

typedef struct SimTrace SimTrace;

/* The text that all nodes share, written once; nodes link to it. */
void sim_metadata_write(const char *path);

/* Makes folder/kernel and, with has_capture, folder.pcap. packet_bytes: of a stream's packet, which is in memory. */
SimTrace *sim_trace_new(const char *folder, const char *metadata, guint cpu_count, bool has_capture,
			gsize packet_bytes);
/* Writes what is left. */
void sim_trace_free(SimTrace *trace);
uint64_t sim_trace_get_event_count(const SimTrace *trace);

/*
 * An event, at ticks of the node's clock that do not go back on a CPU. values are its integers in the order of their
 * declaration, texts its strings and arrays of characters; net events have a frame instead.
 */
void sim_trace_add(SimTrace *trace, guint cpu, int64_t ticks, enum sim_event event, const int64_t *values,
		   const char *const *texts);
void sim_trace_add_packet(SimTrace *trace, guint cpu, int64_t ticks, enum sim_event event,
			  const struct sim_frame *frame);
/* The capture's, on the same clock. */
void sim_trace_capture(SimTrace *trace, int64_t ticks, const struct sim_frame *frame);
