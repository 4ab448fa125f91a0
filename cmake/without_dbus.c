/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libpcap can capture on D-Bus, too, and its archive would want that library, systemd's and more. It finds its two
 * doors to it here, and they are closed: no such interface is found, and none opened.
 */
#include <stddef.h>

int dbus_findalldevs(void *devices, char *error);
void *dbus_create(const char *device, char *error, int *ret_is_ours);

int dbus_findalldevs(void *devices, char *error)
{
	(void)devices;
	(void)error;
	return 0;
}

void *dbus_create(const char *device, char *error, int *ret_is_ours)
{
	(void)device;
	(void)error;
	*ret_is_ours = 0;
	return NULL;
}
