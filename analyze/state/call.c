/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls: their span, the file they work on, and how many bytes of a connection they took or gave. */
#include "analyze/state/machine_state.h"

#include <errno.h>
#include <string.h>

#define MSG_PEEK_FLAG 2
#define CLOEXEC_FLAG 02000000
#define F_SETFD_COMMAND 2
#define F_DUPFD_CLOEXEC_COMMAND 1030
/* ERESTART_RESTARTBLOCK and ERESTARTSYS (include/linux/errno.h): user mode never sees what lies between */
#define RESTART_FIRST (-516)
#define RESTART_LAST (-512)

/* By exact name; a trailing digit group (32, 64, _time32, _time64) is tried without as well. */
static const struct {
	const char *name;
	enum dtc_call_kind kind;
} kinds[] = {
	{ "read", DTC_CALL_READ },
	{ "readv", DTC_CALL_READ },
	{ "pread", DTC_CALL_READ },
	{ "preadv", DTC_CALL_READ },
	{ "preadv2", DTC_CALL_READ },
	{ "recv", DTC_CALL_READ },
	{ "recvfrom", DTC_CALL_READ },
	{ "recvmsg", DTC_CALL_READ },
	{ "recvmmsg", DTC_CALL_READ },
	{ "write", DTC_CALL_WRITE },
	{ "writev", DTC_CALL_WRITE },
	{ "pwrite", DTC_CALL_WRITE },
	{ "pwritev", DTC_CALL_WRITE },
	{ "pwritev2", DTC_CALL_WRITE },
	{ "send", DTC_CALL_WRITE },
	{ "sendto", DTC_CALL_WRITE },
	{ "sendmsg", DTC_CALL_WRITE },
	{ "sendmmsg", DTC_CALL_WRITE },
	{ "sendfile", DTC_CALL_WRITE },
	{ "accept", DTC_CALL_ACCEPT },
	{ "accept4", DTC_CALL_ACCEPT },
	{ "connect", DTC_CALL_CONNECT },
	{ "poll", DTC_CALL_POLL },
	{ "ppoll", DTC_CALL_POLL },
	{ "select", DTC_CALL_POLL },
	{ "newselect", DTC_CALL_POLL },
	{ "_newselect", DTC_CALL_POLL },
	{ "pselect6", DTC_CALL_POLL },
	{ "epoll_wait", DTC_CALL_POLL },
	{ "epoll_pwait", DTC_CALL_POLL },
	{ "epoll_pwait2", DTC_CALL_POLL },
	{ "io_uring_enter", DTC_CALL_RING },
	{ "epoll_ctl", DTC_CALL_REGISTER },
	{ "nanosleep", DTC_CALL_SLEEP },
	{ "clock_nanosleep", DTC_CALL_SLEEP },
	{ "futex", DTC_CALL_FUTEX },
	{ "futex_wait", DTC_CALL_FUTEX },
	{ "futex_waitv", DTC_CALL_FUTEX },
	{ "fsync", DTC_CALL_SYNC },
	{ "fdatasync", DTC_CALL_SYNC },
	{ "sync", DTC_CALL_SYNC },
	{ "syncfs", DTC_CALL_SYNC },
	{ "msync", DTC_CALL_SYNC },
	{ "sync_file_range", DTC_CALL_SYNC },
	{ "close", DTC_CALL_CLOSE },
	{ "open", DTC_CALL_OPEN },
	{ "openat", DTC_CALL_OPEN },
	{ "openat2", DTC_CALL_OPEN },
	{ "creat", DTC_CALL_OPEN },
	{ "clone", DTC_CALL_FORK },
	{ "clone3", DTC_CALL_FORK },
	{ "fork", DTC_CALL_FORK },
	{ "vfork", DTC_CALL_FORK },
	{ "execve", DTC_CALL_EXEC },
	{ "execveat", DTC_CALL_EXEC },
	{ "wait4", DTC_CALL_WAITPID },
	{ "waitid", DTC_CALL_WAITPID },
	{ "waitpid", DTC_CALL_WAITPID },
	{ "flock", DTC_CALL_LOCK },
	{ "pause", DTC_CALL_SIGNAL },
	{ "sigsuspend", DTC_CALL_SIGNAL },
	{ "rt_sigsuspend", DTC_CALL_SIGNAL },
	{ "rt_sigtimedwait", DTC_CALL_SIGNAL },
};

