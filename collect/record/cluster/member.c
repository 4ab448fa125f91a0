/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/member.h"

#include "collect/record/clocks.h"
#include "collect/record/cluster/agent.h"
#include "collect/record/cluster/channel.h"
#include "collect/record/cluster/fetch.h"
#include "collect/record/cluster/job.h"
#include "collect/record/cluster/probes.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define BOOT_SILENCE_NS (60 * SECOND_NS) /* ssh, a login, a slow line on which the program comes */
#define SILENCE_NS (15 * SECOND_NS)	 /* the agent says something each second */
#define LEAVING_NS (10 * SECOND_NS)
#define SHELL_LEAVING_NS (2 * SECOND_NS) /* it hears an end when the connection is cut, too */
#define RETRY_AFTER_NS (SECOND_NS / 2)
#define MAX_NOTES 200u
#define MAX_SAID_BYTES 4000u
#define INCOMPLETE 3

struct DtcMember {
	const struct dtc_target *target;
	const struct dtc_member_settings *settings;
	char *folder;
	guint number;
	uint16_t probe_port; /* 0: it takes part in no probes */
	char **addresses;    /* by which others may reach it */
	enum dtc_member_phase phase;
	struct dtc_job job;  /* ssh */
	DtcChannel *channel; /* NULL: there is no connection now */
	GString *complaints; /* what ssh, and the shell there, said last */
	char *remote;	     /* the agent's folder; NULL: it did not get so far */
	DtcFetch *fetch;
	gsize bytes_left; /* of a portion of a file */
	int code;	  /* of the recording; -1: not known */
	guint64 recorded_bytes;
	int64_t heard_ns, pinged_ns, leaving_ns;
	int64_t broken_ns; /* since then it is tried again; 0: it is not broken */
	int64_t retry_ns;  /* when it is tried next */
	GError *failure;   /* owned */
	GPtrArray *notes;  /* char * */
	bool has_program;  /* over this connection */
	bool has_list;
	bool is_told_to_stop; /* the recording may end */
	bool has_broken;      /* once at least: then the recording ended, too */
	bool has_triggered;
	bool is_fetched;
	bool is_incomplete;
};

static void set_failure(DtcMember *member, enum dtc_error code, const char *hint, const char *format, ...)
	G_GNUC_PRINTF(4, 5);

/* The first one counts. */
static void set_failure(DtcMember *member, enum dtc_error code, const char *hint, const char *format, ...)
{
	va_list words;

	if (member->failure)
		return;
	va_start(words, format);
	g_autofree char *what = g_strdup_vprintf(format, words);
	va_end(words);
	member->failure = g_error_new(DTC_COLLECT_ERROR, code, "node '%s' %s\n%s", member->target->name, what, hint);
}

static void add_note(DtcMember *member, const char *note)
{
	if (member->notes->len < MAX_NOTES)
		g_ptr_array_add(member->notes, g_strndup(note, MAX_SAID_BYTES));
}

/* ---- the connection ---- */

static void disconnect(DtcMember *member)
{
	if (!member->channel)
		return;
	g_clear_pointer(&member->channel, dtc_channel_free);
	member->job.in_fd = member->job.out_fd = -1; /* they were the channel's */
	dtc_job_close(&member->job);
	dtc_job_signal(&member->job, SIGTERM);
	for (guint i = 0; i < 100 && member->job.pid > 0 && !dtc_job_is_ended(&member->job); i++)
		g_usleep(2 * G_TIME_SPAN_MILLISECOND);
	dtc_job_signal(&member->job, SIGKILL);
	while (member->job.pid > 0 && !dtc_job_is_ended(&member->job))
		g_usleep(G_TIME_SPAN_MILLISECOND);
	member->job.pid = 0;
}

static void connect_to_node(DtcMember *member)
{
	struct dtc_boot boot = member->settings->boot;

	boot.resumed = member->remote;
	g_autofree char *script = dtc_boot_get_script(&boot);
	g_auto(GStrv) argv = dtc_via_get_argv(member->settings->via, member->target->host, script);
	g_autoptr(GError) error = NULL;

	member->bytes_left = 0;
	member->has_program = member->has_list = false;
	member->heard_ns = dtc_clock_get_mono_ns();
	g_string_truncate(member->complaints, 0);
	if (!dtc_job_start(&member->job, DTC_JOB_ALL, argv, -1, &error)) {
		set_failure(member, DTC_ERROR_LIMIT, "are there too many processes?", "cannot be connected to: %s",
			    error->message);
		member->phase = DTC_MEMBER_OVER;
		return;
	}
	member->channel = dtc_channel_new(member->job.out_fd, member->job.in_fd);
}

