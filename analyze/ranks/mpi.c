/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MPI has no way to wait for a message and a socket at once. So it is polled: without a pause while something moves,
 * and with longer and longer ones when nothing does: up to a millisecond, or more where a bell tells that something has
 * come. Letters go to or from the first rank, but for those between owners and helpers.
 */
#define _GNU_SOURCE /* ppoll */
#include "analyze/ranks/mpi.h"

#include "analyze/ranks/bell.h"
#include "analyze/ranks/helping.h"
#include "analyze/ranks/launcher.h"
#include "analyze/ranks/pulse.h"

#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TAG 1
#define INIT_SECONDS 60	    /* and the span in which who is there is heard: then somebody is missing from the start */
#define FINALIZE_SECONDS 20 /* then a rank is gone whose end MPI waits for */
#define TRAFFIC_VARIABLE "DTRACE_CHAIN_MPI_TRAFFIC"

/* How MPI is looked at. */
struct polling {
	guint busy_turns; /* without a pause after something has moved */
	long pause_max_ns;
	long pause_step_ns; /* longer with each turn */
};

static const struct polling for_far = { 200, 1000000, 20000 };
static const struct polling for_near = { 5, 10000000, 200000 }; /* who sends rings */

/* Frames that a socket does not take at once. */
struct outlet {
	int end;	/* -1: nobody is there */
	GQueue waiting; /* struct dtc_parcel */
};

struct sending {
	int rank;
	struct dtc_parcel *parcel; /* owned */
	MPI_Request request;
};

struct courier {
	const struct dtc_mpi_ends *ends;
	int rank;
	int size;
	DtcBell *bell;
	struct dtc_bell_name *bells;   /* by rank */
	const struct polling *polling; /* by where those are from whom letters come */
	struct dtc_pulse_clock clock;
	struct dtc_pulse_heard *ranks; /* who carries there: in the first rank all of them, in the others the first */
	struct dtc_pulse_heard from_owner, from_asker;
	struct outlet owner;
	struct outlet asker;
	int result;		      /* pipe; -1 */
	GQueue sending;		      /* struct sending */
	enum dtc_letter_loss *losses; /* of owners, by rank; in the first rank */
	bool *is_gone;		      /* by rank: nobody carries there, or is not waited for */
	bool *is_done;		      /* by rank: who carries there has ended its children; in the first rank */
	bool has_ended;
	bool is_stuck; /* a child of this rank that nothing ends */
	int code;
	bool *helps;		/* by rank: who is to help the asker */
	guint64 parts;		/* that came from helpers; in the first rank */
	guint64 bytes, letters; /* that went over MPI from or to here; in the others, not to the first rank */
};

static gsize measure(const struct dtc_parcel *parcel)
{
	return sizeof(parcel->letter) + parcel->letter.bytes;
}

/* ---- to sockets ---- */

static void close_outlet(struct outlet *outlet)
{
	if (outlet->end >= 0)
		close(outlet->end);
	outlet->end = -1;
	g_queue_clear_full(&outlet->waiting, g_free);
}