static enum dtc_call_kind find_kind(const char *name)
{
	g_autofree char *stem = g_strdup(name);
	for (int attempt = 0; attempt < 2; attempt++) {
		for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
			if (strcmp(stem, kinds[i].name) == 0)
				return kinds[i].kind;
		static const char *const tails[] = { "_time32", "_time64", "64", "32" };
		for (size_t i = 0; i < G_N_ELEMENTS(tails); i++)
			if (g_str_has_suffix(stem, tails[i])) {
				stem[strlen(stem) - strlen(tails[i])] = 0;
				break;
			}
	}
	return DTC_CALL_OTHER;
}

/* By exact name, or by how it begins. */
static const struct {
	const char *name;
	bool is_prefix;
	uint16_t trait;
} traits[] = {
	{ "recv", true, DTC_TRAIT_RECEIVES },
	/* others have it behind a pointer: of epoll_pwait2 the trace has the address, which is 0 if it waits for ever
	 */
	{ "poll", false, DTC_TRAIT_TIMEOUT_MS },
	{ "epoll_wait", false, DTC_TRAIT_TIMEOUT_MS },
	{ "epoll_pwait", false, DTC_TRAIT_TIMEOUT_MS },
	{ "fcntl", true, DTC_TRAIT_CONTROLS },
	{ "socket", true, DTC_TRAIT_HAS_TYPE },
	{ "socket", false, DTC_TRAIT_SOCKET },
	{ "dup", false, DTC_TRAIT_DUPLICATES },
	{ "dup2", false, DTC_TRAIT_DUPLICATES },
	{ "dup3", false, DTC_TRAIT_DUPLICATES },
	{ "pipe", true, DTC_TRAIT_PIPE },
	{ "socketpair", false, DTC_TRAIT_SOCKET_PAIR },
	{ "eventfd", true, DTC_TRAIT_EVENT },
	{ "epoll_create", true, DTC_TRAIT_EVENT },
	{ "timerfd_create", true, DTC_TRAIT_EVENT },
	{ "signalfd", true, DTC_TRAIT_EVENT },
	{ "inotify_init", true, DTC_TRAIT_EVENT },
	{ "memfd_create", true, DTC_TRAIT_EVENT },
	{ "pidfd_open", true, DTC_TRAIT_EVENT },
	{ "io_uring_setup", true, DTC_TRAIT_EVENT },
	{ "perf_event_open", true, DTC_TRAIT_EVENT },
	{ "fanotify_init", true, DTC_TRAIT_EVENT },
	{ "userfaultfd", true, DTC_TRAIT_EVENT },
	{ "setns", false, DTC_TRAIT_NETNS },
	{ "unshare", false, DTC_TRAIT_NETNS },
	{ "recvmmsg", true, DTC_TRAIT_MESSAGES },
	{ "sendmmsg", true, DTC_TRAIT_MESSAGES },
	{ "splice", false, DTC_TRAIT_SPLICES },
	{ "setsockopt", false, DTC_TRAIT_LETS_GO },
	{ "shutdown", false, DTC_TRAIT_LETS_GO },
	{ "close", false, DTC_TRAIT_LETS_GO },
};

static uint16_t find_traits(const char *name)
{
	uint16_t found = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(traits); i++)
		if (traits[i].is_prefix ? g_str_has_prefix(name, traits[i].name) : strcmp(name, traits[i].name) == 0)
			found |= traits[i].trait;
	return found;
}

static void add_name(DtcMachine *m, const char *name, uint32_t string)
{
	uint8_t kind = (uint8_t)find_kind(name);
	uint16_t found = find_traits(name);
	g_array_append_val(m->call_traits, found);
	g_array_append_val(m->call_kinds, kind);
	g_array_append_val(m->call_names, string);
}

uint32_t dtc_machine_add_call_name(DtcMachine *m, const char *name)
{
	add_name(m, name, dtc_history_add_string(m->history, name));
	return m->call_kinds->len - 1;
}

