/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/ranks/pulse.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

/* Longer than a file server or a loaded machine keeps somebody waiting who is served in the end. */
#define SILENCE_SECONDS 60
#define SILENCE_SECONDS_MAX 1000000
#define PULSES 10 /* within the limit */
#define INTERVAL_MIN_US 1000
#define INTERVAL_MAX_US 5000000
/* Less is what a process takes that waits: of one that reads a page after the other it is a dozen of them. */
#define PROGRESS_NS 100000
#define CHILD_LOOKS 500
#define CHILD_LOOK_US 10000

static gint64 get_limit_us(void)
{
	const char *text = g_getenv(DTC_PULSE_VARIABLE);
	double seconds = text ? g_ascii_strtod(text, NULL) : 0;

	if (!(seconds > 0))
		seconds = SILENCE_SECONDS;
	return (gint64)(MIN(seconds, (double)SILENCE_SECONDS_MAX) * G_USEC_PER_SEC);
}

static gint64 get_interval_us(void)
{
	return CLAMP(get_limit_us() / PULSES, INTERVAL_MIN_US, INTERVAL_MAX_US);
}

/* ---- to say so ---- */

struct beating {
	int end;
	const gint *is_busy;
};

static guint64 get_cpu_ns(clockid_t clock)
{
	struct timespec time = { 0 };

	(void)clock_gettime(clock, &time);
	return (guint64)time.tv_sec * 1000000000 + (guint64)time.tv_nsec;
}

static void *beat(void *data)
{
	const struct beating *beating = data;
	gulong interval_us = (gulong)get_interval_us();

	for (;; g_usleep(interval_us)) {
		/* what this thread takes is no progress */
		guint64 own_ns = get_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
		const struct dtc_letter letter = {
			.type = DTC_LETTER_PULSE,
			.at = get_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - own_ns,
			.all = beating->is_busy && g_atomic_int_get(beating->is_busy),
		};
		/* who does not take them does not look at them either */
		(void)send(beating->end, &letter, sizeof(letter), MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	return NULL;
}

void dtc_pulse_begin(int end, const gint *is_busy)
{
	const struct beating beating = { end, is_busy };

	(void)g_thread_new("pulse", beat, g_memdup2(&beating, sizeof(beating)));
}

/* ---- to hear it ---- */

void dtc_pulse_clock_begin(struct dtc_pulse_clock *clock)
{
	*clock = (struct dtc_pulse_clock){ .limit_us = get_limit_us(),
					   .interval_us = get_interval_us(),
					   .last_us = g_get_monotonic_time() };
}

bool dtc_pulse_clock_tick(struct dtc_pulse_clock *clock)
{
	gint64 us = g_get_monotonic_time();

	clock->now_us += MIN(us - clock->last_us, clock->interval_us);
	clock->last_us = us;
	if (clock->now_us < clock->tick_us)
		return false;
	clock->tick_us = clock->now_us + clock->interval_us;
	return true;
}

void dtc_pulse_hear(struct dtc_pulse_heard *heard, const struct dtc_pulse_clock *clock, const struct dtc_letter *letter)
{
	if (letter->type == DTC_LETTER_PULSE) {
		if (letter->all && letter->at - heard->progress_ns < PROGRESS_NS)
			return;
		heard->progress_ns = letter->at;
	}
	heard->at_us = clock->now_us;
}

bool dtc_pulse_is_silent(const struct dtc_pulse_heard *heard, const struct dtc_pulse_clock *clock)
{
	return clock->now_us - heard->at_us > clock->limit_us;
}

bool dtc_pulse_end_child(pid_t child, int *ret_status)
{
	int status = 0;

	(void)kill(child, SIGKILL);
	for (guint i = 0; i < CHILD_LOOKS; i++) {
		pid_t ended = waitpid(child, &status, WNOHANG);
		if (ended == child || (ended < 0 && errno != EINTR)) {
			if (ret_status)
				*ret_status = status;
			return true;
		}
		g_usleep(CHILD_LOOK_US);
	}
	return false;
}
