/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parent's side. */
#define _GNU_SOURCE /* pipe2 */
#include "collect/read/child/child.h"

#include "collect/read/child/watch.h"
#include "collect/read/child/wire.h"
#include "collect/read/ctf/ctf.h"
#include "collect/read/ctf/metadata.h"
#include "collect/read/reader.h"
#include "dtrace-chain/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct cursor {
	struct dtc_stream stream;
	struct dtc_event event;
	GString *texts[2];
};

struct child {
	struct dtc_backend backend;
	char *node;
	pid_t pid;
	FILE *from;
	bool is_over;  /* no more records come */
	bool is_dead;  /* ... and there should have been */
	bool is_stuck; /* it stood still, and was killed for that */
	struct cursor *cursors;
	GHashTable *environment;
	DtcNames *event_names, *call_names; /* borrowed */
	guint64 item_count;
	guint live_count; /* streams that have an item */
};

/* ---- the process ---- */

/* The pipe's end gets its number in the child alone; close-on-exec is off there for dup2 makes it new. */
static bool start(struct child *child, const char *program, const char *path, GError **error)
{
	int ends[2];
	posix_spawn_file_actions_t actions;
	char *arguments[] = { (char *)program, (char *)DTC_READER_CHILD_WORD, child->node, (char *)path, NULL };
	if (pipe2(ends, O_CLOEXEC) != 0) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_LIMIT, "no pipe for a reader of '%s': %s", path,
			    g_strerror(errno));
		return false;
	}
	posix_spawn_file_actions_init(&actions);
	if (ends[1] == DTC_CHILD_FD) { /* dup2 onto itself would leave it to be closed */
		ends[1] = fcntl(DTC_CHILD_FD, F_DUPFD_CLOEXEC, DTC_CHILD_FD + 1);
		close(DTC_CHILD_FD); /* else the child's death would end no read of ours */
	}
	posix_spawn_file_actions_adddup2(&actions, ends[1], DTC_CHILD_FD);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	extern char **environ;
	int code = posix_spawn(&child->pid, program, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	child->from = code == 0 ? dtc_child_watch(ends[0], child->pid, &child->is_stuck) : NULL;
	if (child->from)
		return true;
	close(ends[0]);
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_LIMIT, "a reader of '%s' cannot be started: %s", path,
		    g_strerror(code));
	return false;
}

/* Waits for its end; how it ended, in words. Caller owns. */
static char *reap(struct child *child)
{
	int status = 0;
	if (child->pid > 0)
		while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
			;
	child->pid = 0;
	if (child->is_stuck)
		return g_strdup_printf("it stood still for %d s, and was ended", DTC_CHILD_PATIENCE_S);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return g_strdup("it took more time than such a trace can need");
	if (WIFSIGNALED(status))
		return g_strdup_printf("it was ended by signal %d (%s), as happens over hostile lengths",
				       WTERMSIG(status), g_strsignal(WTERMSIG(status)));
	return g_strdup("it ended early");
}

/* ---- records ---- */

static bool take_name(struct child *child, DtcNames *names)
{
	g_autofree char *text = NULL;
	if (!dtc_wire_get_text(child->from, &text) || !text)
		return false;
	dtc_names_add(names, text);
	return true;
}

/* The same code for the same word. */
static const char *keep_code(const char *code)
{
	return code ? g_intern_string(code) : NULL;
}

static bool take_finding(struct child *child)
{
	struct dtc_wire_finding head;
	g_autofree char *code = NULL, *node = NULL, *text = NULL;
	if (fread(&head, sizeof(head), 1, child->from) != 1 || !dtc_wire_get_text(child->from, &code) ||
	    !dtc_wire_get_text(child->from, &node) || !dtc_wire_get_text(child->from, &text) || !text)
		return false;
	dtc_findings_add_coded(child->backend.findings, keep_code(code), head.severity, head.is_incomplete, node, "%s",
			       text);
	return true;
}

