/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A question into a guest and its answer, carried by a thread of vhost whose CPU another program wants. Events are in
 * the order of Linux 6.1 (drivers/vhost, drivers/net/tun.c), as recorded with clusters/vm.
 */
#include "analyze/edge/carriage.h"
#include "analyze/path/walk.h"
#include "tests/support/host_story.h"
#include "tests/support/said.h"

#define CLIENT 0x0a4e0001u
#define SERVER 0x0a4e0002u
#define NET_RX 3
#define VIRTIO 41

/* What differs from one story to the next. */
struct variant {
	bool is_awake;	   /* vhost's thread was busy with something else when it got the packets */
	bool is_silent;	   /* it raises no interrupt: the guest looks by itself */
	bool is_posted;	   /* the processor puts the interrupt in, and the host's kernel logs no injection */
	bool is_forwarded; /* from and to another machine */
};

static const struct dtc_headers *question(void)
{
	static struct dtc_headers headers;
	headers = story_headers(CLIENT, 1000, SERVER, 80, 101, 501, DTC_TCP_ACK, 100, 7);
	return &headers;
}

static const struct dtc_headers *answer(void)
{
	static struct dtc_headers headers;
	headers = story_headers(SERVER, 80, CLIENT, 1000, 501, 201, DTC_TCP_ACK, 100, 8);
	return &headers;
}

/* CPU 0 is the guest's, CPU 1 everybody else's. */
static void tell_question(struct story *s, const struct variant *v)
{
	int rest = v->is_awake ? RUN : SLEEP;
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, 40, "vhost-19");
	story_switch(s, 2, 1, 40, "vhost-19", rest, 50, "client");
	story_ioctl(s, 5, 0, STORY_KVM_RUN);
	story_guest_irq(s, DTC_EVENT_KVM_ACCEPT, 8, 0, 0, 236);
	if (!v->is_posted)
		story_guest_irq(s, DTC_EVENT_KVM_INJECT, 9, 0, 0, 236);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 60, 0, HALT);
	story_switch(s, 65, 0, 20, "CPU 0/KVM", SLEEP, 0, "swapper/0");
	if (v->is_forwarded) {
		story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 106, 1, NET_RX, NULL);
		story_packet(s, DTC_EVENT_NET_RECEIVE, 108, 1, question());
	} else {
		story_enter(s, 100, 1, "write", 5);
	}
	story_packet(s, DTC_EVENT_NET_SEND, 110, 1, question());
	if (!v->is_awake)
		story_task(s, DTC_EVENT_SCHED_WAKING, 112, 1, 40, "vhost-19", 1);
	if (v->is_forwarded) {
		story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 115, 1, NET_RX, NULL);
	} else {
		story_leave(s, 120, 1, "write", 100);
		story_enter(s, 130, 1, "read", 5);
	}
	story_switch(s, 140, 1, 50, "client", SLEEP, 30, "hog");
	story_switch(s, 300, 1, 30, "hog", RUN, 40, "vhost-19");
	if (!v->is_silent)
		story_guest_irq(s, DTC_EVENT_KVM_ACCEPT, 340, 1, 0, VIRTIO);
	story_task(s, DTC_EVENT_SCHED_WAKING, 341, 1, 20, "CPU 0/KVM", 0);
	story_switch(s, 350, 1, 40, "vhost-19", rest, 30, "hog");
	story_switch(s, 360, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	if (!v->is_silent && !v->is_posted)
		story_guest_irq(s, DTC_EVENT_KVM_INJECT, 365, 0, 0, VIRTIO);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 370, 0, 0);
}

