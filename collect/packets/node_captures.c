/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/packets/node_captures.h"

#include "dtrace-chain/error.h"

#include <string.h>
#include <sys/stat.h>

struct DtcNodeCaptures {
	const char *node;
	const char *const *next_path;
	DtcPackets *packets; /* borrowed, or NULL */
	DtcFindings *findings;
	DtcCapture *capture; /* the file being read, or NULL */
	guint64 done_bytes;  /* of the files before */
	guint file_count;
	guint64 packet_count;
	guint64 unknown_count; /* of which the direction is not known */
	GError *error;	       /* the first */
};

DtcNodeCaptures *dtc_node_captures_new(const char *node, const char *const *paths, DtcPackets *packets,
				       DtcFindings *findings)
{
	DtcNodeCaptures *captures = g_new0(DtcNodeCaptures, 1);

	captures->node = node;
	captures->next_path = paths;
	captures->packets = packets;
	captures->findings = findings;
	return captures;
}

void dtc_node_captures_free(DtcNodeCaptures *captures)
{
	if (!captures)
		return;
	dtc_capture_free(captures->capture);
	g_clear_error(&captures->error);
	g_free(captures);
}

/* Direction as the node sees it; what the capture cannot tell counts as received, and as foreign if it is the rule. */
static enum dtc_direction get_direction(DtcNodeCaptures *captures, const struct dtc_captured *captured)
{
	switch (captured->direction) {
	case DTC_CAPTURE_OUT:
		return DTC_SENT;
	case DTC_CAPTURE_IN:
		return DTC_RECEIVED;
	default:
		captures->unknown_count++;
		return DTC_RECEIVED;
	}
}

/* Which of a node's interfaces a packet was seen on, as far as the capture tells; in a tunnel is another place. */
static uint16_t get_interface(DtcPackets *packets, const struct dtc_captured *captured)
{
	char name[32];

	if (!captured->interface && !captured->tunnel_count)
		return dtc_packets_add_interface(packets, NULL);
	g_snprintf(name, sizeof(name), "%u, tunnels %u", captured->interface, captured->tunnel_count);
	return dtc_packets_add_interface(packets, name);
}

/* False after the last file. */
static bool open_next(DtcNodeCaptures *captures)
{
	while (*captures->next_path) {
		g_autoptr(GError) error = NULL;
		captures->capture = dtc_capture_open(captures->node, *captures->next_path++, &error);
		if (captures->capture) {
			captures->file_count++;
			return true;
		}
		bool is_refused = g_error_matches(error, DTC_COLLECT_ERROR, DTC_ERROR_IO);
		dtc_findings_add_coded(captures->findings,
				       is_refused ? DTC_FINDING_IO_ERROR : DTC_FINDING_CAPTURE_DAMAGED,
				       DTC_SEVERITY_ERROR, true, captures->node, "%.*s",
				       (int)strcspn(error->message, "\n"), error->message);
		if (!captures->error)
			captures->error = g_steal_pointer(&error);
	}
	return false;
}

const struct dtc_captured *dtc_node_captures_next(DtcNodeCaptures *captures, uint32_t *ret_packet)
{
	while (captures->capture || open_next(captures)) {
		const struct dtc_captured *captured = dtc_capture_next(captures->capture);
		if (captured) {
			enum dtc_direction direction = get_direction(captures, captured);
			captures->packet_count++;
			*ret_packet = DTC_NONE;
			if (captures->packets)
				*ret_packet =
					dtc_packets_add(captures->packets, captured->time_ns, direction, 0,
							get_interface(captures->packets, captured), &captured->headers);
			return captured;
		}
		captures->done_bytes += dtc_capture_get_consumed_bytes(captures->capture);
		dtc_capture_finish(captures->capture, captures->findings);
		g_clear_pointer(&captures->capture, dtc_capture_free);
	}
	return NULL;
}

guint64 dtc_node_captures_measure(const char *const *paths)
{
	guint64 bytes = 0;
	struct stat info;

	for (; *paths; paths++)
		if (stat(*paths, &info) == 0 && S_ISREG(info.st_mode))
			bytes += (guint64)info.st_size;
	return bytes;
}

guint64 dtc_node_captures_get_consumed_bytes(const DtcNodeCaptures *captures)
{
	return captures->done_bytes + (captures->capture ? dtc_capture_get_consumed_bytes(captures->capture) : 0);
}

bool dtc_node_captures_finish(const DtcNodeCaptures *captures, GError **error)
{
	if (!captures->error)
		return true;
	if (error)
		*error = g_error_copy(captures->error);
	return false;
}

guint dtc_node_captures_get_file_count(const DtcNodeCaptures *captures)
{
	return captures->file_count;
}

bool dtc_node_captures_are_foreign(const DtcNodeCaptures *captures)
{
	return captures->packet_count > 0 && captures->unknown_count > captures->packet_count / 2;
}
