/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/walk_limits.h"

#include <stdbool.h>
#include <string.h>

struct DtcWalkLimits {
	const char *root; /* borrowed */
	GString *out;	  /* borrowed */
	char *mounts[2];  /* folders of cgroups with the CPU's controller, of version 1 and 2; NULL: none */
	GHashTable *held; /* folder of a cgroup -> name of the one that limits it, "" if none does */
	GHashTable *told; /* names of those that were written */
	guint64 timer;	  /* address of the function that ends periods; 0: not known */
};

struct limit {
	guint64 quota_us;
	guint64 period_us;
};

/* Whether "rw,relatime,cpu,cpuacct" has the CPU's controller. */
static bool has_cpu(const char *list)
{
	g_auto(GStrv) names = g_strsplit(list, ",", -1);

	return g_strv_contains((const char *const *)names, "cpu");
}

/*
 * Both at once where systemd has its hybrid hierarchy. Lines are "36 35 98:0 ROOT WHERE OPTIONS TAGS - TYPE SOURCE
 * OPTIONS" (proc(5)); of what is mounted beside the root of all cgroups the names are others.
 */
static void find_mounts(DtcWalkLimits *limits)
{
	g_autofree char *path = g_strconcat(limits->root, "/proc/self/mountinfo", NULL);
	g_autofree char *text = NULL;

	g_auto(GStrv) lines = g_file_get_contents(path, &text, NULL, NULL) ? g_strsplit(text, "\n", -1) : NULL;
	for (char **line = lines; line && *line; line++) {
		char *behind = strstr(*line, " - ");
		g_auto(GStrv) fields = g_strsplit(*line, " ", 6);
		g_auto(GStrv) of = g_strsplit(behind ? behind + 3 : "", " ", 3);
		if (g_strv_length(fields) < 6 || g_strv_length(of) < 3 || !g_str_equal(fields[3], "/"))
			continue;
		bool is_second = g_str_equal(of[0], "cgroup2");
		bool is_first = g_str_equal(of[0], "cgroup") && has_cpu(of[2]);
		if ((is_first || is_second) && !limits->mounts[is_second])
			limits->mounts[is_second] = g_strcompress(fields[4]); /* "\040" is a space */
	}
}

DtcWalkLimits *dtc_walk_limits_new(const char *root, GString *out)
{
	DtcWalkLimits *limits = g_new0(DtcWalkLimits, 1);

	limits->root = root;
	limits->out = out;
	limits->held = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	limits->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	find_mounts(limits);
	return limits;
}

void dtc_walk_limits_free(DtcWalkLimits *limits)
{
	if (!limits)
		return;
	g_hash_table_unref(limits->held);
	g_hash_table_unref(limits->told);
	for (guint i = 0; i < G_N_ELEMENTS(limits->mounts); i++)
		g_free(limits->mounts[i]);
	g_free(limits);
}

