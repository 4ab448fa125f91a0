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

static bool is_part_of_address(char c)
{
	return g_ascii_isxdigit(c) || c == '.' || c == ':' || c == '-';
}

/* Four numbers between dots or dashes, or something with two colons. */
static bool is_like_address(const char *text, gsize count)
{
	guint joints = 0, colons = 0;
	bool is_decimal = true;
	for (gsize i = 0; i < count; i++) {
		joints += text[i] == '.' || text[i] == '-';
		colons += text[i] == ':';
		is_decimal = is_decimal && !g_ascii_isalpha(text[i]);
	}
	return (joints >= 3 && is_decimal) || colons >= 2;
}

static bool is_part_of_word(char c)
{
	return dtc_pseudonyms_is_letter((uint8_t)c);
}

void dtc_names_replace_addresses(DtcPseudonyms *words, char *text, gsize count)
{
	for (gsize at = 0; at < count;) {
		gsize end = at;
		while (end < count && is_part_of_address(text[end]))
			end++;
		/* of "web-10-0-0-2" the run begins within a word */
		gsize from = at;
		while (from < end && from > 0 && is_part_of_word(text[from - 1]) && is_part_of_word(text[from]))
			from++;
		if (end > from && is_like_address(text + from, end - from))
			dtc_pseudonyms_replace_text(words, (uint8_t *)text + from, end - from, 0);
		at = end + 1;
	}
}

char *dtc_names_replace_string(DtcPseudonyms *words, const char *text)
{
	char *copy = g_strdup(text);
	dtc_names_replace(words, copy, strlen(copy));
	return copy;
}
