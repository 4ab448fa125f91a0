/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/request/give_back.h"

#include "analyze/edge/local_bytes.h"
#include "analyze/exchange/endpoint.h"
#include "analyze/request/for_kernel.h"
#include "analyze/request/inherit.h"
#include "analyze/request/unseen.h"

#include <dtrace-chain/bisect.h>

/* Calls that are looked at for a loop's turn, and back for where a piece began. */
#define TURN_CALLS 4096
/* Pieces of others' work between two of one request. */
#define SPANS 1024
/* From who waits to the threads that gave on what others had done. */
#define ROUNDS 4

/* A read of what another thread wrote. */
struct brought {
	uint32_t reader, read;
	uint32_t writer, write;
};

struct search {
	const DtcServing *serving;
	guint node;
	const DtcHistory *history;
	GArray *found;	   /* struct dtc_given_back */
	GArray *answers;   /* the same, of threads that answered what others had read; by thread and time */
	GArray *brought;   /* struct brought, by read; once for each write */
	GHashTable *known; /* writes that are known to be for a request */
	bool has_unseen;
};

static int64_t get_end_ns(const struct dtc_call *call)
{
	return call->end_ns == DTC_TIME_NONE ? call->begin_ns : call->end_ns;
}

static void add(struct search *search, uint32_t thread, uint32_t target, guint request, int64_t since_ns, int64_t at_ns)
{
	const struct dtc_given_back back = { thread, target, request, since_ns, at_ns, false };
	g_array_append_val(search->found, back);
}

/* --- by waking who waits --- */

/* The request that a thread is at, by its own calls, while it waits in a call; and goes on with. NULL: none. */
static const struct dtc_served *find_waiting(const struct search *search, uint32_t thread, int64_t slept_ns,
					     int64_t woken_ns)
{
	const struct dtc_served *span = dtc_serving_find_span(search->serving, search->node, thread, woken_ns);
	if (!span || span->leads || span->begin_ns > slept_ns ||
	    dtc_serving_only_inherits(search->serving, search->node, thread) ||
	    !dtc_serving_goes_on(search->serving, search->node, thread, span->request, woken_ns))
		return NULL;
	return span;
}

/* Whether a thread woke another one of its process that waited for what is not known, since events were lost. */
static bool is_unseen(const DtcHistory *h, const struct dtc_wake *wake)
{
	if (wake->waker != DTC_WAKER_THREAD || wake->thread == wake->target)
		return false;
	const struct dtc_thread *target = dtc_history_get_thread(h, wake->target);
	struct dtc_interval place;
	if (target->pid != dtc_history_get_thread(h, wake->thread)->pid)
		return false;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, wake->target, wake->waking_ns, &place);
	return v && v->begin_ns > target->begin_ns && v->end_ns == wake->waking_ns &&
	       (v->state == DTC_STATE_UNKNOWN || (v->state == DTC_STATE_WAIT && v->call == DTC_NONE));
}

/* What a program does for the kernel is for who waits for it there, whoever made the program's thread. */
static void look_at_answer(struct search *search, const struct dtc_wake *wake)
{
	int64_t slept_ns;
	if (!dtc_for_kernel_is_answer(search->history, wake, &slept_ns))
		return;
	const struct dtc_served *span = find_waiting(search, wake->target, slept_ns, wake->waking_ns);
	const struct dtc_given_back back = { .thread = wake->thread,
					     .target = wake->target,
					     .request = span ? span->request : DTC_NO_REQUEST,
					     .since_ns = span ? span->begin_ns : slept_ns,
					     .at_ns = wake->waking_ns,
					     .for_kernel = true };
	g_array_append_val(search->found, back);
}

