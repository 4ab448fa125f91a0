/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* SOCK_NONBLOCK */
#include "analyze/ranks/bell.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BOOT_FILE "/proc/sys/kernel/random/boot_id"
#define NETWORK_FILE "/proc/self/ns/net"

struct DtcBell {
	int file;
	char machine[sizeof(((struct dtc_bell_name *)NULL)->machine)];
};

static const gsize address_head = offsetof(struct sockaddr_un, sun_path);

/* The kernel gives it a name that no other has. */
static bool open_socket(DtcBell *bell, struct dtc_bell_name *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t bytes = sizeof(address);

	bell->file = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (bell->file < 0 || bind(bell->file, (struct sockaddr *)&address, sizeof(sa_family_t)) != 0 ||
	    getsockname(bell->file, (struct sockaddr *)&address, &bytes) != 0)
		return false;
	name->socket_bytes = bytes - address_head;
	if (!name->socket_bytes || name->socket_bytes > sizeof(name->socket))
		return false;
	memcpy(name->socket, address.sun_path, name->socket_bytes);
	return true;
}

/* False: it cannot be told where this is. */
static bool find_machine(DtcBell *bell)
{
	g_autofree char *boot = NULL;
	struct stat network;

	if (!g_file_get_contents(BOOT_FILE, &boot, NULL, NULL) || stat(NETWORK_FILE, &network) != 0)
		return false;
	(void)g_snprintf(bell->machine, sizeof(bell->machine), "%s %" G_GUINT64_FORMAT, g_strchomp(boot),
			 (guint64)network.st_ino);
	return true;
}

DtcBell *dtc_bell_new(struct dtc_bell_name *ret_name)
{
	DtcBell *bell = g_new0(DtcBell, 1);

	memset(ret_name, 0, sizeof(*ret_name));
	if (open_socket(bell, ret_name) && find_machine(bell)) {
		memcpy(ret_name->machine, bell->machine, sizeof(bell->machine));
		return bell;
	}
	if (bell->file >= 0)
		close(bell->file);
	bell->file = -1;
	return bell;
}

void dtc_bell_free(DtcBell *bell)
{
	if (!bell)
		return;
	if (bell->file >= 0)
		close(bell->file);
	g_free(bell);
}

int dtc_bell_get_file(const DtcBell *bell)
{
	return bell->file;
}

void dtc_bell_hush(DtcBell *bell)
{
	char data[1];

	while (recv(bell->file, data, sizeof(data), MSG_DONTWAIT) >= 0)
		;
}

bool dtc_bell_share_machine(const struct dtc_bell_name *a, const struct dtc_bell_name *b)
{
	gsize boot = strcspn(a->machine, " "); /* whatever the network */

	return boot && boot == strcspn(b->machine, " ") && memcmp(a->machine, b->machine, boot) == 0;
}

bool dtc_bell_is_near(const DtcBell *bell, const struct dtc_bell_name *other)
{
	return *bell->machine && memcmp(bell->machine, other->machine, sizeof(bell->machine)) == 0;
}

void dtc_bell_ring(const DtcBell *bell, const struct dtc_bell_name *other)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	gsize bytes = MIN(other->socket_bytes, sizeof(other->socket));

	memcpy(address.sun_path, other->socket, bytes);
	(void)sendto(bell->file, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
		     (socklen_t)(address_head + bytes));
}