/* A stream's state but for its texts, which stay ours. */
static bool take_item(struct child *child, guint *ret_stream)
{
	struct dtc_wire_item item;
	if (fread(&item, sizeof(item), 1, child->from) != 1 || item.stream >= child->backend.stream_count)
		return false;
	struct cursor *cursor = &child->cursors[item.stream];
	struct dtc_stream *stream = &cursor->stream;
	bool had_item = stream->has_item;
	dtc_stream_clear(stream);
	*stream = item.state;
	stream->name = stream->error = NULL;
	if (!dtc_wire_get_text(child->from, &stream->name) || !dtc_wire_get_text(child->from, &stream->error))
		return false;
	child->backend.consumed_bytes = item.consumed_bytes;
	child->item_count++;
	*ret_stream = item.stream;
	child->live_count -= had_item && !stream->has_item;
	child->live_count += !had_item && stream->has_item;
	return !stream->has_item || stream->is_gap || dtc_wire_get_event(child->from, cursor->texts, &cursor->event);
}

/* Takes records up to the next item, whose stream it tells; false at the end of all, or of the child. */
static bool take_records(struct child *child, guint *ret_stream)
{
	bool is_sound = true;
	while (is_sound && !child->is_over) {
		switch (getc(child->from)) {
		case DTC_WIRE_EVENT_NAME:
			is_sound = take_name(child, child->event_names);
			break;
		case DTC_WIRE_CALL_NAME:
			is_sound = take_name(child, child->call_names);
			break;
		case DTC_WIRE_FINDING:
			is_sound = take_finding(child);
			break;
		case DTC_WIRE_ITEM:
			if (take_item(child, ret_stream))
				return true;
			is_sound = false;
			break;
		case DTC_WIRE_END:
			child->is_over = true;
			break;
		default:
			is_sound = false;
			break;
		}
	}
	child->is_dead = child->is_dead || !is_sound;
	child->is_over = true;
	return false;
}

/* What comes after the last item: findings. */
static void drain(struct child *child)
{
	guint came;
	while (child->live_count == 0 && take_records(child, &came))
		;
}

/* The child is gone: no stream has more, and the first that is asked says why. */
static void end_stream(struct child *child, struct dtc_stream *stream)
{
	if (child->is_dead && child->pid > 0) {
		g_autofree char *reason = reap(child);
		dtc_findings_add_coded(
			child->backend.findings, DTC_FINDING_STREAM_DAMAGED, DTC_SEVERITY_ERROR, true, child->node,
			"the reader of this trace died after %" G_GUINT64_FORMAT " events, and the rest is missing: %s",
			child->item_count, reason);
	}
	if (child->is_dead)
		dtc_stream_take_error(stream, g_strdup("its reader died"));
	stream->has_item = dtc_stream_end(stream);
}

static void advance(struct dtc_backend *backend, guint index)
{
	struct child *child = (struct child *)backend;
	struct dtc_stream *stream = &child->cursors[index].stream;
	guint came;
	if (child->is_over) {
		end_stream(child, stream);
		return;
	}
	if (!take_records(child, &came)) {
		end_stream(child, stream);
	} else if (came != index) {
		child->is_dead = child->is_over = true;
		end_stream(child, stream);
	} else {
		drain(child);
	}
}

static struct dtc_event *get_event(struct dtc_backend *backend, guint index)
{
	return &((struct child *)backend)->cursors[index].event;
}

/* ---- opening ---- */

static void close_trace(struct dtc_backend *backend)
{
	struct child *child = (struct child *)backend;
	if (child->from)
		fclose(child->from); /* a child that still writes ends by it */
	if (child->pid > 0) {
		kill(child->pid, SIGKILL);
		g_free(reap(child));
	}
	for (guint i = 0; child->cursors && i < child->backend.stream_count; i++) {
		dtc_stream_clear(&child->cursors[i].stream);
		g_string_free(child->cursors[i].texts[0], TRUE);
		g_string_free(child->cursors[i].texts[1], TRUE);
	}
	g_free(child->cursors);
	g_free(child->backend.streams);
	g_hash_table_unref(child->environment);
	dtc_findings_free(child->backend.findings);
	g_free(child->node);
	g_free(child);
}

