/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/cluster/run.h"

#include "collect/console/printable.h"
#include "collect/console/terminal.h"
#include "collect/record/child.h"
#include "collect/record/clocks.h"
#include "collect/record/cluster/peers.h"
#include "collect/record/collect.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define TURN_MS 200
#define COMMAND_TURN_MS 20 /* its end is not waited for by poll */

enum stage {
	STAGE_CONNECTING,
	STAGE_STARTING,
	STAGE_RECORDING,
	STAGE_FETCHING,
};

struct run {
	const struct dtc_run_request *request;
	GPtrArray *members;
	GArray *is_told; /* gboolean, of each: its failure has been printed */
	enum stage stage;
	struct dtc_child child;
	guint signals; /* that have come */
	int64_t begin_ns, shown_ns;
	bool is_in_place; /* progress is one line that is written over */
	bool has_line;	  /* and stands there now */
};

static void member_free(void *data)
{
	dtc_member_free(data);
}

static DtcMember *get_member(const struct run *run, guint index)
{
	return g_ptr_array_index(run->members, index);
}

static guint count_phases(const struct run *run, enum dtc_member_phase from, enum dtc_member_phase to)
{
	guint count = 0;

	for (guint i = 0; i < run->members->len; i++) {
		enum dtc_member_phase phase = dtc_member_get_phase(get_member(run, i));
		count += phase >= from && phase <= to;
	}
	return count;
}

/* ---- what is said meanwhile ---- */

static void clear_line(struct run *run)
{
	if (run->has_line)
		fputs("\r\033[K", stderr);
	run->has_line = false;
}

static void show_progress(struct run *run)
{
	static const char *const stages[] = { "connecting", "starting", "recording", "ending" };
	int64_t now_ns = dtc_clock_get_mono_ns();
	g_autoptr(GString) line = g_string_new(NULL);

	if (run->request->quiet || now_ns - run->shown_ns < SECOND_NS)
		return;
	run->shown_ns = now_ns;
	g_string_append(line, stages[run->stage]);
	if (run->stage == STAGE_RECORDING)
		g_string_append_printf(line, " %.0f s", (double)(now_ns - run->begin_ns) / 1e9);
	for (guint i = 0; i < run->members->len; i++) {
		g_autofree char *state = dtc_member_describe(get_member(run, i));
		g_string_append_printf(line, "%s%s: %s", i == 0 ? ": " : ", ",
				       dtc_member_get_target(get_member(run, i))->name, state);
	}
	if (!run->is_in_place) {
		fprintf(stderr, "%s\n", line->str);
		return;
	}
	g_autofree char *fitted = dtc_printable_fit(line->str, dtc_terminal_get_width(STDERR_FILENO) - 1);
	fprintf(stderr, "\r\033[K%s", fitted);
	fflush(stderr);
	run->has_line = true;
}

static void tell_failures(struct run *run)
{
	for (guint i = 0; i < run->members->len; i++) {
		const GError *failure = dtc_member_get_failure(get_member(run, i));
		gboolean *is_told = &g_array_index(run->is_told, gboolean, i);
		if (!failure || *is_told)
			continue;
		clear_line(run);
		dtc_program_report_error(&dtc_collect_program, failure);
		*is_told = TRUE;
	}
}

static void say(struct run *run, const char *text)
{
	clear_line(run);
	if (!run->request->quiet)
		fprintf(stderr, "%s\n", text);
}

/* ---- stages ---- */

/* Those that take part in probes. */
static GPtrArray *list_probing(const struct run *run)
{
	GPtrArray *members = g_ptr_array_new();

	for (guint i = 0; i < run->members->len; i++)
		if (dtc_member_get_probe_port(get_member(run, i)) != 0)
			g_ptr_array_add(members, get_member(run, i));
	return members;
}

/* Each is told of those that it exchanges probes with. */
static void introduce(const struct run *run)
{
	g_autoptr(GPtrArray) members = list_probing(run);
	guint count = members->len;
	g_autofree char *const **all = g_new0(char *const *, count + 1);
	g_autofree char ***own = g_new0(char **, count + 1);

	for (guint i = 0; i < count; i++)
		all[i] = dtc_member_get_addresses(g_ptr_array_index(members, i));
	dtc_peers_list_own(all, count, own);
	for (guint i = 0; i < count; i++)
		for (guint k = 0; k < count; k++)
			if (dtc_peers_are_two(i, k, count))
				dtc_member_add_peer(g_ptr_array_index(members, i), g_ptr_array_index(members, k),
						    own[k]);
	for (guint i = 0; i < count; i++)
		g_strfreev(own[i]);
}

static void start_all(struct run *run)
{
	introduce(run);
	for (guint i = 0; i < run->members->len; i++)
		dtc_member_start(get_member(run, i));
	run->stage = STAGE_STARTING;
}

