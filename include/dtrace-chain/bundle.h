/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A bundle: the recordings of several nodes. Any plain directory tree is one: a sub-directory is a node if it, or its
 * kernel/, holds a CTF metadata file; NODE.pcap (or .pcapng) beside it is that node's capture, and so are *.pcap[ng]
 * inside the node's directory. A NODE.pcap without a directory is a node that has only a capture. Nodes are kept
 * sorted by name, so that the order on the command line or in the directory changes nothing. A packed bundle (one file,
 * .dtcb) is unpacked into a private folder that goes with the object.
 */
#pragma once

#include "dtrace-chain/cluster.h"
#include "dtrace-chain/finding.h"

#include <glib.h>
#include <stdbool.h>

typedef struct DtcBundle DtcBundle;

/* With what traces are decoded: collect/read/reader.h. */
enum dtc_reader_choice {
	DTC_READER_AUTO, /* our own decoder; what it does not know goes to the reference */
	DTC_READER_FAST,
	DTC_READER_REFERENCE,
};
struct dtc_reader_options {
	enum dtc_reader_choice choice;
	/*
	 * The reference decodes in a process of its own, with limits on memory and time: PROGRAM DTC_READER_CHILD_WORD
	 * NODE PATH, which calls dtc_reader_serve. NULL: in this process. Borrowed for ever.
	 */
	const char *program;
	struct DtcKnown *known; /* of what nodes share (collect/read/known.h); NULL: nothing. Borrowed as program is */
};

/* What was read of a recording, in its place: in a node's folder, for who has not the recording itself. */
#define DTC_KERNEL_IMAGE_NAME "kernel.dtci"
#define DTC_CAPTURE_IMAGE_NAME "captures.dtci"

struct dtc_bundle_node {
	char *name;	   /* owned */
	char *kernel_path; /* owned; directory that holds the CTF metadata; NULL: no kernel trace */
	char **pcap_paths; /* owned, NULL-terminated, sorted; empty: no capture */
	/* owned; of a bundle that has what was read of a recording in its place (`dtrace-chain index`), else NULL */
	char *kernel_image;
	char *capture_image;
	/* owned; what the recorder says, NULL: nothing. collect/bundle/environment.h */
	struct DtcEnvironment *environment;
	struct dtc_reader_options reader;
	bool is_elsewhere; /* the bundle's owners read it (analyze/engine/owners.h); its paths are theirs */
};

/*
 * Opens the directory tree or packed bundle at path. An empty or missing directory is an error (DTC_COLLECT_ERROR,
 * NOT_FOUND) with a hint. With path NULL the bundle starts empty, for dtc_bundle_add_node. Caller owns.
 */
DtcBundle *dtc_bundle_open(const char *path, GError **error);
/* The same; a packed bundle may become that large when it is unpacked (0: 64 GiB). */
DtcBundle *dtc_bundle_open_limited(const char *path, guint64 max_unpacked_bytes, GError **error);
void dtc_bundle_free(DtcBundle *bundle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtcBundle, dtc_bundle_free)

/* Adds (or replaces the paths of) a node: path is a CTF directory, a directory as in a bundle, or a capture file. */
bool dtc_bundle_add_node(DtcBundle *bundle, const char *name, const char *path, GError **error);

/* Keeps only the named nodes (NULL-terminated). An unknown name is an error that lists the nodes there are. */
bool dtc_bundle_select(DtcBundle *bundle, const char *const *names, GError **error);

/* For all nodes, those that come later too. Not called: DTC_READER_AUTO, all in this process. */
void dtc_bundle_set_reader(DtcBundle *bundle, const struct dtc_reader_options *options);

/* Something of the caller's that nodes' readers use: destroyed with the bundle. */
void dtc_bundle_take(DtcBundle *bundle, void *data, GDestroyNotify destroy);

/*
 * Who reads nodes that are elsewhere, and by which number they know the bundle (analyze/engine/owners.h); NULL: there
 * is nobody. Borrowed.
 */
struct dtc_owners;
void dtc_bundle_set_owners(DtcBundle *bundle, const struct dtc_owners *owners, guint number);
const struct dtc_owners *dtc_bundle_get_owners(const DtcBundle *bundle, guint *ret_number);
/* A node as another process sees it. If there is one of that name, it stays. The paths are copied. */
void dtc_bundle_add_seen(DtcBundle *bundle, const struct dtc_bundle_node *seen);
/* Somebody else reads it. */
void dtc_bundle_give_node(DtcBundle *bundle, guint index);
/* Nobody can read it any more, which dtc_bundle_report says. */
void dtc_bundle_lose_node(DtcBundle *bundle, const char *name, const char *why);

guint dtc_bundle_get_count(const DtcBundle *bundle);
/* Borrowed; index in sorted order, which is the node index everywhere else. */
const struct dtc_bundle_node *dtc_bundle_get_node(const DtcBundle *bundle, guint index);
/* By its name; NULL: there is none. Borrowed. */
const struct dtc_bundle_node *dtc_bundle_find_node(const DtcBundle *bundle, const char *name);

/* The path that was opened, a directory or a packed file; or NULL. Borrowed. */
const char *dtc_bundle_get_source(const DtcBundle *bundle);
/* The tree that was opened (of a packed bundle where it was unpacked), or NULL. Borrowed. */
const char *dtc_bundle_get_directory(const DtcBundle *bundle);
/* It was one file, and the directory is where it was unpacked. */
bool dtc_bundle_is_packed(const DtcBundle *bundle);
/* Takes over the cluster, which names tiers and tells roles; its paths are the caller's to add. */
void dtc_bundle_take_cluster(DtcBundle *bundle, DtcCluster *cluster);
/* NULL: none was given. Borrowed. */
const DtcCluster *dtc_bundle_get_cluster(const DtcBundle *bundle);

/*
 * What was wrong with the bundle as a whole when it was opened, of the nodes that it still has: files that are not as
 * its manifest says (of a packed bundle every byte was compared, of a directory the sizes), and links that lead out of
 * it; and of each node what its recorder says is not in the recording.
 */
void dtc_bundle_report(const DtcBundle *bundle, DtcFindings *findings);