static void look_at_wake(struct search *search, const DtcLockWords *locks, uint32_t index)
{
	struct dtc_wake wake_place;
	const struct dtc_wake *wake = dtc_history_get_wake(search->history, index, &wake_place);
	look_at_answer(search, wake);
	uint32_t sleep = wake->is_inferred ? DTC_NONE : dtc_lock_words_get_wait(locks, index);
	if (sleep == DTC_NONE) {
		if (search->has_unseen && is_unseen(search->history, wake)) /* of something, maybe */
			add(search, wake->thread, wake->target, DTC_NO_REQUEST, wake->waking_ns, wake->waking_ns);
		return;
	}
	const struct dtc_call call = dtc_history_copy_call(search->history, sleep);
	const struct dtc_served *span = find_waiting(search, wake->target, call.begin_ns, wake->waking_ns);
	if (span && !dtc_lock_words_is_lock(locks, &call))
		add(search, wake->thread, wake->target, span->request, span->begin_ns, wake->waking_ns);
}

/* --- by bytes --- */

static bool is_local(const DtcHistory *h, const struct dtc_call *call)
{
	return call->file != DTC_NONE && dtc_local_bytes_is_local(h, call->file);
}

static int compare_brought(gconstpointer a, gconstpointer b)
{
	const struct brought *x = a, *y = b;

	if (x->read != y->read)
		return x->read < y->read ? -1 : 1;
	return x->write < y->write ? -1 : x->write > y->write;
}

static void add_brought(struct search *search, struct dtc_local_bytes_walk *walk)
{
	const DtcHistory *h = search->history;
	struct dtc_local_bytes bytes;

	while (dtc_local_bytes_next(walk, &bytes)) {
		struct dtc_call read_place, write_place;
		const struct brought brought = { dtc_history_get_call(h, bytes.read, &read_place)->thread, bytes.read,
						 dtc_history_get_call(h, bytes.write, &write_place)->thread,
						 bytes.write };
		g_array_append_val(search->brought, brought);
	}
}

static gint compare_calls(gconstpointer a, gconstpointer b, gpointer data)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t x_ns = dtc_history_get_call_begin_ns(data, x), y_ns = dtc_history_get_call_begin_ns(data, y);

	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The calls on all files of a pipe from before the trace. */
static void collect_named(const DtcHistory *h, uint32_t file, GHashTable *named)
{
	gpointer name = GUINT_TO_POINTER(dtc_history_get_file(h, file)->name);
	GArray *calls = g_hash_table_lookup(named, name);
	uint32_t count;
	const uint32_t *of_file = dtc_history_get_file_calls(h, file, &count);

	if (!calls) {
		calls = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		g_hash_table_insert(named, name, calls);
	}
	g_array_append_vals(calls, of_file, count);
}

static void collect_brought(struct search *search)
{
	const DtcHistory *h = search->history;
	g_autoptr(GHashTable) named =
		g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, (GDestroyNotify)g_array_unref);
	struct dtc_local_bytes_walk walk;
	GHashTableIter iter;
	gpointer value;

	for (uint32_t file = 0; file < dtc_history_get_file_count(h); file++) {
		if (dtc_local_bytes_is_named(h, file))
			collect_named(h, file, named);
		else if (dtc_local_bytes_is_local(h, file) && dtc_local_bytes_begin(&walk, h, file))
			add_brought(search, &walk);
	}
	g_hash_table_iter_init(&iter, named);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		GArray *calls = value;
		g_array_sort_with_data(calls, compare_calls, (gpointer)h);
		dtc_local_bytes_begin_named(&walk, h, (const uint32_t *)(void *)calls->data, calls->len);
		add_brought(search, &walk);
	}
	g_array_sort(search->brought, compare_brought);
}

/*
 * Where a loop slept for events: it had taken all that it had been told of, and had gone on with it. A poll with time
 * to wait that finds something at once may be for what it has gone on with already.
 */
static bool ends_turn(const DtcHistory *h, uint32_t index)
{
	struct dtc_call place;
	struct dtc_interval wait_place;
	const struct dtc_call *call = dtc_history_get_call(h, index, &place);
	if (call->kind != DTC_CALL_POLL || !call->argument || call->end_ns == DTC_TIME_NONE)
		return false;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, call->thread, call->end_ns, &wait_place);
	while (v && v->end_ns > call->begin_ns && !dtc_state_is_wait(v->state))
		v = dtc_history_find_interval_before(h, call->thread, v->begin_ns, &wait_place);
	return v && v->end_ns > call->begin_ns;
}

