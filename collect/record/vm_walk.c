/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/vm_walk.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define VM_LINK "anon_inode:kvm-vm"
#define VCPU_LINK "anon_inode:kvm-vcpu:" /* and its number (virt/kvm/kvm_main.c, create_vcpu_fd, from 4.19 on) */
#define KVM_RUN 0xae80u			 /* linux/kvm.h: _IO(KVMIO, 0x80) */
#define CALL_WORDS 9u
#define MAC_BYTES 17
#define UUID_BYTES 36
#define NO_UUID "00000000-0000-0000-0000-000000000000"
#define MAX_VCPUS 4096u
#define MAX_MACS 64u
#define MAX_COMMAND (1 << 20)
#define LOOKS 10 /* at threads that run: while they are in the guest nobody sees what they do */
#define LOOK_US 2000

struct vcpu {
	uint32_t number; /* KVM's */
	uint32_t fd;
	uint32_t tid; /* 0: not known */
};

static int compare_vcpus(const void *a, const void *b)
{
	const struct vcpu *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static bool parse_number(const char *text, uint32_t *ret_number)
{
	guint64 number;

	if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT32, &number, NULL))
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

/* Caller owns; NULL if it cannot be read. */
static char *read_file(const char *folder, const char *name, gsize *ret_bytes)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	char *text = NULL;

	return g_file_get_contents(path, &text, ret_bytes, NULL) ? text : NULL;
}

/* ---- vCPUs and their threads ---- */

/* The vCPUs that a process holds, by number; NULL: it holds no machine. */
static GArray *list_vcpus(const char *process)
{
	g_autofree char *folder = g_build_filename(process, "fd", NULL);
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	g_autoptr(GArray) vcpus = g_array_new(FALSE, TRUE, sizeof(struct vcpu));
	bool has_machine = false;
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(folder, name, NULL);
		char target[64];
		ssize_t count = readlink(path, target, sizeof(target) - 1);
		struct vcpu vcpu = { 0 };
		target[MAX(count, 0)] = 0;
		has_machine |= strcmp(target, VM_LINK) == 0;
		if (g_str_has_prefix(target, VCPU_LINK) && vcpus->len < MAX_VCPUS &&
		    parse_number(target + strlen(VCPU_LINK), &vcpu.number) && parse_number(name, &vcpu.fd))
			g_array_append_val(vcpus, vcpu);
	}
	g_array_sort(vcpus, compare_vcpus);
	return has_machine && vcpus->len > 0 ? g_steal_pointer(&vcpus) : NULL;
}

/* Of one vCPU there may be several descriptors. */
static void set_thread(GArray *vcpus, uint32_t number, uint32_t tid)
{
	for (guint i = 0; i < vcpus->len; i++)
		if (g_array_index(vcpus, struct vcpu, i).number == number)
			g_array_index(vcpus, struct vcpu, i).tid = tid;
}

/*
 * "16 0x13 0xae80 0x0 ... SP PC": it is in ioctl(fd, KVM_RUN). "running" while it is in the guest itself. The kernel's
 * own workers in the process (kvm-nx-lpage-recovery, from 6.14 on) have the first arguments of who began them, and no
 * PC.
 */
static void find_by_call(GArray *vcpus, const char *thread, uint32_t tid)
{
	g_autofree char *text = read_file(thread, "syscall", NULL);
	g_auto(GStrv) words = g_strsplit(text ? text : "", " ", CALL_WORDS);

	if (g_strv_length(words) < CALL_WORDS || g_ascii_strtoull(words[2], NULL, 16) != KVM_RUN ||
	    g_ascii_strtoull(words[CALL_WORDS - 1], NULL, 16) == 0)
		return;
	guint64 fd = g_ascii_strtoull(words[1], NULL, 16);
	for (guint i = 0; i < vcpus->len; i++)
		if (g_array_index(vcpus, struct vcpu, i).fd == fd)
			set_thread(vcpus, g_array_index(vcpus, struct vcpu, i).number, tid);
}

/* QEMU's "CPU 0/KVM" (debug-threads=on), firecracker's "fc_vcpu 0", cloud-hypervisor's "vcpu0", crosvm's. */
static bool parse_name(const char *name, uint32_t *ret_number)
{
	static const char *const prefixes[] = { "CPU ", "fc_vcpu ", "vcpu", "crosvm_vcpu" };

	for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++) {
		if (!g_str_has_prefix(name, prefixes[i]))
			continue;
		g_autofree char *rest = g_strdup(name + strlen(prefixes[i]));
		char *slash = strstr(rest, "/KVM");
		if (slash)
			*slash = 0;
		return parse_number(rest, ret_number);
	}
	return false;
}

