/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/probes.h"

#include "collect/record/clocks.h"
#include "collect/record/cluster/traffic.h"
#include "dtrace-chain/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_MS INT64_C(1000000)
#define SECOND_NS (1000 * NS_PER_MS)
#define INTERVAL_NS (250 * NS_PER_MS)
#define SEARCH_TURNS 8u		 /* in each of them an address that is not known yet is tried, */
#define SEARCH_EVERY 20u	 /* and after them in one of so many */
#define KNOWN_NS (3 * SECOND_NS) /* an address from which nothing has come for so long is not known any more */
#define MAX_ANSWERS 100u	 /* a second, for all */
#define MAX_TURN 100u		 /* packets that are taken at once */
#define LENGTHS ((gsize)498)

enum kind {
	KIND_QUESTION,
	KIND_ANSWER,
};

struct packet {
	char magic[8];
	uint8_t token[DTC_PROBES_TOKEN_BYTES];
	uint32_t from, to;
	uint32_t kind;
	uint32_t number;
};
_Static_assert(sizeof(struct packet) == 40, "as the header describes it");
#define MAX_BYTES (sizeof(struct packet) + 2 * LENGTHS)

static const char magic[] = "dtcprobe";

struct peer {
	uint32_t number;
	uint16_t port;
	guint count;
	uint8_t addresses[DTC_PROBES_MAX_ADDRESSES][16]; /* IPv4 ones as ::ffff:0:0/96 */
	guint known;					 /* the address that it was heard from last */
	int64_t heard_ns;				 /* when that was; 0: never */
	guint turns;					 /* since when it is asked */
	bool is_quiet;					 /* too little came from it in the last second */
};

struct DtcProbes {
	int fd;
	bool has_v6; /* the socket speaks both; else IPv4 alone */
	uint16_t port;
	uint8_t token[DTC_PROBES_TOKEN_BYTES];
	uint32_t own_number;
	uint32_t next;
	GArray *peers;	     /* struct peer */
	DtcTraffic *traffic; /* NULL: nobody counts, and all are asked always */
	int64_t next_ns, counted_ns;
	guint answers; /* since counted_ns */
	bool is_begun;
};

/* ---- addresses ---- */

static bool parse_address(const char *text, uint8_t ret_address[16])
{
	struct in_addr v4;

	if (inet_pton(AF_INET6, text, ret_address) == 1)
		return true;
	if (inet_pton(AF_INET, text, &v4) != 1)
		return false;
	memset(ret_address, 0, 10);
	ret_address[10] = ret_address[11] = 0xff;
	memcpy(ret_address + 12, &v4, sizeof(v4));
	return true;
}

static bool is_mapped(const uint8_t address[16])
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)address);
}

/* One that means the same to others; nobody is told to send to a group, to all, or to themselves. */
static bool is_somebodys(const uint8_t address[16])
{
	const struct in6_addr *v6 = (const void *)address;
	const uint8_t *v4 = address + 12;

	if (is_mapped(address))
		return v4[0] != 0 && v4[0] != 127 && v4[0] < 224 && !(v4[0] == 169 && v4[1] == 254);
	return !IN6_IS_ADDR_MULTICAST(v6) && !IN6_IS_ADDR_LINKLOCAL(v6) && !IN6_IS_ADDR_LOOPBACK(v6) &&
	       !IN6_IS_ADDR_UNSPECIFIED(v6) && !IN6_IS_ADDR_V4COMPAT(v6);
}

/* Of an interface; caller owns. NULL: none that is wanted. */
static char *get_address(const struct ifaddrs *interface)
{
	char text[INET6_ADDRSTRLEN] = "";
	const struct sockaddr *address = interface->ifa_addr;
	uint8_t parsed[16];

	if (!address || !(interface->ifa_flags & IFF_UP) || (interface->ifa_flags & IFF_LOOPBACK))
		return NULL;
	if (address->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, text, sizeof(text));
	else if (address->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, text,
			  sizeof(text));
	return *text && parse_address(text, parsed) && is_somebodys(parsed) ? g_strdup(text) : NULL;
}

