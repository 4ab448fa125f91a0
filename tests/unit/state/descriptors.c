/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a descriptor stands for: through dup, pipe, fork, exec and shared tables. */
#include "tests/support/story.h"

#define RUN 0
#define SLEEP 1
#define CLOEXEC 02000000

/* A call with an argument in one slot (DTC_EVENT_SLOTS: none) that returns at once; gives its entry's time. */
static int64_t call_with(struct story *s, int64_t *t, const char *name, int64_t fd, int slot, int64_t argument,
			 int64_t result)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, *t, 0);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, name);
	e.v[DTC_CALL_FD] = fd < 0 ? DTC_ABSENT : fd;
	if (slot < DTC_EVENT_SLOTS)
		e.v[slot] = argument;
	e.text[0] = strcmp(name, "openat") == 0 ? "/etc/thing" : NULL;
	dtc_machine_apply(s->machine, &e);
	story_leave(s, *t + 1, 0, name, result);
	*t += 2;
	return *t - 2;
}

static void make_pair(struct story *s, int64_t *t, const char *name, int64_t flags, int64_t a, int64_t b)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, *t, 0);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, name);
	e.v[DTC_CALL_FLAGS] = flags;
	dtc_machine_apply(s->machine, &e);
	e = story_event(DTC_EVENT_SYSCALL_EXIT, *t + 1, 0);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, name);
	e.v[DTC_CALL_RET] = 0;
	e.v[DTC_CALL_FD] = a;
	e.v[DTC_CALL_FD2] = b;
	dtc_machine_apply(s->machine, &e);
	*t += 2;
}

static uint32_t find_file(const struct story *s, int tid, int64_t t)
{
	uint32_t thread = dtc_history_find_thread(s->history, tid, t);
	return dtc_history_copy_call(s->history, dtc_history_find_call(s->history, thread, t)).file;
}

static const char *get_name(const struct story *s, int tid, int64_t t)
{
	uint32_t file = find_file(s, tid, t);
	return file == DTC_NONE ? NULL
				: dtc_history_get_string(s->history, dtc_history_get_file(s->history, file)->name);
}

static void fork_with(struct story *s, int64_t *t, int64_t flags, int parent, int child)
{
	struct dtc_event e = story_event(DTC_EVENT_SYSCALL_ENTRY, *t, 0);
	e.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s->machine, "clone");
	e.v[DTC_CALL_FLAGS] = flags;
	dtc_machine_apply(s->machine, &e);
	story_fork(s, *t + 1, 0, parent, parent, child, child, "a");
	story_leave(s, *t + 2, 0, "clone", child);
	*t += 3;
}

static void switch_to(struct story *s, int64_t *t, int from, int to)
{
	story_switch(s, *t, 0, from, "a", RUN, to, "a");
	story_leave(s, *t + 1, 0, "clone", 0); /* a child returns from its fork */
	*t += 2;
}

static void exec(struct story *s, int64_t *t, int tid)
{
	struct dtc_event e = story_event(DTC_EVENT_SCHED_EXEC, *t, 0);
	e.v[DTC_TASK_TID] = e.v[DTC_TASK_OLD_TID] = tid;
	e.text[0] = "/usr/bin/other";
	dtc_machine_apply(s->machine, &e);
	*t += 1;
}

static void test_dup(void)
{
	struct story s;
	int64_t t = 10;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	call_with(&s, &t, "openat", -1, DTC_CALL_FLAGS, 0, 3);
	call_with(&s, &t, "dup", 3, DTC_EVENT_SLOTS, 0, 4);
	call_with(&s, &t, "dup2", 3, DTC_EVENT_SLOTS, 0, 9);
	call_with(&s, &t, "fcntl", 3, DTC_CALL_OP, 1030, 12);
	call_with(&s, &t, "close", 3, DTC_EVENT_SLOTS, 0, 0);
	int64_t through_dup = call_with(&s, &t, "read", 4, DTC_EVENT_SLOTS, 0, 1);
	int64_t through_dup2 = call_with(&s, &t, "read", 9, DTC_EVENT_SLOTS, 0, 1);
	int64_t through_fcntl = call_with(&s, &t, "read", 12, DTC_EVENT_SLOTS, 0, 1);
	int64_t through_closed = call_with(&s, &t, "read", 3, DTC_EVENT_SLOTS, 0, 1);
	int64_t failed = call_with(&s, &t, "openat", -1, DTC_CALL_FLAGS, 0, -2);
	story_end(&s);
	g_assert_cmpstr(get_name(&s, 10, through_dup), ==, "/etc/thing");
	g_assert_cmpuint(find_file(&s, 10, through_dup2), ==, find_file(&s, 10, through_dup));
	g_assert_cmpuint(find_file(&s, 10, through_fcntl), ==, find_file(&s, 10, through_dup));
	g_assert_cmpstr(get_name(&s, 10, through_closed), !=, "/etc/thing");
	g_assert_cmpuint(find_file(&s, 10, failed), ==, DTC_NONE);
	story_clear(&s);
}

