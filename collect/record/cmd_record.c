/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-collect record */
#include "collect/bundle/environment.h"
#include "collect/console/printable.h"
#include "collect/console/terminal.h"
#include "collect/record/collect.h"
#include "collect/record/privileges.h"
#include "collect/record/record_options.h"
#include "collect/record/summary.h"
#include "collect/seal/places.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The word behind --until-line FILE is its expression. */
static bool check_words(int argc, char **argv, char *const *command, struct dtc_recorder_request *request,
			GError **error)
{
	if (request->line_path && argc != 2)
		return dtc_record_options_refuse(error, "--until-line takes a file and an expression",
						 "for example --until-line /var/log/app.log 'took [0-9]{4,} ms'");
	if (request->line_path) {
		request->line_expression = argv[1];
	} else if (argc > 1) {
		g_autofree char *message = g_strdup_printf("'%s' is no option", argv[1]);
		return dtc_record_options_refuse(error, message,
						 "a command to record stands after --; the folder to write after -o");
	}
	if (command && !*command)
		return dtc_record_options_refuse(error, "no command after --",
						 "for example dtrace-collect record -- sleep 10");
	if (command && request->is_one_of_many)
		return dtc_record_options_refuse(error, "--keep does not go with a command",
						 "each recording would start it anew");
	if (command && request->duration_ns > 0)
		return dtc_record_options_refuse(error, "--for does not go with a command",
						 "the recording ends when the command does");
	return true;
}

/* What will be missing is said before it begins. */
static bool pass_preflight(const struct dtc_recorder_request *request, GError **error)
{
	const struct dtc_preflight_request question = dtc_record_options_to_preflight(request);
	g_autoptr(GPtrArray) checks = dtc_preflight(&question);
	const struct dtc_preflight_check *bad = dtc_preflight_find_bad(checks);

	if (bad) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE, "%s: %s%s%s", bad->subject, bad->text,
			    bad->hint ? "\n" : "", bad->hint ? bad->hint : "");
		return false;
	}
	for (guint i = 0; i < checks->len; i++) {
		const struct dtc_preflight_check *check = g_ptr_array_index(checks, i);
		if (check->verdict == DTC_VERDICT_LACKING)
			fprintf(stderr, "%s: %s: %s\n", dtc_collect_program.name, check->subject, check->text);
		if (check->verdict == DTC_VERDICT_LACKING && check->hint)
			fprintf(stderr, "hint: %s\n", check->hint);
	}
	return true;
}

static void show(const struct dtc_recorder_totals *totals, void *data)
{
	const bool *is_shown = data;

	if (!*is_shown)
		return;
	g_autofree char *text = dtc_summary_get_line(totals);
	g_autofree char *line = g_strconcat(text, "; Ctrl-C ends it", NULL);
	g_autofree char *fitted = dtc_printable_fit(line, dtc_terminal_get_width(STDERR_FILENO) - 1);
	fprintf(stderr, "\r\033[K%s", fitted);
	fflush(stderr);
}

/* After sudo, in a folder of the user's: what was recorded is the user's, and so is the rest of the work. */
static void hand_over(const DtcPlace *place)
{
	g_autofree char *parent = g_path_get_dirname(dtc_place_get_path(place));
	g_autoptr(GError) error = NULL;
	struct stat status;
	uid_t uid;
	gid_t gid;

	if (dtc_privileges_get_sudo_user(&uid, &gid) && stat(parent, &status) == 0 && status.st_uid == uid &&
	    dtc_place_give_away(place, uid, gid, &error) && dtc_privileges_become(uid, gid))
		return;
	if (error)
		dtc_program_report_error(&dtc_collect_program, error);
	dtc_privileges_keep_sealing();
}

static void print_guests(const GPtrArray *guests)
{
	for (guint i = 0; i < guests->len; i++) {
		const struct dtc_environment_guest *guest = g_ptr_array_index(guests, i);
		g_autofree char *name = dtc_printable(guest->name, DTC_PRINTABLE_NAME_MAX);
		printf("guest:    %s (process %u), %u virtual CPUs%s\n", name, guest->pid, guest->vcpu_count,
		       guest->vcpu_tids->len ? "" : ", whose threads are not known");
	}
}

