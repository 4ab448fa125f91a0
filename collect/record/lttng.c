/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LTTng, through liblttng-ctl and nowhere else, where its modules are loaded and its session daemon runs: a session of
 * our own with big buffers, which LTTng's consumer writes into NODE/kernel. The library is opened when it is asked for,
 * so that a node without LTTng needs nothing of it. The state dump is LTTng's own; what finds no room it discards, and
 * marks in the trace.
 */
#include "collect/record/instance_name.h"
#include "collect/record/lttng_names.h"
#include "collect/record/tracer.h"
#include "collect/seal/raw.h"
#include "dtrace-chain/error.h"

#define FROM_TRACEFS "record with --tracer tracefs, which needs none of it"

#ifdef DTC_WITH_LTTNG

#include <dlfcn.h>
#include <fts.h>
#include <lttng/lttng.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LIBRARY "liblttng-ctl.so.0"
#define CHANNEL "events"
#define STATE_DUMP "lttng_statedump_*" /* enabled like an event; LTTng writes it when a session starts */
/* A buffer is so many sub-buffers: a full one is written while the others fill. */
#define SUB_BUFFER_COUNT 8
#define LEAST_SUB_BUFFER_BYTES (64u << 10)

/* The functions of the library that are called, by their names there. */
#define FUNCTIONS(WITH)                                                                                                \
	WITH(lttng_session_daemon_alive)                                                                               \
	WITH(lttng_list_tracepoints)                                                                                   \
	WITH(lttng_list_syscalls)                                                                                      \
	WITH(lttng_list_sessions)                                                                                      \
	WITH(lttng_create_session)                                                                                     \
	WITH(lttng_destroy_session)                                                                                    \
	WITH(lttng_create_handle)                                                                                      \
	WITH(lttng_destroy_handle)                                                                                     \
	WITH(lttng_channel_create)                                                                                     \
	WITH(lttng_channel_destroy)                                                                                    \
	WITH(lttng_enable_channel)                                                                                     \
	WITH(lttng_list_channels)                                                                                      \
	WITH(lttng_channel_get_discarded_event_count)                                                                  \
	WITH(lttng_event_create)                                                                                       \
	WITH(lttng_event_destroy)                                                                                      \
	WITH(lttng_enable_event)                                                                                       \
	WITH(lttng_start_tracing)                                                                                      \
	WITH(lttng_stop_tracing)                                                                                       \
	WITH(lttng_strerror)

struct control {
	void *library;
#define MEMBER(function) __typeof__(function) *(function);
	FUNCTIONS(MEMBER)
#undef MEMBER
};

/* what is a DtcTracer to others: tracefs has another */
struct lttng_tracer {
	struct control control;
	GPtrArray *tracepoints; /* owned char *, LTTng's names */
	GPtrArray *calls;	/* without "syscall_entry_" */
	struct lttng_handle *handle;
	char *session; /* NULL: none was created */
	char *folder;  /* NODE, absolute: the daemon is elsewhere */
	bool is_started;
	guint64 lost; /* as last counted */
};

/* ---- what there is ---- */

static bool load_library(struct control *control, GError **error)
{
	control->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!control->library) {
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "LTTng is not installed: there is no " LIBRARY "\n"
			    "install lttng-tools and lttng-modules-dkms, or " FROM_TRACEFS);
		return false;
	}
	const char *missing = NULL;
#define LOOK_UP(function)                                                                                              \
	control->function = (__typeof__(function) *)dlsym(control->library, #function);                                \
	missing = control->function ? missing : #function;
	FUNCTIONS(LOOK_UP)
#undef LOOK_UP
	if (missing)
		g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "this " LIBRARY " has no %s\nLTTng 2.13 has it; or " FROM_TRACEFS, missing);
	return !missing;
}

/* The library's functions give negative codes. */
static bool refuse(const struct control *control, int code, const char *what, GError **error)
{
	bool is_without_modules = code == -LTTNG_ERR_KERN_NA || code == -LTTNG_ERR_KERN_LIST_FAIL;

	g_set_error(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE, "LTTng cannot %s: %s\n%s, or " FROM_TRACEFS, what,
		    control->lttng_strerror(code),
		    is_without_modules ? "its modules are not loaded, or its session daemon does not run as root"
				       : "'lttng list' says what its session daemon knows");
	return false;
}

