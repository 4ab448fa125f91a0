/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-collect cluster */
#include "collect/console/printable.h"
#include "collect/console/quantity.h"
#include "collect/record/child.h"
#include "collect/record/cluster/gather.h"
#include "collect/record/cluster/job.h"
#include "collect/record/cluster/probes.h"
#include "collect/record/cluster/remains.h"
#include "collect/record/cluster/run.h"
#include "collect/record/cluster/shared_key.h"
#include "collect/record/collect.h"
#include "collect/record/record_options.h"
#include "collect/record/stop_signals.h"
#include "dtrace-chain/error.h"
#include "dtrace-chain/manifest.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define RETRY_NS (45 * SECOND_NS) /* less than an agent waits */
#define INTERRUPTED 130
#define JOB_TURN_MS 20	 /* its end is not waited for by poll */
#define PLACE "/var/tmp" /* on a disk, as a rule, where /tmp may be memory */
#define OUT "cluster.dtcb"

struct cluster_options {
	char *nodes; /* owned, as all texts here */
	char *cluster;
	char *output;
	char *duration;
	char *via;
	char *program;
	char *place;
	char *redact_key;
	char **guests;
	gboolean needs_sudo;
	gboolean has_no_probes;
	gboolean quiet;
};

/* What there is of them here is not handed on; raw recordings, and several of one node, are no nodes of a bundle. */
static const char *const own_options[] = { "nodes",	"cluster",    "output", "for",	      "via",  "program",
					   "place",	"sudo",	      "quiet",	"keep-raw",   "keep", "raw",
					   "no-probes", "probe-port", "guest",	"redact-key", NULL };

static void add_options(struct cluster_options *options, struct dtc_record_options *handed_on, DtcCommandLine *line)
{
	const GOptionEntry entries[] = {
		{ "nodes", 0, 0, G_OPTION_ARG_STRING, &options->nodes,
		  "The nodes, with commas: what ssh calls them, or NAME=[USER@]HOST", "LIST" },
		{ "cluster", 0, 0, G_OPTION_ARG_FILENAME, &options->cluster,
		  "A cluster file that names them, or a file with a node a line", "FILE" },
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &options->output,
		  "The bundle to write: one file if it ends with .dtcb, else a folder; default cluster.dtcb",
		  "BUNDLE" },
		{ "for", 0, 0, G_OPTION_ARG_STRING, &options->duration,
		  "How long: 30s, 500ms, 5m; default: until Ctrl-C", "DURATION" },
		{ "via", 0, 0, G_OPTION_ARG_STRING, &options->via,
		  "What runs a command on a node, instead of ssh; {node} stands for it", "COMMAND" },
		{ "sudo", 0, 0, G_OPTION_ARG_NONE, &options->needs_sudo,
		  "Fail where sudo -n is refused; without this it is tried where the login is not root's", NULL },
		{ "program", 0, 0, G_OPTION_ARG_FILENAME, &options->program,
		  "The dtrace-collect to copy to every node; default: this one, where there is none of its version",
		  "FILE" },
		{ "place", 0, 0, G_OPTION_ARG_STRING, &options->place,
		  "The folder on nodes that they record in; default /var/tmp", "FOLDER" },
		{ "guest", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->guests,
		  "What its host calls a node that is a virtual machine, or its process there, where UUID and network "
		  "cards do not tell; with --guests; repeatable",
		  "NODE=NAME" },
		{ "no-probes", 0, 0, G_OPTION_ARG_NONE, &options->has_no_probes,
		  "Exchange no packets between nodes that have too few for their clocks to be aligned", NULL },
		{ "redact-key", 0, 0, G_OPTION_ARG_FILENAME, &options->redact_key,
		  "With --redact: the key by which all nodes do so, to agree with other bundles (default: one that is "
		  "drawn, and kept nowhere)",
		  "FILE" },
		{ "quiet", 'q', 0, G_OPTION_ARG_NONE, &options->quiet, "No lines of progress", NULL },
		{ NULL, 0, 0, 0, NULL, NULL, NULL },
	};

	dtc_command_line_add(line, DTC_HEADING_OPTIONS, entries, NULL);
	dtc_command_line_leave_out(line, own_options);
	dtc_record_options_add(handed_on, line);
}