/* The calls of the turn that a call is in: [*ret_first, *ret_end). False: it is too long to look at. */
static bool find_turn(const DtcHistory *h, uint32_t thread_index, uint32_t call, uint32_t *ret_first, uint32_t *ret_end)
{
	const struct dtc_thread *thread = dtc_history_get_thread(h, thread_index);
	uint32_t first = call, end = call;

	while (first > thread->call_first && !ends_turn(h, first) && call - first < TURN_CALLS)
		first--;
	while (end < thread->call_first + thread->call_count && !(end > call && ends_turn(h, end)) &&
	       end - call < TURN_CALLS)
		end++;
	*ret_first = first;
	*ret_end = end;
	return call - first < TURN_CALLS && end - call < TURN_CALLS && ends_turn(h, first);
}

/* Since when a thread was at a request before a time, by its own calls, as far as is looked; else since its birth. */
static int64_t find_since_ns(const struct search *search, uint32_t thread, guint request, int64_t time_ns)
{
	guint count;
	const struct dtc_served *spans = dtc_serving_get(search->serving, search->node, thread, &count);
	guint i = DTC_BISECT(k, 0, count, spans[k].begin_ns < time_ns);
	int64_t since_ns = dtc_history_get_thread(search->history, thread)->begin_ns;
	for (guint seen = 0; i-- > 0 && seen < SPANS; seen++)
		if (spans[i].request == request && !spans[i].leads)
			since_ns = spans[i].begin_ns;
	return since_ns;
}

/* The requests that a loop went on with in a turn without having read anything for them in it, in this order. */
static void list_acts(const struct search *search, uint32_t thread, uint32_t first, uint32_t end, GArray *acts)
{
	guint count;
	const struct dtc_owned *owned = dtc_serving_get_owned(search->serving, search->node, thread, &count);
	for (guint i = DTC_BISECT(k, 0, count, owned[k].call < first); i < count && owned[i].call < end; i++) {
		bool is_new = true;
		if (owned[i].read != DTC_NONE && owned[i].read >= first) {
			const struct dtc_call read = dtc_history_copy_call(search->history, owned[i].read);
			if (!is_local(search->history, &read))
				continue;
		}
		for (guint k = 0; k < acts->len; k++)
			is_new &= g_array_index(acts, guint, k) != owned[i].request;
		if (is_new)
			g_array_append_val(acts, owned[i].request);
	}
}

/* Of the writes that a loop's turn took, by when they were made, each is for one request that it goes on with. */
static int compare_writes(gconstpointer a, gconstpointer b, gpointer data)
{
	const DtcHistory *h = data;
	const struct brought *x = a, *y = b;
	int64_t x_ns = dtc_history_get_call_begin_ns(h, x->write), y_ns = dtc_history_get_call_begin_ns(h, y->write);
	return x_ns != y_ns ? (x_ns < y_ns ? -1 : 1) : compare_brought(a, b);
}

/* The last that a thread waited for before a call was whatever comes on many descriptors: a loop, and no pool's. */
static bool is_loop(const DtcHistory *h, uint32_t call)
{
	uint32_t first = dtc_history_get_thread(h, dtc_history_copy_call(h, call).thread)->call_first;
	for (uint32_t i = call; i-- > first && call - i < TURN_CALLS;) {
		const struct dtc_call before = dtc_history_copy_call(h, i);
		if (before.kind == DTC_CALL_POLL && !dtc_call_is_glance(&before))
			return before.file != DTC_NONE; /* of epoll */
	}
	return false;
}

/* A loop that calls another one: its own calls tell for whom it works (BIND). */
static bool tells_itself(const struct search *search, const struct brought *brought, int64_t at_ns)
{
	const struct dtc_served *span = dtc_serving_find_span(search->serving, search->node, brought->writer, at_ns);
	return span && !span->leads && is_loop(search->history, brought->write);
}