static void tell_answer(struct story *s, const struct variant *v)
{
	story_vm(s, DTC_EVENT_KVM_EXIT, 460, 0, FAULT); /* the kick */
	if (!v->is_awake)
		story_task(s, DTC_EVENT_SCHED_WAKING, 465, 0, 40, "vhost-19", 1);
	story_vm(s, DTC_EVENT_KVM_ENTRY, 470, 0, 0);
	story_vm(s, DTC_EVENT_KVM_EXIT, 500, 0, HALT);
	story_switch(s, 505, 0, 20, "CPU 0/KVM", SLEEP, 0, "swapper/0");
	story_switch(s, 600, 1, 30, "hog", RUN, 40, "vhost-19");
	story_packet(s, DTC_EVENT_NET_RECEIVE, 620, 1, answer());
	if (v->is_forwarded)
		story_packet(s, DTC_EVENT_NET_SEND, 625, 1, answer());
	story_task(s, DTC_EVENT_SCHED_WAKING, 630, 1, 50, "client", 1);
	story_switch(s, 640, 1, 40, "vhost-19", SLEEP, 50, "client");
	if (!v->is_forwarded)
		story_leave(s, 650, 1, "read", 100);
	story_switch(s, 700, 1, 50, "client", SLEEP, 0, "swapper/1");
}

static void tell_server(struct story *s)
{
	story_switch(s, SHIFT + 20, 0, 0, "swapper/0", RUN, 7, "server");
	story_enter(s, SHIFT + 30, 0, "read", 6);
	story_switch(s, SHIFT + 40, 0, 7, "server", SLEEP, 0, "swapper/0");
	story_context(s, DTC_EVENT_IRQ_ENTRY, SHIFT + 380, 0, 31, "virtio0-input.0");
	story_context(s, DTC_EVENT_IRQ_EXIT, SHIFT + 385, 0, 31, NULL);
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, SHIFT + 386, 0, NET_RX, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, SHIFT + 395, 0, question());
	story_task(s, DTC_EVENT_SCHED_WAKING, SHIFT + 400, 0, 7, "server", 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, SHIFT + 405, 0, NET_RX, NULL);
	story_switch(s, SHIFT + 410, 0, 0, "swapper/0", RUN, 7, "server");
	story_leave(s, SHIFT + 420, 0, "read", 100);
	story_enter(s, SHIFT + 440, 0, "write", 6);
	story_packet(s, DTC_EVENT_NET_SEND, SHIFT + 450, 0, answer());
	story_leave(s, SHIFT + 475, 0, "write", 100);
	story_enter(s, SHIFT + 480, 0, "read", 6);
	story_switch(s, SHIFT + 490, 0, 7, "server", SLEEP, 0, "swapper/0");
}

static void tell_remote(struct story *s)
{
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 60, "client");
	story_enter(s, 90, 0, "write", 5);
	story_packet(s, DTC_EVENT_NET_SEND, 95, 0, question());
	story_leave(s, 100, 0, "write", 100);
	story_enter(s, 130, 0, "read", 5);
	story_switch(s, 140, 0, 60, "client", SLEEP, 0, "swapper/0");
	story_context(s, DTC_EVENT_SOFTIRQ_ENTRY, 655, 0, NET_RX, NULL);
	story_packet(s, DTC_EVENT_NET_RECEIVE, 660, 0, answer());
	story_task(s, DTC_EVENT_SCHED_WAKING, 665, 0, 60, "client", 0);
	story_context(s, DTC_EVENT_SOFTIRQ_EXIT, 666, 0, NET_RX, NULL);
	story_switch(s, 670, 0, 0, "swapper/0", RUN, 60, "client");
	story_leave(s, 680, 0, "read", 100);
}

static void tell(struct host_story *p, const struct variant *v)
{
	host_story_begin(p);
	if (v->is_forwarded) {
		host_story_add_remote(p);
		tell_remote(&p->remote);
	}
	tell_question(&p->host, v);
	tell_answer(&p->host, v);
	tell_server(&p->guest);
	host_story_end(p, "20");
}

static uint32_t find_packet(const DtcHistory *h, int64_t time_ns)
{
	const DtcPackets *packets = dtc_history_get_packets(h);
	for (uint32_t i = 0; i < dtc_packets_get_count(packets); i++)
		if (dtc_packets_get_time_ns(packets, i) == time_ns)
			return i;
	g_assert_not_reached();
}

