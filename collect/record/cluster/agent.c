/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/agent.h"

#include "collect/bundle/paths.h"
#include "collect/record/clocks.h"
#include "collect/record/cluster/channel.h"
#include "collect/record/cluster/job.h"
#include "collect/record/cluster/probes.h"
#include "collect/record/cluster/remains.h"
#include "collect/record/cluster/sending.h"
#include "collect/record/cluster/shared_key.h"
#include "collect/record/stop_signals.h"
#include "collect/record/tracer.h"
#include "collect/seal/raw.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define STARTING_TURN_MS 20 /* how often it looks whether everything records */
#define TURN_MS 1000
#define LINGERING_TURN_MS 500
#define TAKE_OVER_NS (120 * SECOND_NS) /* of another agent that still seals */
#define LOST 3			       /* what a recording without its end has for a code */

enum state {
	STATE_IDLE,
	STATE_STARTING,
	STATE_RECORDING, /* and stopping */
	STATE_SEALING,
	STATE_ENDED,
};

struct agent {
	const struct dtc_agent_request *request;
	DtcChannel *channel;
	DtcSending *sending; /* files that were asked for */
	DtcProbes *probes;   /* NULL: none are exchanged */
	enum state state;
	char *node; /* folder of what was recorded; NULL: nothing was */
	struct dtc_job job;
	GString *output; /* of the job */
	int lock_fd, signal_fd;
	int watch_fd; /* tells of files in raw/; -1 */
	int code;
	int64_t heard_ns, told_ns;
	bool is_stopped; /* it was told to end; a second signal would interrupt its sealing */
	bool is_cut;	 /* nobody is there any more */
	bool is_over;
};

/* ---- the recorder ---- */

static bool start_job(struct agent *agent, char *const *argv)
{
	g_autoptr(GError) error = NULL;

	dtc_job_close(&agent->job);
	g_string_truncate(agent->output, 0);
	if (dtc_job_start(&agent->job, DTC_JOB_OUTPUT, argv, agent->lock_fd, &error)) {
		(void)g_unix_set_fd_nonblocking(agent->job.out_fd, TRUE, NULL);
		return true;
	}
	dtc_channel_send(agent->channel, "said", error->message, NULL);
	return false;
}

static void end(struct agent *agent, int code)
{
	g_autofree char *text = g_strdup_printf("%d", code);

	agent->state = STATE_ENDED;
	dtc_channel_send(agent->channel, "ended", text, NULL);
}

static void start_recording(struct agent *agent, char **words)
{
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	g_autofree char *port =
		agent->probes ? g_strdup_printf("--probe-port=%u", dtc_probes_get_port(agent->probes)) : NULL;
	g_autofree char *key = dtc_shared_key_get_option(agent->request->folder);

	if (agent->state != STATE_IDLE || !words[1] || !dtc_node_name_check(words[1]))
		return;
	agent->node = g_build_filename(agent->request->folder, words[1], NULL);
	g_ptr_array_add(argv, (char *)agent->request->program);
	g_ptr_array_add(argv, (char *)"record");
	g_ptr_array_add(argv, (char *)"-q");
	g_ptr_array_add(argv, (char *)"-o");
	g_ptr_array_add(argv, agent->node);
	if (port)
		g_ptr_array_add(argv, port);
	if (key)
		g_ptr_array_add(argv, key);
	for (char **word = words + 2; *word; word++)
		g_ptr_array_add(argv, *word);
	g_ptr_array_add(argv, NULL);
	agent->state = STATE_STARTING;
	if (!start_job(agent, (char *const *)argv->pdata))
		end(agent, 1);
}

static bool has_raw(const struct agent *agent, const char *name)
{
	g_autofree char *path = g_build_filename(agent->node, DTC_RAW_FOLDER, name, NULL);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* The trigger is written before the walk of /proc. */
static void tell_ending(const struct agent *agent)
{
	g_autofree char *path = g_build_filename(agent->node, DTC_RAW_FOLDER, DTC_RAW_RECORDING, NULL);
	g_autoptr(GKeyFile) file = g_key_file_new();
	bool is_triggered = g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL) &&
			    g_key_file_has_key(file, DTC_RAW_GROUP, DTC_RAW_KEY_TRIGGER, NULL);

	dtc_channel_send(agent->channel, "ending", is_triggered ? "trigger" : NULL, NULL);
}