/* Both ends of a pipe know each other, and still do in a child. */
static void test_pipe_in_child(void)
{
	struct story s;
	int64_t t = 10;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	make_pair(&s, &t, "pipe2", 0, 5, 6);
	make_pair(&s, &t, "socketpair", 0, 7, 8);
	int64_t written = call_with(&s, &t, "write", 6, DTC_EVENT_SLOTS, 0, 1);
	int64_t sent = call_with(&s, &t, "sendto", 7, DTC_EVENT_SLOTS, 0, 1);
	fork_with(&s, &t, 0x1200011, 10, 20);
	switch_to(&s, &t, 10, 20);
	call_with(&s, &t, "close", 6, DTC_EVENT_SLOTS, 0, 0);
	int64_t read = call_with(&s, &t, "read", 5, DTC_EVENT_SLOTS, 0, 1);
	int64_t received = call_with(&s, &t, "recvfrom", 8, DTC_EVENT_SLOTS, 0, 1);
	switch_to(&s, &t, 20, 10);
	int64_t still = call_with(&s, &t, "write", 6, DTC_EVENT_SLOTS, 0, 1); /* the child closed only its own */
	story_end(&s);
	uint32_t end = find_file(&s, 20, read);
	g_assert_cmpuint(dtc_history_get_file(s.history, end)->peer, ==, find_file(&s, 10, written));
	g_assert_cmpint(dtc_history_get_file(s.history, end)->kind, ==, DTC_FILE_PIPE);
	g_assert_cmpuint(find_file(&s, 10, still), ==, find_file(&s, 10, written));
	end = find_file(&s, 20, received);
	g_assert_cmpuint(dtc_history_get_file(s.history, end)->peer, ==, find_file(&s, 10, sent));
	story_clear(&s);
}

/* exec closes what was opened so, or was set so since; everything else stays. */
static void test_close_on_exec(void)
{
	struct story s;
	int64_t t = 10;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	call_with(&s, &t, "openat", -1, DTC_CALL_FLAGS, CLOEXEC, 3);
	call_with(&s, &t, "openat", -1, DTC_CALL_FLAGS, 0, 4);
	call_with(&s, &t, "socket", -1, DTC_CALL_OP, 1 | CLOEXEC, 5);
	call_with(&s, &t, "eventfd2", -1, DTC_CALL_FLAGS, CLOEXEC, 6);
	make_pair(&s, &t, "pipe2", CLOEXEC, 7, 8);
	call_with(&s, &t, "openat", -1, DTC_CALL_FLAGS, 0, 9);
	struct dtc_event set = story_event(DTC_EVENT_SYSCALL_ENTRY, t, 0);
	set.v[DTC_CALL_NAME] = dtc_machine_add_call_name(s.machine, "fcntl");
	set.v[DTC_CALL_FD] = 9;
	set.v[DTC_CALL_OP] = 2; /* F_SETFD */
	set.v[DTC_CALL_VALUE] = 1;
	dtc_machine_apply(s.machine, &set);
	story_leave(&s, t + 1, 0, "fcntl", 0);
	t += 2;
	call_with(&s, &t, "dup", 3, DTC_EVENT_SLOTS, 0, 10); /* a copy does not close */
	exec(&s, &t, 10);
	int64_t at[11];
	for (int fd = 3; fd <= 10; fd++)
		at[fd] = call_with(&s, &t, "read", fd, DTC_EVENT_SLOTS, 0, 1);
	story_end(&s);
	for (int fd = 3; fd <= 10; fd++) {
		bool stays = fd == 4 || fd == 10;
		g_assert_cmpstr(get_name(&s, 10, at[fd]), ==, stays ? "/etc/thing" : "");
	}
	story_clear(&s);
}