DtcMember *dtc_member_new(const struct dtc_target *target, guint number, const char *folder,
			  const struct dtc_member_settings *settings)
{
	DtcMember *member = g_new0(DtcMember, 1);

	member->target = target;
	member->settings = settings;
	member->folder = g_strdup(folder);
	member->number = number;
	member->addresses = g_new0(char *, 1);
	member->complaints = g_string_new(NULL);
	member->fetch = dtc_fetch_new(folder);
	member->notes = g_ptr_array_new_with_free_func(g_free);
	member->code = -1;
	connect_to_node(member);
	return member;
}

void dtc_member_free(DtcMember *member)
{
	if (!member)
		return;
	disconnect(member);
	g_clear_error(&member->failure);
	g_ptr_array_unref(member->notes);
	dtc_fetch_free(member->fetch);
	g_string_free(member->complaints, TRUE);
	g_strfreev(member->addresses);
	g_free(member->remote);
	g_free(member->folder);
	g_free(member);
}

/* The last line that was said: ssh's own error, mostly. */
static char *get_complaint(const DtcMember *member)
{
	g_auto(GStrv) lines = g_strsplit(member->complaints->str, "\n", -1);
	const char *last = "";

	for (char **line = lines; *line; line++)
		if (*g_strstrip(*line))
			last = *line;
	return g_strdup(last);
}

static void take_complaints(DtcMember *member)
{
	char bytes[4096];
	struct pollfd fd = { .fd = member->job.err_fd, .events = POLLIN };

	while (member->job.err_fd >= 0 && poll(&fd, 1, 0) > 0) {
		ssize_t got = read(member->job.err_fd, bytes, sizeof(bytes));
		if (got <= 0) {
			close(member->job.err_fd);
			member->job.err_fd = -1;
			return;
		}
		g_string_append_len(member->complaints, bytes, got);
		if (member->complaints->len > MAX_SAID_BYTES)
			g_string_erase(member->complaints, 0, (gssize)(member->complaints->len - MAX_SAID_BYTES));
	}
}

/* ---- leaving ---- */

static void leave(DtcMember *member)
{
	if (member->phase >= DTC_MEMBER_LEAVING)
		return;
	member->phase = member->channel ? DTC_MEMBER_LEAVING : DTC_MEMBER_OVER;
	member->leaving_ns = dtc_clock_get_mono_ns();
	if (!member->channel)
		return;
	if (member->remote)
		dtc_channel_send(member->channel, "bye", NULL);
	else
		dtc_channel_close_output(member->channel); /* the shell there reads an end, and removes what it made */
}

static void be_over(DtcMember *member)
{
	disconnect(member);
	member->phase = DTC_MEMBER_OVER;
}

void dtc_member_give_up(DtcMember *member, const char *reason)
{
	if (member->phase >= DTC_MEMBER_LEAVING)
		return;
	set_failure(member, DTC_ERROR_CANCELLED, "it was not waited for", "was given up: %s", reason);
	leave(member);
}

/* The first error that the recorder over there printed, with its hint. */
static void set_said_failure(DtcMember *member)
{
	const char *message = NULL, *hint = NULL;

	if (member->is_told_to_stop)
		set_failure(member, DTC_ERROR_CANCELLED, "nothing was recorded there yet",
			    "was stopped before it recorded");
	for (guint i = 0; i < member->notes->len; i++) {
		const char *note = g_ptr_array_index(member->notes, i);
		if (!message && g_str_has_prefix(note, "dtrace-collect: "))
			message = note + strlen("dtrace-collect: ");
		else if (message && !hint && g_str_has_prefix(note, "hint: "))
			hint = note + strlen("hint: ");
	}
	set_failure(member, DTC_ERROR_IMPOSSIBLE, hint ? hint : "`dtrace-collect check` there says what is missing",
		    "cannot be recorded: %s", message ? message : "the recorder ended at once");
}

