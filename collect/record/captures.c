/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/captures.h"

#include "collect/packets/frame.h"
#include "collect/record/clocks.h"
#include "collect/record/headers_only.h"
#include "collect/record/netns.h"
#include "collect/record/packet_ring.h"
#include "collect/record/privileges.h"
#include "collect/record/spool.h"
#include "collect/seal/raw.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A packet waits in the kernel until its block is full, or so long. */
#define TIMEOUT_MS 100
#define SECOND_NS INT64_C(1000000000)
#define DRAIN_NS SECOND_NS
#define MIN_BUFFER_BYTES (1 << 20)
#define FILE_BUFFER_BYTES (256 << 10)

enum capture_state {
	CAPTURE_OPENING,
	CAPTURE_RUNNING,
	CAPTURE_REFUSED, /* reason says why */
	CAPTURE_ENDED,
};

struct capture {
	const struct dtc_capture_settings *settings;
	guint64 inode;
	char *path; /* owned: what opens the namespace */
	bool is_own;
	bool is_named; /* perhaps no namespace at all */
	GThread *thread;
	gint *is_stopping;
	const gint *is_held;
	const int64_t *from_ns;	 /* set before it is stopping */
	const int64_t *until_ns; /* set before it is held */
	struct dtc_packet_budget *budget;
	/* of the thread, until it has ended; lock guards what both look at */
	pcap_t *handle;
	enum dtc_frame_kind kind; /* of what it gives */
	pcap_dumper_t *file;
	char *file_name;     /* owned; NULL: there was no packet */
	DtcPacketRing *ring; /* of a flight recorder, else NULL */
	DtcSlow *slow;	     /* NULL: nothing is watched */
	GMutex lock;
	GCond is_open;
	enum capture_state state;
	char *reason; /* owned; of one that ended before it was stopped, too */
	guint64 packets, dropped, bytes;
	gint64 cpu_ns;
	bool is_failed;
};

struct DtcCaptures {
	struct dtc_capture_settings settings;
	GPtrArray *captures; /* struct capture, owned */
	GHashTable *known;   /* inode -> nothing */
	GPtrArray *lacks;
	gint is_stopping; /* atomic, as the next */
	gint is_held;
	int64_t from_ns, until_ns;
	struct dtc_packet_budget budget;
	bool is_stopped;
	guint refused;
};

/* ---- the thread of a namespace ---- */

static bool refuse(struct capture *capture, const char *what, const char *reason)
{
	capture->reason = g_strdup_printf("%s: %s", what, reason);
	return false;
}

/* Options that an old kernel or a driver lacks are lived without; the precision is checked when the file is opened. */
static bool open_handle(struct capture *capture)
{
	const struct dtc_capture_settings *settings = capture->settings;
	char text[PCAP_ERRBUF_SIZE] = "";
	gsize buffer = capture->is_own ? settings->buffer_bytes : MAX(settings->buffer_bytes / 8, MIN_BUFFER_BYTES);

	if (!capture->is_own && !dtc_netns_enter(capture->path))
		return refuse(capture, "cannot enter the namespace", g_strerror(errno));
	capture->handle = pcap_create(settings->interface, text);
	if (!capture->handle)
		return refuse(capture, "cannot capture", text);
	pcap_set_snaplen(capture->handle, (int)settings->snaplen);
	pcap_set_timeout(capture->handle, TIMEOUT_MS);
	pcap_set_buffer_size(capture->handle, (int)buffer);
	pcap_set_tstamp_precision(capture->handle, PCAP_TSTAMP_PRECISION_NANO);
	int status = pcap_activate(capture->handle);
	if (status < 0)
		return refuse(capture, pcap_statustostr(status), pcap_geterr(capture->handle));
	if (pcap_set_datalink(capture->handle, DLT_LINUX_SLL2) != 0 &&
	    pcap_datalink(capture->handle) != DLT_LINUX_SLL2 && strcmp(settings->interface, "any") == 0)
		return refuse(capture, "libpcap is too old", "it knows no LINUX_SLL2");
	if (!dtc_frame_find_kind(pcap_datalink(capture->handle), &capture->kind))
		return refuse(capture, settings->interface, "its packets have a link layer that is not known");
	struct bpf_program program;
	if (pcap_setnonblock(capture->handle, 1, text) != 0)
		return refuse(capture, "cannot capture", text);
	if (!settings->filter)
		return true;
	if (pcap_compile(capture->handle, &program, settings->filter, 1, PCAP_NETMASK_UNKNOWN) != 0)
		return refuse(capture, "the filter", pcap_geterr(capture->handle));
	bool is_set = pcap_setfilter(capture->handle, &program) == 0;
	pcap_freecode(&program);
	return is_set || refuse(capture, "the filter", pcap_geterr(capture->handle));
}

