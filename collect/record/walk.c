/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/walk.h"

#include "collect/record/clocks.h"
#include "collect/record/netns.h"
#include "collect/record/walk_limits.h"
#include "collect/record/walk_net.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE 65536
#define PF_KTHREAD 0x00200000
/* Fields of PID/stat after the name; proc(5) counts from 1 and from the pid on. */
#define FIELD_STATE 0
#define FIELD_PPID 1
#define FIELD_FLAGS 6
#define FIELD_START 19
#define FIELD_CPU 36
#define FIELD_COUNT 37

struct walk {
	GString *out;
	GHashTable *netns; /* inode -> one process's folder */
	DtcWalkLimits *limits;
	bool is_machine;
	char own_pidns[64];
	char text[MAX_FILE];
	struct dtc_walk_counts counts;
};

/* What PID/stat says. */
struct task_stat {
	char comm[64];
	char state;
	guint64 fields[FIELD_COUNT];
};

/* ---- reading ---- */

/* Into walk->text; false if it cannot be read. Longer files are cut. */
static bool read_text(struct walk *walk, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t count = 0, all = 0;

	if (fd < 0)
		return false;
	while (all < MAX_FILE - 1 && (count = read(fd, walk->text + all, (size_t)(MAX_FILE - 1 - all))) > 0)
		all += count;
	close(fd);
	walk->text[all] = 0;
	return count >= 0;
}

/* Escaped; "" if it cannot be read. Caller owns. */
static char *read_link(int folder, const char *name)
{
	char target[PATH_MAX];
	ssize_t count = readlinkat(folder, name, target, sizeof(target) - 1);

	target[MAX(count, 0)] = 0;
	return g_strescape(target, NULL);
}

/* "net:[4026531833]"; 0 if it cannot be read. */
static guint64 read_namespace(int folder, const char *name)
{
	char target[64], path[32];
	g_snprintf(path, sizeof(path), "ns/%s", name);
	ssize_t count = readlinkat(folder, path, target, sizeof(target) - 1);
	target[MAX(count, 0)] = 0;
	const char *bracket = strchr(target, '[');

	return bracket ? g_ascii_strtoull(bracket + 1, NULL, 10) : 0;
}

static bool parse_stat(const char *text, struct task_stat *ret_stat)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');

	if (!open || !close || close < open || !close[1])
		return false;
	memset(ret_stat, 0, sizeof(*ret_stat));
	memcpy(ret_stat->comm, open + 1, MIN((gsize)(close - open - 1), sizeof(ret_stat->comm) - 1));
	ret_stat->state = close[2] ? close[2] : '?';
	const char *at = close + 1;
	for (guint i = 0; i < FIELD_COUNT && at; i++) {
		ret_stat->fields[i] = i == FIELD_STATE ? 0 : g_ascii_strtoull(at, NULL, 10);
		at = strchr(at + 1, ' ');
	}
	return true;
}

/* ---- records ---- */

/* Of a cgroup file the one of version 2, else that of systemd, else the first. Caller owns. */
static char *choose_cgroup(const char *text)
{
	const char *best = NULL;
	guint best_rank = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *first = strchr(line, ':');
		const char *second = first ? strchr(first + 1, ':') : NULL;
		if (!second)
			continue;
		guint rank = g_str_has_prefix(line, "0::") ? 3 : g_str_has_prefix(first, ":name=systemd:") ? 2 : 1;
		/* in a hybrid, where both are, version 2 of it may be the root of all */
		if (rank == 3 && second[1] == '/' && (second[2] == '\n' || !second[2]))
			rank = 1;
		if (rank > best_rank) {
			best_rank = rank;
			best = second + 1;
		}
	}
	g_autofree char *path = g_strndup(best ? best : "", best ? strcspn(best, "\n") : 0);
	return g_strescape(path, NULL);
}

