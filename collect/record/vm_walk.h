/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Virtual machines that run on this host, found in /proc: a process that holds a machine of KVM's is one, whichever
 * hypervisor it is. And what tells which of somebody's guests this machine is itself.
 */
#pragma once

#include "collect/bundle/environment.h"

#include <glib.h>

/*
 * All of them, by process (struct dtc_environment_guest). root is "" on a machine, and for tests a folder with proc/ in
 * it. It takes the right to look into other processes. Which thread runs a vCPU is told by the call that it is in,
 * which can be seen of those that wait, and else by its name. Free with g_ptr_array_unref.
 */
GPtrArray *dtc_vm_walk(const char *root);
/* What is in the second list and not in the first yet, by process, goes over. */
void dtc_vm_merge(GPtrArray *guests, GPtrArray *later);

/*
 * The UUID that the firmware gives this machine, lower case; "" if it gives none, or nobody may read it. Caller owns.
 */
char *dtc_vm_get_own_uuid(const char *root);
/* Addresses of this network namespace's network cards (not of bridges, veth and the like). Free with g_strfreev. */
char **dtc_vm_list_own_macs(const char *root);
