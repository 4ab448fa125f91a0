/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HURRIED_NICE (-10)

/* glibc has no wrappers for these, and libcap is one more library for two calls. */
struct capability_sets {
	struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static bool get_sets(struct capability_sets *ret_sets)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, ret_sets->words) == 0;
}

static void limit_sets(guint64 kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct capability_sets sets = { 0 };

	if (!get_sets(&sets))
		return;
	for (guint i = 0; i < G_N_ELEMENTS(sets.words); i++) {
		guint32 mask = (guint32)(kept >> (32 * i));
		sets.words[i].effective &= mask;
		sets.words[i].permitted &= mask;
		sets.words[i].inheritable = 0;
	}
	(void)syscall(SYS_capset, &header, sets.words);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

bool dtc_privileges_has(int capability)
{
	struct capability_sets sets = { 0 };

	return get_sets(&sets) && (sets.words[capability / 32].effective >> (capability % 32) & 1);
}

void dtc_privileges_keep_watching(bool begins_again)
{
	static const int kept[] = { CAP_SYS_ADMIN, CAP_NET_RAW, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH,
				    CAP_CHOWN,	   CAP_SETUID,	CAP_SETGID };
	guint64 mask = 0;

	if (begins_again)
		mask |= G_GUINT64_CONSTANT(1) << CAP_DAC_OVERRIDE | G_GUINT64_CONSTANT(1) << CAP_SYS_NICE;
	for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
		mask |= G_GUINT64_CONSTANT(1) << kept[i];
	limit_sets(mask);
}

void dtc_privileges_keep_sealing(void)
{
	limit_sets(G_GUINT64_CONSTANT(1) << CAP_DAC_READ_SEARCH);
}

void dtc_privileges_hurry(void)
{
	(void)setpriority(PRIO_PROCESS, 0, HURRIED_NICE); /* of the thread: Linux' own reading of it */
}

void dtc_privileges_drop_all(void)
{
	limit_sets(0);
}

bool dtc_privileges_become(uid_t uid, gid_t gid)
{
	/* once the uid is another, capabilities are gone */
	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0;
}

static bool get_number(const char *name, guint64 *ret_number)
{
	return g_ascii_string_to_unsigned(g_getenv(name) ? g_getenv(name) : "", 10, 1, G_MAXINT, ret_number, NULL);
}

bool dtc_privileges_get_sudo_user(uid_t *ret_uid, gid_t *ret_gid)
{
	guint64 uid, gid;

	if (geteuid() != 0 || !get_number("SUDO_UID", &uid) || !get_number("SUDO_GID", &gid))
		return false;
	*ret_uid = (uid_t)uid;
	*ret_gid = (gid_t)gid;
	return true;
}
