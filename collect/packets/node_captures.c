/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/packets/node_captures.h"

#include "collect/packets/node_namespaces.h"
#include "dtrace-chain/error.h"

#include <string.h>
#include <sys/stat.h>

/* Files that stay open from the first look on; of more, each is opened again when its time has come. */
#define OPEN_MAX 64

/* One file of the node. */
struct source {
	const char *path;
	guint index; /* in the order of the paths */
	uint32_t netns;
	DtcCapture *capture;		   /* NULL: not yet, or over */
	const struct dtc_captured *packet; /* the next, borrowed from capture */
	int64_t time_ns;		   /* of the next packet */
	guint64 done_bytes;		   /* once it is over */
	DtcFindings *findings;
};

/* Where a packet was seen, and which interface that is called. */
struct place {
	uint32_t interface;
	uint32_t netns;
	uint8_t tunnel_count;
	bool is_known;
	uint16_t id;
};

struct DtcNodeCaptures {
	const char *node;
	DtcPackets *packets; /* borrowed, or NULL */
	DtcFindings *findings;
	GPtrArray *sources;   /* struct source, in the order of the paths */
	GPtrArray *heap;      /* the same, borrowed: those with packets, the earliest first */
	struct source *given; /* whose packet was given last, and is still in use */
	bool is_begun;
	guint file_count;
	guint64 packet_count;
	guint64 unknown_count; /* of which the direction is not known */
	struct place place;    /* of the packet before */
	GError *error;	       /* the first */
	struct dtc_captured current;
};

static void source_free(void *data)
{
	struct source *source = data;

	dtc_capture_free(source->capture);
	dtc_findings_free(source->findings);
	g_free(source);
}

DtcNodeCaptures *dtc_node_captures_new(const char *node, const char *const *paths, const DtcEnvironment *environment,
				       DtcPackets *packets, DtcFindings *findings)
{
	DtcNodeCaptures *captures = g_new0(DtcNodeCaptures, 1);

	captures->node = node;
	captures->packets = packets;
	captures->findings = findings;
	captures->sources = g_ptr_array_new_with_free_func(source_free);
	captures->heap = g_ptr_array_new();
	for (; *paths; paths++) {
		struct source *source = g_new0(struct source, 1);
		source->path = *paths;
		source->index = captures->sources->len;
		source->netns = dtc_environment_find_netns(environment, *paths);
		source->findings = dtc_findings_new();
		g_ptr_array_add(captures->sources, source);
	}
	if (packets)
		dtc_packets_share_addresses(packets, environment);
	return captures;
}

