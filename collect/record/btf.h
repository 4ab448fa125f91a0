/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where members lie in the structures of the running kernel, as its type information (BTF, /sys/kernel/btf/vmlinux)
 * tells. Only names, sizes and offsets are read: a page of code, where libbpf would bring libelf and zlib to every
 * node.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define DTC_BTF_PATH "/sys/kernel/btf/vmlinux"

typedef struct DtcBtf DtcBtf;

DtcBtf *dtc_btf_read(const char *path, GError **error);
/* The same of bytes, which are taken over. */
DtcBtf *dtc_btf_new(GBytes *bytes, GError **error);
void dtc_btf_free(DtcBtf *btf);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcBtf, dtc_btf_free)

/*
 * Bytes from the structure's begin to a member, which may be in an anonymous structure or union in it. False if there
 * is none of the name, or it is a bit field.
 */
bool dtc_btf_find_member(const DtcBtf *btf, const char *structure, const char *member, guint *ret_offset);
