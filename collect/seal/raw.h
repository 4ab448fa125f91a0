/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A raw recording, and how it becomes a node of a bundle. What records on a node writes as little as it can: pages of
 * the ring buffer as the kernel gives them, walks of /proc, samples. It lies in NODE/raw/ and is complete in itself, so
 * that what a crashed recorder left can be sealed later, also on another machine; docs/formats.md has the bytes of
 * every file. Sealing writes NODE/kernel/ (CTF 1.8 with LTTng's names), NODE/environment and NODE/manifest.pb under
 * other names, renames them when all are whole, and only then removes raw/: whatever happens in between, one of the two
 * is there.
 */
#pragma once

#include "dtrace-chain/finding.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_RAW_FOLDER "raw"
/* GKeyFile; the keys are below. Rewritten atomically at the stop. */
#define DTC_RAW_RECORDING "recording"
#define DTC_RAW_HEADER_PAGE "header_page" /* events/header_page of tracefs */
/* of each recorded event a line "system SYSTEM" (or "SYSTEM EVENT"), its format file, an empty line */
#define DTC_RAW_FORMATS "formats"
/* systems of events that the recorder made itself begin with this; they are not in the sealed trace */
#define DTC_RAW_MADE_SYSTEM "dtrace_collect_"
#define DTC_RAW_MADE_SUFFIX "_bytes" /* of their names, behind that of the event that they are made of */
#define DTC_RAW_CPU "cpu"	     /* and the CPU's number: sub-buffers as read, whole, in order */
#define DTC_RAW_CLOCKS "clocks"	     /* a line a second: mono real boot tai raw uncertainty, all ns */
/* a line a CPU and second: mono cpu entries overrun commit_overrun bytes dropped_events read_events */
#define DTC_RAW_DROPS "drops"
/* walks of /proc: a record a line, a letter first, separated by tabs, strings as g_strescape writes them */
#define DTC_RAW_PROC_BEGIN "proc.begin"
#define DTC_RAW_PROC_END "proc.end"
/* a line a capture: file (beside raw/), inode of its network namespace, at the stop also packets and dropped */
#define DTC_RAW_CAPTURES "captures"

/* a folder: what redacting has replaced and raw/ does not have, captures and LTTng's trace, until all is replaced */
#define DTC_RAW_ORIGINALS "originals"

#define DTC_RAW_VERSION 1
#define DTC_RAW_GROUP "recording"
#define DTC_RAW_KEY_VERSION "version"
/* "tracefs"; or "lttng", which has written NODE/kernel itself: then there are no pages, formats and CPUs */
#define DTC_RAW_KEY_TRACER "tracer"
#define DTC_RAW_KEY_NODE "node"
#define DTC_RAW_KEY_HOSTNAME "hostname"
#define DTC_RAW_KEY_RELEASE "release"
#define DTC_RAW_KEY_MACHINE "machine" /* uname -m */
#define DTC_RAW_KEY_BOOT_ID "boot-id"
#define DTC_RAW_KEY_COMMAND "command"
#define DTC_RAW_KEY_EVENT_SET "event-set"
#define DTC_RAW_KEY_HEADERS_ONLY "headers-only" /* boolean */
/* with --guests: what a host knows this machine by; and groups "guest PID" (collect/bundle/environment.h) */
#define DTC_RAW_KEY_UUID "product-uuid"
#define DTC_RAW_KEY_MACS "network-cards"    /* with commas */
#define DTC_RAW_KEY_PROBE_PORT "probe-port" /* UDP packets of it are probes */
#define DTC_RAW_KEY_CPUS "cpus"		    /* list of numbers: those that have a file */
#define DTC_RAW_KEY_PAGE_SIZE "page-size"   /* bytes of a sub-buffer in the files cpuN */
#define DTC_RAW_KEY_CLOCK "clock"	    /* "mono" */
#define DTC_RAW_KEY_BEGIN "begin-ns"	    /* CLOCK_MONOTONIC */
#define DTC_RAW_KEY_END "end-ns"
#define DTC_RAW_KEY_STATE "state" /* "recording", "stopped" */
/* CLOCK_MONOTONIC; of a flight recorder, whose buffers overwrite themselves: what is before is left out, and not lost
 */
#define DTC_RAW_KEY_FROM "from-ns"
/* "payload,addresses,names" or some of these: sealing redacts, and nothing of the original stays */
#define DTC_RAW_KEY_REDACT "redact"
#define DTC_RAW_KEY_ID_HEADERS "id-headers" /* list: headers that carry ids, besides the known ones */
#define DTC_RAW_KEY_TRIGGER "trigger"	    /* what ended the flight */
/* thing=reason: what this kernel or these rights could not give; copied to the environment, next to what sealing lacks
 */
#define DTC_RAW_LACKS "lacks"

/* Of the sealed node. */
#define DTC_SEALED_KERNEL "kernel"
#define DTC_SEALED_ENVIRONMENT "environment"

struct dtc_seal_options {
	const char *creator; /* for the manifest and the trace: "dtrace-collect 0.1.0" */
	guint thread_count;  /* 0: one for each CPU of this machine */
	bool keeps_raw;
};

struct dtc_seal_summary {
	guint64 events;
	guint64 lost_events;
	guint64 repaired_switches;
	guint64 net_events; /* that a packet could belong to; how many have one: */
	guint64 joined_exactly;
	guint64 joined_inferred;
	guint64 packets;  /* in the captures */
	guint64 bytes;	  /* of the kernel trace */
	int64_t begin_ns; /* first and last event, CLOCK_MONOTONIC; 0 without events */
	int64_t end_ns;
};

/*
 * Seals NODE/raw/ of that folder. What is damaged, lost or missing is a finding and in the environment; false only if
 * there is no raw recording (NOT_FOUND), it is of an unknown version or cannot be understood at all (DAMAGED), or the
 * output cannot be written (IO, LIMIT): raw/ then is as it was, and nothing else is left behind.
 */
bool dtc_seal_node(const char *node_folder, const struct dtc_seal_options *options, DtcFindings *findings,
		   struct dtc_seal_summary *ret_summary, GError **error);