/* ---- messages ---- */

/* Once: who asks for more of them is no shell that was sent the script. */
static void send_program(DtcMember *member, const char *machine)
{
	GMappedFile *program = member->settings->program;

	if (member->has_program)
		return;
	member->has_program = true;
	if (machine)
		add_note(member, "the program is copied to it");
	dtc_channel_send_bytes(member->channel, g_mapped_file_get_contents(program), g_mapped_file_get_length(program));
}

static void take_boot(DtcMember *member, char **words)
{
	if (g_strcmp0(words[1], "need") == 0) {
		send_program(member, words[2]);
	} else if (g_strcmp0(words[1], "run") == 0 && words[2]) {
		g_free(member->remote);
		member->remote = g_strdup(words[2]);
	} else if (g_strcmp0(words[1], "failed") == 0) {
		set_failure(member, DTC_ERROR_IMPOSSIBLE,
			    "a program without libraries runs everywhere: --program FILE (cmake --preset static); "
			    "--place names another folder there",
			    "cannot be recorded: %s", words[2] ? words[2] : "its shell does not say why");
		be_over(member);
	}
}

/* With probes it is asked first where others reach it. */
static void take_hello(DtcMember *member)
{
	g_autofree char *number = g_strdup_printf("%u", member->number);

	if (member->phase == DTC_MEMBER_CONNECTING && member->settings->token)
		dtc_channel_send(member->channel, "probe", member->settings->token, number, NULL);
	else if (member->phase == DTC_MEMBER_CONNECTING)
		member->phase = DTC_MEMBER_GREETED;
	if (member->broken_ns == 0)
		return;
	member->broken_ns = 0;
	member->phase = DTC_MEMBER_ENDING;
	add_note(member, "connected again");
}

/* They are told to others: nothing but addresses, and no more than there may be. */
static char **take_addresses(char **words)
{
	g_autoptr(GStrvBuilder) addresses = g_strv_builder_new();

	for (guint i = 0; words[i] && i < DTC_PROBES_MAX_ADDRESSES; i++)
		if (strlen(words[i]) < INET6_ADDRSTRLEN && g_hostname_is_ip_address(words[i]))
			g_strv_builder_add(addresses, words[i]);
	return g_strv_builder_end(addresses);
}

static void take_probing(DtcMember *member, char **words)
{
	guint64 port = 0;

	if (member->phase != DTC_MEMBER_CONNECTING)
		return;
	(void)g_ascii_string_to_unsigned(words[1] ? words[1] : "", 10, 0, G_MAXUINT16, &port, NULL);
	member->probe_port = (uint16_t)port;
	g_strfreev(member->addresses);
	member->addresses = take_addresses(words[1] ? words + 2 : words + 1);
	member->phase = DTC_MEMBER_GREETED;
}

static void fail_fetching(DtcMember *member, GError *error)
{
	g_auto(GStrv) parts = g_strsplit(error->message, "\n", 2);

	set_failure(member, (enum dtc_error)error->code, parts[1] ? parts[1] : "try again", "cannot be fetched: %s",
		    parts[0]);
	g_error_free(error);
	leave(member);
}

static void take_end(DtcMember *member, char **words)
{
	int code = words[1] ? (int)g_ascii_strtoll(words[1], NULL, 10) : 1;

	if (member->code < 0)
		member->code = code;
	member->is_incomplete |= code != 0;
	if (member->phase == DTC_MEMBER_STARTING && code != 0 && code != INCOMPLETE) {
		set_said_failure(member);
		leave(member);
		return;
	}
	member->phase = DTC_MEMBER_FETCHING;
	dtc_fetch_clear_list(member->fetch);
	dtc_channel_send(member->channel, "list", NULL);
}

static void finish_fetching(DtcMember *member)
{
	if (member->phase != DTC_MEMBER_FETCHING || !dtc_fetch_is_whole(member->fetch))
		return;
	if (dtc_fetch_get_all_bytes(member->fetch) == 0)
		set_said_failure(member);
	else
		member->is_fetched = true;
	leave(member);
}

static void take_file(DtcMember *member, char **words)
{
	GError *error = NULL;

	if (words[1] && words[2] && !member->has_list &&
	    !dtc_fetch_add(member->fetch, words[2], g_ascii_strtoull(words[1], NULL, 10), &error))
		fail_fetching(member, error);
}