static void print_end(const DtcRecorder *recording, const char *node_folder)
{
	const struct dtc_child *child = dtc_recorder_get_child(recording);
	g_autofree char *text =
		dtc_summary_get_end(node_folder, dtc_recorder_get_totals(recording), dtc_recorder_get_lacks(recording));
	g_autofree char *printable = dtc_printable_lines(text);

	fputs(printable, stdout);
	if (dtc_recorder_get_trigger(recording)) {
		g_autofree char *trigger = dtc_printable_lines(dtc_recorder_get_trigger(recording));
		printf("trigger:  %s\n", trigger);
	}
	print_guests(dtc_recorder_get_guests(recording));
	if (child->pid > 0) {
		g_autofree char *ended = dtc_child_describe(child);
		printf("command:  %s\n", ended);
	}
	fflush(stdout);
}

/* What was recorded becomes a node. */
static int finish(const struct dtc_recorder_request *request, const struct dtc_record_options *options,
		  const DtcRecorder *recording)
{
	print_end(recording, request->node_folder);
	hand_over(dtc_recorder_get_place(recording));
	int code = dtc_summary_is_incomplete(dtc_recorder_get_totals(recording)) ? DTC_COLLECT_INCOMPLETE : 0;
	if (options->raw_only) {
		printf("next:     dtrace-collect seal %s\n", request->node_folder);
		return code;
	}
	int sealed = dtc_collect_seal_node(request->node_folder, options->keeps_raw, options->redaction);
	return sealed != 0 ? sealed : code;
}

/* NULL on error: nothing was recorded then. */
static DtcRecorder *run(const struct dtc_recorder_request *request, const struct dtc_record_options *options,
			GError **error)
{
	bool is_shown = !options->quiet && isatty(STDERR_FILENO) && !dtc_terminal_is_dumb();
	g_autoptr(DtcRecorder) recording = dtc_recorder_start(request, error);

	if (!recording)
		return NULL;
	if (is_shown)
		fprintf(stderr, "recording; Ctrl-C ends it");
	bool is_written = dtc_recorder_run(recording, show, &is_shown, error);
	if (is_shown)
		fputs("\r\033[K", stderr);
	return is_written ? g_steal_pointer(&recording) : NULL;
}

static int record(const struct dtc_recorder_request *request, const struct dtc_record_options *options, GError **error)
{
	g_autoptr(DtcRecorder) recording = run(request, options, error);

	return recording ? finish(request, options, recording) : 1;
}

/* ---- one after the other ---- */

int dtc_collect_get_worse(int one, int other)
{
	return one == 0 || (one == DTC_COLLECT_INCOMPLETE && other != 0) ? other : one;
}

/* What stands there by now may be anything: only a folder, and no other's. */
static void give_folder(const char *path, uid_t uid, gid_t gid)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return;
	if (fstat(fd, &status) == 0 && status.st_uid == geteuid())
		(void)!fchown(fd, uid, gid);
	close(fd);
}

/* NODE-3/NODE: a bundle of its own for each. Caller frees. */
static char *make_folder(const char *node_folder, guint number, GError **error)
{
	g_autofree char *path = g_canonicalize_filename(node_folder, NULL);
	g_autofree char *node = g_path_get_basename(path);
	g_autofree char *outer = g_strdup_printf("%s-%u", path, number);
	g_autofree char *parent = g_path_get_dirname(path);
	struct stat status;
	uid_t uid;
	gid_t gid;

	if (g_mkdir(outer, 0700) != 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO, "cannot make '%s': %s\nname another folder with -o",
			    outer, g_strerror(errno));
		return NULL;
	}
	if (dtc_privileges_get_sudo_user(&uid, &gid) && stat(parent, &status) == 0 && status.st_uid == uid)
		give_folder(outer, uid, gid);
	return g_build_filename(outer, node, NULL);
}

/* The folder of the one that is as many back as are kept; NULL: there is none. Caller frees. */
static char *get_older(const struct dtc_record_options *options, guint number)
{
	g_autofree char *path = g_canonicalize_filename(options->output, NULL);

	return number > (guint)options->keep ? g_strdup_printf("%s-%u", path, number - (guint)options->keep) : NULL;
}

/* Then the one that is too old goes. */
static int finish_one(const struct dtc_recorder_request *request, const struct dtc_record_options *options,
		      const DtcRecorder *recording, guint number)
{
	g_autofree char *old = get_older(options, number);
	int code = finish(request, options, recording);

	if (old)
		dtc_places_remove(old);
	return code;
}