char **dtc_probes_list_addresses(void)
{
	GPtrArray *addresses = g_ptr_array_new();
	struct ifaddrs *interfaces = NULL;

	if (getifaddrs(&interfaces) != 0)
		interfaces = NULL;
	for (const struct ifaddrs *at = interfaces; at && addresses->len < DTC_PROBES_MAX_ADDRESSES;
	     at = at->ifa_next) {
		char *address = get_address(at);
		if (address)
			g_ptr_array_add(addresses, address);
	}
	if (interfaces)
		freeifaddrs(interfaces);
	g_ptr_array_add(addresses, NULL);
	return (char **)g_ptr_array_free(addresses, FALSE);
}

/* ---- the socket ---- */

/* Datagrams may be cut on their way, so that the kernel gives each of IPv4 an id: that tells them apart, too. */
static void let_be_cut(int fd)
{
	int no = IP_PMTUDISC_DONT, yes = 1;

	(void)setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &no, sizeof(no));
	(void)setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &yes, sizeof(yes));
	(void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof(yes));
}

/* The port that the kernel gave it; 0: it cannot be bound. */
static uint16_t bind_socket(int fd, bool has_v6)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr *address = has_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
	socklen_t bytes = has_v6 ? sizeof(v6) : sizeof(v4);
	int no = 0;

	if (has_v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) != 0)
		return 0;
	if (bind(fd, address, bytes) != 0 || getsockname(fd, address, &bytes) != 0)
		return 0;
	return ntohs(has_v6 ? v6.sin6_port : v4.sin_port);
}

DtcProbes *dtc_probes_open(GError **error)
{
	DtcProbes *probes = g_new0(DtcProbes, 1);

	for (guint i = 0; i < 2 && probes->port == 0; i++) {
		probes->has_v6 = i == 0;
		probes->fd = socket(probes->has_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		probes->port = probes->fd >= 0 ? bind_socket(probes->fd, probes->has_v6) : 0;
		if (probes->port == 0 && probes->fd >= 0)
			close(probes->fd);
	}
	if (probes->port == 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE, "no UDP socket can be had: %s",
			    g_strerror(errno));
		g_free(probes);
		return NULL;
	}
	let_be_cut(probes->fd);
	probes->peers = g_array_new(FALSE, TRUE, sizeof(struct peer));
	return probes;
}

void dtc_probes_free(DtcProbes *probes)
{
	if (!probes)
		return;
	dtc_traffic_free(probes->traffic);
	close(probes->fd);
	g_array_unref(probes->peers);
	g_free(probes);
}

uint16_t dtc_probes_get_port(const DtcProbes *probes)
{
	return probes->port;
}

/* ---- who takes part ---- */

bool dtc_probes_begin(DtcProbes *probes, const char *token, uint32_t own_number)
{
	if (strlen(token) != (gsize)2 * DTC_PROBES_TOKEN_BYTES)
		return false;
	for (gsize i = 0; i < DTC_PROBES_TOKEN_BYTES; i++) {
		int high = g_ascii_xdigit_value(token[2 * i]), low = g_ascii_xdigit_value(token[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		probes->token[i] = (uint8_t)(high << 4 | low);
	}
	probes->own_number = own_number;
	if (!probes->is_begun)
		probes->traffic = dtc_traffic_open(probes->port);
	probes->is_begun = true;
	return true;
}

bool dtc_probes_add_peer(DtcProbes *probes, uint32_t number, uint16_t port, const char *const *addresses)
{
	struct peer peer = { .number = number, .port = port, .is_quiet = true };

	for (; *addresses && peer.count < DTC_PROBES_MAX_ADDRESSES; addresses++) {
		uint8_t *address = peer.addresses[peer.count];
		if (parse_address(*addresses, address) && is_somebodys(address) &&
		    (probes->has_v6 || is_mapped(address)))
			peer.count++;
	}
	if (port == 0 || peer.count == 0 || !probes->is_begun)
		return false;
	g_array_append_val(probes->peers, peer);
	if (probes->traffic)
		dtc_traffic_add(probes->traffic, (const uint8_t(*)[16])peer.addresses, peer.count);
	return true;
}

/* ---- sending ---- */

/* The address that others are answered from is the one they asked. */
static void set_source(struct msghdr *message, uint8_t *space, const struct in6_addr *source)
{
	struct cmsghdr *control = (struct cmsghdr *)(void *)space;
	const struct in6_pktinfo info = { .ipi6_addr = *source };

	message->msg_control = space;
	message->msg_controllen = CMSG_SPACE(sizeof(info));
	control->cmsg_level = IPPROTO_IPV6;
	control->cmsg_type = IPV6_PKTINFO;
	control->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(control), &info, sizeof(info));
}

/* source: NULL, the kernel chooses. What cannot be sent is not sent. */
static void send_packet(const DtcProbes *probes, const struct peer *peer, const uint8_t address[16],
			const struct in6_addr *source, const void *bytes, gsize count)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(peer->port) };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(peer->port) };
	_Alignas(struct cmsghdr) uint8_t space[CMSG_SPACE(sizeof(struct in6_pktinfo))] = { 0 };
	struct iovec part = { (void *)bytes, count };
	struct msghdr message = {
		.msg_name = probes->has_v6 ? (void *)&v6 : (void *)&v4,
		.msg_namelen = probes->has_v6 ? sizeof(v6) : sizeof(v4),
		.msg_iov = &part,
		.msg_iovlen = 1,
	};

	memcpy(&v6.sin6_addr, address, 16);
	memcpy(&v4.sin_addr, address + 12, 4);
	if (source && probes->has_v6)
		set_source(&message, space, source);
	(void)!sendmsg(probes->fd, &message, 0);
}