static struct lttng_handle *make_handle(const struct control *control, const char *session)
{
	struct lttng_domain kernel = { .type = LTTNG_DOMAIN_KERNEL, .buf_type = LTTNG_BUFFER_GLOBAL };

	return control->lttng_create_handle(session, &kernel);
}

static GPtrArray *take_names(struct lttng_event *events, int count)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

	for (int i = 0; i < count; i++)
		g_ptr_array_add(names, g_strndup(events[i].name, sizeof(events[i].name)));
	free(events);
	return names;
}

static bool take_events(struct lttng_tracer *tracer, GError **error)
{
	const struct control *control = &tracer->control;
	struct lttng_handle *handle = make_handle(control, NULL);
	struct lttng_event *events = NULL;
	int count = handle ? control->lttng_list_tracepoints(handle, &events) : -LTTNG_ERR_NOMEM;

	if (handle)
		control->lttng_destroy_handle(handle);
	if (count < 0)
		return refuse(control, count, "list the events of the kernel", error);
	tracer->tracepoints = take_names(events, count);
	events = NULL;
	count = control->lttng_list_syscalls(&events);
	if (count < 0)
		return refuse(control, count, "list the system calls of the kernel", error);
	tracer->calls = take_names(events, count);
	return true;
}

static void free_tracer(struct lttng_tracer *tracer);

/* The daemon is there, and says what it can record. */
static struct lttng_tracer *connect_to_daemon(GError **error)
{
	struct lttng_tracer *tracer = g_new0(struct lttng_tracer, 1);
	bool is_loaded = load_library(&tracer->control, error);
	bool is_alive = is_loaded && tracer->control.lttng_session_daemon_alive() == 1;

	if (is_loaded && !is_alive)
		g_set_error_literal(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE,
				    "LTTng's session daemon does not run, or does not let us in\n"
				    "start it as root with 'lttng-sessiond --daemonize', or " FROM_TRACEFS);
	if (is_alive && take_events(tracer, error))
		return tracer;
	free_tracer(tracer);
	return NULL;
}

static bool check(GError **error)
{
	struct lttng_tracer *tracer = connect_to_daemon(error);
	bool is_there = tracer != NULL;

	free_tracer(tracer);
	return is_there;
}

static char *list_events(GError **error)
{
	struct lttng_tracer *tracer = connect_to_daemon(error);
	char *list = tracer ? dtc_lttng_names_list(tracer->tracepoints, tracer->calls) : NULL;

	free_tracer(tracer);
	return list;
}

static guint clean(void)
{
	struct lttng_session *sessions = NULL;
	struct lttng_tracer *tracer = connect_to_daemon(NULL);
	int count = tracer ? tracer->control.lttng_list_sessions(&sessions) : 0;
	guint cleaned = 0;

	for (int i = 0; i < count; i++)
		if (dtc_instance_name_is_stale(sessions[i].name, "/proc"))
			cleaned += tracer->control.lttng_destroy_session(sessions[i].name) == 0;
	free(sessions);
	free_tracer(tracer);
	return cleaned;
}

/* ---- setting up ---- */

static gsize round_down_to_power_of_two(gsize bytes)
{
	gsize power = LEAST_SUB_BUFFER_BYTES;

	while (power <= bytes / 2)
		power *= 2;
	return power;
}

static bool enable_channel(struct lttng_tracer *tracer, gsize buffer_bytes, GError **error)
{
	struct lttng_domain kernel = { .type = LTTNG_DOMAIN_KERNEL, .buf_type = LTTNG_BUFFER_GLOBAL };
	struct lttng_channel *channel = tracer->control.lttng_channel_create(&kernel);

	if (!channel)
		return refuse(&tracer->control, -LTTNG_ERR_NOMEM, "make a channel", error);
	g_strlcpy(channel->name, CHANNEL, sizeof(channel->name));
	channel->attr.overwrite = 0;
	channel->attr.subbuf_size = round_down_to_power_of_two(buffer_bytes / SUB_BUFFER_COUNT);
	channel->attr.num_subbuf = SUB_BUFFER_COUNT;
	int code = tracer->control.lttng_enable_channel(tracer->handle, channel);
	tracer->control.lttng_channel_destroy(channel);
	return code >= 0 || refuse(&tracer->control, code, "make a channel; --buffer asks for less", error);
}