/* The exit code of a child; 0 if there is none. */
static int wait_for_child(pid_t pid)
{
	int status = 0;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/*
 * Sealing is left to a child with no rights to trace, so that the next recording begins at once; one at a time, out of
 * reach of the terminal's Ctrl-C. In a folder of somebody else's it can empty what is too old and not remove it: that
 * is all that another one between the two does.
 */
static pid_t finish_aside(const struct dtc_recorder_request *request, const struct dtc_record_options *options,
			  const DtcRecorder *recording, guint number)
{
	g_autofree char *old = get_older(options, number);

	fflush(NULL);
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	(void)setpgid(0, 0);
	pid_t sealing = fork();
	int code = sealing > 0 ? wait_for_child(sealing) : finish_one(request, options, recording, number);
	if (old)
		(void)g_rmdir(old);
	fflush(NULL);
	_exit(code);
}

/* Of a recording of which nothing is left, NODE-3 goes too. */
static void remove_outer(const char *folder)
{
	g_autofree char *outer = g_path_get_dirname(folder);

	(void)g_rmdir(outer);
}

/* What ended the last one, where nobody asked for it. */
static int tell_last(const DtcRecorder *recording)
{
	const struct dtc_recorder_totals *totals = dtc_recorder_get_totals(recording);

	if (totals->end != DTC_END_DISK)
		return 0;
	if (totals->is_thrown_away)
		fprintf(stderr,
			"%s: stopped early: the disk is nearly full, or refused to be written\n"
			"hint: make room, or name another disk with -o; there was no trigger to write anything for\n",
			dtc_collect_program.name);
	return DTC_COLLECT_INCOMPLETE;
}

static int record_again(struct dtc_recorder_request *request, const struct dtc_record_options *options, GError **error)
{
	pid_t child = 0;
	int code = 0;

	for (guint number = 1;; number++) {
		g_autofree char *folder = make_folder(options->output, number, error);
		request->node_folder = folder;
		g_autoptr(DtcRecorder) recording = folder ? run(request, options, error) : NULL;
		bool is_written = recording && !dtc_recorder_get_totals(recording)->is_thrown_away;
		bool is_last = !recording || dtc_recorder_get_totals(recording)->end != DTC_END_TRIGGER;
		if (folder && !is_written)
			remove_outer(folder);
		code = dtc_collect_get_worse(code, wait_for_child(child));
		child = is_written ? finish_aside(request, options, recording, number) : 0;
		if (child < 0) { /* here: no rights are left to record again */
			fprintf(stderr, "%s: cannot start a process: %s; this recording is the last\n",
				dtc_collect_program.name, g_strerror(errno));
			return dtc_collect_get_worse(code, finish_one(request, options, recording, number));
		}
		if (is_last)
			code = dtc_collect_get_worse(code, wait_for_child(child));
		if (is_last)
			return recording ? dtc_collect_get_worse(code, tell_last(recording)) : 1;
	}
}

static bool prepare(DtcCommandLine *line, struct dtc_record_options *options, int argc, char **argv,
		    struct dtc_recorder_request *ret_request, GError **error)
{
	char **command = dtc_child_split_command(&argc, argv);

	if (!dtc_command_line_parse(line, &argc, &argv, error) ||
	    !dtc_record_options_to_request(options, ret_request, error) ||
	    !check_words(argc, argv, command, ret_request, error))
		return false;
	ret_request->command = command;
	return pass_preflight(ret_request, error);
}

/* The key is there before anything is recorded; read with the rights of who called. */
static bool begin_redaction(struct dtc_record_options *options, const struct dtc_recorder_request *request,
			    struct dtc_redaction *redaction, GError **error)
{
	if (!request->redacted_parts)
		return true;
	if (!dtc_redaction_init(redaction, request->redacted_parts, options->redact_key, error))
		return false;
	redaction->id_headers = (const char *const *)options->kept_headers;
	options->redaction = redaction;
	return true;
}

int dtc_collect_record(int argc, char **argv)
{
	g_autoptr(DtcCommandLine) line = dtc_command_line_new(&dtc_collect_program, "record");
	struct dtc_record_options options = { 0 };
	struct dtc_redaction redaction = { 0 };
	struct dtc_recorder_request request;
	g_autoptr(GError) error = NULL;
	g_autofree char *words = g_strjoinv(" ", argv);
	int code = 1;

	dtc_record_options_add(&options, line);
	if (prepare(line, &options, argc, argv, &request, &error) &&
	    begin_redaction(&options, &request, &redaction, &error)) {
		request.command_line = words;
		code = options.keep > 0 ? record_again(&request, &options, &error) : record(&request, &options, &error);
	}
	if (error)
		code = dtc_program_report_error(&dtc_collect_program, error);
	dtc_redaction_clear(&redaction);
	dtc_command_line_clear_texts(line);
	return code;
}
