/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Virtual machines of a /proc that was made up, and what tells which guest a machine is. */
#include "collect/record/vm_walk.h"

#include "collect/bundle/scratch.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static void put(const DtcScratch *scratch, const char *path, const char *text, gssize bytes)
{
	g_autofree char *full = g_build_filename(dtc_scratch_get_path(scratch), path, NULL);
	g_autofree char *folder = g_path_get_dirname(full);

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_true(g_file_set_contents(full, text, bytes, NULL));
}

static void put_link(const DtcScratch *scratch, const char *path, const char *target)
{
	g_autofree char *full = g_build_filename(dtc_scratch_get_path(scratch), path, NULL);
	g_autofree char *folder = g_path_get_dirname(full);

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_cmpint(symlink(target, full), ==, 0);
}

/* syscall: NULL, it cannot be read. */
static void put_thread(const DtcScratch *scratch, guint pid, guint tid, const char *comm, const char *syscall)
{
	g_autofree char *comm_path = g_strdup_printf("proc/%u/task/%u/comm", pid, tid);
	g_autofree char *call_path = g_strdup_printf("proc/%u/task/%u/syscall", pid, tid);

	put(scratch, comm_path, comm, -1);
	if (syscall)
		put(scratch, call_path, syscall, -1);
}

/* fd 10 and 12 are CPUs 1 and 0. */
static void put_machine(const DtcScratch *scratch, guint pid, const char *command, gssize bytes)
{
	g_autofree char *base = g_strdup_printf("proc/%u/", pid);
	g_autofree char *vm = g_strconcat(base, "fd/9", NULL), *one = g_strconcat(base, "fd/10", NULL);
	g_autofree char *zero = g_strconcat(base, "fd/12", NULL), *other = g_strconcat(base, "fd/3", NULL);
	g_autofree char *cmdline = g_strconcat(base, "cmdline", NULL), *comm = g_strconcat(base, "comm", NULL);

	put_link(scratch, vm, "anon_inode:kvm-vm");
	put_link(scratch, one, "anon_inode:kvm-vcpu:1");
	put_link(scratch, zero, "anon_inode:kvm-vcpu:0");
	put_link(scratch, other, "anon_inode:[eventfd]");
	put(scratch, cmdline, command, bytes);
	put(scratch, comm, "qemu-system-x86\n", -1);
}

/* The one that is there. */
static const struct dtc_environment_guest *get_only(const GPtrArray *guests, const char *name, const char *uuid)
{
	const struct dtc_environment_guest *guest = g_ptr_array_index(guests, 0);

	g_assert_cmpuint(guests->len, ==, 1);
	g_assert_cmpstr(guest->name, ==, name);
	g_assert_cmpstr(guest->uuid, ==, uuid);
	return guest;
}

static void assert_tids(const struct dtc_environment_guest *guest, guint32 zero, guint32 one)
{
	g_assert_cmpuint(guest->vcpu_count, ==, 2);
	g_assert_cmpuint(guest->vcpu_tids->len, ==, 2);
	g_assert_cmpuint(g_array_index(guest->vcpu_tids, guint32, 0), ==, zero);
	g_assert_cmpuint(g_array_index(guest->vcpu_tids, guint32, 1), ==, one);
}

/* By the call that a thread is in, whatever it is called; one that runs is in its guest, and has a name alone. */
static void test_threads(void)
{
	static const char qemu[] = "qemu\0-name\0guest=web 1,debug-threads=on\0-uuid\0"
				   "DEADBEEF-0123-4567-89AB-00000000000A\0-device\0"
				   "{\"driver\":\"virtio-net-pci\",\"mac\":\"52:54:00:AA:bb:01\"}\0-device\0"
				   "e1000,mac=52:54:00:aa:bb:02,id=x";
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);

	put_machine(scratch, 70, qemu, sizeof(qemu));
	put_thread(scratch, 70, 70, "qemu-system-x86\n", "271 0x55 0x9 0x0 0x0 0x0 0x0 0x7f 0x7f\n");
	put_thread(scratch, 70, 73, "CPU 1/KVM\n", "16 0xc 0xae80 0x0 0x0 0x0 0x0 0x7f 0x7f\n");
	put_thread(scratch, 70, 74, "CPU 1/KVM\n", "running\n");
	/* a worker of the kernel's */
	put_thread(scratch, 70, 75, "kvm-nx-lpage-re\n", "16 0xa 0xae80 0x0 0x0 0x7f 0x7f 0x0 0x0\n");
	put_link(scratch, "proc/70/fd/13", "anon_inode:kvm-vcpu:0"); /* another descriptor of the same */
	g_autoptr(GPtrArray) guests = dtc_vm_walk(dtc_scratch_get_path(scratch));
	const struct dtc_environment_guest *guest = get_only(guests, "web 1", "deadbeef-0123-4567-89ab-00000000000a");
	g_assert_cmpuint(guest->pid, ==, 70);
	g_assert_cmpuint(g_strv_length(guest->macs), ==, 2);
	g_assert_cmpstr(guest->macs[0], ==, "52:54:00:aa:bb:01");
	g_assert_cmpstr(guest->macs[1], ==, "52:54:00:aa:bb:02");
	assert_tids(guest, 73, 74);
}