static bool enable_event(struct lttng_tracer *tracer, enum lttng_event_type type, const char *name, GError **error)
{
	g_autofree char *what = g_strdup_printf("record '%s'", name);
	struct lttng_event *event = tracer->control.lttng_event_create();
	int code = -LTTNG_ERR_NOMEM;

	if (event) {
		event->type = type;
		event->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
		event->loglevel = -1;
		g_strlcpy(event->name, name, sizeof(event->name));
		code = tracer->control.lttng_enable_event(tracer->handle, event, CHANNEL);
		tracer->control.lttng_event_destroy(event);
	}
	return code >= 0 || code == -LTTNG_ERR_KERN_EVENT_EXIST || refuse(&tracer->control, code, what, error);
}

static bool enable_all(struct lttng_tracer *tracer, enum lttng_event_type type, const GPtrArray *names, GError **error)
{
	for (guint i = 0; i < names->len; i++)
		if (!enable_event(tracer, type, g_ptr_array_index(names, i), error))
			return false;
	return true;
}

static bool enable_events(struct lttng_tracer *tracer, const GPtrArray *events, GError **error)
{
	g_autoptr(GPtrArray) tracepoints = NULL;
	g_autoptr(GPtrArray) calls = NULL;

	dtc_lttng_names_split(tracer->tracepoints, events, &tracepoints, &calls);
	/* one request for all of them, where all are wanted: there are some 400 */
	bool has_all_calls = calls->len >= tracer->calls->len && calls->len > 0;
	return enable_all(tracer, LTTNG_EVENT_TRACEPOINT, tracepoints, error) &&
	       enable_event(tracer, LTTNG_EVENT_TRACEPOINT, STATE_DUMP, error) &&
	       (has_all_calls ? enable_event(tracer, LTTNG_EVENT_SYSCALL, "*", error)
			      : enable_all(tracer, LTTNG_EVENT_SYSCALL, calls, error));
}

static bool create_session(struct lttng_tracer *tracer, const struct dtc_tracer_settings *settings, GError **error)
{
	tracer->folder = g_canonicalize_filename(dtc_place_get_path(settings->place), NULL);
	g_autofree char *address = g_strconcat("file://", tracer->folder, NULL);
	int code = tracer->control.lttng_create_session(settings->instance, address);
	if (code < 0)
		return refuse(&tracer->control, code, "create a session", error);
	tracer->session = g_strdup(settings->instance);
	tracer->handle = make_handle(&tracer->control, tracer->session);
	return tracer->handle || refuse(&tracer->control, -LTTNG_ERR_NOMEM, "create a session", error);
}

static struct lttng_tracer *open_tracer(const struct dtc_tracer_settings *settings, GError **error)
{
	struct lttng_tracer *tracer = connect_to_daemon(error);

	if (tracer && create_session(tracer, settings, error) &&
	    enable_channel(tracer, settings->buffer_bytes, error) && enable_events(tracer, settings->events, error))
		return tracer;
	free_tracer(tracer);
	return NULL;
}

/* ---- running ---- */

static bool start(struct lttng_tracer *tracer, GError **error)
{
	int code = tracer->control.lttng_start_tracing(tracer->session);

	tracer->is_started = code >= 0;
	return code >= 0 || refuse(&tracer->control, code, "start to record", error);
}

static void count_lost(struct lttng_tracer *tracer)
{
	struct lttng_channel *channels = NULL;
	int count = tracer->handle ? tracer->control.lttng_list_channels(tracer->handle, &channels) : 0;

	for (int i = 0; i < count; i++) {
		uint64_t lost = 0;
		if (tracer->control.lttng_channel_get_discarded_event_count(&channels[i], &lost) == 0)
			tracer->lost = lost;
	}
	free(channels);
}

/*
 * The files of the trace as the consumer makes them, for its group too, become ours alone. What LTTng made is no link;
 * one that is there all the same is not followed.
 */
