/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a bundle says about itself: its nodes, their clocks and counts, and the SHA-256 of every file. The manifest is
 * the file manifest.pb at the root of a bundle (proto/bundle.proto); a tree without one is a bundle all the same.
 * A manifest that was read is checked: its seal fits, every text is printable UTF-8 of bounded length, and no path
 * leaves the bundle.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define DTC_MANIFEST_NAME "manifest.pb"
#define DTC_SHA256_HEX 64

/* As the CTF metadata declares it; all zero and NULL: no kernel trace, or one without a clock. */
struct dtc_clock_class {
	char *name; /* owned */
	char *uuid; /* owned; "" if not given */
	guint64 frequency_hz;
	int64_t offset_s;
	int64_t offset_cycles;
};

struct dtc_manifest_node {
	char *name;	   /* all owned, none NULL ... */
	char *role;	   /* "", "host", "guest" */
	char *host;	   /* of a guest, or "" */
	char **addresses;  /* NULL-terminated */
	GArray *vcpu_tids; /* uint32_t */
	char *release;
	char *tracer;
	struct dtc_clock_class clock; /* ... but in here, without a clock */
	guint64 events;
	guint64 lost_events;
	guint64 packets;
	int64_t begin_ns; /* node time; 0 without events */
	int64_t end_ns;
	uint16_t probe_port; /* UDP packets of it are probes of the recorders', and nobody's traffic; 0: none */
	bool is_complete;
};

struct dtc_manifest_file {
	char *path; /* owned; relative to the bundle */
	guint64 bytes;
	char sha256[DTC_SHA256_HEX + 1]; /* lower-case hex */
};

typedef struct DtcManifest {
	char *creator;	  /* owned */
	GPtrArray *nodes; /* struct dtc_manifest_node, by name */
	GPtrArray *files; /* struct dtc_manifest_file, by path; the manifest itself is not among them */
} DtcManifest;

DtcManifest *dtc_manifest_new(const char *creator);
void dtc_manifest_free(DtcManifest *manifest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcManifest, dtc_manifest_free)
/* A new node with empty fields at the end of the list; borrowed. */
struct dtc_manifest_node *dtc_manifest_add_node(DtcManifest *manifest, const char *name);
/* Borrowed; NULL: it has no such node. */
struct dtc_manifest_node *dtc_manifest_find_node(const DtcManifest *manifest, const char *name);
/* sha256 has DTC_SHA256_HEX digits. */
void dtc_manifest_add_file(DtcManifest *manifest, const char *path, guint64 bytes, const char *sha256);
/* NULL: it has no such file. */
const struct dtc_manifest_file *dtc_manifest_find_file(const DtcManifest *manifest, const char *path);

void dtc_clock_class_clear(struct dtc_clock_class *clock);

/* As the bytes of manifest.pb; the same manifest gives the same bytes. Caller owns. */
GBytes *dtc_manifest_to_bytes(const DtcManifest *manifest);
/* DAMAGED with what is wrong; name is how errors call it. Caller owns. */
DtcManifest *dtc_manifest_from_bytes(const char *name, const void *data, gsize bytes, GError **error);
/* The manifest of a bundle's directory: NOT_FOUND without one, DAMAGED if it is broken. Caller owns. */
DtcManifest *dtc_manifest_read(const char *directory, GError **error);
/* The same; where the directory has none, those of the folders in it, as recorders leave them, taken as one. */
DtcManifest *dtc_manifest_read_tree(const char *directory, GError **error);
