/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is recorded and where to: options of `record`, and of `check`, which says what would come of them. */
#pragma once

#include "collect/console/command_line.h"
#include "collect/record/preflight.h"
#include "collect/record/recorder.h"
#include "collect/redact/redaction.h"

#include <glib.h>
#include <stdbool.h>

struct dtc_record_options {
	char *tracer; /* owned, as all texts here */
	char *duration;
	char *output;
	char *set;
	char *events;
	char *buffer;
	char *capture_buffer;
	char *filter;
	char *interface;
	char **kept_headers;
	char *redact;
	char *redact_key;
	struct dtc_redaction *redaction; /* made of these two by who records; borrowed, NULL: none */
	char *flight;
	char *flight_memory;
	char *until_slow;
	char *until_line;
	gint keep;
	gint snaplen;
	gint probe_port;
	gboolean has_guests;
	gboolean headers_only;
	gboolean no_packets;
	gboolean keeps_raw;
	gboolean raw_only;
	gboolean quiet;
};

/* Wrong usage, and what would be right. Always false. */
bool dtc_record_options_refuse(GError **error, const char *message, const char *hint);
/* Options are zeroed by the caller; the line clears their texts. */
void dtc_record_options_add(struct dtc_record_options *options, DtcCommandLine *line);
/*
 * After parsing. Fills in what was not given, too. The request borrows from the options.
 */
bool dtc_record_options_to_request(struct dtc_record_options *options, struct dtc_recorder_request *ret_request,
				   GError **error);
struct dtc_preflight_request dtc_record_options_to_preflight(const struct dtc_recorder_request *request);