static bool has_thread(const GArray *vcpus, uint32_t tid)
{
	for (guint i = 0; i < vcpus->len; i++)
		if (g_array_index(vcpus, struct vcpu, i).tid == tid)
			return true;
	return false;
}

static void find_by_name(GArray *vcpus, const char *thread, uint32_t tid)
{
	g_autofree char *name = read_file(thread, "comm", NULL);
	uint32_t number;

	if (!name || !parse_name(g_strchomp(name), &number) || has_thread(vcpus, tid))
		return;
	for (guint i = 0; i < vcpus->len; i++)
		if (g_array_index(vcpus, struct vcpu, i).number == number &&
		    g_array_index(vcpus, struct vcpu, i).tid == 0)
			set_thread(vcpus, number, tid);
}

static void look_at_threads(GArray *vcpus, const char *process, bool by_name)
{
	g_autofree char *folder = g_build_filename(process, "task", NULL);
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	const char *name;
	uint32_t tid;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *thread = g_build_filename(folder, name, NULL);
		if (!parse_number(name, &tid))
			continue;
		if (by_name)
			find_by_name(vcpus, thread, tid);
		else
			find_by_call(vcpus, thread, tid);
	}
}

static bool is_known(const GArray *vcpus)
{
	return !has_thread(vcpus, 0);
}

/* One entry for each. */
static void drop_doubles(GArray *vcpus)
{
	for (guint i = vcpus->len; i-- > 1;)
		if (g_array_index(vcpus, struct vcpu, i).number == g_array_index(vcpus, struct vcpu, i - 1).number)
			g_array_remove_index(vcpus, i);
}

/* Two vCPUs have two threads: where it seems otherwise, nothing is known. */
static bool is_plausible(const GArray *vcpus)
{
	for (guint i = 0; i < vcpus->len; i++)
		for (guint k = 0; k < i; k++)
			if (g_array_index(vcpus, struct vcpu, i).tid == g_array_index(vcpus, struct vcpu, k).tid)
				return false;
	return is_known(vcpus);
}

static void find_threads(struct dtc_environment_guest *guest, GArray *vcpus, const char *process)
{
	look_at_threads(vcpus, process, false);
	if (!is_known(vcpus))
		look_at_threads(vcpus, process, true);
	for (guint i = 0; i < LOOKS && !is_known(vcpus); i++) {
		g_usleep(LOOK_US);
		look_at_threads(vcpus, process, false);
	}
	drop_doubles(vcpus);
	guest->vcpu_count = vcpus->len;
	bool is_whole = is_plausible(vcpus);
	for (guint i = 0; is_whole && i < vcpus->len; i++)
		g_array_append_val(guest->vcpu_tids, g_array_index(vcpus, struct vcpu, i).tid);
}

/* ---- who it is ---- */

static bool is_mac(const char *text)
{
	for (guint i = 0; i < MAC_BYTES; i++)
		if (i % 3 == 2 ? text[i] != ':' : !g_ascii_isxdigit(text[i]))
			return false;
	return text[MAC_BYTES] != ':' && !g_ascii_isxdigit(text[MAC_BYTES]);
}

/* One of all zeros is nobody's. */
static bool is_uuid(const char *text)
{
	g_autofree char *uuid = g_strndup(text, UUID_BYTES);

	return g_uuid_string_is_valid(uuid) && strcmp(uuid, NO_UUID) != 0;
}

static char *take_lower(const char *text, gsize bytes)
{
	return g_ascii_strdown(text, (gssize)bytes);
}

/* "...,mac=52:54:00:12:34:56,...", in JSON, too. */
static void take_macs(GPtrArray *macs, const char *word)
{
	gsize length = strlen(word);

	for (gsize i = 0; i + MAC_BYTES <= length; i++) {
		bool begins = i == 0 || !(g_ascii_isxdigit(word[i - 1]) || word[i - 1] == ':');
		if (!begins || !is_mac(word + i) || macs->len >= MAX_MACS)
			continue;
		g_ptr_array_add(macs, take_lower(word + i, MAC_BYTES));
		i += MAC_BYTES - 1;
	}
}

static bool is_option(const char *word, const char *name)
{
	return *word == '-' && strcmp(word + (word[1] == '-' ? 2 : 1), name) == 0;
}

/* Of the machine, as QEMU's -smbios type=1,uuid=... and cloud-hypervisor's --platform uuid=...; devices have some, too.
 */
static const char *find_uuid(const char *before, const char *word)
{
	bool is_machine =
		is_option(before, "smbios") || is_option(before, "platform") || g_str_has_prefix(word, "--platform=");
	const char *at = is_machine ? strstr(word, "uuid=") : NULL;

	if (is_option(before, "uuid"))
		return word;
	return at ? at + strlen("uuid=") : NULL;
}

