/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/flight.h"

#define WALKS 4	      /* in the time that is kept */
#define WALK_COST 250 /* times as long as a walk takes of a CPU nobody walks again */
#define BUFFER_LEAST ((guint64)1 << 20)
#define BUFFER_MOST ((guint64)1 << 30)
#define SLACK_NS INT64_C(2000000000)

struct sample {
	int64_t time_ns;
	char *clocks;
	char *drops;
	struct dtc_flight_losses losses;
};

struct DtcFlight {
	int64_t keep_ns;
	int64_t interval_ns; /* between two walks */
	GQueue samples;	     /* struct sample, the oldest first */
	GQueue walks;	     /* struct dtc_flight_walk, likewise */
};

static void free_sample(gpointer data)
{
	struct sample *sample = data;

	g_free(sample->clocks);
	g_free(sample->drops);
	g_free(sample);
}

static void free_walk(gpointer data)
{
	struct dtc_flight_walk *walk = data;

	g_free(walk->text);
	g_free(walk);
}

gsize dtc_flight_get_buffer_bytes(guint64 flight_bytes, guint cpu_count)
{
	guint64 most = flight_bytes / 2 / cpu_count;

	return (gsize)MIN(most, CLAMP(most / 8, BUFFER_LEAST, BUFFER_MOST));
}

DtcFlight *dtc_flight_new(int64_t keep_ns, int64_t walk_cost_ns)
{
	DtcFlight *flight = g_new0(DtcFlight, 1);

	flight->keep_ns = keep_ns;
	flight->interval_ns = MAX(keep_ns / WALKS, WALK_COST * walk_cost_ns);
	g_queue_init(&flight->samples);
	g_queue_init(&flight->walks);
	return flight;
}

void dtc_flight_free(DtcFlight *flight)
{
	if (!flight)
		return;
	g_queue_clear_full(&flight->samples, free_sample);
	g_queue_clear_full(&flight->walks, free_walk);
	g_free(flight);
}

int64_t dtc_flight_get_hold_ns(const DtcFlight *flight)
{
	return flight->keep_ns + flight->interval_ns + SLACK_NS;
}

void dtc_flight_take_sample(DtcFlight *flight, int64_t time_ns, char *clocks, char *drops,
			    const struct dtc_flight_losses *losses)
{
	struct sample *sample = g_new(struct sample, 1);
	const struct sample *oldest;

	*sample = (struct sample){ time_ns, clocks, drops, *losses };
	g_queue_push_tail(&flight->samples, sample);
	while ((oldest = g_queue_peek_head(&flight->samples)) &&
	       oldest->time_ns < time_ns - dtc_flight_get_hold_ns(flight))
		free_sample(g_queue_pop_head(&flight->samples));
}

struct dtc_flight_losses dtc_flight_get_losses_before(const DtcFlight *flight, int64_t from_ns)
{
	struct dtc_flight_losses losses = { 0 };

	for (const GList *link = flight->samples.head; link; link = link->next) {
		const struct sample *sample = link->data;
		if (sample->time_ns > from_ns && link != flight->samples.head)
			break;
		losses = sample->losses;
	}
	return losses;
}

bool dtc_flight_wants_walk(const DtcFlight *flight, int64_t now_ns)
{
	const struct dtc_flight_walk *last = flight->walks.tail ? flight->walks.tail->data : NULL;

	return !last || now_ns - last->begin_ns >= flight->interval_ns;
}

/* The oldest goes when the one after it is old enough. */
void dtc_flight_take_walk(DtcFlight *flight, const struct dtc_flight_walk *walk)
{
	g_queue_push_tail(&flight->walks, g_memdup2(walk, sizeof(*walk)));
	while (g_queue_get_length(&flight->walks) > 1) {
		const struct dtc_flight_walk *next = g_queue_peek_nth(&flight->walks, 1);
		if (next->begin_ns > walk->begin_ns - flight->keep_ns)
			break;
		free_walk(g_queue_pop_head(&flight->walks));
	}
}

const struct dtc_flight_walk *dtc_flight_choose_walk(const DtcFlight *flight, int64_t first_ns, int64_t end_ns)
{
	const struct dtc_flight_walk *chosen = NULL;

	for (const GList *link = flight->walks.head; link; link = link->next) {
		const struct dtc_flight_walk *walk = link->data;
		bool is_covered = chosen && chosen->begin_ns >= first_ns;
		if (!is_covered || walk->begin_ns <= end_ns - flight->keep_ns)
			chosen = walk;
	}
	return chosen;
}

static char *join(const DtcFlight *flight, bool wants_clocks)
{
	GString *lines = g_string_new(NULL);

	for (const GList *link = flight->samples.head; link; link = link->next) {
		const struct sample *sample = link->data;
		g_string_append(lines, wants_clocks ? sample->clocks : sample->drops);
	}
	return g_string_free(lines, FALSE);
}

char *dtc_flight_join_clocks(const DtcFlight *flight)
{
	return join(flight, true);
}

char *dtc_flight_join_drops(const DtcFlight *flight)
{
	return join(flight, false);
}