static void begin(struct run *run)
{
	guint count = count_phases(run, DTC_MEMBER_RECORDING, DTC_MEMBER_RECORDING);
	g_autofree char *text =
		g_strdup_printf("recording on %u of %u nodes; Ctrl-C ends it", count, run->members->len);

	run->stage = STAGE_RECORDING;
	run->begin_ns = dtc_clock_get_mono_ns();
	if (count == 0)
		return; /* and it is over */
	dtc_child_go(&run->child);
	say(run, text);
}

static void stop_all(struct run *run)
{
	for (guint i = 0; i < run->members->len; i++)
		dtc_member_stop(get_member(run, i));
	run->stage = STAGE_FETCHING;
}

static bool has_trigger_fired(const struct run *run)
{
	for (guint i = 0; run->request->has_trigger && i < run->members->len; i++)
		if (dtc_member_has_triggered(get_member(run, i)))
			return true;
	return false;
}

static bool is_recording_over(struct run *run)
{
	int64_t duration_ns = run->request->duration_ns;

	return run->signals > 0 || dtc_child_is_ended(&run->child) || has_trigger_fired(run) ||
	       (duration_ns > 0 && dtc_clock_get_mono_ns() - run->begin_ns >= duration_ns) ||
	       count_phases(run, DTC_MEMBER_RECORDING, DTC_MEMBER_RECORDING) == 0;
}

static void go_through_stages(struct run *run)
{
	if (run->stage < STAGE_RECORDING && run->signals > 0)
		stop_all(run);
	if (run->stage == STAGE_CONNECTING && count_phases(run, DTC_MEMBER_CONNECTING, DTC_MEMBER_CONNECTING) == 0)
		start_all(run);
	if (run->stage == STAGE_STARTING && count_phases(run, DTC_MEMBER_STARTING, DTC_MEMBER_STARTING) == 0)
		begin(run);
	if (run->stage == STAGE_RECORDING && is_recording_over(run))
		stop_all(run);
	for (guint i = 0; run->signals > 1 && i < run->members->len; i++)
		dtc_member_give_up(get_member(run, i), "a second Ctrl-C");
}

/* ---- the loop ---- */

static void take_signals(struct run *run)
{
	struct signalfd_siginfo info;

	/* a lost terminal may be told twice, by the kernel and by its shell */
	while (read(run->request->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		run->signals += info.ssi_signo != SIGHUP || run->signals == 0;
}

/* Until the next turn, or the end of the recording if that is earlier. */
static int get_turn_ms(const struct run *run)
{
	int turn_ms = run->stage == STAGE_RECORDING && run->child.pid > 0 ? COMMAND_TURN_MS : TURN_MS;
	int64_t duration_ns = run->request->duration_ns;

	if (run->stage != STAGE_RECORDING || duration_ns == 0)
		return turn_ms;
	int64_t left_ns = run->begin_ns + duration_ns - dtc_clock_get_mono_ns();
	return (int)CLAMP(left_ns / NS_PER_MS + 1, 1, turn_ms);
}

static void wait_for_something(struct run *run, GArray *fds)
{
	g_array_set_size(fds, 1 + run->members->len * DTC_MEMBER_POLL_COUNT);
	struct pollfd *at = (struct pollfd *)(void *)fds->data;

	*at++ = (struct pollfd){ .fd = run->request->signal_fd, .events = POLLIN };
	for (guint i = 0; i < run->members->len; i++, at += DTC_MEMBER_POLL_COUNT)
		dtc_member_fill_poll(get_member(run, i), at);
	(void)poll((struct pollfd *)(void *)fds->data, fds->len, get_turn_ms(run));
	take_signals(run);
}

static void work(struct run *run)
{
	g_autoptr(GArray) fds = g_array_new(FALSE, TRUE, sizeof(struct pollfd));

	while (count_phases(run, DTC_MEMBER_OVER, DTC_MEMBER_OVER) < run->members->len) {
		wait_for_something(run, fds);
		for (guint i = 0; i < run->members->len; i++)
			dtc_member_go_on(get_member(run, i));
		go_through_stages(run);
		tell_failures(run);
		show_progress(run);
	}
	clear_line(run);
	tell_failures(run);
}

static void add_members(struct run *run)
{
	for (guint i = 0; i < run->request->targets->len; i++) {
		const struct dtc_target *target = g_ptr_array_index(run->request->targets, i);
		g_autofree char *folder = g_build_filename(run->request->folder, target->name, NULL);
		g_ptr_array_add(run->members, dtc_member_new(target, i, folder, &run->request->member));
	}
	g_array_set_size(run->is_told, run->members->len);
}

GPtrArray *dtc_run_cluster(const struct dtc_run_request *request, GError **error)
{
	struct run run = { .request = request, .child = { .gate = -1 } };

	run.is_in_place = isatty(STDERR_FILENO) && !dtc_terminal_is_dumb();
	if (request->command && !dtc_child_prepare(&run.child, request->command, error))
		return NULL;
	run.members = g_ptr_array_new_with_free_func(member_free);
	run.is_told = g_array_new(FALSE, TRUE, sizeof(gboolean));
	add_members(&run);
	work(&run);
	dtc_child_abandon(&run.child);
	g_array_unref(run.is_told);
	return run.members;
}
