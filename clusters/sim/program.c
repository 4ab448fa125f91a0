/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What threads do, step by step; a step ends where the thread computes or waits. A worker takes a connection, reads,
 * computes, suffers what is done to it, asks others, answers and closes. A client and who fills a pool for it ask.
 */
#include "clusters/sim/cluster.h"

#define BETWEEN_NS 400 /* from one system call to the next */
#define CALL_NS (2 * SIM_US)
#define ADDRESS_FAMILY 2
#define SERVER_PORT 8000
#define LISTEN_FD 3
#define LOG_FD 5
#define FIRST_FD 16
#define FUTEX_WAIT 128
#define FUTEX_WAKE 129
#define LOCK_ADDRESS G_GINT64_CONSTANT(0x55d0c0a81040)
#define DISK_DEVICE 266338304
#define WRITES 65
#define SECTORS 8
#define SECTOR_BYTES 512L
#define HOGS_AFTER_NS (3 * SIM_US)
#define LOCK_AFTER_NS (60 * SIM_US)
#define FILL_NS (4 * SIM_MS)
#define TICK_NS (20 * SIM_US)

enum step {
	WAIT, /* where all begin */
	ACCEPTED,
	READ,
	SUFFER,
	LOCK,
	LOCKED,
	SLEPT,
	SYNCED,
	SUFFERED,
	ASK,
	CONNECTED,
	HEARD,
	ANSWER,
	FILLED,
	WOKEN,
	RELEASE,
};

/* An event of the thread that runs. */
static void note(struct sim_cluster *cluster, const struct sim_thread *thread, int64_t *at_ns, enum sim_event event,
		 const int64_t *values)
{
	*at_ns = sim_record(cluster, thread->node, thread->cpu, *at_ns + BETWEEN_NS, event, values, NULL);
}

/* The same with one integer, and a place for what follows it, which is 0. */
static void note_one(struct sim_cluster *cluster, const struct sim_thread *thread, int64_t *at_ns, enum sim_event event,
		     int64_t value)
{
	int64_t values[6] = { value };
	note(cluster, thread, at_ns, event, values);
}

static guint find_index(const struct sim_cluster *cluster, const struct sim_thread *thread)
{
	return (guint)(thread - cluster->threads);
}

/* A thread has one file for who asks it and one for whom it asks. */
static int64_t get_fd(const struct sim_cluster *cluster, const struct sim_thread *thread, bool is_down)
{
	return FIRST_FD + 2 * (int64_t)(find_index(cluster, thread) - cluster->nodes[thread->node].first_thread) +
	       is_down;
}

static void set_timer(struct sim_cluster *cluster, guint32 thread, int64_t at_ns)
{
	sim_queue_add(cluster->queue, at_ns, SIM_TIMER, cluster->threads[thread].node, thread, NULL);
}

static void begin_sleep(struct sim_cluster *cluster, const struct sim_thread *thread, int64_t *at_ns, int64_t ns)
{
	note_one(cluster, thread, at_ns, SIM_ENTRY_NANOSLEEP, 1);
	if (ns > 0)
		set_timer(cluster, find_index(cluster, thread), *at_ns + ns);
}

static void begin_read(struct sim_cluster *cluster, const struct sim_thread *thread, int64_t *at_ns, bool is_down)
{
	int64_t values[] = { get_fd(cluster, thread, is_down), 4096, 0, 0 };
	note(cluster, thread, at_ns, SIM_ENTRY_RECVFROM, values);
}

static void end_read(struct sim_cluster *cluster, const struct sim_thread *thread, int64_t *at_ns, guint bytes)
{
	int64_t values[] = { bytes, 0x7f1200001000, 0, 0 };
	note(cluster, thread, at_ns, SIM_EXIT_RECVFROM, values);
}

/* sendto() with the packet inside; when that left. */
static int64_t write_down(struct sim_cluster *cluster, const struct sim_thread *thread, int64_t *at_ns,
			  struct sim_conn *conn, bool is_down)
{
	/* how many bytes is known when the frame is made; the entry comes before it */
	int64_t values[] = { get_fd(cluster, thread, is_down), 0x7f1200002000, 100, 0, 0, 0 };
	note(cluster, thread, at_ns, SIM_ENTRY_SENDTO, values);
	int64_t sent_ns = *at_ns =
		sim_send(cluster, conn, is_down, is_down ? SIM_QUESTION : SIM_ANSWER, thread->cpu, *at_ns + CALL_NS);
	note_one(cluster, thread, at_ns, SIM_EXIT_SENDTO, is_down ? conn->question_bytes : conn->answer_bytes);
	return sent_ns;
}

