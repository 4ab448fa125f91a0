/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options that every command shares: which bundle and which of its nodes, and how to print. Every command takes the
 * bundle as its first argument or as --bundle; without either the current directory is the bundle.
 */
#pragma once

#include "collect/console/command_line.h"
#include "collect/console/terminal.h"
#include "collect/image/store.h"
#include "dtrace-chain/bundle.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_common_options {
	char *bundle;			 /* owned: --bundle DIR */
	char **nodes;			 /* owned: --nodes a,b,c (split), or NULL: all */
	char **node_paths;		 /* owned: --node NAME=PATH, repeatable, or NULL */
	char *format;			 /* owned: --format text|json, or NULL: text */
	char *sync_file;		 /* owned: --sync FILE: clock maps instead of fitting, or NULL */
	char *cluster;			 /* owned: --cluster FILE, or NULL */
	enum dtc_reader_choice reader;	 /* --reader */
	char *cache;			 /* owned: --cache DIR|none, or NULL: the user's */
	guint64 cache_bytes;		 /* --cache-size SIZE; 0: the default */
	guint64 max_unpacked_bytes;	 /* --max-unpacked SIZE; 0: the default */
	enum dtc_color color;		 /* --color auto|always|never */
	gint width;			 /* --width COLUMNS; 0: the terminal's, or COLUMNS */
	gboolean is_utc;		 /* --utc: times of day are UTC's, not the zone's of TZ or of this machine */
	gboolean quiet;			 /* -q, --quiet: no progress */
	const struct dtc_owners *owners; /* who reads the recordings, or NULL; of no option */
	gboolean is_verbose;		 /* -v, --verbose: fold nothing, and say on stderr what is read */
};

/* Adds them to a command's line; values are written to options (zeroed by the caller) while parsing. */
void dtc_common_options_add(struct dtc_common_options *options, DtcCommandLine *line);
void dtc_common_options_clear(struct dtc_common_options *options);

/*
 * After parsing: takes the first remaining argument as the bundle if --bundle was not given (more than one is a usage
 * error), opens it, adds the paths of --cluster and --node, selects --nodes. Caller owns; NULL on error.
 */
DtcBundle *dtc_common_options_open_bundle(const struct dtc_common_options *options, int argc, char **argv,
					  GError **error);
/* Another bundle, with the tiers of --cluster but none of its paths, nor --node and --nodes. Caller owns. */
DtcBundle *dtc_common_options_open_other(const struct dtc_common_options *options, const char *path, GError **error);
/* Where what is read is kept; NULL for --cache none, or if there is no such place. Caller owns. */
DtcStore *dtc_common_options_open_store(const struct dtc_common_options *options);
/* True for --format json; an unknown format is a usage error. */
bool dtc_common_options_get_json(const struct dtc_common_options *options, bool *ret_json, GError **error);