/* ---- what came of it ---- */

/* What may end it, too. */
struct packing {
	int signal_fd;
	guint signals;
};

/* The first tells what the second does: what was recorded is not to be lost by one too many. */
static bool is_wanted(struct packing *packing)
{
	struct signalfd_siginfo info;

	while (read(packing->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			continue;
		if (packing->signals++ == 0)
			fputs("packing what was recorded; once more ends without a bundle\n", stderr);
	}
	return packing->signals < 2;
}

static bool go_on_packing(guint64 done_bytes, guint64 all_bytes, void *data)
{
	(void)done_bytes;
	(void)all_bytes;
	return is_wanted(data);
}

/* What it says is not of interest. */
static void await_job(struct dtc_job *job, struct packing *packing)
{
	char bytes[4096];

	while (!dtc_job_is_ended(job)) {
		struct pollfd fds[] = { { .fd = job->out_fd, .events = POLLIN },
					{ .fd = job->err_fd, .events = POLLIN } };
		(void)poll(fds, G_N_ELEMENTS(fds), JOB_TURN_MS);
		for (guint i = 0; i < G_N_ELEMENTS(fds); i++)
			if (fds[i].revents && read(fds[i].fd, bytes, sizeof(bytes)) <= 0)
				g_usleep(G_TIME_SPAN_MILLISECOND);
		if (!is_wanted(packing))
			dtc_job_signal(job, SIGKILL);
	}
}

/* A node whose disk was full, or whose sealing was killed, is sealed here, where no Ctrl-C of the terminal's comes. */
static void seal_here(const char *node_folder, struct packing *packing)
{
	g_autofree char *manifest = g_build_filename(node_folder, DTC_MANIFEST_NAME, NULL);
	g_autofree char *raw = g_build_filename(node_folder, DTC_RAW_FOLDER, DTC_RAW_RECORDING, NULL);
	g_autofree char *folder = g_path_get_dirname(node_folder);
	g_autofree char *key = dtc_shared_key_get_option(folder);
	char program[] = "/proc/self/exe", word[] = "seal";
	char *argv[] = { program, word, (char *)node_folder, key, NULL };
	struct dtc_job job;

	if ((g_file_test(manifest, G_FILE_TEST_EXISTS) && !key) || !g_file_test(raw, G_FILE_TEST_EXISTS) ||
	    !dtc_job_start(&job, DTC_JOB_ALL, argv, -1, NULL))
		return;
	await_job(&job, packing);
	dtc_job_close(&job);
	/* sealed, perhaps, and not redacted: it is left out */
	if (key && g_file_test(raw, G_FILE_TEST_EXISTS))
		(void)unlink(manifest);
}

static void print_note(const char *node, const char *text)
{
	g_autofree char *line = g_strdup_printf("%s: %s", node, text);
	g_autofree char *printable = dtc_printable_lines(line);

	puts(printable);
}

/* Of what the recorder printed: how much it was, and what is wrong with it. */
static void print_notes(const DtcMember *member)
{
	static const char *const wanted[] = { "lost: ",	       "trigger: ",	  "stopped ",	     "error ",
					      "the recorder ", "its connection ", "connected again", NULL };
	const char *node = dtc_member_get_target(member)->name;
	const GPtrArray *notes = dtc_member_get_notes(member);

	for (guint i = 0; i < notes->len; i++) {
		const char *note = g_ptr_array_index(notes, i);
		const char *recorded = g_str_has_prefix(note, "recorded '") ? strstr(note, "': ") : NULL;
		if (recorded)
			print_note(node, recorded + strlen("': "));
		for (const char *const *word = wanted; *word && strcmp(note, "lost:     nothing") != 0; word++)
			if (g_str_has_prefix(note, *word))
				print_note(node, note);
	}
}

/* Whether it is in the bundle; what is not is removed. */
static bool take_member(const DtcMember *member, struct packing *packing, bool *is_complete)
{
	const char *folder = dtc_member_get_folder(member), *node = dtc_member_get_target(member)->name;
	g_autoptr(GError) error = NULL;

	print_notes(member);
	if (dtc_member_is_fetched(member))
		seal_here(folder, packing);
	g_autoptr(GPtrArray) defects =
		dtc_member_is_fetched(member) ? dtc_gather_check(folder, go_on_packing, packing, &error) : NULL;
	if (!is_wanted(packing))
		return false;
	*is_complete &= defects && defects->len == 0 && dtc_member_is_complete(member);
	for (guint i = 0; defects && i < defects->len; i++)
		print_note(node, g_ptr_array_index(defects, i));
	if (error)
		dtc_program_report_error(&dtc_collect_program, error);
	if (!defects)
		dtc_remains_remove(folder);
	return defects != NULL;
}

static bool is_cancelled(const GPtrArray *members)
{
	for (guint i = 0; i < members->len; i++)
		if (!g_error_matches(dtc_member_get_failure(g_ptr_array_index(members, i)), DTC_COLLECT_ERROR,
				     DTC_ERROR_CANCELLED))
			return false;
	return true;
}

static int pack(const GPtrArray *members, const struct dtc_gather_request *request, GError **error)
{
	struct packing *packing = request->data;
	bool is_complete = true;
	guint count = 0;
	guint64 bytes;

	for (guint i = 0; i < members->len; i++)
		count += take_member(g_ptr_array_index(members, i), packing, &is_complete);
	dtc_shared_key_remove(request->folder);
	if (count == 0) {
		dtc_remains_remove(request->folder);
		if (is_cancelled(members) || !is_wanted(packing))
			return INTERRUPTED;
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "nothing was recorded\nwhat each node said is above");
		return 1;
	}
	if (!is_wanted(packing) || !dtc_gather(request, &bytes, error)) {
		if (!is_wanted(packing)) {
			dtc_remains_remove(request->folder);
			g_clear_error(error);
			return INTERRUPTED;
		}
		fprintf(stderr, "%s: what was recorded lies in '%s'\n", dtc_collect_program.name, request->folder);
		return 1;
	}
	dtc_remains_remove(request->folder);
	for (guint i = 0; i < request->notes->len; i++)
		print_note("guests", g_ptr_array_index(request->notes, i));
	g_autofree char *quoted = g_shell_quote(request->out);
	printf("packed '%s': %u of %u nodes, %.1f MB (`dtrace-chain bundle create` makes it smaller)\n"
	       "next:     dtrace-chain requests %s\n",
	       request->out, count, members->len, (double)bytes / 1e6, quoted);
	return is_complete ? 0 : DTC_COLLECT_INCOMPLETE;
}