static bool open_file(struct capture *capture)
{
	g_autofree char *name = g_strdup_printf("packets-%" G_GUINT64_FORMAT ".pcap", capture->inode);
	int fd = dtc_place_create_file(capture->settings->place, DTC_PLACE_NODE, name, NULL);
	FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	setvbuf(stream, NULL, _IOFBF, FILE_BUFFER_BYTES);
	capture->file = pcap_dump_fopen(capture->handle, stream);
	if (!capture->file)
		fclose(stream);
	else
		capture->file_name = g_steal_pointer(&name);
	return capture->file != NULL;
}

static void write_packet(struct capture *capture, const struct pcap_pkthdr *header, const uint8_t *bytes)
{
	if (capture->is_failed)
		return;
	if (!capture->file && !open_file(capture)) {
		capture->is_failed = true;
		return;
	}
	pcap_dump((uint8_t *)capture->file, header, bytes);
	capture->packets++;
	capture->bytes += sizeof(uint32_t[4]) + header->caplen;
}

/* Of a flight recorder: into memory. */
static void keep_packet(struct capture *capture, int64_t time_ns, const struct pcap_pkthdr *header,
			const uint8_t *bytes)
{
	const struct dtc_ring_packet packet = { time_ns, header->caplen, header->len };

	dtc_packet_ring_add(capture->ring, &packet, bytes);
	capture->packets++;
}

static void tell_slow(const struct capture *capture, char *text)
{
	if (text)
		capture->settings->tell_slow(text, capture->settings->data);
	g_free(text);
}

static void look_at_packet(struct capture *capture, int64_t time_ns, const struct pcap_pkthdr *header,
			   const uint8_t *bytes)
{
	struct dtc_captured packet = { 0 };

	dtc_frame_decode(capture->kind, bytes, header->caplen, header->len, &packet);
	packet.time_ns = time_ns;
	tell_slow(capture, dtc_slow_look(capture->slow, &packet));
}

static void take_packet(uint8_t *data, const struct pcap_pkthdr *header, const uint8_t *bytes)
{
	struct capture *capture = (struct capture *)data;
	const struct dtc_capture_settings *settings = capture->settings;
	bool is_nano = pcap_get_tstamp_precision(capture->handle) == PCAP_TSTAMP_PRECISION_NANO;
	int64_t time_ns = (int64_t)header->ts.tv_sec * SECOND_NS + header->ts.tv_usec * (is_nano ? 1 : 1000);
	struct pcap_pkthdr cut = *header;

	if (capture->slow)
		look_at_packet(capture, time_ns, header, bytes);
	/* the ring's bytes are ours until the callback returns, and the ring is mapped for writing */
	if (settings->headers_only)
		cut.caplen = dtc_headers_only_cut((uint8_t *)bytes, header->caplen, settings->kept_headers);
	if (capture->ring)
		keep_packet(capture, time_ns, &cut, bytes);
	else
		write_packet(capture, &cut, bytes);
}

static void write_kept(const struct dtc_ring_packet *packet, const uint8_t *bytes, void *data)
{
	struct capture *capture = data;
	bool is_nano = pcap_get_tstamp_precision(capture->handle) == PCAP_TSTAMP_PRECISION_NANO;
	int64_t part_ns = packet->time_ns % SECOND_NS;
	const struct pcap_pkthdr header = { .ts = { .tv_sec = packet->time_ns / SECOND_NS,
						    .tv_usec = is_nano ? part_ns : part_ns / 1000 },
					    .caplen = packet->captured_bytes,
					    .len = packet->wire_bytes };

	write_packet(capture, &header, bytes);
}