static void ask(DtcProbes *probes, const struct peer *peer, const uint8_t address[16])
{
	uint8_t bytes[MAX_BYTES] = { 0 };
	struct packet packet = {
		.from = htonl(probes->own_number),
		.to = htonl(peer->number),
		.kind = htonl(KIND_QUESTION),
		.number = htonl(probes->next),
	};

	memcpy(packet.magic, magic, sizeof(packet.magic));
	memcpy(packet.token, probes->token, sizeof(packet.token));
	memcpy(bytes, &packet, sizeof(packet));
	send_packet(probes, peer, address, NULL, bytes, sizeof(packet) + 2 * (probes->next % LENGTHS) + 1);
	probes->next++;
}

/* One whose address is known is asked there; another one at all that it has, for a while, and now and then. */
static void ask_peer(DtcProbes *probes, struct peer *peer, int64_t now_ns)
{
	bool is_known = peer->heard_ns != 0 && now_ns - peer->heard_ns < KNOWN_NS;

	peer->turns = is_known || !peer->is_quiet ? 0 : peer->turns + 1;
	if (!peer->is_quiet)
		return;
	if (is_known)
		ask(probes, peer, peer->addresses[peer->known]);
	else if (peer->turns <= SEARCH_TURNS || peer->turns % SEARCH_EVERY == 0)
		for (guint i = 0; i < peer->count; i++)
			ask(probes, peer, peer->addresses[i]);
}

/* ---- what comes ---- */

static struct peer *find_peer(const DtcProbes *probes, uint32_t number)
{
	for (guint i = 0; i < probes->peers->len; i++) {
		struct peer *peer = &g_array_index(probes->peers, struct peer, i);
		if (peer->number == number)
			return peer;
	}
	return NULL;
}

static bool is_from(const struct peer *peer, const uint8_t address[16], uint16_t port, guint *ret_index)
{
	for (guint i = 0; i < peer->count && port == peer->port; i++)
		if (memcmp(peer->addresses[i], address, 16) == 0) {
			*ret_index = i;
			return true;
		}
	return false;
}

static void take_packet(DtcProbes *probes, const struct sockaddr_in6 *sender, const struct in6_addr *own,
			uint8_t *bytes, gsize count)
{
	struct packet packet;
	guint index;

	if (count <= sizeof(packet))
		return;
	memcpy(&packet, bytes, sizeof(packet));
	if (memcmp(packet.magic, magic, sizeof(packet.magic)) != 0 ||
	    memcmp(packet.token, probes->token, sizeof(packet.token)) != 0 || ntohl(packet.to) != probes->own_number)
		return;
	struct peer *peer = find_peer(probes, ntohl(packet.from));
	if (!peer || !is_from(peer, sender->sin6_addr.s6_addr, ntohs(sender->sin6_port), &index))
		return;
	peer->known = index;
	peer->heard_ns = dtc_clock_get_mono_ns();
	if (ntohl(packet.kind) != KIND_QUESTION || probes->answers >= MAX_ANSWERS)
		return;
	probes->answers++;
	packet.to = packet.from;
	packet.from = htonl(probes->own_number);
	packet.kind = htonl(KIND_ANSWER);
	memcpy(bytes, &packet, sizeof(packet));
	send_packet(probes, peer, peer->addresses[index], own, bytes, count - 1);
}