/* The carriage of the packet that a node received at a time. */
static bool find_carriage(const struct host_story *p, guint node, int64_t time_ns, struct dtc_carriage *ret_carriage)
{
	uint32_t packet = find_packet(p->histories[node], time_ns);
	const struct dtc_arrival arrival = {
		.node = node,
		.time_ns = time_ns,
		.packet = packet,
		.flow = dtc_packets_get_flow_of(dtc_history_get_packets(p->histories[node]), packet),
		.file = DTC_NONE,
		.exact = true,
	};
	struct dtc_sender sender;
	g_assert_true(dtc_arrival_find_sender(p->links, &arrival, &sender));
	return node == GUEST ? dtc_carriage_find_in(p->links, &arrival, &sender, ret_carriage)
			     : dtc_carriage_find_out(p->links, &arrival, &sender, ret_carriage);
}

static int get_tid(const struct host_story *p, const struct dtc_carriage *carriage)
{
	return dtc_history_get_thread(p->histories[carriage->host], carriage->thread)->tid;
}

static void test_carriages(void)
{
	static const struct variant variants[] = {
		{ 0 }, { .is_awake = true }, { .is_silent = true }, { .is_posted = true }, { .is_forwarded = true },
	};
	for (guint i = 0; i < G_N_ELEMENTS(variants); i++) {
		struct host_story p;
		struct dtc_carriage in, out;
		tell(&p, &variants[i]);
		g_assert_true(find_carriage(&p, GUEST, SHIFT + 395, &in));
		g_assert_cmpint(get_tid(&p, &in), ==, 40);
		g_assert_cmpint(in.has_interrupt, ==, !variants[i].is_silent);
		g_assert_cmpint(in.done_ns, ==, variants[i].is_silent ? 350 : 340);
		g_assert_cmpint(in.exact, ==, i == 0 || variants[i].is_forwarded);
		bool is_forwarded = variants[i].is_forwarded;
		g_assert_true(find_carriage(&p, is_forwarded ? REMOTE : HOST, is_forwarded ? 660 : 620, &out));
		g_assert_cmpint(get_tid(&p, &out), ==, 40);
		g_assert_cmpint(out.done_ns, ==, 620);
		g_assert_cmpint(out.exact, ==, !variants[i].is_awake);
		host_story_clear(&p);
	}
}

/*
 * The guest connects to its host: that one's kernel answers in the context of the thread that brought the SYN, which
 * did not send anything.
 */
static void test_handshake(void)
{
	struct host_story p;
	host_story_begin(&p);
	struct dtc_headers syn = story_headers(SERVER, 2000, CLIENT, 80, 100, 0, DTC_TCP_SYN, 0, 1);
	struct dtc_headers syn_ack = story_headers(CLIENT, 80, SERVER, 2000, 300, 101, DTC_TCP_SYN | DTC_TCP_ACK, 0, 0);
	struct story *s = &p.host;
	story_switch(s, 0, 0, 0, "swapper/0", RUN, 20, "CPU 0/KVM");
	story_switch(s, 1, 1, 0, "swapper/1", RUN, 40, "vhost-19");
	story_vm(s, DTC_EVENT_KVM_ENTRY, 10, 0, 0);
	story_packet(s, DTC_EVENT_NET_RECEIVE, 120, 1, &syn);
	story_packet(s, DTC_EVENT_NET_SEND, 130, 1, &syn_ack);
	story_switch(s, 200, 1, 40, "vhost-19", SLEEP, 0, "swapper/1");
	story_vm(s, DTC_EVENT_KVM_EXIT, 300, 0, INTR);
	s = &p.guest;
	story_switch(s, SHIFT + 20, 0, 0, "swapper/0", RUN, 7, "client");
	story_packet(s, DTC_EVENT_NET_SEND, SHIFT + 100, 0, &syn);
	story_packet(s, DTC_EVENT_NET_RECEIVE, SHIFT + 150, 0, &syn_ack);
	story_switch(s, SHIFT + 200, 0, 7, "client", SLEEP, 0, "swapper/0");
	host_story_end(&p, "20");
	uint32_t packet = find_packet(p.histories[GUEST], SHIFT + 150);
	const struct dtc_arrival arrival = {
		.node = GUEST,
		.time_ns = SHIFT + 150,
		.packet = packet,
		.flow = dtc_packets_get_flow_of(dtc_history_get_packets(p.histories[GUEST]), packet),
		.file = DTC_NONE,
	};
	struct dtc_sender sender;
	g_assert_true(dtc_arrival_find_sender(p.links, &arrival, &sender));
	g_assert_true(sender.relayed);
	g_assert_cmpuint(sender.thread, ==, DTC_NONE);
	g_assert_cmpuint(sender.cause.packet, ==, find_packet(p.histories[HOST], 120));
	host_story_clear(&p);
}