/* What a loop was told in one turn, from an index of what was brought on. Returns the index behind. */
static guint look_at_turn(struct search *search, guint from)
{
	const DtcHistory *h = search->history;
	const struct brought head = g_array_index(search->brought, struct brought, from);
	uint32_t first, end, acting;
	guint next = from + 1;

	dtc_serving_get_owned(search->serving, search->node, head.reader, &acting);
	if (!acting)
		return next;
	bool is_found = find_turn(h, head.reader, head.read, &first, &end);
	while (next < search->brought->len && g_array_index(search->brought, struct brought, next).read < end)
		next++;
	g_autoptr(GArray) acts = g_array_new(FALSE, FALSE, sizeof(guint));
	list_acts(search, head.reader, first, end, acts);
	if (!is_found || acts->len != next - from)
		return next;
	g_autofree struct brought *told = g_memdup2(&g_array_index(search->brought, struct brought, from),
						    (next - from) * sizeof(struct brought));
	g_qsort_with_data(told, (gint)(next - from), sizeof(*told), compare_writes, (gpointer)h);
	for (guint i = 0; i < acts->len; i++) {
		guint request = g_array_index(acts, guint, i);
		int64_t at_ns = dtc_history_get_call_begin_ns(h, told[i].write);
		int64_t since_ns = find_since_ns(search, head.reader, request, at_ns);
		if (!tells_itself(search, &told[i], at_ns))
			add(search, told[i].writer, head.reader, request, since_ns, at_ns);
		g_hash_table_add(search->known, GUINT_TO_POINTER(told[i].write));
	}
	return next;
}

/* --- by answering --- */

/* Whether a read took what others ask, or have for whoever comes; not what the thread itself had asked. */
static bool takes_question(const DtcHistory *h, const struct dtc_call *call)
{
	return call->kind == DTC_CALL_READ && call->result > 0 && call->file != DTC_NONE &&
	       dtc_history_get_file(h, call->file)->kind == DTC_FILE_SOCKET &&
	       !dtc_endpoint_has_connected(h, call->file);
}

/*
 * When a thread had given the answer before this one, or was born, if it has taken no question since then: a pool's, to
 * whom others give them; or when it had last waited for one in vain. DTC_TIME_NONE: it has.
 */
static int64_t find_answered_ns(const DtcHistory *h, const struct dtc_owned *owned, guint i, bool *ret_has_waited)
{
	*ret_has_waited = false;
	const struct dtc_call answer = dtc_history_copy_call(h, owned[i].call);
	const struct dtc_thread *thread = dtc_history_get_thread(h, answer.thread);
	for (uint32_t at = owned[i].call; at-- > thread->call_first;) {
		struct dtc_call place;
		const struct dtc_call *call = dtc_history_get_call(h, at, &place);
		if (owned[i].call - at == TURN_CALLS || takes_question(h, call))
			return DTC_TIME_NONE;
		*ret_has_waited =
			call->kind == DTC_CALL_ACCEPT || (call->kind == DTC_CALL_POLL && !dtc_call_is_glance(call));
		if (*ret_has_waited)
			return get_end_ns(call);
		while (i && owned[i - 1].call > at)
			i--;
		if (i && owned[i - 1].call == at && !dtc_endpoint_has_connected(h, call->file))
			return get_end_ns(call);
	}
	return thread->begin_ns;
}

/* When another thread had read the last that came before an answer on its connection; DTC_TIME_NONE: none has. */
static int64_t find_asked_ns(const DtcHistory *h, const struct dtc_call *answer)
{
	uint32_t count;
	const uint32_t *calls = dtc_history_get_file_calls(h, answer->file, &count);
	uint32_t i = DTC_BISECT(k, 0, count, dtc_history_get_call_begin_ns(h, calls[k]) < answer->begin_ns);
	while (i-- > 0) {
		const struct dtc_call call = dtc_history_copy_call(h, calls[i]);
		if (call.kind == DTC_CALL_READ && call.result > 0)
			return call.thread == answer->thread ? DTC_TIME_NONE : get_end_ns(&call);
	}
	return DTC_TIME_NONE;
}