static char *read_file(const char *folder, const char *name)
{
	g_autofree char *path = g_build_filename(folder, name, NULL);
	char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

/* False: there is no limit, or none can be read. */
static bool read_limit(const char *folder, struct limit *ret_limit)
{
	g_autofree char *max = read_file(folder, "cpu.max");
	g_autofree char *quota = max ? NULL : read_file(folder, "cpu.cfs_quota_us");
	g_autofree char *period = quota ? read_file(folder, "cpu.cfs_period_us") : NULL;
	const char *first = max ? max : quota;
	const char *second = max ? strchr(max, ' ') : period;

	if (!first || !second || !g_ascii_isdigit(*first)) /* "max", or -1 */
		return false;
	ret_limit->quota_us = g_ascii_strtoull(first, NULL, 10);
	ret_limit->period_us = g_ascii_strtoull(second, NULL, 10);
	return ret_limit->quota_us > 0 && ret_limit->period_us > 0;
}

/* A line "KEY NUMBER" of cpu.stat; -1: there is none. */
static gint64 get_count(const char *stat, const char *key)
{
	gsize length = strlen(key);

	for (const char *line = stat; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strncmp(line, key, length) == 0 && line[length] == ' ')
			return (gint64)g_ascii_strtoull(line + length + 1, NULL, 10);
	return -1;
}

/* Of a function of the kernel; 0: it has none, or does not tell. */
static guint64 find_address(const char *root, const char *function)
{
	g_autofree char *path = g_strconcat(root, "/proc/kallsyms", NULL);
	g_autofree char *wanted = g_strdup_printf(" t %s\n", function);
	g_autofree char *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return 0;
	const char *found = strstr(text, wanted);
	while (found && found > text && found[-1] != '\n')
		found--;
	return found ? g_ascii_strtoull(found, NULL, 16) : 0;
}

static void write_limit(DtcWalkLimits *limits, const char *folder, const char *name, const struct limit *limit)
{
	g_autofree char *stat = read_file(folder, "cpu.stat");
	g_autofree char *escaped = g_strescape(name, NULL);
	gint64 throttled_us = get_count(stat, "throttled_usec");
	gint64 throttled_ns = get_count(stat, "throttled_time");

	if (throttled_us < 0 && throttled_ns >= 0)
		throttled_us = throttled_ns / 1000;
	if (g_hash_table_size(limits->told) == 1)
		limits->timer = find_address(limits->root, "sched_cfs_period_timer");
	g_string_append_printf(limits->out,
			       "g\t%s\t%" G_GUINT64_FORMAT "\t%" G_GUINT64_FORMAT "\t%" G_GINT64_FORMAT
			       "\t%" G_GINT64_FORMAT "\t%" G_GUINT64_FORMAT "\n",
			       escaped, limit->quota_us, limit->period_us, get_count(stat, "nr_throttled"),
			       throttled_us, limits->timer);
}

/* The tightest of a cgroup and those above it; it is written when it is first come to. NULL: none. Borrowed. */
static const char *find(DtcWalkLimits *limits, const char *mount, const char *name)
{
	g_autofree char *whole = g_build_filename(mount, name, NULL);
	g_autofree char *at = g_strdup(name);
	g_autofree char *found = NULL;
	struct limit tightest = { 0, 1 };
	const char *known = g_hash_table_lookup(limits->held, whole);

	if (known)
		return *known ? known : NULL;
	while (strlen(at) > 1) {
		g_autofree char *folder = g_build_filename(mount, at, NULL);
		struct limit limit;
		if (read_limit(folder, &limit) &&
		    (!found || (double)limit.quota_us / (double)limit.period_us <
				       (double)tightest.quota_us / (double)tightest.period_us)) {
			g_free(found);
			found = g_strdup(at);
			tightest = limit;
		}
		char *slash = strrchr(at, '/');
		if (!slash)
			break;
		*slash = 0;
	}
	if (found) {
		g_autofree char *folder = g_build_filename(mount, found, NULL);
		if (g_hash_table_add(limits->told, g_strdup(found)))
			write_limit(limits, folder, found, &tightest);
	}
	char *kept = found ? g_steal_pointer(&found) : g_strdup("");
	g_hash_table_insert(limits->held, g_steal_pointer(&whole), kept);
	return *kept ? kept : NULL;
}

void dtc_walk_limits_add(DtcWalkLimits *limits, guint pid, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	const char *name = NULL, *folder = limits->mounts[1];

	for (char **line = lines; *line; line++) {
		const char *first = strchr(*line, ':');
		char *second = first ? strchr(first + 1, ':') : NULL;
		if (second)
			*second = 0;
		bool is_first_version = second && has_cpu(first + 1);
		if (!second || (!is_first_version && (name || !g_str_has_prefix(*line, "0:"))))
			continue;
		name = second + 1;
		if (is_first_version) {
			folder = limits->mounts[0];
			break;
		}
	}
	/* one above the recorder's own cgroup namespace is not to be seen */
	if (!folder || !name || *name != '/' || strstr(name, "/.."))
		return;
	g_autofree char *mount = g_strconcat(limits->root, folder, NULL);
	const char *held_by = find(limits, mount, name);
	if (!held_by)
		return;
	g_autofree char *escaped = g_strescape(held_by, NULL);
	g_string_append_printf(limits->out, "l\t%u\t%s\n", pid, escaped);
}