/* What the path must be, from its begin: up to when, whose, and why. */
struct want {
	int64_t end;
	guint node;
	int tid;
	enum dtc_cause cause;
	const char *detail; /* NULL: whatever */
};

static void assert_path(const struct variant *v, const struct want *wants, guint count)
{
	struct host_story p;
	guint node = v->is_forwarded ? REMOTE : HOST;
	tell(&p, v);
	const struct dtc_path_target target = {
		.node = node,
		.thread = dtc_history_find_thread(p.histories[node], v->is_forwarded ? 60 : 50, DTC_TIME_NONE),
		.begin = { v->is_forwarded ? 90 : 100 },
		.end = { v->is_forwarded ? 680 : 650 },
		.call = DTC_NONE,
	};
	const struct dtc_path_options options = { 0 };
	GError *error = NULL;
	g_autoptr(DtcEdges) edges = dtc_edges_new(p.links);
	g_autoptr(DtcPath) path = dtc_path_walk(edges, &target, &options, &error);
	g_assert_no_error(error);
	dtc_path_check(path, &error);
	g_assert_no_error(error);
	for (guint i = 0; i < dtc_path_get_segment_count(path); i++) {
		const struct dtc_segment *s = dtc_path_get_segment(path, i);
		g_test_message("to %d: %s %d, %s: %s", (int)s->end.ns, host_story_names[s->node], s->tid,
			       dtc_cause_to_string(s->cause), said_of_segment(p.links, s));
		g_assert_cmpuint(i, <, count);
		g_assert_cmpint(s->end.ns, ==, wants[i].end);
		g_assert_cmpuint(s->node, ==, wants[i].node);
		g_assert_cmpint(s->tid, ==, wants[i].tid);
		g_assert_cmpstr(dtc_cause_to_string(s->cause), ==, dtc_cause_to_string(wants[i].cause));
		if (wants[i].detail)
			g_assert_cmpstr(said_of_segment(p.links, s), ==, wants[i].detail);
	}
	g_assert_cmpuint(dtc_path_get_segment_count(path), ==, count);
	host_story_clear(&p);
}

/* Both wakeups of the carrier are the packets', and its wait for the CPU is why they came late. */
static void test_asleep(void)
{
	static const struct variant variant = { 0 };
	static const struct want wants[] = {
		{ 110, HOST, 50, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 112, HOST, 50, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 300, HOST, 40, DTC_CAUSE_RUNQUEUE, "by hog (tid 30), client (tid 50)" },
		{ 340, HOST, 40, DTC_CAUSE_RUNNING_USER, NULL },
		{ 341, GUEST, 7, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 360, GUEST, 7, DTC_CAUSE_VM_PREEMPTED, NULL },
		{ 370, GUEST, 7, DTC_CAUSE_VM_EXIT, "halt, handled by the kernel of host" },
		{ 395, GUEST, 7, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 400, GUEST, 7, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 410, GUEST, 7, DTC_CAUSE_RUNQUEUE, NULL },
		{ 420, GUEST, 7, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 440, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ 450, GUEST, 7, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 460, GUEST, 7, DTC_CAUSE_NETWORK_WIRE, "100 bytes from guest 10.78.0.2:80 to 10.78.0.1:1000" },
		{ 465, GUEST, 7, DTC_CAUSE_VM_EXIT, "nested page fault, handled by the kernel of host" },
		{ 600, HOST, 40, DTC_CAUSE_RUNQUEUE, "by hog (tid 30)" },
		{ 620, HOST, 40, DTC_CAUSE_RUNNING_USER, NULL },
		{ 630, HOST, 50, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 640, HOST, 50, DTC_CAUSE_RUNQUEUE, NULL },
		{ 650, HOST, 50, DTC_CAUSE_RUNNING_KERNEL, NULL },
	};
	assert_path(&variant, wants, G_N_ELEMENTS(wants));
}