static const char *get_reader_name(const DtcMachine *m, guint name)
{
	return m->reader ? dtc_reader_get_syscall_name(m->reader, name) : "unknown";
}

/* Which names a reader knows, and in which order, depends on how it decodes; which calls there are does not. */
static void learn_name(DtcMachine *m, guint name)
{
	while (m->call_kinds->len <= name)
		add_name(m, get_reader_name(m, m->call_kinds->len), DTC_NONE);
}

uint32_t dtc_machine_get_call_name(DtcMachine *m, int64_t name)
{
	learn_name(m, (guint)name);
	uint32_t *string = &g_array_index(m->call_names, uint32_t, name);
	if (*string == DTC_NONE)
		*string = dtc_history_add_string(m->history, get_reader_name(m, (guint)name));
	return *string;
}

enum dtc_call_kind dtc_machine_get_call_kind(DtcMachine *m, int64_t name)
{
	if (name < 0)
		return DTC_CALL_OTHER;
	learn_name(m, (guint)name);
	return g_array_index(m->call_kinds, uint8_t, name);
}

uint32_t dtc_machine_get_own_call(DtcMachine *m, struct dtc_cpu *cpu)
{
	if (cpu->depth || cpu->current == DTC_NONE)
		return DTC_NONE;
	return DTC_TASK(m, cpu->current)->call;
}

void dtc_machine_close_call(DtcMachine *m, uint32_t thread, int64_t end_ns, int64_t result)
{
	struct dtc_task *task = DTC_TASK(m, thread);
	struct dtc_call *call = DTC_AT(m->history->filling->calls, struct dtc_call, task->call);
	call->end_ns = end_ns;
	call->result = result;
	if (result != DTC_ABSENT && result > 0 && call->file != DTC_NONE) {
		struct dtc_file *file = DTC_AT(m->history->files, struct dtc_file, call->file);
		if (call->kind == DTC_CALL_READ) {
			call->offset = file->read_bytes;
			file->read_bytes += (uint64_t)result;
		} else if (call->kind == DTC_CALL_WRITE) {
			call->offset = file->written_bytes;
			file->written_bytes += (uint64_t)result;
		}
	}
}

void dtc_machine_abandon_call(DtcMachine *m, uint32_t thread, enum dtc_state state, int64_t time_ns)
{
	if (DTC_TASK(m, thread)->call != DTC_NONE)
		dtc_machine_close_call(m, thread, DTC_TIME_NONE, DTC_ABSENT);
	dtc_machine_set_state(m, thread, state, time_ns, 0xffff, DTC_NONE); /* what ends here lies in the call */
	DTC_TASK(m, thread)->call = DTC_NONE;
	DTC_TASK(m, thread)->knows_call = false;
}

/* fcntl(F_SETLKW), its 64-bit form on 32-bit systems, and F_OFD_SETLKW (include/uapi/asm-generic/fcntl.h) */
static bool waits_for_file_lock(const struct dtc_event *event, uint16_t has)
{
	int64_t command = event->v[DTC_CALL_OP];
	return (has & DTC_TRAIT_CONTROLS) && (command == 7 || command == 14 || command == 38);
}

/*
 * O_CLOEXEC, and the flags of the other calls that make descriptors, which have its value but on alpha, parisc and
 * sparc; a socket has it in its type, fcntl in the command or, for F_SETFD, in the argument.
 */
static bool closes_on_exec(const struct dtc_event *event, uint16_t has)
{
	int64_t flags = event->v[DTC_CALL_FLAGS], operation = event->v[DTC_CALL_OP];
	if (has & DTC_TRAIT_CONTROLS)
		return operation == F_DUPFD_CLOEXEC_COMMAND ||
		       (operation == F_SETFD_COMMAND && event->v[DTC_CALL_VALUE] != DTC_ABSENT &&
			(event->v[DTC_CALL_VALUE] & 1));
	if (has & DTC_TRAIT_HAS_TYPE)
		return operation != DTC_ABSENT && (operation & CLOEXEC_FLAG);
	return flags != DTC_ABSENT && (flags & CLOEXEC_FLAG);
}