/* A recorder's walk of /proc is the last thing before it waits, and the first when it ends (collect/seal/raw.h). */
static void look_whether_it_records(struct agent *agent)
{
	if (agent->state != STATE_STARTING || !has_raw(agent, DTC_RAW_PROC_BEGIN))
		return;
	g_autofree char *raw = g_build_filename(agent->node, DTC_RAW_FOLDER, NULL);
	agent->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	(void)inotify_add_watch(agent->watch_fd, raw, IN_CREATE | IN_MOVED_TO);
	agent->state = STATE_RECORDING;
	dtc_channel_send(agent->channel, "ready", NULL);
	if (has_raw(agent, DTC_RAW_PROC_END))
		tell_ending(agent);
}

static void look_whether_it_ends(struct agent *agent)
{
	union {
		struct inotify_event event;
		char bytes[4096];
	} buffer;
	ssize_t got = read(agent->watch_fd, &buffer, sizeof(buffer));

	for (ssize_t at = 0; at < got;) {
		const struct inotify_event *event = (const void *)(buffer.bytes + at);
		at += (ssize_t)(sizeof(*event) + event->len);
		if (event->len == 0 || !g_str_has_prefix(event->name, DTC_RAW_PROC_END))
			continue;
		tell_ending(agent);
		close(agent->watch_fd);
		agent->watch_fd = -1;
		return;
	}
}

static void stop_recording(struct agent *agent)
{
	if (agent->is_stopped || (agent->state != STATE_STARTING && agent->state != STATE_RECORDING))
		return;
	agent->is_stopped = true;
	dtc_job_signal(&agent->job, SIGINT);
}

static void clean_kernel(void)
{
	dtc_tracer_tracefs.clean();
	if (dtc_tracer_lttng.check(NULL))
		dtc_tracer_lttng.clean();
}

static void seal(struct agent *agent)
{
	char word[] = "seal";
	g_autofree char *key = dtc_shared_key_get_option(agent->request->folder);
	char *argv[] = { (char *)agent->request->program, word, agent->node, key, NULL };

	agent->state = STATE_SEALING;
	if (!start_job(agent, argv))
		end(agent, LOST);
}

/* ---- its output and its end ---- */

static void take_output(struct agent *agent)
{
	char bytes[4096];
	ssize_t got;

	while (agent->job.out_fd >= 0 && (got = read(agent->job.out_fd, bytes, sizeof(bytes))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return;
		g_string_append_len(agent->output, bytes, got);
	}
	if (agent->job.out_fd >= 0)
		close(agent->job.out_fd);
	agent->job.out_fd = -1;
}

static void tell_output(struct agent *agent)
{
	g_auto(GStrv) lines = g_strsplit(agent->output->str, "\n", -1);

	for (char **line = lines; *line; line++)
		if (**line)
			dtc_channel_send(agent->channel, "said", *line, NULL);
	g_string_truncate(agent->output, 0);
}

/* What was killed has left things in the kernel, and what it recorded so far. */
static void end_job(struct agent *agent)
{
	int code = dtc_job_get_code(&agent->job);
	bool is_killed = code >= 128;

	take_output(agent);
	tell_output(agent);
	agent->job.pid = 0;
	if (agent->watch_fd >= 0)
		close(agent->watch_fd);
	agent->watch_fd = -1;
	if (is_killed)
		clean_kernel();
	if (agent->state == STATE_SEALING) {
		end(agent, agent->code == 0 ? code : agent->code);
		return;
	}
	if (is_killed) {
		g_autofree char *text = g_strdup_printf("the recorder was ended by signal %d", code - 128);
		dtc_channel_send(agent->channel, "said", text, NULL);
	}
	agent->code = is_killed ? LOST : code;
	if (is_killed && has_raw(agent, DTC_RAW_RECORDING))
		seal(agent);
	else
		end(agent, agent->code);
}

/* ---- taking over ---- */

static char *find_node(const char *folder)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(folder, name, NULL);
		if (dtc_node_name_check(name) && g_file_test(path, G_FILE_TEST_IS_DIR))
			return g_steal_pointer(&path);
	}
	return NULL;
}