static void add_process(struct walk *walk, int folder, guint pid, const char *path)
{
	struct task_stat stat;

	if (!read_text(walk, folder, "stat") || !parse_stat(walk->text, &stat))
		return;
	g_autofree char *exe = read_link(folder, "exe");
	bool has_cgroup = read_text(walk, folder, "cgroup");
	g_autofree char *cgroup = has_cgroup ? choose_cgroup(walk->text) : g_strdup("");
	guint64 netns = read_namespace(folder, "net");
	static const char *const others[] = { "pid", "mnt", "user", "uts", "ipc", "cgroup" };

	g_string_append_printf(walk->out,
			       "p\t%u\t%" G_GUINT64_FORMAT "\t%" G_GUINT64_FORMAT "\t%s\t%s\t%" G_GUINT64_FORMAT, pid,
			       stat.fields[FIELD_PPID], stat.fields[FIELD_START], exe, cgroup, netns);
	for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
		g_string_append_printf(walk->out, "\t%" G_GUINT64_FORMAT, read_namespace(folder, others[i]));
	g_string_append_c(walk->out, '\n');
	if (has_cgroup)
		dtc_walk_limits_add(walk->limits, pid, walk->text);
	walk->counts.processes++;
	if (netns != 0 && !g_hash_table_contains(walk->netns, &netns))
		g_hash_table_insert(walk->netns, g_memdup2(&netns, sizeof(netns)), g_strdup(path));
}

/* The last number of NSpid: what the thread calls itself. */
static guint64 read_own_tid(struct walk *walk, int folder, const char *tid)
{
	g_autofree char *name = g_strdup_printf("task/%s/status", tid);
	const char *line = read_text(walk, folder, name) ? strstr(walk->text, "\nNSpid:") : NULL;

	if (!line)
		return g_ascii_strtoull(tid, NULL, 10);
	const char *end = line + 1 + strcspn(line + 1, "\n");
	while (end > line && g_ascii_isdigit(end[-1]))
		end--;
	return g_ascii_strtoull(end, NULL, 10);
}

static DIR *open_folder(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (!list && fd >= 0)
		close(fd);
	return list;
}

static void add_thread(struct walk *walk, int folder, guint pid, const char *tid, bool is_foreign)
{
	g_autofree char *name = g_strdup_printf("task/%s/stat", tid);
	struct task_stat stat;

	if (!read_text(walk, folder, name) || !parse_stat(walk->text, &stat))
		return;
	g_autofree char *comm = g_strescape(stat.comm, NULL);
	guint64 own = is_foreign ? read_own_tid(walk, folder, tid) : g_ascii_strtoull(tid, NULL, 10);
	g_string_append_printf(walk->out, "t\t%s\t%u\t%s\t%c\t%" G_GUINT64_FORMAT "\t%d\t%" G_GUINT64_FORMAT "\n", tid,
			       pid, comm, stat.state, own, (stat.fields[FIELD_FLAGS] & PF_KTHREAD) != 0,
			       stat.fields[FIELD_CPU]);
	walk->counts.threads++;
}

static void add_threads(struct walk *walk, int folder, guint pid)
{
	char pidns[64];
	ssize_t count = readlinkat(folder, "ns/pid", pidns, sizeof(pidns) - 1);
	pidns[MAX(count, 0)] = 0;
	bool is_foreign = count > 0 && strcmp(pidns, walk->own_pidns) != 0;
	DIR *list = open_folder(folder, "task");

	if (!list)
		return;
	for (struct dirent *entry; (entry = readdir(list));)
		if (g_ascii_isdigit(entry->d_name[0]))
			add_thread(walk, folder, pid, entry->d_name, is_foreign);
	closedir(list);
}

static void add_files(struct walk *walk, int folder, guint pid)
{
	DIR *list = open_folder(folder, "fd");

	if (!list) {
		walk->counts.unreadable += errno == EACCES || errno == EPERM;
		return;
	}
	for (struct dirent *entry; (entry = readdir(list));) {
		if (!g_ascii_isdigit(entry->d_name[0]))
			continue;
		g_autofree char *target = read_link(dirfd(list), entry->d_name);
		if (!*target)
			continue;
		g_string_append_printf(walk->out, "f\t%u\t%s\t%s\n", pid, entry->d_name, target);
		walk->counts.files++;
	}
	closedir(list);
}

static void add_processes(struct walk *walk, const char *proc)
{
	DIR *list = opendir(proc);

	if (!list)
		return;
	for (struct dirent *entry; (entry = readdir(list));) {
		if (!g_ascii_isdigit(entry->d_name[0]))
			continue;
		guint pid = (guint)g_ascii_strtoull(entry->d_name, NULL, 10);
		g_autofree char *path = g_build_filename(proc, entry->d_name, NULL);
		int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (folder < 0)
			continue; /* it has gone */
		add_process(walk, folder, pid, path);
		add_threads(walk, folder, pid);
		add_files(walk, folder, pid);
		close(folder);
	}
	closedir(list);
}