/* ---- what is wanted ---- */

static bool check_words(int argc, char **argv, char *const *command, const struct cluster_options *options,
			const struct dtc_record_options *handed_on, GError **error)
{
	struct stat status;

	if (argc > 1) {
		g_autofree char *message = g_strdup_printf("'%s' is no option", argv[1]);
		return dtc_record_options_refuse(error, message,
						 "nodes are named by --nodes; a command to run here stands after --");
	}
	if (command && !*command)
		return dtc_record_options_refuse(error, "no command after --", "for example -- sleep 10");
	if (command && options->duration)
		return dtc_record_options_refuse(error, "--for does not go with a command",
						 "the recording ends when the command does");
	if (!options->nodes == !options->cluster)
		return dtc_record_options_refuse(
			error, options->nodes ? "--nodes does not go with --cluster" : "no nodes are named",
			"name them: --nodes web1,db1=root@10.0.0.7, or --cluster FILE");
	if (options->place && !g_path_is_absolute(options->place))
		return dtc_record_options_refuse(error, "--place is not an absolute path",
						 "for example --place /srv/tmp");
	if (options->guests && !handed_on->has_guests)
		return dtc_record_options_refuse(error, "--guest goes with --guests",
						 "for example --guests --guest web1=vm-web");
	if (options->redact_key && !handed_on->redact)
		return dtc_record_options_refuse(error, "--redact-key goes with --redact",
						 "for example --redact payload,addresses,names");
	if (lstat(options->output, &status) == 0) {
		g_autofree char *message = g_strdup_printf("'%s' is there already", options->output);
		return dtc_record_options_refuse(error, message,
						 "nothing is overwritten: name another place with -o, or remove it");
	}
	return true;
}