/* The address of this node that a packet was sent to; false if that is not known. */
static bool get_own(struct msghdr *message, struct in6_addr *ret_own)
{
	for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
		struct in6_pktinfo info;
		if (at->cmsg_level != IPPROTO_IPV6 || at->cmsg_type != IPV6_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(at), sizeof(info));
		*ret_own = info.ipi6_addr;
		return true;
	}
	return false;
}

static void widen_sender(const DtcProbes *probes, struct sockaddr_in6 *sender)
{
	struct sockaddr_in v4;
	uint8_t *address = sender->sin6_addr.s6_addr;

	if (probes->has_v6)
		return;
	memcpy(&v4, sender, sizeof(v4));
	sender->sin6_port = v4.sin_port;
	memset(address, 0, 10);
	address[10] = address[11] = 0xff;
	memcpy(address + 12, &v4.sin_addr, 4);
}

/* False once nothing more is there. */
static bool take(DtcProbes *probes)
{
	uint8_t bytes[MAX_BYTES];
	_Alignas(struct cmsghdr) uint8_t space[256];
	struct iovec part = { bytes, sizeof(bytes) };
	struct sockaddr_in6 sender = { 0 };
	struct in6_addr own;
	struct msghdr message = {
		.msg_name = &sender,
		.msg_namelen = sizeof(sender),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	ssize_t count = recvmsg(probes->fd, &message, 0);

	if (count < 0)
		return errno != EAGAIN && errno != EBADF; /* a refusal of what was sent before is no packet */
	bool has_own = get_own(&message, &own);
	widen_sender(probes, &sender);
	if (probes->is_begun && !(message.msg_flags & MSG_TRUNC))
		take_packet(probes, &sender, has_own ? &own : NULL, bytes, (gsize)count);
	return true;
}

/* ---- going on ---- */

void dtc_probes_fill_poll(const DtcProbes *probes, struct pollfd ret_fds[DTC_PROBES_POLL_COUNT])
{
	ret_fds[0] = (struct pollfd){ .fd = probes->fd, .events = POLLIN };
	ret_fds[1] =
		(struct pollfd){ .fd = probes->traffic ? dtc_traffic_get_fd(probes->traffic) : -1, .events = POLLIN };
}

int dtc_probes_get_wait_ms(const DtcProbes *probes)
{
	int64_t left_ns = probes->next_ns - dtc_clock_get_mono_ns();

	return probes->peers->len == 0 ? -1 : (int)(CLAMP(left_ns, 0, INTERVAL_NS) / NS_PER_MS) + 1;
}

/* Each second it is seen anew who is quiet. */
static void look_at_traffic(DtcProbes *probes, int64_t now_ns)
{
	if (now_ns - probes->counted_ns < SECOND_NS)
		return;
	for (guint i = 0; probes->traffic && i < probes->peers->len; i++)
		g_array_index(probes->peers, struct peer, i).is_quiet = !dtc_traffic_is_enough(probes->traffic, i);
	probes->counted_ns = now_ns;
	probes->answers = 0;
	if (probes->traffic)
		dtc_traffic_begin(probes->traffic);
}

void dtc_probes_go_on(DtcProbes *probes)
{
	int64_t now_ns = dtc_clock_get_mono_ns();
	guint turn = 0;

	while (turn < MAX_TURN && take(probes))
		turn++;
	if (!probes->is_begun)
		return;
	if (probes->traffic)
		dtc_traffic_go_on(probes->traffic);
	look_at_traffic(probes, now_ns);
	if (now_ns < probes->next_ns)
		return;
	probes->next_ns = now_ns + INTERVAL_NS;
	for (guint i = 0; i < probes->peers->len; i++)
		ask_peer(probes, &g_array_index(probes->peers, struct peer, i), now_ns);
}