/* AF_UNIX and AF_NETLINK (include/linux/socket.h): not the network's */
static const char *name_family(uint8_t family)
{
	return family == 1 ? "unix socket" : family == 16 ? "netlink socket" : "socket";
}

/*
 * Of a Unix socket or a stream the bytes count, and how many a call moved that returns a number of messages nothing
 * tells.
 */
static bool has_messages(const DtcMachine *m, uint32_t index)
{
	const struct dtc_file *file = index == DTC_NONE ? NULL : DTC_AT(m->history->files, struct dtc_file, index);
	if (!file)
		return false;
	if (file->flow_out != DTC_NONE)
		return dtc_packets_get_flow(m->history->packets, file->flow_out)->protocol == DTC_PROTOCOL_UDP;
	return file->peer == DTC_NONE && file->name != dtc_history_add_string(m->history, name_family(1));
}

static enum dtc_file_kind get_file_kind(const DtcMachine *m, uint32_t file)
{
	return file == DTC_NONE ? DTC_FILE_UNKNOWN : DTC_AT(m->history->files, struct dtc_file, file)->kind;
}

/* One of the two is a pipe, in which nobody but the thread itself looks: what it takes from, or gives, is the other. */
static enum dtc_call_kind apply_splice(DtcMachine *m, const struct dtc_event *event, struct dtc_call *call)
{
	int64_t fd = event->v[DTC_CALL_FD2];
	uint32_t out = fd < 0 || fd > INT32_MAX ? DTC_NONE : dtc_machine_get_file(m, call->thread, fd);
	bool is_from_pipe = get_file_kind(m, call->file) == DTC_FILE_PIPE;
	bool is_to_pipe = get_file_kind(m, out) == DTC_FILE_PIPE;
	if (is_from_pipe == is_to_pipe)
		return DTC_CALL_OTHER;
	if (is_to_pipe)
		return DTC_CALL_READ;
	call->file = out;
	call->fd = (int32_t)fd;
	return DTC_CALL_WRITE;
}

/* FUTEX_CMD_MASK and FUTEX_CLOCK_REALTIME (include/uapi/linux/futex.h) */
static uint8_t get_futex_operation(int64_t operation)
{
	return (uint8_t)((operation & 0x7f) | (operation & 256 ? DTC_FUTEX_BY_WALL_CLOCK : 0));
}