/* --until-line FILE takes one word more: the expression. True: it is there. */
static bool take_expression(int *argc, char **argv, char ***handed_on)
{
	char **words = *handed_on;
	guint count = g_strv_length(words);

	for (char **word = words; *argc == 2 && *word; word++) {
		if (!g_str_has_prefix(*word, "--until-line="))
			continue;
		*handed_on = words = g_renew(char *, words, count + 2);
		words[count] = g_strdup(argv[1]);
		words[count + 1] = NULL;
		*argc = 1;
		return true;
	}
	return false;
}

/* Here, and not by each node. */
static bool check_expression(const struct dtc_record_options *handed_on, bool has_expression, GError **error)
{
	return !handed_on->until_line || has_expression ||
	       dtc_record_options_refuse(error, "--until-line takes a file and an expression",
					 "for example --until-line /var/log/app.log 'took [0-9]{4,} ms'");
}

static bool has_trigger(char *const *words)
{
	for (; *words; words++)
		if (g_str_has_prefix(*words, "--until-"))
			return true;
	return false;
}

static bool is_target(const GPtrArray *targets, const char *name)
{
	for (guint i = 0; i < targets->len; i++)
		if (strcmp(((const struct dtc_target *)g_ptr_array_index(targets, i))->name, name) == 0)
			return true;
	return false;
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

/* Of names that are redacted nobody knows here what they became. */
static bool check_guests(char *const *guests, const GPtrArray *targets, bool has_no_names, GError **error)
{
	for (; guests && *guests; guests++) {
		g_auto(GStrv) parts = g_strsplit(*guests, "=", 2);
		bool is_told = parts[0] && parts[1] && *parts[1] && is_target(targets, parts[0]);
		if (is_told && has_no_names && !is_number(parts[1])) {
			g_autofree char *message =
				g_strdup_printf("--guest '%s' does not go with --redact names", *guests);
			return dtc_record_options_refuse(error, message,
							 "give the number of its process on the host, which stays");
		}
		if (is_told)
			continue;
		g_autofree char *message =
			g_strdup_printf("--guest '%s' names no node and what its host calls it", *guests);
		return dtc_record_options_refuse(error, message,
						 "for example --guest web1=vm-web, where web1 is one of --nodes");
	}
	return true;
}

static GMappedFile *open_program(const char *path, GError **error)
{
	g_autoptr(GError) reason = NULL;
	GMappedFile *program = g_mapped_file_new(path ? path : "/proc/self/exe", FALSE, &reason);

	if (!program)
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
			    "cannot read the program that nodes are to get: %s\n--program names it", reason->message);
	return program;
}

/* Of the kernel's randomness: who does not know it is not answered. NULL, and no probes, without. */
static char *make_token(void)
{
	uint8_t bytes[DTC_PROBES_TOKEN_BYTES];
	GString *token = g_string_new(NULL);

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return g_string_free(token, TRUE);
	for (gsize i = 0; i < sizeof(bytes); i++)
		g_string_append_printf(token, "%02x", bytes[i]);
	return g_string_free(token, FALSE);
}

/* Beside the bundle, on whose disk there is room for it. */
static char *make_folder(const char *out, GError **error)
{
	char *folder = g_strconcat(out, ".nodes-XXXXXX", NULL);

	if (g_mkdtemp_full(folder, 0700))
		return folder;
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot make a folder beside '%s': %s\nname another place with -o", out, g_strerror(errno));
	g_free(folder);
	return NULL;
}

