/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/redact/names.h"

#include <string.h>

/*
 * '%' is a number; '~', the last: the rest is replaced. Threads of Linux 2.6.38 to 6.18, the names of what a descriptor
 * can be besides a path, devices that are on every machine, what ipi_entry gives as its reason, and programs that
 * record, whose cost is told (analyze/finding/tracer.c).
 */
static const char *const kernel_names[] = {
	"swapper",
	"swapper/%",
	"kthreadd",
	"pool_workqueue_",
	"ksoftirqd/%",
	"migration/%",
	"cpuhp/%",
	"idle_inject/%",
	"rcu_gp",
	"rcu_par_gp",
	"rcu_preempt",
	"rcu_sched",
	"rcu_bh",
	"rcu_tasks_kthre",
	"rcu_tasks_kthread",
	"rcu_tasks_rude_",
	"rcu_tasks_rude_kthread",
	"rcu_tasks_trace",
	"rcu_tasks_trace_kthread",
	"rcu_exp_gp_kthr",
	"rcu_exp_par_gp_",
	"rcuos/%",
	"rcuop/%",
	"rcuog/%",
	"rcuob/%",
	"rcub/%",
	"rcuc/%",
	"kworker/%:%",
	"kworker/%:%H",
	"kworker/u%:%",
	"kworker/u%:%H",
	"kworker/%:%-~",
	"kworker/%:%H-~",
	"kworker/u%:%-~",
	"kworker/u%:%H-~",
	"kworker/R-~",
	"kswapd%",
	"kcompactd%",
	"khugepaged",
	"ksmd",
	"kdevtmpfs",
	"kauditd",
	"khungtaskd",
	"oom_reaper",
	"writeback",
	"kblockd",
	"kintegrityd",
	"watchdogd",
	"watchdog/%",
	"mm_percpu_wq",
	"netns",
	"slub_flushwq",
	"inet_frag_wq",
	"psimon",
	"jbd2/~",
	"ext4-rsv-conver",
	"xfsaild/~",
	"scsi_eh_%",
	"scsi_tmf_%",
	"irq/%-~",
	"vhost-%",
	"kvm-pit/%",
	"kvm-nx-lpage-re",
	"napi/~",
	"hwrng",
	"lo",
	"localhost",
	"(none)",
	"socket:[%]",
	"pipe:[%]",
	"socket:~",
	"pipe:~",
	"anon_inode:[eventpoll]",
	"anon_inode:[eventfd]",
	"anon_inode:[timerfd]",
	"anon_inode:[signalfd]",
	"anon_inode:[io_uring]",
	"anon_inode:[perf_event]",
	"anon_inode:[userfaultfd]",
	"anon_inode:[pidfd]",
	"anon_inode:[fanotify]",
	"anon_inode:inotify",
	"anon_inode:bpf-prog",
	"anon_inode:bpf-map",
	"anon_inode:kvm-vm",
	"anon_inode:kvm-vcpu:%",
	"anon_inode:~",
	"mnt:[%]",
	"net:[%]",
	"pid:[%]",
	"user:[%]",
	"uts:[%]",
	"ipc:[%]",
	"cgroup:[%]",
	"/dev/null",
	"/dev/zero",
	"/dev/full",
	"/dev/random",
	"/dev/urandom",
	"/dev/tty",
	"/dev/ptmx",
	"/dev/pts/%",
	"/dev/kvm",
	"/dev/net/tun",
	"/dev/vhost-net",
	"local_timer",
	"arch_timer",
	"timer",
	"Rescheduling interrupts",
	"Function call interrupts",
	"CPU stop interrupts",
	"IRQ work interrupts",
	"Timer broadcast interrupts",
	"CPU wakeup interrupts",
	"lttng",
	"lttng-consumerd",
	"lttng-sessiond",
	"lttng-relayd",
	"lttng-runas",
	"tcpdump",
	"dumpcap",
	"tshark",
	"perf",
	"bpftrace",
	"trace-cmd",
	"dtrace-collect",
	"/",
};

/* How many bytes of text are as the pattern says; 0: it is not. */
static gsize match(const char *pattern, const char *text, gsize count)
{
	gsize at = 0;
	for (; *pattern; pattern++) {
		if (*pattern == '~')
			return at;
		gsize begin = at;
		if (*pattern != '%') {
			if (at == count || text[at++] != *pattern)
				return 0;
			continue;
		}
		while (at < count && g_ascii_isdigit(text[at]))
			at++;
		if (at == begin)
			return 0;
	}
	return at == count ? at : 0;
}