static void apply_entry(DtcMachine *m, const struct dtc_event *event)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	if (cpu->current == DTC_NONE)
		return;
	uint32_t thread = cpu->current;
	cpu->last_wake = DTC_NONE;
	if (DTC_TASK(m, thread)->call != DTC_NONE && dtc_machine_is_others_entry(m, thread)) {
		dtc_machine_forget_current(m, event->cpu);
		return;
	}
	DTC_TASK(m, thread)->is_placed = DTC_TASK(m, thread)->knows_call = true;
	DTC_TASK(m, thread)->is_broken_off = false;
	if (DTC_TASK(m, thread)->call != DTC_NONE) {
		dtc_machine_close_call(m, thread, DTC_TIME_NONE, DTC_ABSENT); /* its exit was lost */
		dtc_machine_set_running(m, thread, m->now_ns, event->cpu);
		DTC_TASK(m, thread)->call = DTC_NONE;
	}
	enum dtc_call_kind kind = dtc_machine_get_call_kind(m, event->v[DTC_CALL_NAME]);
	uint16_t has = g_array_index(m->call_traits, uint16_t, event->v[DTC_CALL_NAME]);
	if (kind == DTC_CALL_READ && (has & DTC_TRAIT_RECEIVES) && event->v[DTC_CALL_FLAGS] != DTC_ABSENT &&
	    (event->v[DTC_CALL_FLAGS] & MSG_PEEK_FLAG))
		kind = DTC_CALL_PEEK;
	if (waits_for_file_lock(event, has))
		kind = DTC_CALL_LOCK;
	struct dtc_call call = {
		.begin_ns = m->now_ns,
		.end_ns = DTC_TIME_NONE,
		.result = DTC_ABSENT,
		.thread = thread,
		.name = dtc_machine_get_call_name(m, event->v[DTC_CALL_NAME]),
		.file = DTC_NONE,
		.path = dtc_history_add_string(m->history, event->text[0]),
		.fd = -1,
	};
	call.closes_on_exec = closes_on_exec(event, has);
	int64_t fd = event->v[DTC_CALL_FD];
	if (fd != DTC_ABSENT && fd >= 0 && fd <= INT32_MAX) {
		call.fd = (int32_t)fd;
		call.file = dtc_machine_get_file(m, thread, fd);
	}
	if ((has & DTC_TRAIT_MESSAGES) && !has_messages(m, call.file))
		kind = DTC_CALL_OTHER;
	if (has & DTC_TRAIT_SPLICES)
		kind = apply_splice(m, event, &call);
	call.kind = (uint8_t)kind;
	if (kind == DTC_CALL_FUTEX && event->v[DTC_CALL_UADDR] != DTC_ABSENT)
		call.argument = (uint64_t)event->v[DTC_CALL_UADDR];
	else if (kind == DTC_CALL_FUTEX)
		call.argument = 0; /* futex_waitv: several, in memory that the trace does not show */
	else if (kind == DTC_CALL_POLL)
		call.argument = event->v[DTC_CALL_TIMEOUT] != DTC_ABSENT && (has & DTC_TRAIT_TIMEOUT_MS)
					? (uint64_t)event->v[DTC_CALL_TIMEOUT]
					: DTC_TIMEOUT_UNKNOWN;
	else if (kind == DTC_CALL_FORK && event->v[DTC_CALL_FLAGS] != DTC_ABSENT)
		call.argument = (uint64_t)event->v[DTC_CALL_FLAGS];
	else if (kind == DTC_CALL_REGISTER)
		call.argument = dtc_machine_register(m, thread, event);
	else if (event->v[DTC_CALL_OP] != DTC_ABSENT)
		call.argument = (uint64_t)event->v[DTC_CALL_OP];
	if (kind == DTC_CALL_FUTEX && event->v[DTC_CALL_OP] != DTC_ABSENT)
		call.operation = get_futex_operation(event->v[DTC_CALL_OP]);
	else if (kind == DTC_CALL_REGISTER)
		call.operation = event->v[DTC_CALL_OP] < 0 ? 0 : (uint8_t)event->v[DTC_CALL_OP];
	else if (has & DTC_TRAIT_MESSAGES)
		call.operation = DTC_COUNTS_MESSAGES;
	else if (event->v[DTC_CALL_FAMILY] > 0 && event->v[DTC_CALL_FAMILY] <= UINT8_MAX)
		call.operation = (uint8_t)event->v[DTC_CALL_FAMILY];
	if (call.file != DTC_NONE) {
		struct dtc_file *file = DTC_AT(m->history->files, struct dtc_file, call.file);
		if (kind == DTC_CALL_WRITE || (has & DTC_TRAIT_LETS_GO))
			call.offset = file->written_bytes;
		else if (kind == DTC_CALL_READ || kind == DTC_CALL_PEEK)
			call.offset = file->read_bytes;
		if (kind == DTC_CALL_ACCEPT) {
			file->listens = true;
			file->kind = DTC_FILE_SOCKET;
		} else if (kind == DTC_CALL_CONNECT) {
			file->kind = DTC_FILE_SOCKET;
		}
	}
	DtcHistory *h = m->history;
	dtc_machine_set_state(m, thread, DTC_STATE_SYSCALL, m->now_ns, (uint16_t)event->cpu, DTC_NONE);
	DTC_TASK(m, thread)->call = h->filling->calls->len;
	DTC_TASK(m, thread)->traits = has;
	dtc_table_append(h->filling->calls, &call);
}

/* What accept returns is of the kind that listens. */
static uint32_t name_accepted(DtcMachine *m, const struct dtc_call *call)
{
	const struct dtc_file *listener =
		call->file == DTC_NONE ? NULL : DTC_AT(m->history->files, struct dtc_file, call->file);
	uint32_t unix_socket = dtc_history_add_string(m->history, name_family(1));
	return listener && listener->name == unix_socket ? unix_socket
							 : dtc_history_add_string(m->history, name_family(0));
}

