/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MPI has no way to wait for a message and a socket at once. So it is polled: without a pause while something moves,
 * and with longer and longer ones, up to a millisecond, when nothing does. All letters go to or from the first rank.
 */
#define _GNU_SOURCE /* ppoll */
#include "analyze/ranks/mpi.h"

#include "analyze/ranks/letter.h"

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
#define BUSY_TURNS 200	     /* without a pause after something has moved */
#define PAUSE_MAX_NS 1000000 /* between two looks at MPI */
#define PAUSE_STEP_NS 20000  /* longer with each turn */
#define FINALIZE_SECONDS 20  /* then a rank is gone whose end MPI waits for */
#define TRAFFIC_VARIABLE "DTRACE_CHAIN_MPI_TRAFFIC"

/* Frames that a socket does not take at once. */
struct outlet {
	int end;	/* -1: nobody is there */
	GQueue waiting; /* struct dtc_parcel */
};

struct sending {
	struct dtc_parcel *parcel; /* owned */
	MPI_Request request;
};

struct courier {
	const struct dtc_mpi_ends *ends;
	int rank;
	int size;
	struct outlet owner;
	struct outlet asker;
	int result;	/* pipe; -1 */
	GQueue sending; /* struct sending */
	bool *is_lost;	/* by rank; in the first rank */
	bool has_ended;
	int code;
	guint64 bytes, letters; /* that went over MPI from or to here */
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

static void send_to(struct courier *courier, int rank, const struct dtc_parcel *parcel)
{
	struct sending *sending = g_new0(struct sending, 1);

	sending->parcel = g_memdup2(parcel, measure(parcel));
	courier->bytes += measure(parcel);
	courier->letters++;
	MPI_Isend(sending->parcel, (int)measure(parcel), MPI_BYTE, rank, TAG, MPI_COMM_WORLD, &sending->request);
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

	lost.letter = (struct dtc_letter){ .type = DTC_LETTER_LOST, .rank = rank };
	if (because)
		lost.letter.generation = because->letter.generation;
	deliver(&courier->asker, &lost);
}

/* To the asker, in the first rank. */
static void take_for_asker(struct courier *courier, const struct dtc_parcel *parcel)
{
	if (parcel->letter.type == DTC_LETTER_LOST)
		courier->is_lost[parcel->letter.rank] = true;
	deliver(&courier->asker, parcel);
}

static void take_from_owner(struct courier *courier, struct dtc_parcel *parcel)
{
	parcel->letter.rank = (uint32_t)courier->rank;
	if (courier->rank == 0)
		take_for_asker(courier, parcel);
	else
		send_to(courier, 0, parcel);
}

static void take_from_asker(struct courier *courier, const struct dtc_parcel *parcel)
{
	guint rank = parcel->letter.rank;

	if (rank >= (guint)courier->size)
		return;
	if (courier->is_lost[rank])
		tell_lost(courier, rank, parcel);
	else if (rank == 0)
		deliver(&courier->owner, parcel);
	else
		send_to(courier, (int)rank, parcel);
}

static void take_from_rank(struct courier *courier, const struct dtc_parcel *parcel)
{
	if (parcel->letter.type == DTC_LETTER_END)
		courier->has_ended = true;
	else if (courier->rank == 0)
		take_for_asker(courier, parcel);
	else
		deliver(&courier->owner, parcel);
}

static bool receive_from_ranks(struct courier *courier, struct dtc_parcel *parcel)
{
	int is_there = 0;
	MPI_Status status;

	MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &is_there, &status);
	if (!is_there)
		return false;
	MPI_Recv(parcel, sizeof(*parcel), MPI_BYTE, status.MPI_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	courier->bytes += measure(parcel);
	courier->letters++;
	take_from_rank(courier, parcel);
	return true;
}

static void lose_owner(struct courier *courier)
{
	struct dtc_parcel lost;

	close_outlet(&courier->owner);
	if (courier->has_ended)
		return;
	lost.letter = (struct dtc_letter){ .type = DTC_LETTER_LOST, .rank = (uint32_t)courier->rank };
	take_from_owner(courier, &lost);
}

/* Some of what is there, so that what comes by MPI has its turn. */
static void receive_from_owner(struct courier *courier, struct dtc_parcel *parcel)
{
	if (dtc_letter_receive(courier->owner.end, parcel))
		take_from_owner(courier, parcel);
	else
		lose_owner(courier);
}

static void receive_result(struct courier *courier)
{
	struct dtc_parcel end;
	int code;

	end.letter = (struct dtc_letter){ .type = DTC_LETTER_END };
	if (read(courier->result, &code, sizeof(code)) != (ssize_t)sizeof(code)) {
		static const char text[] =
			"dtrace-chain-mpi: the process that asks has died\n"
			"hint: see the system's log; give it more memory, or ask for fewer nodes with "
			"--nodes\n";
		ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
		(void)written;
		code = 1;
	}
	close(courier->result);
	courier->result = -1;
	courier->code = code;
	for (int rank = 1; rank < courier->size; rank++)
		send_to(courier, rank, &end);
	courier->has_ended = true;
}

static bool receive_from_sockets(struct courier *courier, struct dtc_parcel *parcel, const struct timespec *pause)
{
	struct pollfd files[] = {
		{ courier->owner.end, (short)(POLLIN | (g_queue_is_empty(&courier->owner.waiting) ? 0 : POLLOUT)), 0 },
		{ courier->asker.end, (short)(POLLIN | (g_queue_is_empty(&courier->asker.waiting) ? 0 : POLLOUT)), 0 },
		{ courier->result, POLLIN, 0 },
	};

	if (ppoll(files, G_N_ELEMENTS(files), pause, NULL) <= 0)
		return false;
	if (files[0].revents & (POLLIN | POLLHUP | POLLERR))
		receive_from_owner(courier, parcel);
	if (files[1].revents & POLLIN && dtc_letter_receive(courier->asker.end, parcel))
		take_from_asker(courier, parcel);
	else if (files[1].revents & (POLLHUP | POLLERR))
		close_outlet(&courier->asker);
	if (files[2].revents)
		receive_result(courier);
	return true;
}

static void carry(struct courier *courier)
{
	g_autofree struct dtc_parcel *parcel = g_new(struct dtc_parcel, 1);
	guint idle = 0;

	while (!courier->has_ended || !g_queue_is_empty(&courier->sending)) {
		guint longer = idle > BUSY_TURNS ? idle - BUSY_TURNS : 0;
		const struct timespec pause = { 0, (long)MIN((guint64)longer * PAUSE_STEP_NS, PAUSE_MAX_NS) };
		bool has_moved = receive_from_ranks(courier, parcel);
		has_moved |= forget_sent(courier);
		has_moved |= deliver_waiting(&courier->owner);
		has_moved |= deliver_waiting(&courier->asker);
		has_moved |= receive_from_sockets(courier, parcel, has_moved ? &(struct timespec){ 0 } : &pause);
		if (!has_moved && !longer)
			sched_yield();
		idle = has_moved ? 0 : idle + 1;
	}
}

/* ---- all of it ---- */

static void say_hello(struct courier *courier)
{
	struct dtc_parcel hello;

	hello.letter = (struct dtc_letter){ .type = DTC_LETTER_HELLO, .all = (uint64_t)courier->size };
	deliver(&courier->asker, &hello);
}

static void end_child(pid_t child)
{
	(void)kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static void report_traffic(const struct courier *courier)
{
	if (courier->rank == 0 && g_getenv(TRAFFIC_VARIABLE))
		fprintf(stderr,
			"dtrace-chain-mpi: %" G_GUINT64_FORMAT " bytes in %" G_GUINT64_FORMAT
			" letters between ranks\n",
			courier->bytes, courier->letters);
}

int dtc_mpi_carry(const struct dtc_mpi_ends *ends, int *argc, char ***argv)
{
	struct courier courier = { .ends = ends,
				   .owner = { ends->owner, G_QUEUE_INIT },
				   .asker = { ends->asker, G_QUEUE_INIT },
				   .result = ends->asker_result,
				   .sending = G_QUEUE_INIT };

	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &courier.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &courier.size);
	courier.is_lost = g_new0(bool, courier.size + 1);
	if (courier.rank == 0) {
		say_hello(&courier);
	} else {
		close_outlet(&courier.asker);
		close(courier.result);
		courier.result = -1;
	}
	carry(&courier);
	report_traffic(&courier);
	close_outlet(&courier.owner);
	close_outlet(&courier.asker);
	end_child(ends->owner_id);
	end_child(ends->asker_id);
	g_free(courier.is_lost);
	alarm(FINALIZE_SECONDS);
	MPI_Finalize();
	return courier.code;
}