static void resume(struct agent *agent)
{
	agent->node = find_node(agent->request->folder);
	clean_kernel();
	agent->code = LOST;
	if (agent->node && has_raw(agent, DTC_RAW_RECORDING))
		seal(agent);
	else
		end(agent, 0); /* whoever asks has heard the code, or knows that the connection broke before */
}

/*
 * Another agent may still seal; then it waits for one who takes over. That its own input ends meanwhile is no reason to
 * leave: what the shell of a killed agent starts has none, and nobody else would remove what was recorded.
 */
static bool take_lock(struct agent *agent, GError **error)
{
	int64_t end_ns = dtc_clock_get_mono_ns() + (agent->request->resumes ? TAKE_OVER_NS : 0);

	agent->lock_fd = dtc_remains_open_lock(agent->request->folder);
	while (agent->lock_fd >= 0) {
		if (dtc_remains_lock(agent->lock_fd))
			return true;
		if (dtc_clock_get_mono_ns() >= end_ns)
			break;
		dtc_channel_send(agent->channel, "alive", "0", NULL);
		(void)dtc_channel_move(agent->channel);
		g_usleep(100 * G_TIME_SPAN_MILLISECOND);
	}
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_UNREADABLE,
		    "cannot work in '%s'\nanother one does, or it is not there any more", agent->request->folder);
	return false;
}

/* ---- probes ---- */

/* On a machine that has no sockets for them it does without. */
static void open_probes(struct agent *agent, char **words)
{
	uint64_t number;

	if (agent->state != STATE_IDLE || agent->probes || !words[1] || !words[2] ||
	    !g_ascii_string_to_unsigned(words[2], 10, 0, G_MAXUINT32, &number, NULL))
		return;
	agent->probes = dtc_probes_open(NULL);
	if (agent->probes && !dtc_probes_begin(agent->probes, words[1], (uint32_t)number))
		g_clear_pointer(&agent->probes, dtc_probes_free);
	g_auto(GStrv) addresses = dtc_probes_list_addresses();
	g_autofree char *port = g_strdup_printf("%u", agent->probes ? dtc_probes_get_port(agent->probes) : 0);
	g_autoptr(GPtrArray) answer = g_ptr_array_new();
	g_ptr_array_add(answer, (char *)"probing");
	g_ptr_array_add(answer, port);
	for (char **address = addresses; *address; address++)
		g_ptr_array_add(answer, *address);
	g_ptr_array_add(answer, NULL);
	dtc_channel_send_words(agent->channel, (char *const *)answer->pdata);
}

static void add_peer(const struct agent *agent, char **words)
{
	uint64_t number, port;

	if (agent->probes && words[1] && words[2] &&
	    g_ascii_string_to_unsigned(words[1], 10, 0, G_MAXUINT32, &number, NULL) &&
	    g_ascii_string_to_unsigned(words[2], 10, 1, G_MAXUINT16, &port, NULL))
		(void)dtc_probes_add_peer(agent->probes, (uint32_t)number, (uint16_t)port,
					  (const char *const *)words + 3);
}

static void end_probes(struct agent *agent)
{
	g_clear_pointer(&agent->probes, dtc_probes_free);
}

/* ---- messages ---- */

static void tell_files(struct agent *agent)
{
	g_autoptr(GPtrArray) files = agent->node ? dtc_remains_list(agent->node) : NULL;

	for (guint i = 0; files && i < files->len; i++) {
		const struct dtc_remains_file *file = g_ptr_array_index(files, i);
		g_autofree char *bytes = g_strdup_printf("%" G_GUINT64_FORMAT, file->bytes);
		dtc_channel_send(agent->channel, "file", bytes, file->path, NULL);
	}
	dtc_channel_send(agent->channel, "listed", NULL);
}