/* A socket from before its socket() call was seen: connect and bind tell its family. */
static void learn_family(DtcMachine *m, const struct dtc_call *call)
{
	if (call->file == DTC_NONE || call->operation != 1)
		return;
	struct dtc_file *file = DTC_AT(m->history->files, struct dtc_file, call->file);
	if (file->name == DTC_NONE)
		file->name = dtc_history_add_string(m->history, name_family(1));
}

/* What a successful call leaves behind in the descriptor table. */
static void apply_result(DtcMachine *m, const struct dtc_event *event, uint32_t thread, uint32_t index)
{
	const struct dtc_call *call = DTC_AT(m->history->filling->calls, struct dtc_call, index);
	uint16_t has = DTC_TASK(m, thread)->traits;
	int32_t pid = DTC_THREAD(m, thread)->pid > 0 ? DTC_THREAD(m, thread)->pid : DTC_THREAD(m, thread)->tid;
	int64_t result = call->result;
	if (result == DTC_ABSENT || (result < 0 && !(call->kind == DTC_CALL_CONNECT && result == -EINPROGRESS)))
		return;
	if (has & DTC_TRAIT_NETNS)
		DTC_TASK(m, thread)->netns = 0; /* perhaps: it may be another kind of namespace, too */
	if (call->kind == DTC_CALL_ACCEPT) {
		uint32_t file = dtc_machine_add_file(m, DTC_FILE_SOCKET, name_accepted(m, call), pid);
		dtc_machine_set_file(m, pid, result, file);
		DTC_AT(m->history->filling->calls, struct dtc_call, index)->argument = file;
		DTC_AT(m->history->files, struct dtc_file, file)->accept = index;
		if (event->has_address && event->v[DTC_CALL_PORT] != DTC_ABSENT) {
			uint32_t flow = dtc_machine_find_syn(m, thread, event->address, event->v[DTC_CALL_PORT]);
			if (flow != DTC_NONE)
				dtc_machine_set_flow(m, file, dtc_packets_get_flow(m->history->packets, flow)->reverse);
		}
	} else if (call->kind == DTC_CALL_OPEN) {
		dtc_machine_set_file(m, pid, result, dtc_machine_add_file(m, DTC_FILE_PATH, call->path, pid));
	} else if (has & DTC_TRAIT_SOCKET) {
		uint32_t string = dtc_history_add_string(m->history, name_family(call->operation));
		dtc_machine_set_file(m, pid, result, dtc_machine_add_file(m, DTC_FILE_SOCKET, string, pid));
	} else if (call->kind == DTC_CALL_CLOSE) {
		dtc_machine_set_file(m, pid, call->fd, DTC_NONE);
	} else if (has & DTC_TRAIT_DUPLICATES) {
		dtc_machine_set_file(m, pid, result, call->file);
	} else if (has & DTC_TRAIT_CONTROLS) {
		if (call->argument == F_SETFD_COMMAND)
			dtc_machine_set_close_on_exec(m, pid, call->fd, call->closes_on_exec);
		else if (call->argument == 0 || call->argument == F_DUPFD_CLOEXEC_COMMAND) /* 0: F_DUPFD */
			dtc_machine_set_file(m, pid, result, call->file);
	} else if (has & (DTC_TRAIT_PIPE | DTC_TRAIT_SOCKET_PAIR)) {
		if (event->v[DTC_CALL_FD] == DTC_ABSENT || event->v[DTC_CALL_FD2] == DTC_ABSENT)
			return;
		bool is_pipe = has & DTC_TRAIT_PIPE, closes = call->closes_on_exec;
		uint32_t string = dtc_history_add_string(m->history, is_pipe ? "pipe" : "unix socket");
		enum dtc_file_kind kind = is_pipe ? DTC_FILE_PIPE : DTC_FILE_SOCKET;
		uint32_t a = dtc_machine_add_file(m, kind, string, pid), b = dtc_machine_add_file(m, kind, string, pid);
		DTC_AT(m->history->files, struct dtc_file, a)->peer = b;
		DTC_AT(m->history->files, struct dtc_file, b)->peer = a;
		dtc_machine_set_file(m, pid, event->v[DTC_CALL_FD], a);
		dtc_machine_set_file(m, pid, event->v[DTC_CALL_FD2], b);
		dtc_machine_set_close_on_exec(m, pid, event->v[DTC_CALL_FD], closes);
		dtc_machine_set_close_on_exec(m, pid, event->v[DTC_CALL_FD2], closes);
	} else if (has & DTC_TRAIT_EVENT) {
		dtc_machine_set_file(m, pid, result, dtc_machine_add_file(m, DTC_FILE_EVENT, call->name, pid));
	} else {
		return;
	}
	if (call->closes_on_exec && call->kind != DTC_CALL_CLOSE)
		dtc_machine_set_close_on_exec(m, pid, result, true);
}