static void close_file(struct sim_cluster *cluster, const struct sim_thread *thread, int64_t *at_ns,
		       struct sim_conn *conn, bool is_down)
{
	note_one(cluster, thread, at_ns, SIM_ENTRY_CLOSE, get_fd(cluster, thread, is_down));
	*at_ns = sim_send(cluster, conn, is_down, SIM_FIN, thread->cpu, *at_ns);
	note_one(cluster, thread, at_ns, SIM_EXIT_CLOSE, 0);
}

static enum sim_step_result compute(struct sim_thread *thread, int64_t ns, enum step next)
{
	thread->left_ns = ns;
	thread->step = next;
	return SIM_STEP_RUN;
}

/* ---- asking ---- */

static enum sim_step_result connect_down(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	struct sim_call *call = thread->call, *child = call->children[call->next_child];
	int64_t fd = get_fd(cluster, thread, true);
	int64_t make[] = { ADDRESS_FAMILY, 1, 0 };
	int64_t to[] = { fd, 0x7f1200003000, 16, ADDRESS_FAMILY, SERVER_PORT, cluster->nodes[child->node].address };
	note(cluster, thread, at_ns, SIM_ENTRY_SOCKET, make);
	note_one(cluster, thread, at_ns, SIM_EXIT_SOCKET, fd);
	note(cluster, thread, at_ns, SIM_ENTRY_CONNECT, to);
	if (!call->parent)
		call->request->begin_ns = *at_ns;
	call->down = sim_conn_new(cluster, find_index(cluster, thread), child);
	*at_ns = sim_send(cluster, call->down, true, SIM_SYN, thread->cpu, *at_ns + CALL_NS);
	thread->step = CONNECTED;
	return SIM_STEP_BLOCK;
}

static enum sim_step_result question_down(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	struct sim_call *call = thread->call;
	if (!call->down->is_open)
		return SIM_STEP_BLOCK;
	note_one(cluster, thread, at_ns, SIM_EXIT_CONNECT, 0);
	write_down(cluster, thread, at_ns, call->down, true);
	begin_read(cluster, thread, at_ns, true);
	thread->step = HEARD;
	return call->down->has_answer ? SIM_STEP_RUN : SIM_STEP_BLOCK;
}

static enum sim_step_result hear_down(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	struct sim_call *call = thread->call;
	if (!call->down->has_answer)
		return SIM_STEP_BLOCK;
	end_read(cluster, thread, at_ns, call->down->answer_bytes);
	if (!call->parent)
		call->request->end_ns = *at_ns;
	close_file(cluster, thread, at_ns, call->down, true);
	call->down = NULL;
	call->next_child++;
	return compute(thread, 5 * SIM_US, ASK);
}

/* ---- workers ---- */

static enum sim_step_result wait_for_connection(struct sim_cluster *cluster, struct sim_thread *thread)
{
	struct sim_node *node = &cluster->nodes[thread->node];
	thread->step = ACCEPTED;
	if (!g_queue_is_empty(&node->accept))
		return SIM_STEP_RUN;
	g_queue_push_tail(&node->waiting, GUINT_TO_POINTER(find_index(cluster, thread)));
	return SIM_STEP_BLOCK;
}

static enum sim_step_result accept_connection(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	struct sim_conn *conn = g_queue_pop_head(&cluster->nodes[thread->node].accept);
	if (!conn) /* another one took it */
		return wait_for_connection(cluster, thread);
	int64_t values[] = { get_fd(cluster, thread, false), 16, ADDRESS_FAMILY, conn->port,
			     cluster->nodes[conn->client].address };
	note(cluster, thread, at_ns, SIM_EXIT_ACCEPT4, values);
	if (conn->call->cause == SIM_CAUSE_POOL) {
		conn->call->cause_begin_ns = conn->queued_ns;
		conn->call->cause_end_ns = *at_ns;
	}
	conn->server_thread = find_index(cluster, thread);
	thread->conn = conn;
	begin_read(cluster, thread, at_ns, false);
	thread->step = READ;
	return conn->has_question ? SIM_STEP_RUN : SIM_STEP_BLOCK;
}