/* At the end of a flight. */
static void write_ring(struct capture *capture)
{
	capture->packets = 0;
	dtc_packet_ring_each(capture->ring, *capture->from_ns, *capture->until_ns, write_kept, capture);
}

static void set_state(struct capture *capture, enum capture_state state)
{
	g_mutex_lock(&capture->lock);
	capture->state = state;
	g_cond_signal(&capture->is_open);
	g_mutex_unlock(&capture->lock);
}

static void count_drops(struct capture *capture)
{
	struct pcap_stat stat;

	if (pcap_stats(capture->handle, &stat) == 0)
		capture->dropped = (guint64)stat.ps_drop + stat.ps_ifdrop;
}

static void close_file(struct capture *capture)
{
	if (!capture->file)
		return;
	if (pcap_dump_flush(capture->file) != 0 || ferror(pcap_dump_file(capture->file)))
		capture->is_failed = true;
	pcap_dump_close(capture->file);
	capture->file = NULL;
}

/* What time does where there are no packets. */
static void age(struct capture *capture)
{
	int64_t now_ns = g_get_real_time() * 1000;

	if (capture->ring)
		dtc_packet_ring_age(capture->ring, now_ns);
	if (capture->slow)
		tell_slow(capture, dtc_slow_find_unanswered(capture->slow, now_ns));
}

/*
 * How many came. An interface that goes is an error, once; what it gave before still comes with its block, and one that
 * was only down may go on.
 */
static int take_packets(struct capture *capture)
{
	struct pollfd socket = { .fd = capture->reason ? -1 : pcap_get_selectable_fd(capture->handle),
				 .events = POLLIN };

	(void)poll(&socket, 1, 2 * TIMEOUT_MS);
	int count = pcap_dispatch(capture->handle, -1, take_packet, (uint8_t *)capture);
	if (count >= 0)
		return count;
	if (!capture->reason)
		(void)refuse(capture, "not all of the time", pcap_geterr(capture->handle));
	return 0;
}

/*
 * pcap_dispatch alone waits for packets, however long there are none: its timeout is the kernel's for a block that has
 * some. After the stop a turn that brings nothing is the last; where packets never end, a second is enough.
 */
static void pump(struct capture *capture)
{
	int64_t deadline_ns = 0;

	while (!capture->is_failed) {
		bool is_stopping = g_atomic_int_get(capture->is_stopping);
		int64_t now_ns = dtc_clock_get_mono_ns();
		if (is_stopping && deadline_ns == 0)
			deadline_ns = now_ns + DRAIN_NS;
		if (capture->ring && g_atomic_int_get(capture->is_held))
			dtc_packet_ring_hold(capture->ring, *capture->until_ns);
		int count = take_packets(capture);
		age(capture);
		g_mutex_lock(&capture->lock);
		count_drops(capture);
		g_mutex_unlock(&capture->lock);
		if (is_stopping && (count == 0 || now_ns > deadline_ns))
			break;
		if (capture->file && ferror(pcap_dump_file(capture->file)))
			capture->is_failed = true;
	}
}

static void *run_capture(void *data)
{
	struct capture *capture = data;
	const struct dtc_capture_settings *settings = capture->settings;
	bool is_open = open_handle(capture);

	if (settings->hold_ns > 0)
		capture->ring = dtc_packet_ring_new(settings->hold_ns, capture->budget);
	if (settings->slow.limit_ns > 0)
		capture->slow = dtc_slow_new(&settings->slow);
	dtc_privileges_hurry();
	dtc_privileges_drop_all();
	set_state(capture, is_open ? CAPTURE_RUNNING : CAPTURE_REFUSED);
	if (is_open)
		pump(capture);
	if (is_open && capture->ring)
		write_ring(capture);
	close_file(capture);
	if (capture->handle)
		pcap_close(capture->handle);
	capture->cpu_ns = dtc_spool_get_thread_cpu_ns();
	if (is_open)
		set_state(capture, CAPTURE_ENDED);
	return NULL;
}

/* ---- all of them ---- */

