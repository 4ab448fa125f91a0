/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server of one request X and whatever else, and its table of work. */
#pragma once

#include "analyze/request/serving.h"
#include "analyze/request/serving_image.h"
#include "tests/support/event_loop.h"

#define WORKER_TID 50 /* another thread of the server */

/* What another process is given is the same, so that it is looked at in all tests. */
static inline DtcServing *send_over(DtcServing *serving, const DtcLinks *links)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GBytes) bytes = dtc_serving_to_bytes(serving);
	gsize count;
	const void *data = g_bytes_get_data(bytes, &count);
	g_autoptr(DtcImage) image = dtc_image_from_bytes(data, count, "serving", &error);
	g_assert_no_error(error);
	DtcServing *given = dtc_serving_load(links, image, &error);
	g_assert_no_error(error);
	dtc_serving_free(serving);
	return given;
}

/* One thread that serves X on fd 5: the reads and writes of it that begin at these times are its question and answer.
 */
struct server {
	struct story story;
	const DtcHistory *histories[1];
	DtcClocks *clocks;
	DtcLinks *links;
	uint32_t thread;
};

static inline void server_begin(struct server *server)
{
	story_begin(&server->story, "node");
	story_switch(&server->story, 0, 0, 0, "swapper/0", 0, LOOP_TID, "loop");
	event_loop_call(&server->story, 0, "accept", 4, 1, 2, 5);
	event_loop_call(&server->story, 0, "accept", 4, 3, 4, 6);
}

/* A poll that waits, from 1 us after its begin to 5 us before its end, and then for its CPU. */
static inline void tell_wait(struct server *server, int64_t from_us, int64_t to_us, int64_t result)
{
	struct story *s = &server->story;
	story_poll(s, from_us * US, 0, "epoll_wait", 3, 100);
	story_switch(s, (from_us + 1) * US, 0, LOOP_TID, "loop", 1, 0, "swapper/0");
	story_task(s, DTC_EVENT_SCHED_WAKING, (to_us - 5) * US, 0, LOOP_TID, "loop", 0);
	story_switch(s, (to_us - 2) * US, 0, 0, "swapper/0", 0, LOOP_TID, "loop");
	story_leave(s, to_us * US, 0, "epoll_wait", result);
}

static inline void tell_poll(struct server *server, int64_t from_us, int64_t to_us, int64_t timeout, int64_t result)
{
	story_poll(&server->story, from_us * US, 0, "epoll_wait", 3, timeout);
	story_leave(&server->story, to_us * US, 0, "epoll_wait", result);
}

/*
 * client_begin_us: when X's client, another thread, began to send it; 0: the client is not known. read_us: 0: no call
 * read it.
 */
static inline DtcServing *server_end(struct server *server, int64_t read_us, int64_t write_us, int64_t client_begin_us)
{
	const DtcHistory *h = server->histories[0] = story_end(&server->story);
	static const char *const names[] = { "node" };
	server->clocks = dtc_clocks_new_identity(1);
	server->links = dtc_links_new(1, names, server->histories, server->clocks);
	server->thread = dtc_history_find_thread(h, LOOP_TID, 10 * US);
	static const struct dtc_exchange exchange;
	uint32_t read = read_us ? dtc_history_find_call(h, server->thread, read_us * US) : DTC_NONE;
	uint32_t write = DTC_NONE, file = DTC_NONE;
	for (uint32_t i = 0; i < dtc_history_get_call_count(h); i++) {
		const struct dtc_call call = dtc_history_copy_call(h, i);
		if (call.kind == DTC_CALL_WRITE && call.begin_ns == write_us * US) {
			write = i;
			file = call.file;
		}
	}
	g_assert_cmpuint(write, !=, DTC_NONE);
	struct dtc_hop hop = { .exchange = &exchange,
			       .client = { .node = G_MAXUINT, .thread = DTC_NONE, .file = DTC_NONE },
			       .server = { .node = 0,
					   .thread = server->thread,
					   .file = file,
					   .connect_call = DTC_NONE,
					   .request_first_call = read,
					   .request_last_call = read,
					   .response_first_call = write,
					   .response_last_call = write },
			       .parent = G_MAXUINT,
			       .attempt = 1 };
	struct dtc_place *place = g_new0(struct dtc_place, 1);
	place->hops = g_array_new(FALSE, FALSE, sizeof(struct dtc_hop));
	g_array_append_val(place->hops, hop);
	place->is_client = client_begin_us > 0;
	place->thread = place->is_client ? server->thread + 1 : server->thread;
	place->has_end = true;
	place->begin.ns = client_begin_us * US;
	place->end.ns = dtc_history_copy_call(h, write).end_ns;
	DtcServing *serving = dtc_serving_new(server->links);
	dtc_serving_add(serving, X, place);
	dtc_serving_seal(serving, true);
	dtc_place_free(place);
	return send_over(serving, server->links);
}

static inline void server_clear(struct server *server)
{
	dtc_links_free(server->links);
	dtc_clocks_free(server->clocks);
	story_clear(&server->story);
}
