/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of many streams that give several items at once the reader makes one order, and looks ahead in it: a stream is moved
 * only after all of its items were given out, since they are lent until then.
 */
#include "collect/read/backend.h"
#include "collect/read/reader.h"

#define STREAMS 70
#define BATCHES 9
#define BATCH_MAX 20
#define STEP_MAX 40

struct made {
	struct dtc_backend backend;
	GRand *rand;
	struct dtc_stream streams[STREAMS];
	struct dtc_stream *list[STREAMS];
	struct dtc_item items[STREAMS][BATCH_MAX];
	guint batches[STREAMS];	 /* that were given */
	guint left[STREAMS];	 /* items that were not asked for */
	guint expected[STREAMS]; /* items that were told to come */
	guint64 at;		 /* of all items */
	struct dtc_event event;
};

/* Batches with equal times among them, and gaps. */
static void advance(struct dtc_backend *backend, guint stream)
{
	struct made *made = (struct made *)backend;
	struct dtc_stream *to = &made->streams[stream];
	struct dtc_item *items = made->items[stream];
	g_assert_cmpuint(made->left[stream], ==, 0);
	memset(items, 0xff, sizeof(made->items[stream]));
	to->item_count = 0;
	to->has_item = made->batches[stream]++ < BATCHES;
	if (!to->has_item)
		return;
	if (g_rand_int_range(made->rand, 0, 4) == 0) {
		dtc_stream_take_gap(to, (struct dtc_gap){ to->last_ns, to->last_ns + 5, 1, 0, false });
		return;
	}
	guint count = (guint)g_rand_int_range(made->rand, 1, BATCH_MAX + 1);
	for (guint i = 0; i < count; i++) {
		dtc_stream_take_event(to, to->last_ns + g_rand_int_range(made->rand, 0, STEP_MAX), DTC_ABSENT);
		items[i] = (struct dtc_item){ .time_ns = to->last_ns, .at = ++made->at };
	}
	to->items = items;
	to->item_count = made->left[stream] = count;
}

static void expect_item(struct dtc_backend *backend, guint stream, const struct dtc_item *item)
{
	struct made *made = (struct made *)backend;
	if (!item) /* it will be advanced */
		return;
	g_assert_true(item >= made->items[stream] && item < made->items[stream] + made->streams[stream].item_count);
	made->expected[stream]++;
}

static struct dtc_event *get_event(struct dtc_backend *backend, guint stream)
{
	struct made *made = (struct made *)backend;
	g_assert_cmpuint(made->left[stream], >, 0);
	g_assert_cmpuint(made->expected[stream], >, 0);
	const struct dtc_stream *from = &made->streams[stream];
	/* in their order */
	g_assert_true(from->item == &made->items[stream][from->item_count - made->left[stream]]);
	made->left[stream]--;
	made->event.kind = DTC_EVENT_SCHED_SWITCH;
	return &made->event;
}

static struct dtc_item_class get_class(struct dtc_backend *backend, guint stream, guint class)
{
	(void)backend;
	(void)stream;
	(void)class;
	return (struct dtc_item_class){ DTC_EVENT_SCHED_SWITCH, 0 };
}

static const char *get_environment(const struct dtc_backend *backend, const char *key)
{
	(void)backend;
	(void)key;
	return NULL;
}

static struct dtc_backend *open_made(const struct dtc_backend_request *request, GError **error);

static void close_made(struct dtc_backend *backend)
{
	struct made *made = (struct made *)backend;
	for (guint i = 0; i < backend->stream_count; i++)
		dtc_stream_clear(&made->streams[i]);
	g_rand_free(made->rand);
	g_free(made);
}

static const struct dtc_backend_kind made_kind = {
	.name = "made",
	.open = open_made,
	.close = close_made,
	.advance = advance,
	.get_event = get_event,
	.expect = expect_item,
	.get_class = get_class,
	.get_environment = get_environment,
};

static struct dtc_backend *open_made(const struct dtc_backend_request *request, GError **error)
{
	struct made *made = g_new0(struct made, 1);
	(void)error;
	made->rand = g_rand_new_with_seed(42);
	made->backend.kind = &made_kind;
	made->backend.stream_count = STREAMS;
	made->backend.streams = made->list;
	made->backend.declares[DTC_EVENT_SCHED_SWITCH] = true;
	dtc_names_add(request->event_names, "sched_switch");
	for (guint i = 0; i < STREAMS; i++) {
		made->list[i] = &made->streams[i];
		dtc_stream_init(&made->streams[i]);
		made->streams[i].last_ns = g_rand_int_range(made->rand, 0, STEP_MAX);
		made->streams[i].cpu = i;
		made->streams[i].class_count = 1;
		advance(&made->backend, i);
	}
	return &made->backend;
}

static void test_turns(void)
{
	g_autoptr(DtcReader) reader = dtc_reader_open_with(&made_kind, "made", "nowhere", NULL);
	int64_t last_ns = 0;
	guint last_cpu = 0, gap_count = 0;
	const struct dtc_event *event;
	g_assert_nonnull(reader);
	while ((event = dtc_reader_next(reader))) {
		g_assert_true(event->time_ns > last_ns || (event->time_ns == last_ns && event->cpu >= last_cpu));
		gap_count += event->kind == DTC_EVENT_LOST;
		last_ns = event->time_ns;
		last_cpu = event->cpu;
	}
	g_assert_null(dtc_reader_next(reader));
	g_assert_cmpuint(gap_count, >, STREAMS);
	g_assert_cmpuint(dtc_reader_get_lost_count(reader), ==, gap_count);
	g_assert_cmpuint(dtc_reader_get_event_count(reader, 0), >, STREAMS * BATCHES * BATCH_MAX / 4);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/read/turns", test_turns);
	return g_test_run();
}
