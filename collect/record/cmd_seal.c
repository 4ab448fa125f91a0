/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-collect seal */
#include "collect/console/command_line.h"
#include "collect/console/printable.h"
#include "collect/record/collect.h"
#include "collect/record/recorder.h"
#include "collect/record/redacting.h"
#include "collect/record/stop_signals.h"
#include "collect/record/summary.h"
#include "dtrace-chain/error.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define TURN_NS INT64_C(100000000)

struct sealing {
	const char *node_folder;
	struct dtc_seal_options options;
	struct dtc_redaction *redaction; /* or NULL */
	struct dtc_seal_summary summary;
	DtcFindings *findings;
	GError *error; /* owned */
	bool is_sealed;
	gint is_done; /* atomic */
};

static void *run(void *data)
{
	struct sealing *sealing = data;

	sealing->is_sealed = dtc_seal_node(sealing->node_folder, &sealing->options, sealing->findings,
					   &sealing->summary, &sealing->error);
	if (sealing->is_sealed && sealing->redaction)
		sealing->is_sealed = dtc_redacting_replace(sealing->node_folder, sealing->redaction, &sealing->error);
	g_atomic_int_set(&sealing->is_done, 1);
	return NULL;
}

/* That nobody looks any more (SIGHUP) is no reason. Whatever is half written has another name, and goes next time. */
static void wait_for_end(struct sealing *sealing)
{
	while (!g_atomic_int_get(&sealing->is_done)) {
		int number = dtc_recorder_wait_for_signal(TURN_NS);
		if (number == 0 || number == SIGHUP || number == SIGUSR1)
			continue;
		fprintf(stderr, "\n%s: not sealed\nhint: `dtrace-collect seal %s` does it from what was recorded\n",
			dtc_collect_program.name, sealing->node_folder);
		_exit(DTC_COLLECT_INCOMPLETE);
	}
}

int dtc_collect_seal_node(const char *node_folder, bool keeps_raw, struct dtc_redaction *redaction)
{
	g_autoptr(DtcFindings) findings = dtc_findings_new();
	struct sealing sealing = {
		.node_folder = node_folder,
		/* until it is redacted it can be sealed again */
		.options = { .creator = "dtrace-collect " DTC_VERSION, .keeps_raw = keeps_raw || redaction },
		.redaction = redaction,
		.findings = findings,
	};

	umask(077); /* as what was recorded */
	GThread *thread = g_thread_new("seal", run, &sealing);

	wait_for_end(&sealing);
	g_thread_join(thread);
	g_autoptr(GError) error = sealing.error;
	if (!sealing.is_sealed)
		return dtc_program_report_error(&dtc_collect_program, error);
	g_autofree char *text = dtc_summary_get_sealed(&sealing.summary, findings);
	g_autofree char *printable = dtc_printable_lines(text);
	g_autofree char *next = dtc_summary_get_next(node_folder);
	printf("%s%s%s", printable, redaction ? "redacted: what was recorded is removed, and not overwritten\n" : "",
	       next);
	return dtc_findings_get_complete(findings) ? 0 : DTC_COLLECT_INCOMPLETE;
}

/* As the recording itself asks for. */
static int seal(const char *node_folder, bool keeps_raw, const char *key_file)
{
	struct dtc_redacting redacting;
	g_autoptr(GError) error = NULL;

	bool is_known = dtc_redacting_of_raw(node_folder, key_file, &redacting, &error);
	bool is_redacted = is_known && redacting.redaction.parts;
	if (is_redacted && keeps_raw)
		g_set_error(&error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "'%s' was recorded with --redact\n--keep-raw would keep what is to go: leave it out",
			    node_folder);
	if (is_redacted && !error)
		(void)dtc_redacting_restore(node_folder, &error);
	int code = error ? dtc_program_report_error(&dtc_collect_program, error)
			 : dtc_collect_seal_node(node_folder, keeps_raw, is_redacted ? &redacting.redaction : NULL);
	dtc_redacting_clear(&redacting);
	return code;
}

int dtc_collect_seal(int argc, char **argv)
{
	g_autoptr(DtcCommandLine) line = dtc_command_line_new(&dtc_collect_program, "seal");
	gboolean keeps_raw = FALSE;
	char *key_file = NULL;
	const GOptionEntry entries[] = {
		{ "keep-raw", 0, 0, G_OPTION_ARG_NONE, &keeps_raw, "Keep what was recorded beside what is made of it",
		  NULL },
		{ "redact-key", 0, 0, G_OPTION_ARG_FILENAME, &key_file,
		  "Of what was recorded with --redact: the key by which it is redacted", "FILE" },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};
	g_autoptr(GError) error = NULL;

	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	bool is_parsed = dtc_command_line_parse(line, &argc, &argv, &error);
	if (is_parsed && argc != 2)
		g_set_error(&error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
			    "%s\nname the folder that a recorder wrote: dtrace-collect seal NODE",
			    argc < 2 ? "nothing to seal" : "more than one folder given");
	if (error)
		return dtc_program_report_error(&dtc_collect_program, error);
	dtc_stop_signals_block();
	return seal(argv[1], keeps_raw, key_file);
}