/* Without it what is recorded would not agree with the other nodes'. */
static void take_key(struct agent *agent, char **words)
{
	if (agent->state != STATE_IDLE || !words[1] || dtc_shared_key_write(agent->request->folder, words[1]))
		return;
	dtc_channel_send(agent->channel, "said", "the key by which it is to redact cannot be written", NULL);
	end(agent, 1);
}

static void take_message(struct agent *agent, char **words)
{
	const char *word = words[0];

	if (g_strcmp0(word, "probe") == 0)
		open_probes(agent, words);
	else if (g_strcmp0(word, "peer") == 0)
		add_peer(agent, words);
	else if (g_strcmp0(word, "key") == 0)
		take_key(agent, words);
	else if (g_strcmp0(word, "start") == 0)
		start_recording(agent, words);
	else if (g_strcmp0(word, "stop") == 0)
		stop_recording(agent);
	else if (g_strcmp0(word, "list") == 0 && agent->state == STATE_ENDED)
		tell_files(agent);
	else if (g_strcmp0(word, "get") == 0 && agent->state == STATE_ENDED && agent->node && words[1] && words[2])
		dtc_sending_add(agent->sending, agent->node, words[1], g_ascii_strtoull(words[2], NULL, 10));
	else if (g_strcmp0(word, "bye") == 0)
		agent->is_over = true;
}

static void take_messages(struct agent *agent)
{
	char **words;
	bool is_there = dtc_channel_move(agent->channel);

	while ((words = dtc_channel_next(agent->channel))) {
		agent->heard_ns = dtc_clock_get_mono_ns();
		take_message(agent, words);
		g_strfreev(words);
	}
	if (!is_there || dtc_clock_get_mono_ns() - agent->heard_ns > agent->request->silence_ns)
		agent->is_cut = true;
}

static void tell_state(struct agent *agent)
{
	int64_t now_ns = dtc_clock_get_mono_ns();

	if (now_ns - agent->told_ns < SECOND_NS)
		return;
	agent->told_ns = now_ns;
	g_autofree char *bytes =
		g_strdup_printf("%" G_GUINT64_FORMAT, agent->node ? dtc_remains_count_bytes(agent->node) : (guint64)0);
	dtc_channel_send(agent->channel, "alive", bytes, NULL);
}

/* ---- the loop ---- */