/*
 * A server that slept in accept when the trace began: of that call there is the exit alone, and that the descriptor is
 * a new connection's.
 */
static void apply_accepted(DtcMachine *m, const struct dtc_event *event, uint32_t thread)
{
	int64_t name = event->v[DTC_CALL_NAME];
	if (dtc_machine_get_call_kind(m, name) != DTC_CALL_ACCEPT || event->v[DTC_CALL_RET] == DTC_ABSENT)
		return;
	struct dtc_call call = {
		.begin_ns = m->now_ns,
		.end_ns = m->now_ns,
		.result = event->v[DTC_CALL_RET],
		.thread = thread,
		.name = dtc_machine_get_call_name(m, name),
		.file = DTC_NONE,
		.path = DTC_NONE,
		.fd = -1,
		.kind = DTC_CALL_ACCEPT,
	};
	uint32_t index = m->history->filling->calls->len;
	DTC_TASK(m, thread)->traits = g_array_index(m->call_traits, uint16_t, name);
	dtc_table_append(m->history->filling->calls, &call);
	apply_result(m, event, thread, index);
}

/* epoll_wait and a few others return to user mode all the same */
static bool is_broken_off(int64_t result)
{
	return result == -EINTR || (result >= RESTART_FIRST && result <= RESTART_LAST);
}

static void apply_exit(DtcMachine *m, const struct dtc_event *event)
{
	struct dtc_cpu *cpu = dtc_machine_get_cpu(m, event->cpu);
	if (cpu->current == DTC_NONE)
		return;
	uint32_t thread = cpu->current;
	if (dtc_machine_is_others_exit(m, thread, event)) {
		dtc_machine_forget_current(m, event->cpu);
		return;
	}
	struct dtc_task *task = DTC_TASK(m, thread);
	uint32_t index = task->call;
	cpu->last_wake = DTC_NONE;
	task->is_placed = task->knows_call = true;
	task->is_broken_off = is_broken_off(event->v[DTC_CALL_RET]);
	if (index != DTC_NONE) {
		m->exits |= 1u << DTC_AT(m->history->filling->calls, struct dtc_call, index)->kind;
		cpu->left_call_ns = m->now_ns;
		dtc_machine_end_act(m, cpu, event->cpu, NULL, index);
		dtc_machine_close_call(m, thread, m->now_ns, event->v[DTC_CALL_RET]);
		dtc_machine_keep_ready(m, index, event);
		learn_family(m, DTC_AT(m->history->filling->calls, struct dtc_call, index));
		/* the interval up to here belongs to the call; afterwards the thread is in user mode */
		DTC_TASK(m, thread)->in_kernel = false;
		dtc_machine_set_state(m, thread, DTC_STATE_USER, m->now_ns, (uint16_t)event->cpu, DTC_NONE);
		DTC_TASK(m, thread)->call = DTC_NONE;
		apply_result(m, event, thread, index);
	} else {
		task->in_kernel = false; /* a new child returns, or the entry came before the trace */
		apply_accepted(m, event, thread);
	}
	dtc_machine_set_running(m, thread, m->now_ns, event->cpu);
}

void dtc_machine_apply_call(DtcMachine *m, const struct dtc_event *event)
{
	dtc_machine_get_call_kind(m, event->v[DTC_CALL_NAME]);
	if (event->v[DTC_CALL_NUMBER] == DTC_ABSENT)
		m->saw_arguments = true;
	if (event->kind == DTC_EVENT_SYSCALL_ENTRY)
		apply_entry(m, event);
	else
		apply_exit(m, event);
}