static enum sim_step_result read_question(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	struct sim_conn *conn = thread->conn;
	if (!conn->has_question)
		return SIM_STEP_BLOCK;
	end_read(cluster, thread, at_ns, conn->question_bytes);
	thread->call = conn->call;
	thread->call->tid = (guint32)thread->tid;
	thread->call->begin_ns = *at_ns;
	return compute(thread, thread->call->service_ns / 2, SUFFER);
}

static void begin_write(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns, int64_t ns)
{
	const char *comm = thread->comm;
	struct sim_node *node = &cluster->nodes[thread->node];
	note_one(cluster, thread, at_ns, SIM_ENTRY_FSYNC, LOG_FD);
	thread->job_ns = (int64_t)(node->next_sector += SECTORS);
	int64_t values[] = { DISK_DEVICE, thread->job_ns, SECTORS, SECTORS * SECTOR_BYTES, thread->tid, WRITES };
	*at_ns = sim_record(cluster, thread->node, thread->cpu, *at_ns + BETWEEN_NS, SIM_BLOCK_ISSUE, values, &comm);
	sim_queue_add(cluster->queue, *at_ns + ns, SIM_DISK_DONE, thread->node, find_index(cluster, thread), NULL);
}

static void ask_holder(struct sim_cluster *cluster, struct sim_thread *thread, int64_t at_ns, int64_t ns)
{
	struct sim_node *node = &cluster->nodes[thread->node];
	struct sim_lock_job *job = g_new(struct sim_lock_job, 1);
	*job = (struct sim_lock_job){ find_index(cluster, thread), ns };
	g_queue_push_tail(&node->locks, job);
	for (guint i = 0; i < node->thread_count; i++)
		if (cluster->threads[node->first_thread + i].kind == SIM_HOLDER)
			set_timer(cluster, node->first_thread + i, at_ns + HOGS_AFTER_NS);
}

static void start_hogs(struct sim_cluster *cluster, const struct sim_thread *thread, int64_t at_ns, int64_t ns)
{
	const struct sim_node *node = &cluster->nodes[thread->node];
	for (guint i = 0; i < node->thread_count; i++) {
		struct sim_thread *hog = &cluster->threads[node->first_thread + i];
		if (hog->kind != SIM_HOG)
			continue;
		hog->job_ns = ns;
		at_ns += HOGS_AFTER_NS;
		set_timer(cluster, node->first_thread + i, at_ns);
	}
}

static enum sim_step_result suffer(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	struct sim_call *call = thread->call;
	if (call->cause != SIM_CAUSE_POOL)
		call->cause_begin_ns = *at_ns;
	switch (call->cause) {
	case SIM_CAUSE_CPU:
		return compute(thread, call->cause_ns, SUFFERED);
	case SIM_CAUSE_SLEEP:
		begin_sleep(cluster, thread, at_ns, call->cause_ns);
		thread->step = SLEPT;
		return SIM_STEP_BLOCK;
	case SIM_CAUSE_DISK:
		begin_write(cluster, thread, at_ns, call->cause_ns);
		thread->step = SYNCED;
		return SIM_STEP_BLOCK_DISK;
	case SIM_CAUSE_LOCK:
		thread->is_woken = false;
		ask_holder(cluster, thread, *at_ns, call->cause_ns);
		return compute(thread, LOCK_AFTER_NS, LOCK);
	case SIM_CAUSE_RUNQUEUE:
		start_hogs(cluster, thread, *at_ns, call->cause_ns);
		/* more than a slice, or it would be done before anybody else has a turn */
		return compute(thread, SIM_SLICE_NS + call->cause_ns / 3, SUFFERED);
	default:
		thread->step = ASK;
		return SIM_STEP_RUN;
	}
}

