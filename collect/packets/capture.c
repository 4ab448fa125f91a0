/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one file that knows libpcap: which formats there are, and all that is odd in any. Most captures are plain, record
 * by record; these are read in blocks until something is not.
 */
#include "collect/packets/capture.h"

#include "collect/bundle/access.h"
#include "collect/packets/frame.h"
#include "collect/packets/origin.h"
#include "collect/packets/plain.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SECOND INT64_C(1000000000)
#define MS INT64_C(1000000)
/* That the time of so many packets falls into the first thousandth of a second, always by chance, is out of question.
 */
#define FRACTIONS_MIN 8

/* Frames that are looked at to find the node's own address before the first one is given out. */
#define ORIGIN_FRAMES 20000

/* An open file. */
struct source {
	pcap_t *pcap;	 /* owned */
	DtcPlain *plain; /* owned; NULL: libpcap reads what is left of it */
};

struct DtcCapture {
	char *node;
	char *path;
	struct source source;
	enum dtc_frame_kind frame_kind;
	bool has_mac;
	uint8_t mac[6];
	guint64 packet_count;
	char *damage; /* owned: what libpcap said, or NULL */
	long long damage_byte;
	int64_t largest_fraction_ns; /* of a second, of all packets */
	int64_t first_second;
	int64_t last_second;
	struct dtc_captured current;
	const u_char *frame; /* of current, borrowed from the source until the next */
	uint32_t frame_captured_bytes;
	uint32_t frame_wire_bytes;
};

bool dtc_frame_find_kind(int data_link, enum dtc_frame_kind *ret_kind)
{
	static const struct {
		int data_link;
		enum dtc_frame_kind kind;
	} kinds[] = {
		{ DLT_EN10MB, DTC_FRAME_ETHERNET },    { DLT_LINUX_SLL, DTC_FRAME_COOKED },
		{ DLT_LINUX_SLL2, DTC_FRAME_COOKED2 }, { DLT_RAW, DTC_FRAME_RAW },
		{ DLT_IPV4, DTC_FRAME_RAW },	       { DLT_IPV6, DTC_FRAME_RAW },
		{ DLT_NULL, DTC_FRAME_LOOPBACK },      { DLT_LOOP, DTC_FRAME_LOOPBACK },
	};
	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (kinds[i].data_link == data_link) {
			*ret_kind = kinds[i].kind;
			return true;
		}
	}
	return false;
}

static bool open_file(struct source *source, const char *node, const char *path, GError **error)
{
	char message[PCAP_ERRBUF_SIZE] = "";
	struct stat info;
	errno = 0;
	if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_NOT_FOUND,
			    "cannot open the capture '%s' of node '%s': %s\ngive a pcap or pcapng file", path, node,
			    errno ? g_strerror(errno) : "not a file");
		return false;
	}
	source->pcap = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, message);
	if (source->pcap) {
		source->plain = dtc_plain_new(fileno(pcap_file(source->pcap)), (uint32_t)pcap_snapshot(source->pcap));
		return true;
	}
	dtc_access_note_text(message, path);
	if (!dtc_access_check(error))
		g_prefix_error(error, "cannot read the capture of node '%s': ", node);
	else
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "cannot read the capture '%s' of node '%s': %s\ngive a pcap or pcapng file", path, node,
			    message);
	return false;
}

static void close_file(struct source *source)
{
	dtc_plain_free(source->plain);
	if (source->pcap)
		pcap_close(source->pcap);
	*source = (struct source){ NULL };
}

/* As pcap_next_ex, which goes on where the plain records end. */
static int read_record(struct source *source, struct pcap_pkthdr *ret_header, const u_char **ret_bytes)
{
	struct dtc_plain_record record;
	struct pcap_pkthdr *header;

	if (source->plain && dtc_plain_next(source->plain, &record)) {
		*ret_header = (struct pcap_pkthdr){ { record.second, record.fraction_ns },
						    record.captured_bytes,
						    record.wire_bytes };
		*ret_bytes = record.bytes;
		return 1;
	}
	if (source->plain) {
		off_t position = (off_t)dtc_plain_get_position(source->plain);
		g_clear_pointer(&source->plain, dtc_plain_free);
		if (fseeko(pcap_file(source->pcap), position, SEEK_SET) != 0)
			return PCAP_ERROR;
	}
	int status = pcap_next_ex(source->pcap, &header, ret_bytes);
	if (status == 1)
		*ret_header = *header;
	return status;
}

/* The frame's time; false if 64 bits do not hold it. */
static bool get_time(const struct pcap_pkthdr *header, int64_t *ret_ns)
{
	int64_t ns;
	if (__builtin_mul_overflow((int64_t)header->ts.tv_sec, SECOND, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)header->ts.tv_usec, &ns)) /* nanoseconds, as asked for */
		return false;
	*ret_ns = ns;
	return true;
}

static bool find_mac(DtcCapture *capture, GError **error)
{
	struct source source;
	if (!open_file(&source, capture->node, capture->path, error))
		return false;
	DtcOrigin *origin = dtc_origin_new();
	struct pcap_pkthdr header;
	const u_char *bytes;
	for (guint i = 0; i < ORIGIN_FRAMES && read_record(&source, &header, &bytes) == 1; i++) {
		struct dtc_captured captured;
		dtc_frame_decode(capture->frame_kind, bytes, header.caplen, header.len, &captured);
		if (get_time(&header, &captured.time_ns))
			dtc_origin_add(origin, &captured,
				       dtc_frame_get_hints(capture->frame_kind, bytes, header.caplen, header.len));
	}
	capture->has_mac = dtc_origin_get(origin, capture->mac);
	dtc_origin_free(origin);
	close_file(&source);
	return true;
}