static void test_names(void)
{
	static const char names[][16] = { "CPU %u/KVM", "fc_vcpu %u", "vcpu%u", "crosvm_vcpu%u" };

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
		g_auto(GStrv) parts = g_strsplit(names[i], "%u", 2);
		g_autofree char *zero = g_strjoin("0", parts[0], parts[1], NULL);
		g_autofree char *one = g_strjoin("1", parts[0], parts[1], NULL);
		put_machine(scratch, 8, "vmm\0--id\0fire", 14);
		put_thread(scratch, 8, 11, zero, i % 2 ? "running\n" : NULL);
		put_thread(scratch, 8, 12, one, "16 0xa 0xae80 0x0 0x0 0x0 0x0 0x7f 0x7f\n");
		g_autoptr(GPtrArray) guests = dtc_vm_walk(dtc_scratch_get_path(scratch));
		assert_tids(get_only(guests, "fire", ""), 11, 12);
	}
}

/* What a machine is called by is not what its parts are. */
static void test_uuids(void)
{
	static const char uuid[] = "deadbeef-0123-4567-89ab-00000000000a";
	static const char *const commands[] = { "qemu|-uuid|%s|-device|nvdimm,id=n,uuid=%s",
						"qemu|-smbios|type=1,serial=1,uuid=%s|-device|nvdimm,uuid=%s",
						"cloud-hypervisor|--platform|uuid=%s|--pmem|uuid=%s",
						"cloud-hypervisor|--platform=num_pci_segments=1,uuid=%s|-x|uuid=%s" };

	for (gsize i = 0; i < G_N_ELEMENTS(commands); i++) {
		g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
		g_auto(GStrv) parts = g_strsplit(commands[i], "%s", 3);
		g_autofree char *command =
			g_strconcat(parts[0], uuid, parts[1], "00000000-0000-0000-0000-00000000000b", NULL);
		gsize bytes = strlen(command);
		g_strdelimit(command, "|", '\0');
		put_machine(scratch, 5, command, (gssize)bytes);
		put_thread(scratch, 5, 6, "main", "running");
		g_autoptr(GPtrArray) guests = dtc_vm_walk(dtc_scratch_get_path(scratch));
		get_only(guests, "qemu-system-x86", uuid);
	}
}

/* A command line says little: the process has a name, and all zeros are no UUID. */
static void test_nameless(void)
{
	static const char command[] = "kvmtool\0run\0-uuid\0"
				      "00000000-0000-0000-0000-000000000000\0-m\0"
				      "1:2:3\0"
				      "-net\0mac=aa:bb:cc:dd:ee:ff:00";
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);

	put_machine(scratch, 5, command, sizeof(command));
	put_thread(scratch, 5, 6, "kvmtool", "running");
	put(scratch, "proc/6/comm", "no machine", -1);
	put_link(scratch, "proc/6/fd/1", "anon_inode:kvm-vcpu:0");
	g_autoptr(GPtrArray) guests = dtc_vm_walk(dtc_scratch_get_path(scratch));
	const struct dtc_environment_guest *guest = get_only(guests, "qemu-system-x86", "");
	g_assert_null(guest->macs[0]);
	g_assert_cmpuint(guest->vcpu_tids->len, ==, 0);
}

static void test_merging(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autoptr(GPtrArray) guests = dtc_vm_walk("/nowhere");

	put_machine(scratch, 5, "a", 1);
	put_machine(scratch, 9, "b", 1);
	for (guint i = 0; i < 2; i++) {
		g_autoptr(GPtrArray) later = dtc_vm_walk(dtc_scratch_get_path(scratch));
		dtc_vm_merge(guests, later);
		g_assert_cmpuint(guests->len, ==, 2);
	}
	g_assert_cmpuint(((const struct dtc_environment_guest *)g_ptr_array_index(guests, 1))->pid, ==, 9);
}

/* Bridges and veth are no network cards. */
static void test_own(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	const char *root = dtc_scratch_get_path(scratch);
	g_autofree char *none = dtc_vm_get_own_uuid(root);

	put(scratch, "sys/class/dmi/id/product_uuid", "DEADBEEF-0123-4567-89AB-00000000000A\n", -1);
	put(scratch, "sys/class/net/docker0/address", "02:42:aa:bb:cc:dd\n", -1);
	put(scratch, "sys/class/net/eth0/address", "52:54:00:AA:bb:01\n", -1);
	put_link(scratch, "sys/class/net/eth0/device", "..");
	g_autofree char *uuid = dtc_vm_get_own_uuid(root);
	g_auto(GStrv) macs = dtc_vm_list_own_macs(root);
	g_assert_cmpstr(none, ==, "");
	g_assert_cmpstr(uuid, ==, "deadbeef-0123-4567-89ab-00000000000a");
	g_assert_cmpuint(g_strv_length(macs), ==, 1);
	g_assert_cmpstr(macs[0], ==, "52:54:00:aa:bb:01");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vm-walk/threads", test_threads);
	g_test_add_func("/vm-walk/names", test_names);
	g_test_add_func("/vm-walk/uuids", test_uuids);
	g_test_add_func("/vm-walk/nameless", test_nameless);
	g_test_add_func("/vm-walk/merging", test_merging);
	g_test_add_func("/vm-walk/own", test_own);
	return g_test_run();
}