static int record(struct dtc_run_request *request, const char *out, const DtcCluster *cluster, char *const *guests,
		  GError **error)
{
	g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *folder = make_folder(out, error);

	if (!folder)
		return 1;
	struct packing packing = { .signal_fd = dtc_stop_signals_open(0) };
	request->folder = folder;
	request->signal_fd = packing.signal_fd;
	if (request->member.key && !dtc_shared_key_write(folder, request->member.key)) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IO,
			    "cannot write a key into '%s': %s\nname another place with -o", folder, g_strerror(errno));
		close(packing.signal_fd);
		dtc_remains_remove(folder);
		return 1;
	}
	g_autoptr(GPtrArray) members = dtc_run_cluster(request, error);
	if (!members) {
		close(packing.signal_fd);
		dtc_remains_remove(folder);
		return 1;
	}
	const struct dtc_gather_request gather = {
		.folder = folder,
		.out = out,
		.creator = "dtrace-collect " DTC_VERSION,
		.cluster = cluster,
		.guests = (const char *const *)guests,
		.notes = notes,
		.progress = go_on_packing,
		.data = &packing,
		.has_no_addresses = request->has_no_addresses,
	};
	int code = pack(members, &gather, error);
	close(packing.signal_fd);
	return code;
}

static int run(const struct cluster_options *options, const struct dtc_recorder_request *checked,
	       char *const *handed_on, char *const *command, GError **error)
{
	DtcCluster *read = NULL;
	g_autoptr(GPtrArray) targets = options->nodes ? dtc_targets_parse(options->nodes, error)
						      : dtc_targets_read(options->cluster, &read, error);
	g_autoptr(DtcCluster) cluster = read;
	g_auto(GStrv) via = targets && options->via ? dtc_via_parse(options->via, error) : NULL;
	g_autoptr(GMappedFile) program =
		targets && (via || !options->via) ? open_program(options->program, error) : NULL;

	g_autofree char *key =
		program && checked->redacted_parts ? dtc_shared_key_make(options->redact_key, error) : NULL;
	if (!program || (checked->redacted_parts && !key))
		return 1;
	g_autofree char *token = options->has_no_probes ? NULL : make_token();
	struct dtc_run_request request = {
		.targets = targets,
		.member = { .via = via,
			    .boot = { .place = options->place ? options->place : PLACE,
				      .program_bytes = g_mapped_file_get_length(program),
				      .copies = options->program != NULL,
				      .needs_sudo = options->needs_sudo },
			    .program = program,
			    .options = handed_on,
			    .key = key,
			    .token = token,
			    .retry_ns = RETRY_NS },
		.command = command,
		.has_trigger = has_trigger(handed_on),
		.quiet = options->quiet,
		.has_no_addresses = checked->redacted_parts & DTC_REDACT_ADDRESSES,
	};
	if (options->duration && !dtc_duration_parse("--for", options->duration, &request.duration_ns, error))
		return 1;
	return check_guests(options->guests, targets, checked->redacted_parts & DTC_REDACT_NAMES, error)
		       ? record(&request, options->output, cluster, options->guests, error)
		       : 1;
}

int dtc_collect_cluster(int argc, char **argv)
{
	g_autoptr(DtcCommandLine) line = dtc_command_line_new(&dtc_collect_program, "cluster");
	struct cluster_options options = { 0 };
	struct dtc_record_options record_options = { 0 };
	struct dtc_recorder_request checked;
	g_autoptr(GError) error = NULL;
	char **command = dtc_child_split_command(&argc, argv);
	int code = 1;

	add_options(&options, &record_options, line);
	bool is_parsed = dtc_command_line_parse(line, &argc, &argv, &error);
	g_auto(GStrv) handed_on = is_parsed ? dtc_command_line_get_given(line, own_options) : NULL;
	bool has_expression = is_parsed && take_expression(&argc, argv, &handed_on);
	if (is_parsed && !options.output)
		options.output = g_strdup(OUT);
	for (gsize length = is_parsed ? strlen(options.output) : 0; length > 1 && options.output[length - 1] == '/';)
		options.output[--length] = 0; /* what is beside it is named after it */
	if (is_parsed && dtc_record_options_to_request(&record_options, &checked, &error) &&
	    check_expression(&record_options, has_expression, &error) &&
	    check_words(argc, argv, command, &options, &record_options, &error))
		code = run(&options, &checked, handed_on, command, &error);
	g_free(g_steal_pointer(&record_options.output)); /* left out of the line, but filled in */
	if (error)
		code = dtc_program_report_error(&dtc_collect_program, error);
	dtc_command_line_clear_texts(line);
	return code;
}