/* False: it is to be tried again. */
static bool try_deliver(struct outlet *outlet, const struct dtc_parcel *parcel)
{
	if (outlet->end < 0 || send(outlet->end, parcel, measure(parcel), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return true;
	/* whoever is gone is seen where its letters are received */
	return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ENOBUFS;
}

static void deliver(struct outlet *outlet, const struct dtc_parcel *parcel)
{
	if (g_queue_is_empty(&outlet->waiting) && try_deliver(outlet, parcel))
		return;
	g_queue_push_tail(&outlet->waiting, g_memdup2(parcel, measure(parcel)));
}

static bool deliver_waiting(struct outlet *outlet)
{
	bool has_moved = false;

	while (!g_queue_is_empty(&outlet->waiting) && try_deliver(outlet, g_queue_peek_head(&outlet->waiting))) {
		g_free(g_queue_pop_head(&outlet->waiting));
		has_moved = true;
	}
	return has_moved;
}

/* ---- to ranks ---- */

/* Each is counted once: by the first rank, or by who gets it. */
static void count_letter(struct courier *courier, int other, const struct dtc_parcel *parcel)
{
	if (courier->rank != 0 && other == 0)
		return;
	courier->bytes += measure(parcel);
	courier->letters++;
}

static void send_to(struct courier *courier, int rank, const struct dtc_parcel *parcel)
{
	struct sending *sending = g_new0(struct sending, 1);

	sending->rank = rank;
	sending->parcel = g_memdup2(parcel, measure(parcel));
	if (courier->rank == 0)
		count_letter(courier, rank, parcel);
	MPI_Isend(sending->parcel, (int)measure(parcel), MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &sending->request);
	if (dtc_bell_is_near(courier->bell, &courier->bells[rank]))
		dtc_bell_ring(courier->bell, &courier->bells[rank]);
	g_queue_push_tail(&courier->sending, sending);
	/* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): forget_sent tests it until it is done */
}

/* Those that have been sent, in whatever order. */
static bool forget_sent(struct courier *courier)
{
	bool has_moved = false;

	for (GList *at = courier->sending.head, *next; at; at = next) {
		struct sending *sending = at->data;
		int is_sent = 0;
		next = at->next;
		MPI_Test(&sending->request, &is_sent, MPI_STATUS_IGNORE);
		if (!is_sent)
			continue;
		g_free(sending->parcel);
		g_free(sending);
		g_queue_delete_link(&courier->sending, at);
		has_moved = true;
	}
	return has_moved;
}

/* ---- what comes ---- */

static void tell_lost(struct courier *courier, guint rank, const struct dtc_parcel *because)
{
	struct dtc_parcel lost;

	lost.letter = (struct dtc_letter){ .type = DTC_LETTER_LOST, .rank = rank, .at = courier->losses[rank] };
	if (because)
		lost.letter.generation = because->letter.generation;
	deliver(&courier->asker, &lost);
}

/* To the asker, in the first rank, or to the helper. */
static void take_for_asker(struct courier *courier, const struct dtc_parcel *parcel)
{
	courier->parts += parcel->letter.type == DTC_LETTER_MADE && parcel->letter.at == 0;
	if (parcel->letter.type == DTC_LETTER_LOST && courier->rank == 0)
		courier->losses[parcel->letter.rank] = (enum dtc_letter_loss)parcel->letter.at;
	deliver(&courier->asker, parcel);
}

static void take_from_owner(struct courier *courier, struct dtc_parcel *parcel)
{
	guint asker = parcel->letter.asker;

	parcel->letter.rank = (uint32_t)courier->rank;
	if (asker == (guint)courier->rank)
		take_for_asker(courier, parcel);
	else if (asker < (guint)courier->size)
		send_to(courier, (int)asker, parcel);
}

/* From the asker, or from the helper of this rank. */
static void take_from_asker(struct courier *courier, struct dtc_parcel *parcel)
{
	guint rank = parcel->letter.rank;

	if (courier->rank != 0 && dtc_letter_is_about_help(&parcel->letter)) {
		parcel->letter.rank = (uint32_t)courier->rank;
		send_to(courier, 0, parcel);
		return;
	}
	if (rank >= (guint)courier->size)
		return;
	if (dtc_letter_is_for_owner(&parcel->letter))
		parcel->letter.asker = (uint32_t)courier->rank;
	if (courier->losses[rank])
		tell_lost(courier, rank, parcel);
	else if (rank == (guint)courier->rank)
		deliver(&courier->owner, parcel);
	else
		send_to(courier, (int)rank, parcel);
}

static void take_from_rank(struct courier *courier, int from, const struct dtc_parcel *parcel)
{
	if (courier->is_gone[from])
		return; /* it was stopped, and goes on: what it had has been given up */
	dtc_pulse_hear(&courier->ranks[from], &courier->clock, &parcel->letter);
	switch (parcel->letter.type) {
	case DTC_LETTER_PULSE:
		break;
	case DTC_LETTER_END:
		courier->has_ended = true;
		break;
	case DTC_LETTER_ENDED:
		courier->is_done[from] = true;
		courier->bytes += parcel->letter.all;
		courier->letters += parcel->letter.at;
		break;
	default:
		if (dtc_letter_is_for_owner(&parcel->letter))
			deliver(&courier->owner, parcel);
		else
			take_for_asker(courier, parcel);
	}
}

static bool receive_from_ranks(struct courier *courier, struct dtc_parcel *parcel)
{
	int is_there = 0;
	MPI_Status status;

	MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &is_there, &status);
	if (!is_there)
		return false;
	MPI_Recv(parcel, sizeof(*parcel), MPI_BYTE, status.MPI_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	count_letter(courier, status.MPI_SOURCE, parcel);
	take_from_rank(courier, status.MPI_SOURCE, parcel);
	return true;
}

static void lose_owner(struct courier *courier, enum dtc_letter_loss loss)
{
	struct dtc_parcel lost;

	close_outlet(&courier->owner);
	if (courier->has_ended)
		return;
	lost.letter = (struct dtc_letter){ .type = DTC_LETTER_LOST, .rank = (uint32_t)courier->rank, .at = loss };
	take_from_owner(courier, &lost);
}

/* Some of what is there, so that what comes by MPI has its turn. */
static void receive_from_owner(struct courier *courier, struct dtc_parcel *parcel)
{
	if (!dtc_letter_receive(courier->owner.end, parcel)) {
		lose_owner(courier, DTC_LETTER_DIED);
		return;
	}
	dtc_pulse_hear(&courier->from_owner, &courier->clock, &parcel->letter);
	if (parcel->letter.type != DTC_LETTER_PULSE)
		take_from_owner(courier, parcel);
}

static void receive_from_asker(struct courier *courier, struct dtc_parcel *parcel)
{
	if (!dtc_letter_receive(courier->asker.end, parcel))
		return;
	dtc_pulse_hear(&courier->from_asker, &courier->clock, &parcel->letter);
	if (parcel->letter.type != DTC_LETTER_PULSE)
		take_from_asker(courier, parcel);
}

static void say(const char *text)
{
	ssize_t written = write(STDERR_FILENO, text, strlen(text));
	(void)written;
}

static void end_run(struct courier *courier, int code)
{
	struct dtc_parcel end;

	end.letter = (struct dtc_letter){ .type = DTC_LETTER_END };
	close(courier->result);
	courier->result = -1;
	courier->code = code;
	for (int rank = 1; rank < courier->size; rank++)
		if (!courier->is_gone[rank]) /* one that goes on while mpirun ends it would only be in its way */
			send_to(courier, rank, &end);
	courier->has_ended = true;
}

static void receive_result(struct courier *courier)
{
	int code;

	if (read(courier->result, &code, sizeof(code)) != (ssize_t)sizeof(code)) {
		say("dtrace-chain-mpi: the process that asks has died\n"
		    "hint: see the system's log; give it more memory, or ask for fewer nodes with --nodes\n");
		code = 1;
	}
	end_run(courier, code);
}

static bool receive_from_sockets(struct courier *courier, struct dtc_parcel *parcel, const struct timespec *pause)
{
	struct pollfd files[] = {
		{ courier->owner.end, (short)(POLLIN | (g_queue_is_empty(&courier->owner.waiting) ? 0 : POLLOUT)), 0 },
		{ courier->asker.end, (short)(POLLIN | (g_queue_is_empty(&courier->asker.waiting) ? 0 : POLLOUT)), 0 },
		{ courier->result, POLLIN, 0 },
		{ dtc_bell_get_file(courier->bell), POLLIN, 0 },
	};

	if (ppoll(files, G_N_ELEMENTS(files), pause, NULL) <= 0)
		return false;
	if (files[0].revents & (POLLIN | POLLHUP | POLLERR))
		receive_from_owner(courier, parcel);
	if (files[1].revents & POLLIN)
		receive_from_asker(courier, parcel);
	else if (files[1].revents & (POLLHUP | POLLERR))
		close_outlet(&courier->asker);
	if (files[2].revents)
		receive_result(courier);
	if (files[3].revents)
		dtc_bell_hush(courier->bell);
	return true;
}

/* ---- who is silent ---- */

static void send_pulse(struct courier *courier, int rank)
{
	struct dtc_parcel pulse;

	pulse.letter = (struct dtc_letter){ .type = DTC_LETTER_PULSE };
	if (!courier->is_gone[rank])
		send_to(courier, rank, &pulse);
}

static void end_child(struct courier *courier, pid_t child)
{
	courier->is_stuck |= !dtc_pulse_end_child(child, NULL);
}

static void lose_rank(struct courier *courier, int rank)
{
	struct dtc_parcel lost;

	courier->is_gone[rank] = true;
	if (courier->losses[rank])
		return;
	lost.letter = (struct dtc_letter){ .type = DTC_LETTER_LOST, .rank = (uint32_t)rank, .at = DTC_LETTER_SILENT };
	take_for_asker(courier, &lost);
}

static void watch_ranks(struct courier *courier)
{
	for (int rank = 1; rank < courier->size; rank++) {
		send_pulse(courier, rank);
		if (!courier->is_gone[rank] && dtc_pulse_is_silent(&courier->ranks[rank], &courier->clock))
			lose_rank(courier, rank);
	}
	if (courier->result >= 0 && dtc_pulse_is_silent(&courier->from_asker, &courier->clock)) {
		say("dtrace-chain-mpi: the process that waits for the answer is stopped, or hangs\n"
		    "hint: whoever stops it must let it go on within " DTC_PULSE_VARIABLE " seconds\n");
		end_run(courier, 1);
	}
}

static void watch_first_rank(struct courier *courier)
{
	send_pulse(courier, 0);
	if (!dtc_pulse_is_silent(&courier->ranks[0], &courier->clock))
		return;
	say("dtrace-chain-mpi: the first rank, which has the answer, is stopped, or hangs, or cannot be reached\n"
	    "hint: whoever stops it must let it go on within " DTC_PULSE_VARIABLE " seconds\n");
	dtc_launcher_end_later(1);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void watch(struct courier *courier)
{
	if (!dtc_pulse_clock_tick(&courier->clock))
		return;
	if (courier->rank == 0)
		watch_ranks(courier);
	else
		watch_first_rank(courier);
	if (courier->owner.end >= 0 && dtc_pulse_is_silent(&courier->from_owner, &courier->clock)) {
		(void)kill(courier->ends->owner_id, SIGKILL);
		lose_owner(courier, DTC_LETTER_SILENT);
	}
}

/* ---- until the end ---- */

/* Whether something is still on its way to who is there. */
static bool is_sending(const struct courier *courier)
{
	for (const GList *at = courier->sending.head; at; at = at->next)
		if (!courier->is_gone[((const struct sending *)at->data)->rank])
			return true;
	return false;
}

static bool are_all_done(const struct courier *courier)
{
	for (int rank = 1; courier->rank == 0 && rank < courier->size; rank++)
		if (!courier->is_done[rank] && !courier->is_gone[rank])
			return false;
	return true;
}

static bool move(struct courier *courier, struct dtc_parcel *parcel, const struct timespec *pause)
{
	bool has_moved = receive_from_ranks(courier, parcel);

	has_moved |= forget_sent(courier);
	has_moved |= deliver_waiting(&courier->owner);
	has_moved |= deliver_waiting(&courier->asker);
	has_moved |= receive_from_sockets(courier, parcel, has_moved ? &(struct timespec){ 0 } : pause);
	return has_moved;
}

static void end_children(struct courier *courier)
{
	struct dtc_parcel ended;

	close_outlet(&courier->owner);
	close_outlet(&courier->asker);
	end_child(courier, courier->ends->owner_id);
	end_child(courier, courier->ends->asker_id);
	ended.letter = (struct dtc_letter){ .type = DTC_LETTER_ENDED, .all = courier->bytes, .at = courier->letters };
	if (courier->rank != 0)
		send_to(courier, 0, &ended);
}

static void carry(struct courier *courier)
{
	g_autofree struct dtc_parcel *parcel = g_new(struct dtc_parcel, 1);
	bool has_children = true;
	guint idle = 0;

	while (!courier->has_ended || has_children || is_sending(courier) || !are_all_done(courier)) {
		const struct polling *polling = is_sending(courier) ? &for_far : courier->polling;
		guint longer = idle > polling->busy_turns ? idle - polling->busy_turns : 0;
		const struct timespec pause = { 0, MIN((long)longer * polling->pause_step_ns, polling->pause_max_ns) };
		bool has_moved = move(courier, parcel, &pause);
		watch(courier);
		if (courier->has_ended && has_children) {
			end_children(courier);
			has_children = false;
		}
		if (!has_moved && !longer)
			sched_yield();
		idle = has_moved ? 0 : idle + 1;
	}
}

/* ---- all of it ---- */

static void say_hello(struct courier *courier)
{
	struct dtc_parcel hello;

	hello.letter = (struct dtc_letter){ .type = DTC_LETTER_HELLO,
					    .all = (uint64_t)courier->size,
					    .bytes = (uint32_t)MIN((gsize)courier->size, DTC_LETTER_DATA_MAX) };
	for (uint32_t rank = 0; rank < hello.letter.bytes; rank++)
		hello.data[rank] = courier->helps[rank];
	deliver(&courier->asker, &hello);
}

static void report_traffic(const struct courier *courier)
{
	if (courier->rank == 0 && g_getenv(TRAFFIC_VARIABLE))
		fprintf(stderr,
			"dtrace-chain-mpi: %" G_GUINT64_FORMAT " bytes in %" G_GUINT64_FORMAT
			" letters between ranks, %" G_GUINT64_FORMAT " parts of helpers\n",
			courier->bytes, courier->letters, courier->parts);
}

/* MPI waits for somebody who is not there. */
static void give_up_beginning(int signal_number)
{
	(void)signal_number;
	say("dtrace-chain-mpi: MPI does not begin: some rank is stopped, or hangs, or cannot be reached\n"
	    "hint: try `mpirun ... hostname`; more time is given by " DTC_PULSE_VARIABLE "\n");
	_exit(1);
}

static void give_up_ending(int signal_number, siginfo_t *info, void *context)
{
	(void)signal_number;
	(void)context;
	_exit(info->si_value.sival_int);
}

/* With this code, unless this process has ended by itself until then. */
static void end_in(int seconds, int code)
{
	struct sigaction action = { .sa_sigaction = give_up_ending, .sa_flags = SA_SIGINFO };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM, .sigev_value.sival_int = code };
	const struct itimerspec when = { .it_value.tv_sec = seconds };
	timer_t timer;

	if (sigaction(SIGALRM, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
		(void)timer_settime(timer, 0, &when, NULL);
}

/* Who still sends to here, what a helper asked for and no longer wants, waits until it is taken: all end together. */
static void wait_for_all(struct courier *courier)
{
	g_autofree struct dtc_parcel *parcel = g_new(struct dtc_parcel, 1);
	MPI_Request barrier;
	int have_all_ended = 0;

	MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
	while (!have_all_ended) {
		if (!receive_from_ranks(courier, parcel))
			sched_yield();
		MPI_Test(&barrier, &have_all_ended, MPI_STATUS_IGNORE);
	}
}

/*
 * MPI_Finalize waits for all, also for who is stopped, and mpirun for children that nothing ends. MPI_Abort has it end
 * what is left, with the exit code that it is told here. To end without either is no better: mpirun then takes 0 for 1.
 */
static void finalize(struct courier *courier)
{
	bool is_missed = courier->is_stuck;

	for (int rank = 1; rank < courier->size; rank++)
		is_missed |= courier->is_gone[rank];
	if (is_missed) {
		dtc_launcher_end_later(courier->code);
		MPI_Abort(MPI_COMM_WORLD, courier->code);
	}
	end_in(FINALIZE_SECONDS, courier->code);
	wait_for_all(courier);
	MPI_Finalize();
}

/*
 * All know the bells of all, and who has which processors; where those ring from whom letters come, there is less to be
 * looked for.
 */
static void hang_bells(struct courier *courier)
{
	struct dtc_bell_name own;

	courier->bell = dtc_bell_new(&own);
	courier->bells = g_new0(struct dtc_bell_name, courier->size);
	MPI_Allgather(&own, sizeof(own), MPI_BYTE, courier->bells, sizeof(own), MPI_BYTE, MPI_COMM_WORLD);
	struct dtc_helping_processors here;
	g_autofree struct dtc_helping_processors *processors = g_new0(struct dtc_helping_processors, courier->size);
	dtc_helping_get_processors(&here);
	MPI_Allgather(&here, sizeof(here), MPI_BYTE, processors, sizeof(here), MPI_BYTE, MPI_COMM_WORLD);
	courier->helps = g_new0(bool, courier->size);
	bool is_helped = dtc_helping_choose(courier->bells, processors, (guint)courier->size, courier->helps);
	courier->polling = &for_near;
	for (int rank = 0; rank < (courier->rank == 0 || is_helped ? courier->size : 1); rank++)
		if (!dtc_bell_is_near(courier->bell, &courier->bells[rank]))
			courier->polling = &for_far;
}

int dtc_mpi_carry(const struct dtc_mpi_ends *ends, int *argc, char ***argv)
{
	struct courier courier = { .ends = ends,
				   .owner = { ends->owner, G_QUEUE_INIT },
				   .asker = { ends->asker, G_QUEUE_INIT },
				   .result = ends->asker_result,
				   .sending = G_QUEUE_INIT };

	dtc_pulse_clock_begin(&courier.clock);
	(void)signal(SIGALRM, give_up_beginning);
	alarm((guint)(courier.clock.limit_us / G_USEC_PER_SEC) + INIT_SECONDS);
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &courier.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &courier.size);
	hang_bells(&courier);
	alarm(0);
	courier.ranks = g_new0(struct dtc_pulse_heard, courier.size);
	courier.losses = g_new0(enum dtc_letter_loss, courier.size);
	courier.is_gone = g_new0(bool, courier.size);
	courier.is_done = g_new0(bool, courier.size);
	dtc_pulse_clock_begin(&courier.clock);
	if (courier.rank == 0) {
		say_hello(&courier);
	} else {
		if (!courier.helps[courier.rank])
			close_outlet(&courier.asker);
		close(courier.result);
		courier.result = -1;
	}
	carry(&courier);
	report_traffic(&courier);
	finalize(&courier);
	dtc_bell_free(courier.bell);
	g_free(courier.bells);
	g_free(courier.helps);
	g_free(courier.ranks);
	g_free(courier.losses);
	g_free(courier.is_gone);
	g_free(courier.is_done);
	return courier.code;
}