static void free_capture(void *data)
{
	struct capture *capture = data;

	g_mutex_clear(&capture->lock);
	g_cond_clear(&capture->is_open);
	g_free(capture->path);
	g_free(capture->file_name);
	g_free(capture->reason);
	dtc_packet_ring_free(capture->ring);
	dtc_slow_free(capture->slow);
	g_free(capture);
}

static struct capture *start_capture(DtcCaptures *captures, const struct dtc_netns *netns, bool is_own)
{
	struct capture *capture = g_new0(struct capture, 1);

	capture->settings = &captures->settings;
	capture->inode = netns->inode;
	capture->path = g_strdup(netns->path);
	capture->is_own = is_own;
	capture->is_named = netns->pid == 0;
	capture->is_stopping = &captures->is_stopping;
	capture->is_held = &captures->is_held;
	capture->from_ns = &captures->from_ns;
	capture->until_ns = &captures->until_ns;
	capture->budget = &captures->budget;
	g_mutex_init(&capture->lock);
	g_cond_init(&capture->is_open);
	g_ptr_array_add(captures->captures, capture);
	capture->thread = g_thread_new("capture", run_capture, capture);
	return capture;
}

/* What is recorded from now on is complete only once the socket is there. */
static bool wait_for_open(struct capture *capture)
{
	g_mutex_lock(&capture->lock);
	while (capture->state == CAPTURE_OPENING)
		g_cond_wait(&capture->is_open, &capture->lock);
	bool is_running = capture->state != CAPTURE_REFUSED;
	g_mutex_unlock(&capture->lock);
	return is_running;
}

static void add_namespaces(DtcCaptures *captures, bool waits)
{
	g_autoptr(GPtrArray) list = dtc_netns_list("/proc");
	guint64 own = dtc_netns_get_own();
	guint first = captures->captures->len;

	for (guint i = 0; i < list->len; i++) {
		const struct dtc_netns *netns = g_ptr_array_index(list, i);
		if (g_hash_table_contains(captures->known, &netns->inode))
			continue;
		g_hash_table_add(captures->known, g_memdup2(&netns->inode, sizeof(netns->inode)));
		if (captures->captures->len < DTC_CAPTURES_MAX)
			start_capture(captures, netns, netns->inode == own);
		else
			captures->refused++;
	}
	for (guint i = first; waits && i < captures->captures->len; i++)
		wait_for_open(g_ptr_array_index(captures->captures, i));
}

DtcCaptures *dtc_captures_start(const struct dtc_capture_settings *settings, GError **error)
{
	DtcCaptures *captures = g_new0(DtcCaptures, 1);
	const struct dtc_netns own = { .inode = dtc_netns_get_own(), .path = (char *)"/proc/self/ns/net" };

	captures->settings = *settings;
	captures->until_ns = INT64_MAX;
	captures->from_ns = INT64_MAX; /* who does not stop them wants none of what they keep */
	captures->budget.max_kib = (gint)MIN(settings->hold_bytes / 1024, G_MAXINT32 / 2);
	captures->captures = g_ptr_array_new_with_free_func(free_capture);
	captures->known = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	captures->lacks = g_ptr_array_new_with_free_func(g_free);
	g_hash_table_add(captures->known, g_memdup2(&own.inode, sizeof(own.inode)));
	struct capture *first = start_capture(captures, &own, true);
	if (!wait_for_open(first)) {
		g_set_error(
			error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE,
			"packets cannot be captured: %s\nit takes root or CAP_NET_RAW; --no-packets records without, "
			"and then no request is found by its id",
			first->reason);
		dtc_captures_free(captures);
		return NULL;
	}
	add_namespaces(captures, true);
	return captures;
}

void dtc_captures_rescan(DtcCaptures *captures)
{
	add_namespaces(captures, false);
}