static enum sim_step_result wait_for_lock(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	int64_t values[] = { LOCK_ADDRESS, FUTEX_WAIT, 2, 0, 0, 0 };
	if (thread->is_woken) { /* it is free again */
		thread->step = SUFFERED;
		return SIM_STEP_RUN;
	}
	note(cluster, thread, at_ns, SIM_ENTRY_FUTEX, values);
	thread->step = LOCKED;
	return SIM_STEP_BLOCK;
}

static enum sim_step_result end_suffering(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	int64_t lock[] = { 0, LOCK_ADDRESS, 0 };
	switch (thread->step) {
	case LOCKED:
		if (!thread->is_woken)
			return SIM_STEP_BLOCK;
		note(cluster, thread, at_ns, SIM_EXIT_FUTEX, lock);
		break;
	case SLEPT:
		note_one(cluster, thread, at_ns, SIM_EXIT_NANOSLEEP, 0);
		break;
	case SYNCED:
		note_one(cluster, thread, at_ns, SIM_EXIT_FSYNC, 0);
		break;
	default:
		break;
	}
	thread->call->cause_end_ns = *at_ns;
	thread->step = ASK;
	return SIM_STEP_RUN;
}

static enum sim_step_result answer(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	thread->call->end_ns = write_down(cluster, thread, at_ns, thread->conn, false);
	close_file(cluster, thread, at_ns, thread->conn, false);
	thread->call = NULL;
	thread->conn = NULL;
	return compute(thread, SIM_US, WAIT);
}

static enum sim_step_result step_worker(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	switch (thread->step) {
	case WAIT:
		note_one(cluster, thread, at_ns, SIM_ENTRY_ACCEPT4, LISTEN_FD);
		return wait_for_connection(cluster, thread);
	case ACCEPTED:
		return accept_connection(cluster, thread, at_ns);
	case READ:
		return read_question(cluster, thread, at_ns);
	case SUFFER:
		return suffer(cluster, thread, at_ns);
	case LOCK:
		return wait_for_lock(cluster, thread, at_ns);
	case ASK:
		if (thread->call->next_child < thread->call->child_count)
			return connect_down(cluster, thread, at_ns);
		return compute(thread, thread->call->service_ns / 2, ANSWER);
	case CONNECTED:
		return question_down(cluster, thread, at_ns);
	case HEARD:
		return hear_down(cluster, thread, at_ns);
	case ANSWER:
		return answer(cluster, thread, at_ns);
	default:
		return end_suffering(cluster, thread, at_ns);
	}
}

/* ---- clients ---- */

/* Before a request that is to find all workers busy: as many others, each of which sleeps there. */
static void fill_pool(struct sim_cluster *cluster, const struct sim_thread *thread, int64_t at_ns)
{
	const struct sim_node *node = &cluster->nodes[thread->node];
	const struct sim_call *entry = thread->call->children[0];
	for (guint i = 0; i < node->thread_count; i++) {
		struct sim_thread *filler = &cluster->threads[node->first_thread + i];
		if (filler->kind != SIM_FILLER || filler->call)
			continue;
		filler->call = sim_plan_filler(cluster, thread->node, entry->node, FILL_NS + entry->cause_ns)->root;
		filler->call->tid = (guint32)filler->tid;
		at_ns += 10 * SIM_US;
		set_timer(cluster, node->first_thread + i, at_ns);
	}
}

static enum sim_step_result begin_request(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	struct sim_request *request = sim_plan_request(cluster, thread->node);
	if (!request) {
		begin_sleep(cluster, thread, at_ns, 0);
		return SIM_STEP_BLOCK;
	}
	thread->call = request->root;
	thread->call->tid = (guint32)thread->tid;
	if (request->cause == SIM_CAUSE_POOL) {
		fill_pool(cluster, thread, *at_ns);
		begin_sleep(cluster, thread, at_ns, FILL_NS);
		thread->step = FILLED;
		return SIM_STEP_BLOCK;
	}
	return compute(thread, 5 * SIM_US, ASK);
}

static enum sim_step_result end_request(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	struct sim_request *request = thread->call->request;
	request->tid = (guint32)thread->tid;
	sim_truth_add(cluster, request);
	sim_request_free(request);
	cluster->requests_done++;
	thread->call = NULL;
	thread->step = WOKEN;
	begin_sleep(cluster, thread, at_ns,
		    thread->kind == SIM_FILLER ? 0 : SIM_MS / 2 + g_rand_int_range(cluster->rand, 0, 4 * SIM_MS));
	return SIM_STEP_BLOCK;
}

