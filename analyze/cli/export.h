/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers as files: --html, --perfetto, --otlp, --folded, --dot. A file appears whole or not at all (written beside its
 * final name, then renamed), and never in place of a recording that is being read.
 */
#pragma once

#include "analyze/engine/engine.h"
#include "collect/console/command_line.h"
#include "dtrace-chain/bundle.h"
#include "dtrace-chain/path.h"
#include "dtrace-chain/report.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_export_options {
	char *html; /* all strings owned; NULL: not wanted */
	char *perfetto;
	char *otlp;
	char *folded;
	char *dot;
};

/* Adds the group to a command's context; values are written to options (zeroed by the caller) while parsing. */
void dtc_export_options_add(struct dtc_export_options *options, DtcCommandLine *line);
void dtc_export_options_clear(struct dtc_export_options *options);

/*
 * Before anything is read: no file is wanted twice, none is a directory, an input of the bundle, or inside one of its
 * kernel traces (where a foreign file would break the next reading).
 */
bool dtc_export_options_check(const struct dtc_export_options *options, const DtcBundle *bundle, GError **error);

/* The same for one file, which may be NULL: not wanted. */
bool dtc_export_check_file(const char *path, const DtcBundle *bundle, GError **error);
/* Writes a whole text, with an error that names the file. */
bool dtc_export_write_text(const char *path, const char *text, GError **error);

/* Writes what is wanted; stops at the first that fails, with an error that names the file. */
bool dtc_export_write(const struct dtc_export_options *options, const DtcReport *report, const DtcPath *path,
		      const DtcEngine *engine, GError **error);