static void add_networks(struct walk *walk)
{
	GHashTableIter iter;
	void *inode, *folder;

	g_hash_table_iter_init(&iter, walk->netns);
	while (g_hash_table_iter_next(&iter, &inode, &folder)) {
		dtc_walk_add_sockets(walk->out, folder, *(const guint64 *)inode);
		g_autofree char *path = g_build_filename(folder, "ns", "net", NULL);
		if (walk->is_machine)
			dtc_walk_add_interfaces(walk->out, path, *(const guint64 *)inode);
	}
}

/* Those that nobody is in yet: a command may be run there while it is recorded. */
static void add_empty_networks(struct walk *walk)
{
	g_autoptr(GPtrArray) list = dtc_netns_list_named();

	for (guint i = 0; i < list->len; i++) {
		const struct dtc_netns *netns = g_ptr_array_index(list, i);
		if (!g_hash_table_contains(walk->netns, &netns->inode))
			dtc_walk_add_interfaces(walk->out, netns->path, netns->inode);
	}
}

static void add_irqs(struct walk *walk, const char *folder)
{
	g_autoptr(GDir) list = g_dir_open(folder, 0, NULL);

	for (const char *name; list && (name = g_dir_read_name(list));) {
		g_autofree char *path = g_build_filename(folder, name, "actions", NULL);
		g_autofree char *text = NULL;
		if (!g_ascii_isdigit(*name) || !g_file_get_contents(path, &text, NULL, NULL) || !*g_strstrip(text))
			continue;
		g_autofree char *actions = g_strescape(text, NULL);
		g_string_append_printf(walk->out, "q\t%s\t%s\n", name, actions);
	}
}

/* major minor #blocks name, after a heading and an empty line */
static void add_disks(struct walk *walk, const char *path)
{
	g_autofree char *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return;
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (char **line = lines; *line; line++) {
		char *fields[4], *rest = *line;
		gsize count = 0;
		while (count < G_N_ELEMENTS(fields) && (fields[count] = strtok_r(count ? NULL : *line, " \t", &rest)))
			count++;
		if (count < G_N_ELEMENTS(fields) || !g_ascii_isdigit(*fields[0]))
			continue;
		g_autofree char *name = g_strescape(fields[3], NULL);
		g_string_append_printf(walk->out, "b\t%s\t%s\t%s\n", fields[0], fields[1], name);
	}
}

char *dtc_walk(const char *root, struct dtc_walk_counts *ret_counts)
{
	g_autofree struct walk *walk = g_new0(struct walk, 1);
	g_autofree char *proc = g_strconcat(root, "/proc", NULL);
	g_autofree char *irqs = g_strconcat(root, "/sys/kernel/irq", NULL);
	g_autofree char *disks = g_strconcat(root, "/proc/partitions", NULL);
	g_autofree char *own = g_strconcat(root, "/proc/self/ns/pid", NULL);
	int64_t begin_ns = dtc_clock_get_mono_ns();
	g_autoptr(GHashTable) netns = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	GString *text = g_string_new(NULL);

	walk->out = g_string_new(NULL);
	walk->is_machine = *root == 0;
	walk->netns = netns;
	g_autoptr(DtcWalkLimits) limits = dtc_walk_limits_new(root, walk->out);
	walk->limits = limits;
	ssize_t count = readlink(own, walk->own_pidns, sizeof(walk->own_pidns) - 1);
	walk->own_pidns[MAX(count, 0)] = 0;
	add_processes(walk, proc);
	add_networks(walk);
	if (walk->is_machine)
		add_empty_networks(walk);
	add_irqs(walk, irqs);
	add_disks(walk, disks);
	g_string_append_printf(text, "T\t%" G_GINT64_FORMAT "\t%" G_GINT64_FORMAT "\n", begin_ns,
			       dtc_clock_get_mono_ns());
	g_string_append_len(text, walk->out->str, (gssize)walk->out->len);
	g_string_free(walk->out, TRUE);
	*ret_counts = walk->counts;
	return g_string_free(text, FALSE);
}