void dtc_node_captures_free(DtcNodeCaptures *captures)
{
	if (!captures)
		return;
	g_ptr_array_unref(captures->heap);
	g_ptr_array_unref(captures->sources);
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

/*
 * Which of a node's interfaces a packet was seen on, as far as the capture tells; in a tunnel is another place, and so
 * is the same number in another namespace.
 */
static uint16_t add_interface(DtcPackets *packets, const struct dtc_captured *captured)
{
	char name[64];

	if (!captured->interface && !captured->tunnel_count)
		return dtc_packets_add_interface(packets, NULL);
	gsize used =
		(gsize)g_snprintf(name, sizeof(name), "%u, tunnels %u", captured->interface, captured->tunnel_count);
	if (captured->headers.netns)
		g_snprintf(name + used, sizeof(name) - used, ", namespace %u", captured->headers.netns);
	return dtc_packets_add_interface(packets, name);
}

/* Mostly that of the packet before. */
static uint16_t get_interface(DtcNodeCaptures *captures, const struct dtc_captured *captured)
{
	struct place *place = &captures->place;

	if (!place->is_known || place->interface != captured->interface || place->netns != captured->headers.netns ||
	    place->tunnel_count != captured->tunnel_count)
		*place = (struct place){ captured->interface, captured->headers.netns, captured->tunnel_count, true,
					 add_interface(captures->packets, captured) };
	return place->id;
}

/* --- merging ------------------------------------------------------------------------------------------------------ */

/* Among equal times the file that was named first. */
static bool is_before(const struct source *a, const struct source *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->index < b->index;
}

static struct source *get_source(const GPtrArray *heap, guint i)
{
	return g_ptr_array_index(heap, i);
}

static void swap(const GPtrArray *heap, guint i, guint k)
{
	void *other = heap->pdata[i];

	heap->pdata[i] = heap->pdata[k];
	heap->pdata[k] = other;
}

static void put_source(GPtrArray *heap, struct source *source)
{
	guint i = heap->len;

	g_ptr_array_add(heap, source);
	for (; i > 0 && is_before(get_source(heap, i), get_source(heap, (i - 1) / 2)); i = (i - 1) / 2)
		swap(heap, i, (i - 1) / 2);
}

/* The earliest, taken out; NULL: there is none. */
static struct source *take_source(GPtrArray *heap)
{
	if (heap->len == 0)
		return NULL;
	struct source *first = get_source(heap, 0);
	heap->pdata[0] = heap->pdata[heap->len - 1];
	g_ptr_array_set_size(heap, (gint)heap->len - 1);
	for (guint i = 0, least = 0; 2 * i + 1 < heap->len; i = least) {
		least = 2 * i + 1;
		if (least + 1 < heap->len && is_before(get_source(heap, least + 1), get_source(heap, least)))
			least++;
		if (!is_before(get_source(heap, least), get_source(heap, i)))
			break;
		swap(heap, i, least);
	}
	return first;
}

static bool open_source(DtcNodeCaptures *captures, struct source *source)
{
	g_autoptr(GError) error = NULL;

	source->capture = dtc_capture_open(captures->node, source->path, &error);
	if (source->capture)
		return true;
	bool is_refused = g_error_matches(error, DTC_COLLECT_ERROR, DTC_ERROR_IO);
	dtc_findings_add_coded(source->findings, is_refused ? DTC_FINDING_IO_ERROR : DTC_FINDING_CAPTURE_DAMAGED,
			       DTC_SEVERITY_ERROR, true, captures->node, "%.*s", (int)strcspn(error->message, "\n"),
			       error->message);
	if (!captures->error)
		captures->error = g_steal_pointer(&error);
	return false;
}

static void end(struct source *source)
{
	source->done_bytes = dtc_capture_get_consumed_bytes(source->capture);
	dtc_capture_finish(source->capture, source->findings);
	g_clear_pointer(&source->capture, dtc_capture_free);
}

/* Reads the file's next packet; false if that was its end, which is then told. */
static bool advance(struct source *source)
{
	source->packet = dtc_capture_next(source->capture);
	if (source->packet) {
		source->time_ns = source->packet->time_ns;
		return true;
	}
	end(source);
	return false;
}

/* Opens all files to see when they begin. Those of a rotation are read one after the other, and closed until then. */
static void begin(DtcNodeCaptures *captures)
{
	guint open_count = 0;

	captures->is_begun = true;
	for (guint i = 0; i < captures->sources->len; i++) {
		struct source *source = g_ptr_array_index(captures->sources, i);
		if (!open_source(captures, source))
			continue;
		captures->file_count++;
		if (!advance(source))
			continue;
		if (++open_count > OPEN_MAX) {
			g_clear_pointer(&source->capture, dtc_capture_free);
			source->packet = NULL;
		}
		put_source(captures->heap, source);
	}
}

/* What was found in the files, in their order. */
static void tell(DtcNodeCaptures *captures)
{
	for (guint i = 0; i < captures->sources->len; i++)
		dtc_findings_move(captures->findings,
				  ((struct source *)g_ptr_array_index(captures->sources, i))->findings);
}

/* The file with the earliest packet that was not given yet; NULL: none is left. */
static struct source *find_next(DtcNodeCaptures *captures)
{
	struct source *source;

	if (!captures->is_begun)
		begin(captures);
	if (captures->given && advance(captures->given)) {
		if (captures->heap->len == 0 || is_before(captures->given, get_source(captures->heap, 0)))
			return captures->given; /* as it mostly is: of a rotation one file is read after the other */
		put_source(captures->heap, captures->given);
	}
	captures->given = NULL;
	while ((source = take_source(captures->heap))) {
		if (source->packet || (open_source(captures, source) && advance(source)))
			return captures->given = source;
	}
	tell(captures);
	return NULL;
}

const struct dtc_captured *dtc_node_captures_next(DtcNodeCaptures *captures, uint32_t *ret_packet)
{
	struct source *source = find_next(captures);

	if (!source)
		return NULL;
	struct dtc_captured *captured = &captures->current;
	*captured = *source->packet;
	captured->headers.netns = source->netns;
	enum dtc_direction direction = get_direction(captures, captured);
	captures->packet_count++;
	*ret_packet = DTC_NONE;
	if (captures->packets)
		*ret_packet = dtc_packets_add(captures->packets, captured->time_ns, direction, 0,
					      get_interface(captures, captured), &captured->headers);
	return captured;
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
	guint64 bytes = 0;

	for (guint i = 0; i < captures->sources->len; i++) {
		const struct source *source = g_ptr_array_index(captures->sources, i);
		bytes += source->capture ? dtc_capture_get_consumed_bytes(source->capture) : source->done_bytes;
	}
	return bytes;
}

bool dtc_node_captures_finish(DtcNodeCaptures *captures, GError **error)
{
	g_ptr_array_set_size(captures->heap, 0);
	captures->given = NULL;
	for (guint i = 0; i < captures->sources->len; i++) {
		struct source *source = g_ptr_array_index(captures->sources, i);
		if (source->capture)
			end(source);
	}
	tell(captures);
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