/* CLONE_FILES: one table, until one of the two calls exec. */
static void test_shared_table(void)
{
	struct story s;
	int64_t t = 10;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	fork_with(&s, &t, 0x400 | 0x11, 10, 20);
	call_with(&s, &t, "openat", -1, DTC_CALL_FLAGS, 0, 3);
	switch_to(&s, &t, 10, 20);
	int64_t shared = call_with(&s, &t, "read", 3, DTC_EVENT_SLOTS, 0, 1);
	exec(&s, &t, 20);
	call_with(&s, &t, "close", 3, DTC_EVENT_SLOTS, 0, 0);
	story_task(&s, DTC_EVENT_SCHED_EXIT, t++, 0, 20, "a", 0);
	story_switch(&s, t++, 0, 20, "a", 0x10, 10, "a");
	int64_t own = call_with(&s, &t, "read", 3, DTC_EVENT_SLOTS, 0, 1);
	story_end(&s);
	g_assert_cmpstr(get_name(&s, 20, shared), ==, "/etc/thing");
	g_assert_cmpstr(get_name(&s, 10, own), ==, "/etc/thing");
	story_clear(&s);
}

/* The listening descriptor's accept call of the file that a call at a time worked on, by when it began; -1: none. */
static int64_t get_accept_ns(const struct story *s, int tid, int64_t at_ns)
{
	const DtcHistory *h = s->history;
	uint32_t call = dtc_history_find_call(h, dtc_history_find_thread(h, tid, at_ns), at_ns);
	uint32_t accept = dtc_history_get_file(h, dtc_history_copy_call(h, call).file)->accept;
	return accept == DTC_NONE ? -1 : dtc_history_get_call_begin_ns(h, accept);
}

/* Sockets that are not the network's, and what accept returns of them. */
static void test_families(void)
{
	struct story s;
	int64_t t = 10;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	call_with(&s, &t, "socket", -1, DTC_CALL_FAMILY, 1, 3);
	call_with(&s, &t, "socket", -1, DTC_CALL_FAMILY, 2, 4);
	call_with(&s, &t, "socket", -1, DTC_CALL_FAMILY, 16, 5);
	int64_t accepts[] = { -1, -1, -1, 0, 0, -1 };
	accepts[3] = call_with(&s, &t, "accept4", 3, DTC_CALL_FLAGS, 0, 6);
	accepts[4] = call_with(&s, &t, "accept4", 4, DTC_CALL_FLAGS, 0, 7);
	call_with(&s, &t, "connect", 8, DTC_CALL_FAMILY, 1, 0); /* made before the trace */
	int64_t at[9];
	for (int fd = 3; fd <= 8; fd++)
		at[fd] = call_with(&s, &t, "read", fd, DTC_EVENT_SLOTS, 0, 1);
	story_end(&s);
	static const char *const names[] = { "unix socket", "socket", "netlink socket",
					     "unix socket", "socket", "unix socket" };
	for (int fd = 3; fd <= 8; fd++)
		g_assert_cmpstr(get_name(&s, 10, at[fd]), ==, names[fd - 3]);
	for (int fd = 3; fd <= 8; fd++)
		g_assert_cmpint(get_accept_ns(&s, 10, at[fd]), ==, accepts[fd - 3]);
	story_clear(&s);
}

/* A file that was open before the trace is named by the state dump, and each kind of event descriptor by its call. */
static void test_names(void)
{
	static const char *const events[] = { "eventfd2",      "epoll_create1", "timerfd_create", "signalfd4",
					      "inotify_init1", "memfd_create",	"pidfd_open" };
	struct story s;
	int64_t t = 10;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	struct dtc_event dump = story_event(DTC_EVENT_DUMP_FD, 5, 0);
	dump.v[DTC_DUMP_FD_PID] = 10;
	dump.v[DTC_DUMP_FD_NUMBER] = 3;
	dump.text[0] = "/var/log/old";
	dtc_machine_apply(s.machine, &dump);
	int64_t dumped = call_with(&s, &t, "write", 3, DTC_EVENT_SLOTS, 0, 1);
	int64_t at[G_N_ELEMENTS(events)];
	for (guint i = 0; i < G_N_ELEMENTS(events); i++) {
		call_with(&s, &t, events[i], -1, DTC_EVENT_SLOTS, 0, 20 + (int)i);
		at[i] = call_with(&s, &t, "read", 20 + (int)i, DTC_EVENT_SLOTS, 0, 1);
	}
	story_end(&s);
	g_assert_cmpstr(get_name(&s, 10, dumped), ==, "/var/log/old");
	for (guint i = 0; i < G_N_ELEMENTS(events); i++) {
		g_assert_cmpstr(get_name(&s, 10, at[i]), ==, events[i]);
		uint32_t file = find_file(&s, 10, at[i]);
		g_assert_cmpint(dtc_history_get_file(s.history, file)->kind, ==, DTC_FILE_EVENT);
	}
	story_clear(&s);
}

