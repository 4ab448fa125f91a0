/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/walk_net.h"

#include "collect/record/netns.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- sockets ---- */

/* "0100007F:1F90": words of 32 bits, each as this machine stores it. False if it is none. */
static bool parse_address(const char *text, char *ret_address, guint *ret_port)
{
	const char *colon = strchr(text, ':');
	gsize digits = colon ? (gsize)(colon - text) : 0;
	guint32 words[4] = { 0 };

	if (digits != 8 && digits != 32)
		return false;
	for (gsize i = 0; i < digits / 8; i++) {
		char word[9] = { 0 };
		memcpy(word, text + 8 * i, 8);
		words[i] = (guint32)g_ascii_strtoull(word, NULL, 16);
	}
	*ret_port = (guint)g_ascii_strtoull(colon + 1, NULL, 16);
	return inet_ntop(digits == 8 ? AF_INET : AF_INET6, words, ret_address, INET6_ADDRSTRLEN) != NULL;
}

/* sl local remote st tx:rx tr:tm retrnsmt uid timeout inode ... */
static void add_inet_socket(GString *out, char *line, guint64 netns, const char *protocol)
{
	char *fields[10], *rest = line;
	char local[INET6_ADDRSTRLEN], remote[INET6_ADDRSTRLEN];
	guint local_port, remote_port;

	for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
		fields[i] = strtok_r(i == 0 ? line : NULL, " ", &rest);
		if (!fields[i])
			return;
	}
	guint64 inode = g_ascii_strtoull(fields[9], NULL, 10);
	if (inode == 0 || !parse_address(fields[1], local, &local_port) ||
	    !parse_address(fields[2], remote, &remote_port))
		return; /* time-wait has no owner */
	g_string_append_printf(out, "s\t%" G_GUINT64_FORMAT "\t%" G_GUINT64_FORMAT "\t%s\t%s\t%u\t%s\t%u\t%u\n", netns,
			       inode, protocol, local, local_port, remote, remote_port,
			       (guint)g_ascii_strtoull(fields[3], NULL, 16));
}

/* Num RefCount Protocol Flags Type St Inode Path */
static void add_unix_socket(GString *out, char *line, guint64 netns)
{
	char *fields[7], *rest = line;

	for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
		fields[i] = strtok_r(i == 0 ? line : NULL, " ", &rest);
		if (!fields[i])
			return;
	}
	guint64 inode = g_ascii_strtoull(fields[6], NULL, 10);
	g_autofree char *path = g_strescape(rest ? g_strstrip(rest) : "", NULL);
	if (inode != 0)
		g_string_append_printf(out, "s\t%" G_GUINT64_FORMAT "\t%" G_GUINT64_FORMAT "\tunix\t%s\t0\t\t0\t%u\n",
				       netns, inode, path, (guint)g_ascii_strtoull(fields[5], NULL, 16));
}

static void add_table(GString *out, const char *process_folder, guint64 netns, const char *protocol)
{
	g_autofree char *path = g_build_filename(process_folder, "net", protocol, NULL);
	g_autofree char *text = NULL;
	bool is_unix = strcmp(protocol, "unix") == 0;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return;
	char *line = strchr(text, '\n'); /* after the heading */
	while (line && *++line) {
		char *end = strchr(line, '\n');
		if (end)
			*end = 0;
		if (is_unix)
			add_unix_socket(out, line, netns);
		else
			add_inet_socket(out, line, netns, protocol);
		line = end;
	}
}

void dtc_walk_add_sockets(GString *out, const char *process_folder, guint64 netns)
{
	static const char *const protocols[] = { "tcp", "tcp6", "udp", "udp6", "unix" };

	for (gsize i = 0; i < G_N_ELEMENTS(protocols); i++)
		add_table(out, process_folder, netns, protocols[i]);
}

/* ---- interfaces ---- */

struct interfaces_task {
	const char *path;
	struct ifaddrs *addresses;
};

static void *get_interfaces(void *data)
{
	struct interfaces_task *task = data;

	if (dtc_netns_enter(task->path) && getifaddrs(&task->addresses) != 0)
		task->addresses = NULL;
	return NULL;
}

static guint count_prefix(const struct sockaddr *mask)
{
	const uint8_t *bytes;
	guint count = 0, length;

	if (!mask)
		return 0;
	if (mask->sa_family == AF_INET) {
		bytes = (const uint8_t *)&((const struct sockaddr_in *)(const void *)mask)->sin_addr;
		length = 4;
	} else {
		bytes = (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)mask)->sin6_addr;
		length = 16;
	}
	for (guint i = 0; i < length; i++)
		count += (guint)__builtin_popcount(bytes[i]);
	return count;
}

static void append_address(GString *out, const struct ifaddrs *entry)
{
	char text[INET6_ADDRSTRLEN];
	const struct sockaddr *address = entry->ifa_addr;
	const void *bytes = NULL;

	if (address && address->sa_family == AF_INET)
		bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
	else if (address && address->sa_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
	if (bytes && inet_ntop(address->sa_family, bytes, text, sizeof(text)))
		g_string_append_printf(out, "\t%s/%u", text, count_prefix(entry->ifa_netmask));
}

/* Every interface has one entry of the link layer, which knows its number. */
static void append_interface(GString *out, const struct ifaddrs *link, const struct ifaddrs *all, guint64 netns)
{
	const struct sockaddr_ll *address = (const struct sockaddr_ll *)(const void *)link->ifa_addr;
	g_autofree char *name = g_strescape(link->ifa_name, NULL);

	g_string_append_printf(out, "i\t%" G_GUINT64_FORMAT "\t%d\t%s", netns, address->sll_ifindex, name);
	for (; all; all = all->ifa_next)
		if (strcmp(all->ifa_name, link->ifa_name) == 0)
			append_address(out, all);
	g_string_append_c(out, '\n');
}

void dtc_walk_add_interfaces(GString *out, const char *path, guint64 netns)
{
	struct interfaces_task task = { .path = path };

	g_thread_join(g_thread_new("interfaces", get_interfaces, &task));
	for (const struct ifaddrs *entry = task.addresses; entry; entry = entry->ifa_next)
		if (entry->ifa_addr && entry->ifa_addr->sa_family == AF_PACKET)
			append_interface(out, entry, task.addresses, netns);
	if (task.addresses)
		freeifaddrs(task.addresses);
}