static void take_list_end(DtcMember *member)
{
	GError *error = NULL;

	if (member->has_list)
		return;
	member->has_list = true;
	if (!dtc_fetch_ask(member->fetch, member->channel, &error))
		fail_fetching(member, error);
	else
		finish_fetching(member);
}

static void take_file_end(DtcMember *member)
{
	GError *error = NULL;

	if (!dtc_fetch_end_file(member->fetch, &error))
		fail_fetching(member, error);
	else
		finish_fetching(member);
}

static void take_ready(DtcMember *member)
{
	if (member->phase == DTC_MEMBER_STARTING)
		member->phase = DTC_MEMBER_RECORDING;
}

/* A full disk, or what killed the recorder, ends no other's recording. */
static void take_ending(DtcMember *member, char **words)
{
	if (g_strcmp0(words[1], "trigger") == 0)
		member->has_triggered = true;
	if (member->phase < DTC_MEMBER_ENDING)
		member->phase = DTC_MEMBER_ENDING;
}

/* What ended before anybody looked at it says at least why. */
static void take_said(DtcMember *member, const char *text)
{
	if (g_str_has_prefix(text, "trigger: "))
		member->has_triggered = true;
	add_note(member, text);
}

static void take_fetching_message(DtcMember *member, const char *word, char **words)
{
	if (strcmp(word, "file") == 0)
		take_file(member, words);
	else if (strcmp(word, "listed") == 0)
		take_list_end(member);
	else if (strcmp(word, "data") == 0 && words[1])
		member->bytes_left = (gsize)g_ascii_strtoull(words[1], NULL, 10);
	else if (strcmp(word, "whole") == 0 || strcmp(word, "unreadable") == 0)
		take_file_end(member);
}

static void take_message(DtcMember *member, char **words)
{
	const char *word = words[0] ? words[0] : "";

	if (strcmp(word, "boot") == 0 && (member->phase == DTC_MEMBER_CONNECTING || member->broken_ns))
		take_boot(member, words);
	else if (strcmp(word, "hello") == 0)
		take_hello(member);
	else if (strcmp(word, "probing") == 0)
		take_probing(member, words);
	else if (strcmp(word, "alive") == 0 && words[1])
		member->recorded_bytes = g_ascii_strtoull(words[1], NULL, 10);
	else if (strcmp(word, "ready") == 0)
		take_ready(member);
	else if (strcmp(word, "ending") == 0)
		take_ending(member, words);
	else if (strcmp(word, "said") == 0 && words[1])
		take_said(member, words[1]);
	else if (strcmp(word, "ended") == 0 && member->phase < DTC_MEMBER_FETCHING)
		take_end(member, words);
	else if (strcmp(word, "gone") == 0 && member->phase == DTC_MEMBER_LEAVING)
		be_over(member);
	else if (member->phase == DTC_MEMBER_FETCHING)
		take_fetching_message(member, word, words);
}

/* Bytes of a file that have come, as far as a portion goes. */
static void take_bytes(DtcMember *member)
{
	GError *error = NULL;
	gsize here;
	const char *bytes = dtc_channel_peek(member->channel, &here);
	gsize count = MIN(here, member->bytes_left);

	member->bytes_left -= count;
	bool is_written = member->phase != DTC_MEMBER_FETCHING || count == 0 ||
			  dtc_fetch_write(member->fetch, bytes, count, &error);
	dtc_channel_skip(member->channel, count);
	if (!is_written)
		fail_fetching(member, error);
}

static void take_messages(DtcMember *member)
{
	while (member->channel) {
		if (member->bytes_left > 0) {
			take_bytes(member);
			if (member->bytes_left > 0)
				return;
		}
		g_auto(GStrv) words = member->channel ? dtc_channel_next(member->channel) : NULL;
		if (!words)
			return;
		take_message(member, words);
	}
}

/* ---- broken connections ---- */