gsize dtc_names_get_kernel_bytes(const char *text, gsize count)
{
	for (gsize i = 0; i < G_N_ELEMENTS(kernel_names); i++) {
		gsize bytes = match(kernel_names[i], text, count);
		if (bytes > 0)
			return bytes;
	}
	return 0;
}

void dtc_names_replace(DtcPseudonyms *words, char *text, gsize count)
{
	gsize kept = dtc_names_get_kernel_bytes(text, count);
	dtc_pseudonyms_replace_text(words, (uint8_t *)text + kept, count - kept, 0);
}

/* ---- addresses in texts ---- */

#define IPV4_NUMBERS 4
#define MAC_PAIRS 6
#define MAC_FIGURES 12

static bool is_part_of_word(char c)
{
	return dtc_pseudonyms_is_letter((uint8_t)c);
}

/*
 * The end of as many groups of so many figures as there are, all with the same joint between: a dot or a dash. How many
 * is in *ret_groups.
 */
static gsize find_groups(const char *text, gsize at, gsize count, gsize min_figures, gsize max_figures, bool is_hex,
			 guint *ret_groups)
{
	gsize end = at;
	char joint = 0;
	for (*ret_groups = 0; at < count; at++) {
		gsize begin = at;
		while (at < count && (is_hex ? g_ascii_isxdigit(text[at]) : g_ascii_isdigit(text[at])))
			at++;
		if (at - begin < min_figures || at - begin > max_figures)
			break;
		++*ret_groups;
		end = at;
		if (at == count || (text[at] != '.' && text[at] != '-') || (joint && text[at] != joint))
			break;
		joint = text[at];
	}
	return end;
}

/* "10.0.0.2", "10-0-0-2.ec2.internal"; at: no figure before it. */
static gsize find_ipv4(const char *text, gsize at, gsize count)
{
	guint groups;
	gsize end = find_groups(text, at, count, 1, 3, false, &groups);
	return groups >= IPV4_NUMBERS ? end : at;
}

/* "52-54-00-12-34-56"; at: the begin of a word. */
static gsize find_mac(const char *text, gsize at, gsize count)
{
	guint groups;
	gsize end = find_groups(text, at, count, 2, 2, true, &groups);
	return groups >= MAC_PAIRS ? end : at;
}

/* The last figures of a word, as systemd names interfaces ("enx525400123456"); at: the begin of the word. */
static gsize find_named_mac(const char *text, gsize at, gsize count, gsize *ret_from)
{
	gsize end = at, from;
	while (end < count && is_part_of_word(text[end]))
		end++;
	for (from = end; from > at && g_ascii_isxdigit(text[from - 1]);)
		from--;
	*ret_from = from;
	return end - from == MAC_FIGURES && (from == at || text[from - 1] == 'x') ? end : at;
}

/* Two colons at least: "fe80::1", "52:54:00:12:34:56". at: no figure before it. */
static gsize find_colons(const char *text, gsize at, gsize count)
{
	guint colons = 0;
	gsize end = at;
	for (; end < count && (g_ascii_isxdigit(text[end]) || text[end] == '.' || text[end] == ':'); end++)
		colons += text[end] == ':';
	return colons >= 2 ? end : at;
}

/* Words of figures, which stay hexadecimal. */
static void replace_figures(DtcPseudonyms *words, char *text, gsize count)
{
	for (gsize at = 0; at < count; at++) {
		gsize begin = at;
		while (at < count && g_ascii_isxdigit(text[at]))
			at++;
		if (at > begin)
			dtc_pseudonyms_replace_hex(words, (uint8_t *)text + begin, at - begin);
	}
}

void dtc_names_replace_addresses(DtcPseudonyms *words, char *text, gsize count)
{
	for (gsize at = 0; at < count;) {
		bool is_begin = at == 0 || !is_part_of_word(text[at - 1]);
		bool is_number = g_ascii_isdigit(text[at]) && (at == 0 || !g_ascii_isdigit(text[at - 1]));
		gsize from = at, end = at;
		if (is_begin || text[at] == ':')
			end = find_colons(text, at, count);
		if (end == at && is_begin)
			end = find_mac(text, at, count);
		if (end == at && is_number)
			end = find_ipv4(text, at, count);
		if (end == at && is_begin)
			end = find_named_mac(text, at, count, &from);
		if (end > at)
			replace_figures(words, text + from, end - from);
		at = MAX(end, at + 1);
	}
}

char *dtc_names_replace_string(DtcPseudonyms *words, const char *text)
{
	char *copy = g_strdup(text);
	dtc_names_replace(words, copy, strlen(copy));
	return copy;
}