/* A thread that answers what others had read tells for whom it has worked since it gave the answer before. */
static void look_at_answers(struct search *search, uint32_t thread)
{
	const DtcHistory *h = search->history;
	guint count;
	const struct dtc_owned *owned = dtc_serving_get_owned(search->serving, search->node, thread, &count);
	for (guint i = 0; i < count; i++) {
		const struct dtc_call answer = dtc_history_copy_call(h, owned[i].call);
		if (answer.kind != DTC_CALL_WRITE || dtc_endpoint_has_connected(h, answer.file) ||
		    dtc_local_bytes_is_local(h, answer.file) || (i && owned[i - 1].call == owned[i].call))
			continue;
		int64_t asked_ns = find_asked_ns(h, &answer);
		bool has_waited;
		int64_t since_ns = asked_ns == DTC_TIME_NONE ? asked_ns : find_answered_ns(h, owned, i, &has_waited);
		if (since_ns == DTC_TIME_NONE)
			continue;
		if (!owned[i].stream) /* else that may be another question */
			since_ns = MAX(since_ns, asked_ns);
		const struct dtc_given_back back = {
			thread, thread, owned[i].request, since_ns, answer.begin_ns, false
		};
		g_array_append_val(search->answers, back);
		if (!has_waited || !is_loop(h, owned[i].call))
			g_array_append_val(search->found, back);
	}
}

/* The first answer of a thread behind a time; they are by thread. NULL: none. */
static const struct dtc_given_back *find_answer(const GArray *answers, uint32_t thread, int64_t at_ns)
{
	guint i = DTC_BISECT(k, 0, answers->len,
			     g_array_index(answers, struct dtc_given_back, k).thread < thread ||
				     (g_array_index(answers, struct dtc_given_back, k).thread == thread &&
				      g_array_index(answers, struct dtc_given_back, k).at_ns <= at_ns));
	const struct dtc_given_back *answer =
		i < answers->len ? &g_array_index(answers, struct dtc_given_back, i) : NULL;
	return answer && answer->thread == thread ? answer : NULL;
}

/*
 * Who answers a question next that was there, and who was free for it, before the request began of the one that it
 * wakes, was at that question: first in, first out. It lets go a lock for which that one waits, at a condition of its
 * own, at which nobody else waits (Ruby's Mutex, behind a reactor that reads the questions).
 */
static void drop_locks(struct search *search)
{
	guint kept = 0;
	for (guint i = 0; i < search->found->len; i++) {
		const struct dtc_given_back back = g_array_index(search->found, struct dtc_given_back, i);
		const struct dtc_given_back *answer = find_answer(search->answers, back.thread, back.at_ns);
		if (!answer || answer->request == back.request || answer->since_ns >= back.since_ns)
			g_array_index(search->found, struct dtc_given_back, kept++) = back;
	}
	g_array_set_size(search->found, kept);
}

/* --- by who gives on what others have done --- */

static int compare_backs(gconstpointer a, gconstpointer b)
{
	const struct dtc_given_back *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->target < y->target ? -1 : x->target > y->target;
}

static int compare_by_thread(gconstpointer a, gconstpointer b)
{
	const struct dtc_given_back *x = a, *y = b;

	return x->thread != y->thread ? (x->thread < y->thread ? -1 : 1) : compare_backs(a, b);
}

/* The only one who wrote what a thread had read last before it gave a piece back, and since it gave back another one.
 */
static bool find_writer(const struct search *search, const struct dtc_given_back *back, int64_t before_ns,
			struct brought *ret_brought)
{
	const DtcHistory *h = search->history;
	const GArray *all = search->brought;
	uint32_t last = dtc_history_find_call(h, back->thread, back->at_ns);
	if (last == DTC_NONE)
		return false;
	guint end = DTC_BISECT(i, 0, all->len, g_array_index(all, struct brought, i).read <= last);
	if (!end)
		return false;
	*ret_brought = g_array_index(all, struct brought, end - 1);
	if (ret_brought->reader != back->thread || dtc_history_get_call_begin_ns(h, ret_brought->read) < before_ns)
		return false;
	for (guint i = end - 1; i-- > 0 && g_array_index(all, struct brought, i).read == ret_brought->read;)
		if (g_array_index(all, struct brought, i).writer != ret_brought->writer)
			return false;
	return true;
}