static void fail_connecting(DtcMember *member)
{
	g_autofree char *complaint = get_complaint(member);
	bool is_there = member->phase == DTC_MEMBER_GREETED;

	set_failure(member, DTC_ERROR_NOT_FOUND,
		    member->settings->via
			    ? "try the command of --via by hand, with `sh -c id` behind it"
			    : "`ssh -o BatchMode=yes HOST id` must do, without a question: keys and ~/.ssh/config are "
			      "yours to set",
		    "%s%s%s", is_there ? "broke its connection" : "cannot be reached", *complaint ? ": " : "",
		    complaint);
	be_over(member);
}

/* What it has recorded waits there for a while. */
static void try_again(DtcMember *member)
{
	int64_t now_ns = dtc_clock_get_mono_ns();

	disconnect(member);
	if (member->broken_ns == 0) {
		member->broken_ns = now_ns;
		member->has_broken = true;
		member->is_incomplete |= member->phase < DTC_MEMBER_ENDING;
		add_note(member, "its connection broke");
	}
	if (member->phase < DTC_MEMBER_ENDING)
		member->phase = DTC_MEMBER_ENDING; /* which an agent does that hears nothing more */
	member->retry_ns = now_ns + RETRY_AFTER_NS;
	if (now_ns - member->broken_ns < member->settings->retry_ns)
		return;
	g_autofree char *complaint = get_complaint(member);
	set_failure(member, DTC_ERROR_NOT_FOUND,
		    "what it recorded is gone: an agent that nobody comes back to removes it after a minute",
		    "broke its connection and cannot be reached again%s%s", *complaint ? ": " : "", complaint);
	be_over(member);
}

static void take_break(DtcMember *member)
{
	bool has_recorded = member->remote && member->phase >= DTC_MEMBER_STARTING;

	take_complaints(member);
	if (member->phase == DTC_MEMBER_LEAVING)
		be_over(member);
	else if (has_recorded)
		try_again(member);
	else
		fail_connecting(member);
}

static void look_at_time(DtcMember *member)
{
	int64_t now_ns = dtc_clock_get_mono_ns();
	bool is_greeted = member->phase != DTC_MEMBER_CONNECTING && member->broken_ns == 0;
	int64_t silence_ns = is_greeted ? SILENCE_NS : BOOT_SILENCE_NS;

	if (is_greeted && now_ns - member->pinged_ns >= SECOND_NS) {
		dtc_channel_send(member->channel, "ping", NULL);
		member->pinged_ns = now_ns;
	}
	int64_t leaving_ns = member->remote ? LEAVING_NS : SHELL_LEAVING_NS;
	if (member->phase == DTC_MEMBER_LEAVING && now_ns - member->leaving_ns > leaving_ns)
		be_over(member);
	else if (now_ns - member->heard_ns > silence_ns)
		take_break(member);
}

void dtc_member_go_on(DtcMember *member)
{
	if (member->phase == DTC_MEMBER_OVER)
		return;
	if (!member->channel) {
		if (dtc_clock_get_mono_ns() >= member->retry_ns)
			connect_to_node(member);
		return;
	}
	gsize before = dtc_channel_get_waiting(member->channel), here = 0, later = 0;
	(void)dtc_channel_peek(member->channel, &here);
	bool is_there = dtc_channel_move(member->channel);
	(void)dtc_channel_peek(member->channel, &later);
	if (later != here || dtc_channel_get_waiting(member->channel) < before)
		member->heard_ns = dtc_clock_get_mono_ns();
	take_complaints(member);
	take_messages(member);
	if (!member->channel)
		return;
	if (!is_there)
		take_break(member);
	else
		look_at_time(member);
	if (member->channel)
		(void)dtc_channel_move(member->channel);
}

void dtc_member_fill_poll(const DtcMember *member, struct pollfd ret_fds[DTC_MEMBER_POLL_COUNT])
{
	for (guint i = 0; i < DTC_MEMBER_POLL_COUNT; i++)
		ret_fds[i] = (struct pollfd){ .fd = -1 };
	if (!member->channel)
		return;
	dtc_channel_fill_poll(member->channel, ret_fds);
	ret_fds[2] = (struct pollfd){ .fd = member->job.err_fd, .events = POLLIN };
}

/* ---- what it is told ---- */