DtcCapture *dtc_capture_open(const char *node, const char *path, GError **error)
{
	struct source source;
	if (!open_file(&source, node, path, error))
		return NULL;
	DtcCapture *capture = g_new0(DtcCapture, 1);
	capture->node = g_strdup(node);
	capture->path = g_strdup(path);
	capture->source = source;
	int data_link = pcap_datalink(source.pcap);
	if (!dtc_frame_find_kind(data_link, &capture->frame_kind)) {
		const char *name = pcap_datalink_val_to_name(data_link);
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "the capture '%s' of node '%s' has link type %s, which is not known\n"
			    "capture on an Ethernet interface or on 'any'",
			    path, node, name ? name : "without a name");
		dtc_capture_free(capture);
		return NULL;
	}
	if (capture->frame_kind == DTC_FRAME_ETHERNET && !find_mac(capture, error)) {
		dtc_capture_free(capture);
		return NULL;
	}
	return capture;
}

void dtc_capture_free(DtcCapture *capture)
{
	if (!capture)
		return;
	close_file(&capture->source);
	g_free(capture->node);
	g_free(capture->path);
	g_free(capture->damage);
	g_free(capture);
}

guint64 dtc_capture_get_consumed_bytes(const DtcCapture *capture)
{
	if (capture->source.plain)
		return dtc_plain_get_position(capture->source.plain);
	FILE *file = pcap_file(capture->source.pcap);
	off_t at = file ? ftello(file) : 0;

	return at > 0 ? (guint64)at : 0;
}

static void take_damage(DtcCapture *capture, const char *text)
{
	capture->damage = g_strdup(text);
	capture->damage_byte = (long long)dtc_capture_get_consumed_bytes(capture);
}

static void note_fraction(DtcCapture *capture, const struct pcap_pkthdr *header)
{
	if (capture->packet_count == 0)
		capture->first_second = (int64_t)header->ts.tv_sec;
	capture->last_second = (int64_t)header->ts.tv_sec;
	capture->largest_fraction_ns = MAX(capture->largest_fraction_ns, (int64_t)header->ts.tv_usec);
}

/* The magic of a file says what its fractions are, which a converter may get wrong. */
static const char *describe_fractions(const DtcCapture *capture)
{
	if (capture->largest_fraction_ns >= SECOND)
		return "beyond a second: they look like nanoseconds taken for microseconds";
	if (capture->largest_fraction_ns > 0 && capture->largest_fraction_ns < MS &&
	    capture->packet_count >= FRACTIONS_MIN && capture->last_second - capture->first_second >= 2)
		return "all in the first thousandth: they look like microseconds taken for nanoseconds";
	return NULL;
}

static void set_direction(const DtcCapture *capture, struct dtc_captured *captured)
{
	if (!capture->has_mac)
		return;
	if (memcmp(captured->mac_source, capture->mac, 6) == 0)
		captured->direction = DTC_CAPTURE_OUT;
	else if (memcmp(captured->mac_destination, capture->mac, 6) == 0 || (captured->mac_destination[0] & 1))
		captured->direction = DTC_CAPTURE_IN; /* broadcast and multicast of others too */
}

const struct dtc_captured *dtc_capture_next(DtcCapture *capture)
{
	struct pcap_pkthdr header;
	const u_char *bytes;
	if (capture->damage)
		return NULL;
	int status = read_record(&capture->source, &header, &bytes);
	if (status != 1) {
		if (status == PCAP_ERROR)
			take_damage(capture, pcap_geterr(capture->source.pcap));
		return NULL;
	}
	int64_t time_ns;
	if (!get_time(&header, &time_ns)) {
		take_damage(capture, "a packet's time is beyond what 64 bits hold");
		return NULL;
	}
	note_fraction(capture, &header);
	dtc_frame_decode(capture->frame_kind, bytes, header.caplen, header.len, &capture->current);
	capture->current.time_ns = time_ns;
	capture->frame = bytes;
	capture->frame_captured_bytes = header.caplen;
	capture->frame_wire_bytes = header.len;
	set_direction(capture, &capture->current);
	capture->packet_count++;
	return &capture->current;
}

bool dtc_capture_is_cooked2(const DtcCapture *capture)
{
	return capture->frame_kind == DTC_FRAME_COOKED2;
}

bool dtc_capture_get_wire(const DtcCapture *capture, struct dtc_wire_headers *ret_headers, uint32_t *ret_length)
{
	return dtc_capture_is_cooked2(capture) && capture->frame &&
	       dtc_frame_get_wire(capture->frame_kind, capture->frame, capture->frame_captured_bytes,
				  capture->frame_wire_bytes, ret_headers, ret_length);
}

void dtc_capture_finish(DtcCapture *capture, DtcFindings *findings)
{
	g_autofree char *name = g_path_get_basename(capture->path);
	const char *fractions = describe_fractions(capture);
	if (fractions)
		dtc_findings_add_coded(findings, DTC_FINDING_CAPTURE_TIME, DTC_SEVERITY_WARNING, false, capture->node,
				       "the fractions of a second of capture '%s' are %s", name, fractions);
	if (!capture->damage)
		return;
	bool is_refused = dtc_access_is_refusal(capture->damage);
	dtc_findings_add_coded(findings, is_refused ? DTC_FINDING_IO_ERROR : DTC_FINDING_CAPTURE_DAMAGED,
			       DTC_SEVERITY_ERROR, true, capture->node,
			       "capture '%s' %s at byte %lld, after %" G_GUINT64_FORMAT " packets: %s", name,
			       is_refused ? "cannot be read on" : "is damaged", capture->damage_byte,
			       capture->packet_count, capture->damage);
}
