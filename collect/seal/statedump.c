/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/seal/statedump.h"

#include <arpa/inet.h>
#include <string.h>

#define NAME_BYTES 16

#define INTEGER(bits, is_signed, name)                                                                                 \
	"integer { size = " #bits "; align = 8; signed = " #is_signed "; encoding = none; base = 10; } _" name ";\n"
#define ADDRESS(name) "integer { size = 64; align = 8; signed = 0; encoding = none; base = 16; } _" name ";\n"
#define STRING(name) "string _" name ";\n"

enum {
	DUMP_START,
	DUMP_PROCESS,
	DUMP_FILE,
	DUMP_NAMESPACE, /* and one for each that follows */
	DUMP_PID_NAMESPACE = DUMP_NAMESPACE + DTC_WALK_NAMESPACES,
	DUMP_INTERFACE,
	DUMP_INTERRUPT,
	DUMP_DISK,
	DUMP_PROGRAM,
	DUMP_SOCKET,
	DUMP_CPU_LIMIT,
	DUMP_END,
	DUMPS
};

#define NAMESPACE_FIELDS INTEGER(32, 1, "tid") INTEGER(32, 0, "ns_inum")

static const struct {
	const char *name; /* NULL: not written */
	const char *fields;
} dumps[DUMPS] = {
	[DUMP_START] = { "lttng_statedump_start", "" },
	[DUMP_PROCESS] = { "lttng_statedump_process_state",
			   INTEGER(32, 1, "tid") INTEGER(32, 1, "pid") INTEGER(
				   32, 1,
				   "ppid") "integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } "
					   "_name[16];\n" INTEGER(32, 1, "type") INTEGER(32, 1, "mode")
						   INTEGER(32, 1, "submode") INTEGER(32, 1, "status")
							   INTEGER(32, 0, "cpu") ADDRESS("file_table_address") },
	[DUMP_FILE] = { "lttng_statedump_file_descriptor",
			ADDRESS("file_table_address") INTEGER(32, 1, "fd") STRING("filename") },
	[DUMP_NAMESPACE + DTC_WALK_NET] = { "lttng_statedump_process_net_ns", NAMESPACE_FIELDS },
	[DUMP_NAMESPACE + DTC_WALK_MNT] = { "lttng_statedump_process_mnt_ns", NAMESPACE_FIELDS },
	[DUMP_NAMESPACE + DTC_WALK_USER] = { "lttng_statedump_process_user_ns", NAMESPACE_FIELDS },
	[DUMP_NAMESPACE + DTC_WALK_UTS] = { "lttng_statedump_process_uts_ns", NAMESPACE_FIELDS },
	[DUMP_NAMESPACE + DTC_WALK_IPC] = { "lttng_statedump_process_ipc_ns", NAMESPACE_FIELDS },
	[DUMP_NAMESPACE + DTC_WALK_CGROUP] = { "lttng_statedump_process_cgroup_ns", NAMESPACE_FIELDS },
	[DUMP_PID_NAMESPACE] = { "lttng_statedump_process_pid_ns",
				 INTEGER(32, 1, "tid") INTEGER(32, 1, "vtid") INTEGER(32, 0, "ns_inum") },
	[DUMP_INTERFACE] = { "lttng_statedump_network_interface",
			     STRING("name") "integer { size = 32; align = 8; signed = 0; encoding = none; base = 16; "
					    "byte_order = be; } _address_ipv4;\n" INTEGER(32, 0, "netns")
						    INTEGER(32, 0, "ifindex") },
	[DUMP_INTERRUPT] = { "lttng_statedump_interrupt", INTEGER(32, 0, "irq") STRING("action") },
	[DUMP_DISK] = { "lttng_statedump_block_device", INTEGER(32, 0, "dev") STRING("diskname") },
	[DUMP_PROGRAM] = { "dtrace_chain_statedump_process", INTEGER(32, 1, "pid") STRING("program") STRING("cgroup") },
	[DUMP_SOCKET] = { "dtrace_chain_statedump_socket",
			  INTEGER(32, 0, "netns") INTEGER(64, 0, "inode") STRING("protocol") STRING("local")
				  INTEGER(16, 0, "local_port") STRING("remote") INTEGER(16, 0, "remote_port")
					  INTEGER(16, 0, "state") },
	[DUMP_CPU_LIMIT] = { "dtrace_chain_statedump_cpu_limit",
			     INTEGER(32, 1, "pid") STRING("cgroup") INTEGER(32, 0, "quota_us")
				     INTEGER(32, 0, "period_us") INTEGER(64, 1, "throttled")
					     INTEGER(64, 1, "throttled_us") ADDRESS("period_timer") },
	[DUMP_END] = { "lttng_statedump_end", "" },
};