static guint64 visit_files(const struct lttng_tracer *tracer, bool closes)
{
	g_autofree char *kernel = g_build_filename(tracer->folder, DTC_SEALED_KERNEL, NULL);
	char *roots[] = { kernel, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	guint64 bytes = 0;

	for (const FTSENT *entry; tree && (entry = fts_read(tree));) {
		bytes += entry->fts_info == FTS_F ? (guint64)entry->fts_statp->st_size : 0;
		if (closes && (entry->fts_info == FTS_F || entry->fts_info == FTS_DP))
			(void)chmod(entry->fts_accpath, entry->fts_info == FTS_F ? 0600 : 0700);
	}
	if (tree)
		fts_close(tree);
	return bytes;
}

/* How many events there were, LTTng does not tell before the trace is read. */
static void sample(struct lttng_tracer *tracer, int64_t now_ns, FILE *drops, struct dtc_tracer_counts *ret_counts)
{
	count_lost(tracer);
	/* of all CPUs together, so that it stands with the first */
	fprintf(drops, "%" G_GINT64_FORMAT " 0 0 0 0 0 %" G_GUINT64_FORMAT " 0\n", now_ns, tracer->lost);
	*ret_counts = (struct dtc_tracer_counts){ .lost = tracer->lost, .bytes = visit_files(tracer, false) };
}

/* Stopping waits until the consumer has written all; the session is destroyed here, so that its files are closed. */
static void destroy_session(struct lttng_tracer *tracer)
{
	if (tracer->handle)
		tracer->control.lttng_destroy_handle(tracer->handle);
	tracer->handle = NULL;
	if (tracer->session)
		tracer->control.lttng_destroy_session(tracer->session);
	g_clear_pointer(&tracer->session, g_free);
}

static bool stop(struct lttng_tracer *tracer, GError **error)
{
	int code = tracer->control.lttng_stop_tracing(tracer->session);

	tracer->is_started = false;
	count_lost(tracer);
	destroy_session(tracer);
	visit_files(tracer, true);
	return code >= 0 || refuse(&tracer->control, code, "stop", error);
}

static void free_tracer(struct lttng_tracer *tracer)
{
	if (!tracer)
		return;
	if (tracer->is_started)
		stop(tracer, NULL);
	destroy_session(tracer);
	g_clear_pointer(&tracer->tracepoints, g_ptr_array_unref);
	g_clear_pointer(&tracer->calls, g_ptr_array_unref);
	g_free(tracer->folder);
	/* the library stays open: it leaves threads' keys behind, whose destructors would be gone */
	g_free(tracer);
}

/* ---- as others see it ---- */

static DtcTracer *open_kind(const struct dtc_tracer_settings *settings, GError **error)
{
	return (DtcTracer *)open_tracer(settings, error);
}

static bool start_kind(DtcTracer *tracer, GError **error)
{
	return start((struct lttng_tracer *)tracer, error);
}

static void sample_kind(DtcTracer *tracer, int64_t now_ns, FILE *drops, struct dtc_tracer_counts *ret_counts)
{
	sample((struct lttng_tracer *)tracer, now_ns, drops, ret_counts);
}

static bool stop_kind(DtcTracer *tracer, GError **error)
{
	return stop((struct lttng_tracer *)tracer, error);
}

static void describe_kind(const DtcTracer *tracer, GKeyFile *recording)
{
	(void)tracer;
	g_key_file_set_string(recording, DTC_RAW_GROUP, DTC_RAW_KEY_CLOCK, "mono");
}

static void free_kind(DtcTracer *tracer)
{
	free_tracer((struct lttng_tracer *)tracer);
}

const struct dtc_tracer_kind dtc_tracer_lttng = {
	.name = "lttng",
	.is_sealed = true,
	.check = check,
	.list_events = list_events,
	.has_otherwise = dtc_lttng_has_otherwise,
	.clean = clean,
	.open = open_kind,
	.start = start_kind,
	.sample = sample_kind,
	.stop = stop_kind,
	.describe = describe_kind,
	.free = free_kind,
};

#else /* without LTTng's headers, or linked statically: such a program opens no library */

static bool check(GError **error)
{
	g_set_error_literal(error, DTC_COLLECT_ERROR, DTC_ERROR_IMPOSSIBLE,
			    "this program was built without LTTng\n" FROM_TRACEFS);
	return false;
}

static guint clean(void)
{
	return 0;
}

/* after check, nothing else is called */
const struct dtc_tracer_kind dtc_tracer_lttng = { .name = "lttng", .is_sealed = true, .check = check, .clean = clean };

#endif