static void take_signals(struct agent *agent)
{
	struct signalfd_siginfo info;

	while (read(agent->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			agent->is_cut = true;
}

static int get_turn_ms(const struct agent *agent)
{
	int turn_ms = agent->state == STATE_STARTING ? STARTING_TURN_MS : TURN_MS;
	int probes_ms = agent->probes ? dtc_probes_get_wait_ms(agent->probes) : -1;

	return probes_ms < 0 ? turn_ms : MIN(turn_ms, probes_ms);
}

static void wait_for_something(struct agent *agent)
{
	struct pollfd fds[5 + DTC_PROBES_POLL_COUNT];

	dtc_channel_fill_poll(agent->channel, fds);
	if (agent->is_cut)
		fds[0].fd = fds[1].fd = -1;
	fds[2] = (struct pollfd){ .fd = agent->signal_fd, .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = agent->watch_fd, .events = POLLIN };
	fds[4] = (struct pollfd){ .fd = agent->job.pid > 0 ? agent->job.out_fd : -1, .events = POLLIN };
	for (guint i = 5; i < G_N_ELEMENTS(fds); i++)
		fds[i] = (struct pollfd){ .fd = -1 };
	if (agent->probes)
		dtc_probes_fill_poll(agent->probes, fds + 5);
	(void)poll(fds, G_N_ELEMENTS(fds), get_turn_ms(agent));
	if (fds[2].revents)
		take_signals(agent);
	if (fds[3].revents)
		look_whether_it_ends(agent);
	if (fds[4].revents)
		take_output(agent);
}

static bool is_working(const struct agent *agent)
{
	return agent->state != STATE_IDLE && agent->state != STATE_ENDED;
}

static void serve(struct agent *agent)
{
	while (!agent->is_over && !(agent->is_cut && !is_working(agent))) {
		wait_for_something(agent);
		if (!agent->is_cut)
			take_messages(agent);
		if (agent->is_cut || agent->is_over)
			stop_recording(agent);
		look_whether_it_records(agent);
		if (agent->is_stopped || agent->state >= STATE_SEALING)
			end_probes(agent);
		if (agent->probes)
			dtc_probes_go_on(agent->probes);
		if (dtc_job_is_ended(&agent->job))
			end_job(agent);
		if (!agent->is_cut) {
			tell_state(agent);
			dtc_sending_go_on(agent->sending, agent->channel);
			take_messages(agent); /* what has come is not to wait for a poll */
		}
	}
}

/* "bye" before the recording has ended: nobody wants it. */
static void give_up(struct agent *agent)
{
	dtc_job_signal(&agent->job, SIGKILL);
	while (agent->job.pid > 0 && !dtc_job_is_ended(&agent->job))
		g_usleep(5 * G_TIME_SPAN_MILLISECOND);
	if (agent->job.pid > 0 && agent->state != STATE_SEALING)
		clean_kernel();
}

static void say_gone(struct agent *agent)
{
	int64_t end_ns = dtc_clock_get_mono_ns() + SECOND_NS;

	dtc_channel_send(agent->channel, "gone", NULL);
	while (dtc_channel_move(agent->channel) && dtc_channel_get_waiting(agent->channel) > 0 &&
	       dtc_clock_get_mono_ns() < end_ns)
		g_usleep(G_TIME_SPAN_MILLISECOND);
}

/* SIGTERM: it is not to wait any longer. */
static bool is_told_to_end(const struct agent *agent)
{
	struct pollfd fd = { .fd = agent->signal_fd, .events = POLLIN };
	struct signalfd_siginfo info = { 0 };

	return poll(&fd, 1, LINGERING_TURN_MS) > 0 &&
	       read(agent->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info) && info.ssi_signo == SIGTERM;
}

/* True: nobody took over, and it is this one's to remove. */
static bool linger(const struct agent *agent)
{
	int64_t end_ns = dtc_clock_get_mono_ns() + agent->request->linger_ns;

	if (!agent->node) /* nothing to take */
		return true;
	dtc_remains_unlock(agent->lock_fd);
	while (dtc_clock_get_mono_ns() < end_ns && !is_told_to_end(agent)) {
		if (!dtc_remains_check(agent->request->folder, NULL))
			return false;
		if (!dtc_remains_lock(agent->lock_fd))
			return false;
		dtc_remains_unlock(agent->lock_fd);
	}
	return dtc_remains_lock(agent->lock_fd);
}

static void leave(struct agent *agent)
{
	if (agent->is_over)
		give_up(agent);
	if (!agent->is_over && !linger(agent))
		return;
	dtc_remains_remove(agent->request->folder);
	if (agent->is_over)
		say_gone(agent);
}

bool dtc_agent_serve(const struct dtc_agent_request *request, GError **error)
{
	struct agent agent = { .request = request, .lock_fd = -1, .watch_fd = -1 };

	agent.channel = dtc_channel_new(request->in_fd, request->out_fd);
	agent.job.out_fd = agent.job.in_fd = agent.job.err_fd = -1;
	agent.output = g_string_new(NULL);
	agent.sending = dtc_sending_new();
	agent.signal_fd = dtc_stop_signals_open(SIGCHLD);
	bool is_begun = dtc_remains_check(request->folder, error) && take_lock(&agent, error);
	if (is_begun) {
		dtc_remains_remove_old(request->folder);
		agent.heard_ns = dtc_clock_get_mono_ns(); /* who waits for its greeting says nothing */
		dtc_channel_send(agent.channel, "hello", DTC_AGENT_PROTOCOL, NULL);
		if (request->resumes)
			resume(&agent);
		serve(&agent);
		leave(&agent);
	}
	if (agent.lock_fd >= 0)
		close(agent.lock_fd);
	close(agent.signal_fd);
	dtc_job_close(&agent.job);
	dtc_probes_free(agent.probes);
	dtc_sending_free(agent.sending);
	g_string_free(agent.output, TRUE);
	dtc_channel_free(agent.channel);
	g_free(agent.node);
	return is_begun;
}