/*
 * Who woke a thread last before it gave a piece back, and since it gave back another one: a queue's, which writes what
 * another one has done. Not whose own calls tell: it had given the thread that piece.
 */
static bool find_waker(const struct search *search, const DtcLockWords *locks, const struct dtc_given_back *back,
		       int64_t before_ns, struct dtc_wake *ret_wake)
{
	const DtcHistory *h = search->history;
	struct dtc_interval place;
	const struct dtc_interval *v = dtc_history_find_interval_before(h, back->thread, back->at_ns, &place);
	for (guint seen = 0; v && v->end_ns > before_ns && seen < TURN_CALLS; seen++) {
		struct dtc_wake wake_place;
		const struct dtc_wake *wake = dtc_state_is_wait(v->state) && v->ref != DTC_NONE
						      ? dtc_history_get_wake(h, v->ref, &wake_place)
						      : NULL;
		uint32_t sleep = wake && !wake->is_inferred ? dtc_lock_words_get_wait(locks, v->ref) : DTC_NONE;
		if (sleep != DTC_NONE) {
			struct dtc_call call_place;
			const struct dtc_call *call = dtc_history_get_call(h, sleep, &call_place);
			if (!dtc_lock_words_is_handed(locks, wake->thread, call)) {
				*ret_wake = *wake;
				return !dtc_serving_find_span(search->serving, search->node, wake->thread,
							      wake->waking_ns);
			}
		}
		v = dtc_history_find_interval_before(h, back->thread, v->begin_ns, &place);
	}
	return false;
}

/* From one round's pieces to those of whom these were taken. */
static void follow(struct search *search, const DtcLockWords *locks, guint first)
{
	g_autoptr(GArray) round = g_array_new(FALSE, FALSE, sizeof(struct dtc_given_back));
	g_array_append_vals(round, &g_array_index(search->found, struct dtc_given_back, first),
			    search->found->len - first);
	g_array_sort(round, compare_by_thread);
	for (guint i = 0; i < round->len; i++) {
		const struct dtc_given_back *back = &g_array_index(round, struct dtc_given_back, i);
		int64_t before_ns = i && back[-1].thread == back->thread ? back[-1].at_ns : INT64_MIN;
		struct brought brought;
		struct dtc_wake wake;
		if (find_writer(search, back, before_ns, &brought)) {
			if (g_hash_table_add(search->known, GUINT_TO_POINTER(brought.write)))
				add(search, brought.writer, back->thread, back->request, back->since_ns,
				    dtc_history_get_call_begin_ns(search->history, brought.write));
		} else if (find_waker(search, locks, back, before_ns, &wake) && wake.waking_ns > back->since_ns) {
			add(search, wake.thread, back->thread, back->request, back->since_ns, wake.waking_ns);
		}
	}
}

static int compare_by_write(gconstpointer a, gconstpointer b)
{
	const struct brought *x = a, *y = b;

	return x->write != y->write ? (x->write < y->write ? -1 : 1) : compare_brought(a, b);
}

/* The first that a thread took behind a time, before another one: DTC_TIME_NONE: nothing. */
static int64_t find_taken_ns(const struct search *search, uint32_t thread, int64_t after_ns, int64_t before_ns)
{
	const DtcHistory *h = search->history;
	const GArray *all = search->brought;
	uint32_t last = dtc_history_find_call(h, thread, after_ns);
	uint32_t from = last == DTC_NONE ? dtc_history_get_thread(h, thread)->call_first : last + 1;
	guint i = DTC_BISECT(k, 0, all->len, g_array_index(all, struct brought, k).read < from);
	for (; i < all->len; i++) {
		const struct brought *brought = &g_array_index(all, struct brought, i);
		const struct dtc_call read = dtc_history_copy_call(h, brought->read);
		if (brought->reader != thread || read.begin_ns >= before_ns)
			break;
		if (dtc_history_get_thread(h, brought->writer)->parent != thread)
			return get_end_ns(&read);
	}
	return DTC_TIME_NONE;
}