/* lttng-statedump-impl.c of lttng-modules */
enum { TYPE_USER, TYPE_KERNEL };
enum { MODE_UNKNOWN = 5, SUBMODE_UNKNOWN = 1 };
enum { STATUS_WAIT_CPU = 2, STATUS_ZOMBIE = 4, STATUS_WAIT = 5, STATUS_DEAD = 7 };

/* An event being made. */
struct dump {
	DtcCtfWriter *writer;
	uint32_t first_id;
	int64_t time_ns;
	uint64_t events;
	GByteArray *fields;
};

void dtc_statedump_declare(GString *tsdl, uint32_t first_id)
{
	for (uint32_t i = 0; i < DUMPS; i++)
		if (dumps[i].name)
			g_string_append_printf(
				tsdl,
				"event {\nname = \"%s\";\nid = %u;\nstream_id = 0;\nfields := struct {\n%s};\n};\n\n",
				dumps[i].name, first_id + i, dumps[i].fields);
}

static void put(struct dump *dump, const void *bytes, guint count)
{
	g_byte_array_append(dump->fields, bytes, count);
}

static void put_number(struct dump *dump, int64_t number, guint bytes)
{
	put(dump, &number, bytes);
}

static void put_text(struct dump *dump, const char *text)
{
	put(dump, text, (guint)strlen(text) + 1);
}

static void emit(struct dump *dump, uint32_t kind)
{
	guint bytes = dump->fields->len;
	uint8_t *to = dtc_ctf_writer_begin_event(dump->writer, dump->first_id + kind, dump->time_ns, bytes);
	if (bytes)
		memcpy(to, dump->fields->data, bytes);
	dtc_ctf_writer_end_event(dump->writer, bytes);
	g_byte_array_set_size(dump->fields, 0);
	dump->events++;
}

static int get_status(char state)
{
	switch (state) {
	case 'R':
		return STATUS_WAIT_CPU;
	case 'Z':
		return STATUS_ZOMBIE;
	case 'X':
	case 'x':
		return STATUS_DEAD;
	default:
		return STATUS_WAIT;
	}
}

static void dump_thread(struct dump *dump, const DtcWalk *walk, const struct dtc_walk_thread *thread)
{
	const struct dtc_walk_process *process = dtc_walk_find_process(walk, thread->pid);
	char name[NAME_BYTES] = { 0 };

	g_strlcpy(name, thread->name, sizeof name);
	put_number(dump, thread->tid, 4);
	put_number(dump, thread->pid, 4);
	put_number(dump, process ? process->ppid : 0, 4);
	put(dump, name, sizeof name);
	put_number(dump, thread->is_kernel ? TYPE_KERNEL : TYPE_USER, 4);
	put_number(dump, MODE_UNKNOWN, 4);
	put_number(dump, SUBMODE_UNKNOWN, 4);
	put_number(dump, get_status(thread->state), 4);
	put_number(dump, thread->cpu, 4);
	/* the kernel's address of it is not to be had: the process stands for it */
	put_number(dump, thread->pid, 8);
	emit(dump, DUMP_PROCESS);
}

static void dump_namespaces(struct dump *dump, const DtcWalk *walk, const struct dtc_walk_thread *thread)
{
	const struct dtc_walk_process *process = dtc_walk_find_process(walk, thread->pid);
	for (guint i = 0; process && i < DTC_WALK_NAMESPACES; i++) {
		if (!process->namespaces[i])
			continue;
		put_number(dump, thread->tid, 4);
		if (i == DTC_WALK_PID)
			put_number(dump, thread->vtid, 4);
		put_number(dump, process->namespaces[i], 4);
		emit(dump, i == DTC_WALK_PID ? DUMP_PID_NAMESPACE : DUMP_NAMESPACE + i);
	}
}

static void dump_processes(struct dump *dump, const DtcWalk *walk)
{
	for (guint i = 0; i < walk->threads->len; i++) {
		const struct dtc_walk_thread *thread = &g_array_index(walk->threads, struct dtc_walk_thread, i);
		dump_thread(dump, walk, thread);
		dump_namespaces(dump, walk, thread);
	}
	for (guint i = 0; i < walk->processes->len; i++) {
		const struct dtc_walk_process *process = &g_array_index(walk->processes, struct dtc_walk_process, i);
		put_number(dump, process->pid, 4);
		put_text(dump, process->program);
		put_text(dump, process->cgroup);
		emit(dump, DUMP_PROGRAM);
	}
	for (guint i = 0; i < walk->files->len; i++) {
		const struct dtc_walk_file *file = &g_array_index(walk->files, struct dtc_walk_file, i);
		put_number(dump, file->pid, 8);
		put_number(dump, file->fd, 4);
		put_text(dump, file->target);
		emit(dump, DUMP_FILE);
	}
}