void dtc_member_add_peer(DtcMember *member, const DtcMember *peer, char *const *addresses)
{
	g_autofree char *number_text = g_strdup_printf("%u", peer->number);
	g_autofree char *port_text = g_strdup_printf("%u", peer->probe_port);
	g_autoptr(GPtrArray) words = g_ptr_array_new();

	if (member->phase != DTC_MEMBER_GREETED || member->probe_port == 0 || peer->probe_port == 0 || !*addresses)
		return;
	g_ptr_array_add(words, (char *)"peer");
	g_ptr_array_add(words, number_text);
	g_ptr_array_add(words, port_text);
	for (char *const *address = addresses; *address; address++)
		g_ptr_array_add(words, *address);
	g_ptr_array_add(words, NULL);
	dtc_channel_send_words(member->channel, (char *const *)words->pdata);
}

void dtc_member_start(DtcMember *member)
{
	g_autoptr(GPtrArray) words = g_ptr_array_new();

	if (member->phase != DTC_MEMBER_GREETED)
		return;
	if (member->settings->key)
		dtc_channel_send(member->channel, "key", member->settings->key, NULL);
	g_ptr_array_add(words, (char *)"start");
	g_ptr_array_add(words, member->target->name);
	for (char *const *option = member->settings->options; *option; option++)
		g_ptr_array_add(words, *option);
	g_ptr_array_add(words, NULL);
	dtc_channel_send_words(member->channel, (char *const *)words->pdata);
	(void)dtc_channel_move(member->channel);
	member->phase = DTC_MEMBER_STARTING;
}

void dtc_member_stop(DtcMember *member)
{
	member->is_told_to_stop = true;
	if (member->phase <= DTC_MEMBER_GREETED) {
		dtc_member_give_up(member, "the recording ended before it was there");
		return;
	}
	if ((member->phase == DTC_MEMBER_STARTING || member->phase == DTC_MEMBER_RECORDING) && member->channel) {
		dtc_channel_send(member->channel, "stop", NULL);
		(void)dtc_channel_move(member->channel);
	}
	if (member->phase == DTC_MEMBER_RECORDING)
		member->phase = DTC_MEMBER_ENDING;
}

/* ---- what there is to say ---- */

uint16_t dtc_member_get_probe_port(const DtcMember *member)
{
	return member->probe_port;
}

char *const *dtc_member_get_addresses(const DtcMember *member)
{
	return member->addresses;
}

const struct dtc_target *dtc_member_get_target(const DtcMember *member)
{
	return member->target;
}

enum dtc_member_phase dtc_member_get_phase(const DtcMember *member)
{
	return member->phase;
}

bool dtc_member_has_triggered(const DtcMember *member)
{
	return member->has_triggered;
}

bool dtc_member_is_fetched(const DtcMember *member)
{
	return member->is_fetched;
}

bool dtc_member_is_complete(const DtcMember *member)
{
	return member->is_fetched && !member->is_incomplete;
}

const char *dtc_member_get_folder(const DtcMember *member)
{
	return member->folder;
}

const GError *dtc_member_get_failure(const DtcMember *member)
{
	return member->failure;
}

const GPtrArray *dtc_member_get_notes(const DtcMember *member)
{
	return member->notes;
}

char *dtc_member_describe(const DtcMember *member)
{
	static const char *const words[] = {
		[DTC_MEMBER_CONNECTING] = "connecting", [DTC_MEMBER_GREETED] = "connected",
		[DTC_MEMBER_STARTING] = "starting",	[DTC_MEMBER_RECORDING] = "recording",
		[DTC_MEMBER_ENDING] = "sealing",	[DTC_MEMBER_FETCHING] = "fetching",
		[DTC_MEMBER_LEAVING] = "leaving",	[DTC_MEMBER_OVER] = "done",
	};
	guint64 all = dtc_fetch_get_all_bytes(member->fetch), done = dtc_fetch_get_done_bytes(member->fetch);

	if (member->failure)
		return g_strdup("failed");
	if (member->broken_ns)
		return g_strdup("connection broken, trying again");
	if (member->phase == DTC_MEMBER_RECORDING)
		return g_strdup_printf("%.1f MB", (double)member->recorded_bytes / 1e6);
	if (member->phase == DTC_MEMBER_FETCHING && all > 0)
		return g_strdup_printf("fetching %.0f %% of %.1f MB", 100.0 * (double)done / (double)all,
				       (double)all / 1e6);
	return g_strdup(words[member->phase]);
}
