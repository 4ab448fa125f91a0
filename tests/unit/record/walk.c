/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a walk says of a /proc that was made up. */
#include "collect/record/walk.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

struct tree {
	char *root;
};

static void put(const struct tree *tree, const char *path, const char *text)
{
	g_autofree char *full = g_build_filename(tree->root, path, NULL);
	g_autofree char *folder = g_path_get_dirname(full);

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_true(g_file_set_contents(full, text, -1, NULL));
}

static void put_link(const struct tree *tree, const char *path, const char *target)
{
	g_autofree char *full = g_build_filename(tree->root, path, NULL);
	g_autofree char *folder = g_path_get_dirname(full);

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_cmpint(symlink(target, full), ==, 0);
}

#define STAT                                                                                                           \
	" 5 3 4 0 -1 4194560 6 7 8 9 10 11 12 13 14 15 16 17 900 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 17 3 "   \
	"40\n"
#define KERNEL_STAT                                                                                                    \
	" 0 0 0 0 -1 2129984 6 7 8 9 10 11 12 13 14 15 16 17 24 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 17 0 "    \
	"40\n"

static void make_tree(const struct tree *tree)
{
	put_link(tree, "proc/self/ns/pid", "pid:[1]");
	put(tree, "proc/70/stat", "70 (we) ird) S" STAT);
	put(tree, "proc/self/mountinfo",
	    "30 29 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n"
	    "31 30 0:27 /pod /run/pod rw shared:10 - cgroup2 cgroup2 rw\n" /* a part of them */
	    "32 30 0:27 / /sys/fs/cgroup/uni\\040fied rw shared:10 - cgroup2 cgroup2 rw\n"
	    "33 30 0:31 / /sys/fs/cgroup/cpuset rw shared:15 - cgroup cgroup rw,cpuset\n"
	    "34 30 0:32 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
	    "torn - cgroup\n");
	put(tree, "proc/70/cgroup", "2:cpuacct,cpu:/x/y\n0::/system.slice/web.service\n");
	put(tree, "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "20000\n");
	put(tree, "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
	put(tree, "sys/fs/cgroup/cpu,cpuacct/x/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 5000999\n");
	put(tree, "sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_quota_us", "-1\n");
	put(tree, "sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_period_us", "100000\n");
	put(tree, "sys/fs/cgroup/uni fied/system.slice/web.service/cpu.max",
	    "10000 100000\n"); /* another controller's */
	put(tree, "proc/kallsyms", "ffffffff81000000 T _text\nffffffff813babb0 t sched_cfs_period_timer\n");
	put_link(tree, "proc/70/exe", "/usr/bin/we\tird");
	put_link(tree, "proc/70/ns/net", "net:[4026531840]");
	put_link(tree, "proc/70/ns/pid", "pid:[2]");
	put_link(tree, "proc/70/fd/4", "socket:[555]");
	put(tree, "proc/70/task/71/stat", "71 (worker) R" STAT);
	put(tree, "proc/70/task/71/status", "Name:\tworker\nNSpid:\t71\t9\nx: 1\n");
	put(tree, "proc/70/net/tcp",
	    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	    "   0: 0100007F:1F90 0200007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 555 1 0 20\n"
	    "   1: 0100007F:1F90 0200007F:C001 06 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20\n"
	    "   2: torn\n");
	put(tree, "proc/70/net/tcp6",
	    "  sl ...\n"
	    "   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 556\n");
	put(tree, "proc/70/net/unix",
	    "Num       RefCount Protocol Flags    Type St Inode Path\n"
	    "0000000000000000: 00000002 00000000 00010000 0001 01 600 /run/a b\n"
	    "0000000000000000: 00000002 00000000 00000000 0001 03 601\n");
	put(tree, "proc/2/stat", "2 (kthreadd) S" KERNEL_STAT);
	put(tree, "proc/2/task/2/stat", "2 (kthreadd) S" KERNEL_STAT);
	put(tree, "proc/2/cgroup", "0::/kube/pod/web\n"); /* a container in a pod: the tighter limit counts */
	put(tree, "sys/fs/cgroup/uni fied/kube/cpu.max", "400000 100000\n");
	put(tree, "sys/fs/cgroup/uni fied/kube/pod/cpu.max", "50000 100000\n");
	put(tree, "sys/fs/cgroup/uni fied/kube/pod/cpu.stat", "usage_usec 7\nnr_throttled 3\nthrottled_usec 1000\n");
	put(tree, "sys/fs/cgroup/uni fied/kube/pod/web/cpu.max", "max 100000\n");
	put(tree, "proc/3/stat", "3 (torn");
	put(tree, "proc/partitions", "major minor  #blocks  name\n\n 254        0   10 vda\n");
	put(tree, "sys/kernel/irq/7/actions", "virtio0,eth0\n");
	put(tree, "sys/kernel/irq/8/actions", "\n");
}

static void remove_tree(const char *path)
{
	g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);

	for (const char *name; folder && (name = g_dir_read_name(folder));) {
		g_autofree char *below = g_build_filename(path, name, NULL);
		if (g_file_test(below, G_FILE_TEST_IS_DIR) && !g_file_test(below, G_FILE_TEST_IS_SYMLINK))
			remove_tree(below);
		else
			g_unlink(below);
	}
	g_rmdir(path);
}

static void test_walk(void)
{
	static const char *const lines[] = {
		"p\t70\t5\t900\t/usr/bin/we\\tird\t/system.slice/web.service\t4026531840\t2\t0\t0\t0\t0\t0\n",
		"t\t71\t70\tworker\tR\t9\t0\t3\n",
		"f\t70\t4\tsocket:[555]\n",
		"s\t4026531840\t555\ttcp\t127.0.0.1\t8080\t127.0.0.2\t49153\t1\n",
		"s\t4026531840\t556\ttcp6\t::1\t80\t::\t0\t10\n",
		"s\t4026531840\t600\tunix\t/run/a b\t0\t\t0\t1\n",
		"s\t4026531840\t601\tunix\t\t0\t\t0\t3\n",
		"t\t2\t2\tkthreadd\tS\t2\t1\t0\n",
		"b\t254\t0\tvda\n",
		"q\t7\tvirtio0,eth0\n",
		"g\t/x\t20000\t100000\t4\t5000\t18446744071582755760\n",
		"l\t70\t/x\n",
		"g\t/kube/pod\t50000\t100000\t3\t1000\t18446744071582755760\n",
		"l\t2\t/kube/pod\n",
	};
	struct tree tree = { g_dir_make_tmp("walk-XXXXXX", NULL) };
	struct dtc_walk_counts counts;

	make_tree(&tree);
	g_autofree char *text = dtc_walk(tree.root, &counts);
	g_assert_true(g_str_has_prefix(text, "T\t"));
	guint count = 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		count++;
	for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
		if (!strstr(text, lines[i]))
			g_error("no '%s' in\n%s", lines[i], text);
	g_assert_cmpuint(count, ==, G_N_ELEMENTS(lines) + 2); /* and T, and the process of the kernel's thread */
	g_assert_cmpuint(counts.processes, ==, 2);
	g_assert_cmpuint(counts.threads, ==, 2);
	g_assert_cmpuint(counts.files, ==, 1);
	remove_tree(tree.root);
	g_free(tree.root);
}

static void test_nothing(void)
{
	struct dtc_walk_counts counts;
	g_autofree char *text = dtc_walk("/nonexistent", &counts);

	g_assert_true(g_str_has_prefix(text, "T\t"));
	g_assert_cmpuint(counts.processes, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/record/walk/walk", test_walk);
	g_test_add_func("/record/walk/nothing", test_nothing);
	return g_test_run();
}