void dtc_captures_get_counts(DtcCaptures *captures, struct dtc_capture_counts *ret_counts)
{
	struct dtc_capture_counts counts = { 0 };

	for (guint i = 0; i < captures->captures->len; i++) {
		struct capture *capture = g_ptr_array_index(captures->captures, i);
		g_mutex_lock(&capture->lock);
		counts.namespaces += capture->state == CAPTURE_RUNNING || capture->state == CAPTURE_ENDED;
		counts.dropped += capture->dropped;
		g_mutex_unlock(&capture->lock);
		counts.packets += __atomic_load_n(&capture->packets, __ATOMIC_RELAXED);
		counts.bytes += __atomic_load_n(&capture->bytes, __ATOMIC_RELAXED);
		counts.is_failed |= __atomic_load_n(&capture->is_failed, __ATOMIC_RELAXED);
		counts.cpu_ns += capture->thread ? 0 : capture->cpu_ns;
		counts.files += !capture->thread && capture->file_name;
	}
	*ret_counts = counts;
}

/* Once the threads are joined: what they wrote, and what they could not. */
static void tell(DtcCaptures *captures, GString *lines)
{
	for (guint i = 0; i < captures->captures->len; i++) {
		struct capture *capture = g_ptr_array_index(captures->captures, i);
		if (capture->file_name)
			g_string_append_printf(lines, "%s %" G_GUINT64_FORMAT "\n", capture->file_name, capture->inode);
		/* a name without a namespace, or one whose last process has gone, says nothing */
		if (capture->reason &&
		    (capture->state == CAPTURE_ENDED || (!capture->is_named && access(capture->path, F_OK) == 0)))
			g_ptr_array_add(captures->lacks, g_strdup_printf("packets-%" G_GUINT64_FORMAT "=%s",
									 capture->inode, capture->reason));
		if (capture->ring && dtc_packet_ring_get_cut_ns(capture->ring) > captures->from_ns)
			g_ptr_array_add(captures->lacks,
					g_strdup_printf("packets-%" G_GUINT64_FORMAT
							"=the first have no room in memory: --flight-memory",
							capture->inode));
		if (capture->is_failed)
			g_ptr_array_add(captures->lacks,
					g_strdup_printf("packets-%" G_GUINT64_FORMAT "=the file could not be written",
							capture->inode));
	}
	if (captures->refused > 0)
		g_ptr_array_add(captures->lacks,
				g_strdup_printf("packets=%u network namespaces more than the %u that are captured",
						captures->refused, DTC_CAPTURES_MAX));
}

static void join_all(DtcCaptures *captures)
{
	g_atomic_int_set(&captures->is_stopping, 1);
	for (guint i = 0; i < captures->captures->len; i++) {
		struct capture *capture = g_ptr_array_index(captures->captures, i);
		if (capture->thread)
			g_thread_join(g_steal_pointer(&capture->thread));
	}
	captures->is_stopped = true;
}

void dtc_captures_hold(DtcCaptures *captures, int64_t until_ns)
{
	captures->until_ns = until_ns; /* read by threads once they see that they hold */
	g_atomic_int_set(&captures->is_held, 1);
}

bool dtc_captures_stop(DtcCaptures *captures, int64_t from_ns, GError **error)
{
	g_autoptr(GString) lines = g_string_new(NULL);

	captures->from_ns = from_ns; /* read by threads once they see that they are stopping */
	join_all(captures);
	tell(captures, lines);
	return dtc_place_write(captures->settings.place, DTC_PLACE_RAW, DTC_RAW_CAPTURES, lines->str, error);
}

const GPtrArray *dtc_captures_get_lacks(const DtcCaptures *captures)
{
	return captures->lacks;
}

void dtc_captures_free(DtcCaptures *captures)
{
	if (!captures)
		return;
	if (!captures->is_stopped)
		join_all(captures);
	g_ptr_array_unref(captures->captures);
	g_hash_table_unref(captures->known);
	g_ptr_array_unref(captures->lacks);
	g_free(captures);
}

bool dtc_captures_check_filter(const char *filter, GError **error)
{
	pcap_t *handle = pcap_open_dead(DLT_LINUX_SLL2, 65535);
	struct bpf_program program;
	bool is_good = handle && pcap_compile(handle, &program, filter, 1, PCAP_NETMASK_UNKNOWN) == 0;

	if (is_good)
		pcap_freecode(&program);
	else
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "--filter '%s': %s\nas tcpdump takes it, for example 'tcp port 80'; see pcap-filter(7)",
			    filter, handle ? pcap_geterr(handle) : "libpcap knows no LINUX_SLL2");
	if (handle)
		pcap_close(handle);
	return is_good;
}