static bool take_opened(struct child *child)
{
	struct dtc_wire_opened opened;
	guint came;
	if (fread(&opened, sizeof(opened), 1, child->from) != 1)
		return false;
	for (guint i = 0; dtc_wire_keys[i]; i++) {
		char *text;
		if (!dtc_wire_get_text(child->from, &text))
			return false;
		if (text)
			g_hash_table_insert(child->environment, (void *)dtc_wire_keys[i], text);
	}
	memcpy(child->backend.declares, opened.declares, sizeof(opened.declares));
	child->cursors = g_new0(struct cursor, opened.stream_count + 1);
	child->backend.streams = g_new0(struct dtc_stream *, opened.stream_count + 1);
	child->backend.stream_count = opened.stream_count;
	for (guint i = 0; i < opened.stream_count; i++) {
		child->cursors[i].texts[0] = g_string_new(NULL);
		child->cursors[i].texts[1] = g_string_new(NULL);
		child->backend.streams[i] = &child->cursors[i].stream;
		dtc_stream_init(&child->cursors[i].stream);
	}
	for (guint i = 0; i < opened.stream_count; i++)
		if (!take_records(child, &came) || came != i)
			return false;
	drain(child);
	return true;
}

static void set_dead(struct child *child, const char *path, GError **error)
{
	g_autofree char *reason = reap(child);
	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_DAMAGED,
		    "cannot read the trace of node '%s' in '%s': its reader died before the first event: %s\n"
		    "copy the trace again from the node",
		    child->node, path, reason);
}

static bool open_child(struct child *child, const char *program, const char *path, GError **error)
{
	if (!start(child, program, path, error))
		return false;
	int kind = getc(child->from), code;
	if (kind == DTC_WIRE_OPENED && take_opened(child))
		return true;
	g_autofree char *message = NULL;
	if (kind == DTC_WIRE_FAILED && fread(&code, sizeof(code), 1, child->from) == 1 &&
	    dtc_wire_get_text(child->from, &message) && message)
		g_set_error_literal(error, DTC_COLLECT_ERROR, code, message);
	else
		set_dead(child, path, error);
	return false;
}

static struct dtc_backend *open_trace(const struct dtc_backend_request *request, GError **error)
{
	if (!request->program)
		return dtc_ctf_backend.open(request, error);
	struct child *child = g_new0(struct child, 1);
	child->backend.kind = &dtc_child_backend;
	child->backend.findings = dtc_findings_new();
	child->node = g_strdup(request->node);
	child->environment = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	child->event_names = request->event_names;
	child->call_names = request->call_names;
	if (open_child(child, request->program, request->path, error))
		return &child->backend;
	close_trace(&child->backend);
	return NULL;
}

static guint64 measure(const char *path)
{
	return dtc_ctf_backend.measure(path);
}

static bool describe_clock(const char *path, struct dtc_clock_class *ret_clock)
{
	return dtc_ctf_backend.describe_clock(path, ret_clock);
}

static bool describe_origin(const char *path, struct dtc_trace_origin *ret_origin)
{
	return dtc_ctf_backend.describe_origin(path, ret_origin);
}

static const char *get_environment(const struct dtc_backend *backend, const char *key)
{
	return g_hash_table_lookup(((const struct child *)backend)->environment, key);
}

const struct dtc_backend_kind dtc_child_backend = {
	.name = "reference",
	.recognizes = dtc_metadata_is_there,
	.missing = "no file 'metadata'",
	.layout = "a directory with the CTF metadata beside its streams",
	.measure = measure,
	.describe_clock = describe_clock,
	.describe_origin = describe_origin,
	.open = open_trace,
	.close = close_trace,
	.advance = advance,
	.get_event = get_event,
	.get_environment = get_environment,
};