static const struct dtc_call *call_at(const struct story *s, int64_t t, struct dtc_call *place)
{
	uint32_t thread = dtc_history_find_thread(s->history, 10, t);
	return dtc_history_get_call(s->history, dtc_history_find_call(s->history, thread, t), place);
}

/* Between a pipe, which the thread itself fills and empties, and a socket: bytes of the socket, whichever it is. */
static void test_splice(void)
{
	struct story s;
	struct dtc_call place;
	int64_t t = 10;
	story_begin(&s, "n");
	story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
	make_pair(&s, &t, "pipe2", 0, 5, 6);
	make_pair(&s, &t, "pipe2", 0, 7, 8);
	call_with(&s, &t, "socket", -1, DTC_EVENT_SLOTS, 0, 3);
	call_with(&s, &t, "socket", -1, DTC_EVENT_SLOTS, 0, 4);
	int64_t in = call_with(&s, &t, "splice", 3, DTC_CALL_FD2, 6, 100);
	int64_t out = call_with(&s, &t, "splice", 5, DTC_CALL_FD2, 4, 90);
	int64_t on = call_with(&s, &t, "write", 4, DTC_EVENT_SLOTS, 0, 10);
	int64_t pipes = call_with(&s, &t, "splice", 5, DTC_CALL_FD2, 8, 10);
	story_end(&s);
	struct dtc_call call = *call_at(&s, in, &place);
	g_assert_cmpint(call.kind, ==, DTC_CALL_READ);
	g_assert_cmpint(call.fd, ==, 3);
	call = *call_at(&s, out, &place);
	g_assert_cmpint(call.kind, ==, DTC_CALL_WRITE);
	g_assert_cmpint(call.fd, ==, 4);
	g_assert_cmpint((int64_t)call_at(&s, on, &place)->offset, ==, 90);
	g_assert_cmpuint(find_file(&s, 10, on), ==, find_file(&s, 10, out));
	g_assert_cmpint(call_at(&s, pipes, &place)->kind, ==, DTC_CALL_OTHER);
	story_clear(&s);
}

/* What a call returns that moves several messages is how many; on a Unix socket bytes count, and are not told. */
static void test_messages(void)
{
	static const struct {
		const char *name;
		enum dtc_call_kind kind;
	} calls[] = { { "recvmmsg", DTC_CALL_READ },
		      { "recvmmsg_time32", DTC_CALL_READ },
		      { "recvmmsg_time64", DTC_CALL_READ },
		      { "sendmmsg", DTC_CALL_WRITE } };
	for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
		struct story s;
		struct dtc_call place;
		int64_t t = 10;
		story_begin(&s, "n");
		story_switch(&s, 0, 0, 0, "swapper/0", RUN, 10, "a");
		call_with(&s, &t, "socket", -1, DTC_EVENT_SLOTS, 0, 3);
		call_with(&s, &t, "socket", -1, DTC_CALL_FAMILY, 1, 4);
		int64_t inet = call_with(&s, &t, calls[i].name, 3, DTC_EVENT_SLOTS, 0, 2);
		int64_t local = call_with(&s, &t, calls[i].name, 4, DTC_EVENT_SLOTS, 0, 2);
		story_end(&s);
		struct dtc_call call = *call_at(&s, inet, &place);
		g_assert_cmpint(call.kind, ==, calls[i].kind);
		g_assert_true(dtc_call_counts_messages(&call));
		g_assert_cmpint((int64_t)dtc_call_get_bytes(&call), ==, 0);
		call = *call_at(&s, local, &place);
		g_assert_cmpint(call.kind, ==, DTC_CALL_OTHER);
		g_assert_false(dtc_call_counts_messages(&call));
		story_clear(&s);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/descriptors/dup", test_dup);
	g_test_add_func("/descriptors/pipe-in-child", test_pipe_in_child);
	g_test_add_func("/descriptors/close-on-exec", test_close_on_exec);
	g_test_add_func("/descriptors/shared-table", test_shared_table);
	g_test_add_func("/descriptors/families", test_families);
	g_test_add_func("/descriptors/names", test_names);
	g_test_add_func("/descriptors/splice", test_splice);
	g_test_add_func("/descriptors/messages", test_messages);
	return g_test_run();
}