static enum sim_step_result step_client(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	switch (thread->step) {
	case WAIT:
		thread->step = WOKEN;
		begin_sleep(cluster, thread, at_ns,
			    thread->kind == SIM_FILLER ? 0 : SIM_MS + g_rand_int_range(cluster->rand, 0, 20 * SIM_MS));
		return SIM_STEP_BLOCK;
	case WOKEN:
		note_one(cluster, thread, at_ns, SIM_EXIT_NANOSLEEP, 0);
		if (thread->kind == SIM_CLIENT)
			return begin_request(cluster, thread, at_ns);
		return compute(thread, 5 * SIM_US, ASK);
	case FILLED:
		note_one(cluster, thread, at_ns, SIM_EXIT_NANOSLEEP, 0);
		return compute(thread, 5 * SIM_US, ASK);
	case CONNECTED:
		return question_down(cluster, thread, at_ns);
	case HEARD:
		return hear_down(cluster, thread, at_ns);
	default:
		if (thread->call->next_child < thread->call->child_count)
			return connect_down(cluster, thread, at_ns);
		return end_request(cluster, thread, at_ns);
	}
}

/* ---- the others ---- */

/* Has the lock for each of those who asked, one after the other. */
static enum sim_step_result step_holder(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	struct sim_node *node = &cluster->nodes[thread->node];
	int64_t release[] = { LOCK_ADDRESS, FUTEX_WAKE, 1, 0, 0, 0 }, released[] = { 1, LOCK_ADDRESS, 0 };
	if (thread->step == RELEASE) {
		g_autofree struct sim_lock_job *job = g_queue_pop_head(&node->locks);
		note(cluster, thread, at_ns, SIM_ENTRY_FUTEX, release);
		*at_ns = sim_wake(cluster, job->thread, thread->cpu, *at_ns);
		note(cluster, thread, at_ns, SIM_EXIT_FUTEX, released);
	} else if (thread->step == WOKEN) {
		note_one(cluster, thread, at_ns, SIM_EXIT_NANOSLEEP, 0);
	}
	const struct sim_lock_job *next = g_queue_peek_head(&node->locks);
	if (next)
		return compute(thread, next->ns, RELEASE);
	begin_sleep(cluster, thread, at_ns, 0);
	thread->step = WOKEN;
	return SIM_STEP_BLOCK;
}

static enum sim_step_result step_hog(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	if (thread->step == WOKEN && thread->job_ns > 0) {
		int64_t ns = thread->job_ns;
		thread->job_ns = 0;
		note_one(cluster, thread, at_ns, SIM_EXIT_NANOSLEEP, 0);
		return compute(thread, ns, WAIT);
	}
	begin_sleep(cluster, thread, at_ns, 0);
	thread->step = WOKEN;
	return SIM_STEP_BLOCK;
}

/* Nothing, now and then: the events that a node has anyway. */
static enum sim_step_result step_ticker(struct sim_cluster *cluster, struct sim_thread *thread, int64_t *at_ns)
{
	bool is_over = cluster->requests_begun >= cluster->options.request_count &&
		       cluster->requests_done == cluster->requests_begun;
	if (thread->step == WOKEN) {
		note_one(cluster, thread, at_ns, SIM_EXIT_NANOSLEEP, 0);
		return compute(thread, TICK_NS, WAIT);
	}
	begin_sleep(cluster, thread, at_ns, is_over ? 0 : cluster->ticker_ns);
	thread->step = WOKEN;
	return SIM_STEP_BLOCK;
}

enum sim_step_result sim_program_step(struct sim_cluster *cluster, guint32 index, int64_t *at_ns)
{
	struct sim_thread *thread = &cluster->threads[index];
	switch (thread->kind) {
	case SIM_WORKER:
		return step_worker(cluster, thread, at_ns);
	case SIM_HOLDER:
		return step_holder(cluster, thread, at_ns);
	case SIM_HOG:
		return step_hog(cluster, thread, at_ns);
	case SIM_TICKER:
		return step_ticker(cluster, thread, at_ns);
	default:
		return step_client(cluster, thread, at_ns);
	}
}
