/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMED_FOLDER "/run/netns"
#define THREAD_OWN "/proc/thread-self/ns/net"

static void free_netns(void *data)
{
	struct dtc_netns *netns = data;

	g_free(netns->path);
	g_free(netns);
}

/* What stat follows the link of a namespace to has the namespace's inode. */
static void add(GPtrArray *list, GHashTable *seen, const char *path, guint pid)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return;
	guint64 inode = status.st_ino;
	if (g_hash_table_contains(seen, &inode))
		return;
	struct dtc_netns *netns = g_new0(struct dtc_netns, 1);
	netns->inode = inode;
	netns->pid = pid;
	netns->path = g_strdup(path);
	g_ptr_array_add(list, netns);
	g_hash_table_add(seen, &netns->inode);
}

static void add_named(GPtrArray *list, GHashTable *seen)
{
	g_autoptr(GDir) folder = g_dir_open(NAMED_FOLDER, 0, NULL);

	for (const char *name; folder && (name = g_dir_read_name(folder));) {
		g_autofree char *path = g_build_filename(NAMED_FOLDER, name, NULL);
		add(list, seen, path, 0);
	}
}

GPtrArray *dtc_netns_list(const char *proc)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(free_netns);
	g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);
	g_autoptr(GDir) folder = g_dir_open(proc, 0, NULL);

	for (const char *name; folder && (name = g_dir_read_name(folder));) {
		char path[PATH_MAX];
		if (!g_ascii_isdigit(*name))
			continue;
		if (g_snprintf(path, sizeof(path), "%s/%s/ns/net", proc, name) < (gint)sizeof(path))
			add(list, seen, path, (guint)g_ascii_strtoull(name, NULL, 10));
	}
	if (strcmp(proc, "/proc") == 0)
		add_named(list, seen);
	return list;
}

GPtrArray *dtc_netns_list_named(void)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(free_netns);
	g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);

	add_named(list, seen);
	return list;
}

guint64 dtc_netns_get_own(void)
{
	struct stat status;

	return stat(THREAD_OWN, &status) == 0 ? status.st_ino : 0;
}

bool dtc_netns_enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_entered = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
	int reason = errno;

	if (fd >= 0)
		close(fd);
	errno = reason;
	return is_entered;
}