static void take_uuid(struct dtc_environment_guest *guest, const char *before, const char *word)
{
	const char *at = find_uuid(before, word);

	if (!at || !is_uuid(at))
		return;
	g_free(guest->uuid);
	guest->uuid = take_lower(at, UUID_BYTES);
}

/* "web1", "web1,debug-threads=on", "guest=web1,debug-threads=on" */
static void take_name(struct dtc_environment_guest *guest, const char *value)
{
	const char *begin = g_str_has_prefix(value, "guest=") ? value + strlen("guest=") : value;

	g_free(guest->name);
	guest->name = g_strndup(begin, strcspn(begin, ","));
}

static void take_word(struct dtc_environment_guest *guest, GPtrArray *macs, const char *before, const char *word)
{
	if (is_option(before, "name") || is_option(before, "id"))
		take_name(guest, word);
	take_uuid(guest, before, word);
	take_macs(macs, word);
}

static void take_command_line(struct dtc_environment_guest *guest, const char *process)
{
	gsize bytes = 0;
	g_autofree char *text = read_file(process, "cmdline", &bytes);
	GPtrArray *macs = g_ptr_array_new();
	const char *before = "";

	for (gsize at = 0; text && at < MIN(bytes, MAX_COMMAND); at += strlen(text + at) + 1) {
		take_word(guest, macs, before, text + at);
		before = text + at;
	}
	g_ptr_array_add(macs, NULL);
	g_strfreev(guest->macs);
	guest->macs = (char **)g_ptr_array_free(macs, FALSE);
}

static void add_guest(GPtrArray *guests, const char *process, uint32_t pid, GArray *vcpus)
{
	struct dtc_environment_guest *guest = dtc_environment_add_guest(guests, pid);
	g_autofree char *comm = read_file(process, "comm", NULL);

	if (comm) {
		g_free(guest->name);
		guest->name = g_strdup(g_strchomp(comm));
	}
	take_command_line(guest, process);
	find_threads(guest, vcpus, process);
}

static int compare_guests(gconstpointer a, gconstpointer b)
{
	const struct dtc_environment_guest *const *x = a, *const *y = b;

	return ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
}

GPtrArray *dtc_vm_walk(const char *root)
{
	g_autofree char *folder = g_strconcat(root, "/proc", NULL);
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	GPtrArray *guests = dtc_environment_guests_new();
	const char *name;
	uint32_t pid;

	while (dir && (name = g_dir_read_name(dir))) {
		if (!parse_number(name, &pid))
			continue;
		g_autofree char *process = g_build_filename(folder, name, NULL);
		g_autoptr(GArray) vcpus = list_vcpus(process);
		if (vcpus)
			add_guest(guests, process, pid, vcpus);
	}
	g_ptr_array_sort(guests, compare_guests);
	return guests;
}

static bool has_guest(const GPtrArray *guests, guint32 pid)
{
	for (guint i = 0; i < guests->len; i++)
		if (((const struct dtc_environment_guest *)g_ptr_array_index(guests, i))->pid == pid)
			return true;
	return false;
}

void dtc_vm_merge(GPtrArray *guests, GPtrArray *later)
{
	for (guint i = later->len; i-- > 0;) {
		const struct dtc_environment_guest *guest = g_ptr_array_index(later, i);
		if (!has_guest(guests, guest->pid))
			g_ptr_array_add(guests, g_ptr_array_steal_index(later, i));
	}
	g_ptr_array_sort(guests, compare_guests);
}

/* ---- which guest this is ---- */

char *dtc_vm_get_own_uuid(const char *root)
{
	g_autofree char *folder = g_strconcat(root, "/sys/class/dmi/id", NULL);
	g_autofree char *text = read_file(folder, "product_uuid", NULL);

	return text && is_uuid(g_strstrip(text)) ? take_lower(text, UUID_BYTES) : g_strdup("");
}

char **dtc_vm_list_own_macs(const char *root)
{
	g_autofree char *folder = g_strconcat(root, "/sys/class/net", NULL);
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	GPtrArray *macs = g_ptr_array_new();
	const char *name;

	while (dir && (name = g_dir_read_name(dir)) && macs->len < MAX_MACS) {
		g_autofree char *interface = g_build_filename(folder, name, NULL);
		g_autofree char *device = g_build_filename(interface, "device", NULL);
		g_autofree char *text =
			g_file_test(device, G_FILE_TEST_EXISTS) ? read_file(interface, "address", NULL) : NULL;
		if (text && is_mac(g_strstrip(text)) && strcmp(text, "00:00:00:00:00:00") != 0)
			g_ptr_array_add(macs, take_lower(text, MAC_BYTES));
	}
	g_ptr_array_add(macs, NULL);
	return (char **)g_ptr_array_free(macs, FALSE);
}