static void dump_sockets(struct dump *dump, const DtcWalk *walk)
{
	for (guint i = 0; i < walk->sockets->len; i++) {
		const struct dtc_walk_socket *socket = &g_array_index(walk->sockets, struct dtc_walk_socket, i);
		put_number(dump, socket->netns, 4);
		put_number(dump, (int64_t)socket->inode, 8);
		put_text(dump, socket->protocol);
		put_text(dump, socket->local);
		put_number(dump, socket->local_port, 2);
		put_text(dump, socket->remote);
		put_number(dump, socket->remote_port, 2);
		put_number(dump, socket->state, 2);
		emit(dump, DUMP_SOCKET);
	}
}

/* As LTTng: once for each IPv4 address, and once with none for an interface that has none. */
static void dump_interface(struct dump *dump, const struct dtc_walk_interface *interface)
{
	guint dumped = 0;
	for (char **text = interface->addresses; *text || !dumped; text++) {
		g_autofree char *bare = *text ? g_strndup(*text, strcspn(*text, "/")) : g_strdup("0.0.0.0");
		struct in_addr address;
		bool is_ipv4 = inet_pton(AF_INET, bare, &address) == 1;
		if (is_ipv4) {
			put_text(dump, interface->name);
			put(dump, &address.s_addr, 4);
			put_number(dump, interface->netns, 4);
			put_number(dump, interface->index, 4);
			emit(dump, DUMP_INTERFACE);
			dumped++;
		}
		if (!*text)
			return;
	}
}

static void dump_machine(struct dump *dump, const DtcWalk *walk)
{
	for (guint i = 0; i < walk->interfaces->len; i++)
		dump_interface(dump, &g_array_index(walk->interfaces, struct dtc_walk_interface, i));
	for (guint i = 0; i < walk->irqs->len; i++) {
		const struct dtc_walk_irq *irq = &g_array_index(walk->irqs, struct dtc_walk_irq, i);
		put_number(dump, irq->irq, 4);
		put_text(dump, irq->actions);
		emit(dump, DUMP_INTERRUPT);
	}
	for (guint i = 0; i < walk->disks->len; i++) {
		const struct dtc_walk_disk *disk = &g_array_index(walk->disks, struct dtc_walk_disk, i);
		put_number(dump, (int64_t)disk->major << 20 | disk->minor, 4); /* as the kernel's dev_t */
		put_text(dump, disk->name);
		emit(dump, DUMP_DISK);
	}
}

/* What a count of a cgroup rose by from one walk to the other; -1: not known. */
static int64_t get_rise(int64_t begin, int64_t end)
{
	return begin < 0 || end < begin ? -1 : end - begin;
}

static void dump_held(struct dump *dump, const struct dtc_walk_held *held, const struct dtc_walk_limit *limit,
		      const struct dtc_walk_limit *other)
{
	put_number(dump, held->pid, 4);
	put_text(dump, held->cgroup);
	put_number(dump, limit->quota_us, 4);
	put_number(dump, limit->period_us, 4);
	put_number(dump, other ? get_rise(limit->throttled, other->throttled) : -1, 8);
	put_number(dump, other ? get_rise(limit->throttled_us, other->throttled_us) : -1, 8);
	put_number(dump, (int64_t)limit->timer, 8);
	emit(dump, DUMP_CPU_LIMIT);
}

static bool is_held(const DtcWalk *walk, int32_t pid)
{
	for (guint i = 0; i < walk->held->len; i++)
		if (g_array_index(walk->held, struct dtc_walk_held, i).pid == pid)
			return true;
	return false;
}

/* Those of the begin, and of what came later. */
static void dump_limits(struct dump *dump, const DtcWalk *begin, const DtcWalk *end)
{
	for (guint i = 0; i < begin->held->len; i++) {
		const struct dtc_walk_held *held = &g_array_index(begin->held, struct dtc_walk_held, i);
		const struct dtc_walk_limit *limit = dtc_walk_find_limit(begin, held->cgroup);
		if (limit)
			dump_held(dump, held, limit, dtc_walk_find_limit(end, held->cgroup));
	}
	for (guint i = 0; i < end->held->len; i++) {
		const struct dtc_walk_held *held = &g_array_index(end->held, struct dtc_walk_held, i);
		const struct dtc_walk_limit *known = dtc_walk_find_limit(begin, held->cgroup);
		const struct dtc_walk_limit *limit = dtc_walk_find_limit(end, held->cgroup);
		if (limit && !is_held(begin, held->pid))
			dump_held(dump, held, known ? known : limit, known ? limit : NULL);
	}
}

uint64_t dtc_statedump_write(DtcCtfWriter *writer, const DtcWalk *walk, const DtcWalk *end, uint32_t first_id)
{
	struct dump dump = { .writer = writer, .first_id = first_id, .time_ns = walk->begin_ns };
	dump.fields = g_byte_array_new();
	emit(&dump, DUMP_START);
	dump_processes(&dump, walk);
	dump_machine(&dump, walk);
	dump_sockets(&dump, walk);
	dump_limits(&dump, walk, end);
	emit(&dump, DUMP_END);
	g_byte_array_unref(dump.fields);
	return dump.events;
}