/* Two writes, one right after the other, but for a lock: parts of one message. */
static bool are_parts(const DtcHistory *h, uint32_t write, uint32_t next)
{
	if (dtc_history_copy_call(h, write).file != dtc_history_copy_call(h, next).file)
		return false;
	for (uint32_t i = write + 1; i < next; i++) {
		struct dtc_call place;
		if (dtc_history_get_call(h, i, &place)->kind != DTC_CALL_FUTEX)
			return false;
	}
	return true;
}

/*
 * Who has told of something that is not known is at another piece since then; but for what it tells its own child, and
 * for parts of a message.
 */
static void add_unknown(struct search *search)
{
	const DtcHistory *h = search->history;
	g_autoptr(GArray) all = g_array_copy(search->brought);
	g_array_sort(all, compare_by_write);
	for (guint i = 0; i < all->len; i++) {
		const struct brought *brought = &g_array_index(all, struct brought, i);
		int64_t at_ns = dtc_history_get_call_begin_ns(h, brought->write);
		if (g_hash_table_contains(search->known, GUINT_TO_POINTER(brought->write)) ||
		    dtc_history_get_thread(h, brought->reader)->parent == brought->writer)
			continue;
		if (i + 1 < all->len && brought[1].writer == brought->writer &&
		    are_parts(h, brought->write, brought[1].write))
			continue;
		add(search, brought->writer, brought->reader, DTC_NO_REQUEST, at_ns, at_ns);
	}
}

/* A piece begins with what its thread took first since the one before. */
static void cut_begins(struct search *search)
{
	g_array_sort(search->found, compare_by_thread);
	for (guint i = 0; i < search->found->len; i++) {
		struct dtc_given_back *back = &g_array_index(search->found, struct dtc_given_back, i);
		if (back->request == DTC_NO_REQUEST)
			continue;
		if (i && back[-1].thread == back->thread)
			back->since_ns = MAX(back->since_ns, back[-1].at_ns);
		int64_t taken_ns = find_taken_ns(search, back->thread, back->since_ns, back->at_ns);
		if (taken_ns != DTC_TIME_NONE)
			back->since_ns = taken_ns;
	}
}

GArray *dtc_give_back_list(const DtcServing *serving, guint node, const DtcHistory *h, const DtcLockWords *locks)
{
	g_autoptr(GArray) brought = g_array_new(FALSE, FALSE, sizeof(struct brought));
	g_autoptr(GHashTable) known = g_hash_table_new(g_direct_hash, g_direct_equal);
	g_autoptr(GArray) answers = g_array_new(FALSE, FALSE, sizeof(struct dtc_given_back));
	struct search search = { .serving = serving,
				 .node = node,
				 .history = h,
				 .found = g_array_new(FALSE, FALSE, sizeof(struct dtc_given_back)),
				 .answers = answers,
				 .brought = brought,
				 .known = known,
				 .has_unseen = dtc_unseen_is_any(h) };

	for (uint32_t i = 0; i < dtc_history_get_wake_count(h); i++)
		look_at_wake(&search, locks, i);
	for (uint32_t i = 0; i < dtc_history_get_thread_count(h); i++)
		look_at_answers(&search, i);
	drop_locks(&search);
	collect_brought(&search);
	for (guint i = 0; i < brought->len;)
		i = look_at_turn(&search, i);
	guint first = 0;
	for (guint round = 0; round < ROUNDS && first < search.found->len; round++) {
		guint end = search.found->len;
		follow(&search, locks, first);
		first = end;
	}
	add_unknown(&search);
	cut_begins(&search);
	g_array_sort(search.found, compare_backs);
	return search.found;
}