/* Nobody woke the carrier, which had other work: what it did since the packets were there is why. */
static void test_awake(void)
{
	static const struct variant variant = { .is_awake = true };
	static const struct want wants[] = {
		{ 110, HOST, 50, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 300, HOST, 40, DTC_CAUSE_PREEMPTED, "by hog (tid 30), client (tid 50)" },
		{ 340, HOST, 40, DTC_CAUSE_RUNNING_USER, NULL },
		{ 341, GUEST, 7, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 360, GUEST, 7, DTC_CAUSE_VM_PREEMPTED, NULL },
		{ 370, GUEST, 7, DTC_CAUSE_VM_EXIT, "halt, handled by the kernel of host" },
		{ 395, GUEST, 7, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 400, GUEST, 7, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 410, GUEST, 7, DTC_CAUSE_RUNQUEUE, NULL },
		{ 420, GUEST, 7, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 440, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ 450, GUEST, 7, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 600, HOST, 40, DTC_CAUSE_PREEMPTED, "by hog (tid 30)" },
		{ 620, HOST, 40, DTC_CAUSE_RUNNING_USER, NULL },
		{ 630, HOST, 50, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 640, HOST, 50, DTC_CAUSE_RUNQUEUE, NULL },
		{ 650, HOST, 50, DTC_CAUSE_RUNNING_KERNEL, NULL },
	};
	assert_path(&variant, wants, G_N_ELEMENTS(wants));
}

/* From another machine and back to it: the wire ends and begins where the host had the packet. */
static void test_forwarded(void)
{
	static const struct variant variant = { .is_forwarded = true };
	static const struct want wants[] = {
		{ 95, REMOTE, 60, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 108, HOST, 40, DTC_CAUSE_NETWORK_WIRE, "100 bytes from remote 10.78.0.1:1000 to 10.78.0.2:80" },
		{ 112, HOST, 40, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 300, HOST, 40, DTC_CAUSE_RUNQUEUE, NULL },
		{ 340, HOST, 40, DTC_CAUSE_RUNNING_USER, NULL },
		{ 341, GUEST, 7, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 360, GUEST, 7, DTC_CAUSE_VM_PREEMPTED, NULL },
		{ 370, GUEST, 7, DTC_CAUSE_VM_EXIT, NULL },
		{ 395, GUEST, 7, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 400, GUEST, 7, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 410, GUEST, 7, DTC_CAUSE_RUNQUEUE, NULL },
		{ 420, GUEST, 7, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 440, GUEST, 7, DTC_CAUSE_RUNNING_USER, NULL },
		{ 450, GUEST, 7, DTC_CAUSE_RUNNING_KERNEL, NULL },
		{ 460, GUEST, 7, DTC_CAUSE_NETWORK_WIRE, "100 bytes from guest 10.78.0.2:80 to 10.78.0.1:1000" },
		{ 465, GUEST, 7, DTC_CAUSE_VM_EXIT, NULL },
		{ 600, HOST, 40, DTC_CAUSE_RUNQUEUE, "by hog (tid 30)" },
		{ 620, HOST, 40, DTC_CAUSE_RUNNING_USER, NULL },
		{ 660, REMOTE, 60, DTC_CAUSE_NETWORK_WIRE, "100 bytes from guest 10.78.0.2:80 to 10.78.0.1:1000" },
		{ 665, REMOTE, 60, DTC_CAUSE_NETWORK_RECEIVE, NULL },
		{ 670, REMOTE, 60, DTC_CAUSE_RUNQUEUE, NULL },
		{ 680, REMOTE, 60, DTC_CAUSE_RUNNING_KERNEL, NULL },
	};
	assert_path(&variant, wants, G_N_ELEMENTS(wants));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vhost/carriages", test_carriages);
	g_test_add_func("/vhost/handshake", test_handshake);
	g_test_add_func("/vhost/asleep", test_asleep);
	g_test_add_func("/vhost/awake", test_awake);
	g_test_add_func("/vhost/forwarded", test_forwarded);
	return g_test_run();
}
