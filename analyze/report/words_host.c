/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/edge/host.h"
#include "analyze/report/words.h"

/* Codes of arch/x86/include/uapi/asm/svm.h and vmx.h, as far as they are common. */
struct exit_name {
	uint16_t reason;
	const char *name;
};

static const struct exit_name svm_exits[] = {
	{ 0x4e, "page fault" },
	{ 0x60, "interrupt" },
	{ 0x61, "NMI" },
	{ 0x64, "interrupt window" },
	{ 0x6e, "rdtsc" },
	{ 0x72, "cpuid" },
	{ 0x73, "iret" },
	{ 0x75, "int n" },
	{ 0x76, "invd" },
	{ 0x77, "pause" },
	{ 0x78, "halt" },
	{ 0x79, "invlpg" },
	{ 0x7b, "port I/O" },
	{ 0x7c, "msr" },
	{ 0x7f, "shutdown" },
	{ 0x80, "vmrun" },
	{ 0x81, "hypercall" },
	{ 0x87, "rdtscp" },
	{ 0x89, "wbinvd" },
	{ 0x8a, "monitor" },
	{ 0x8b, "mwait" },
	{ 0x8d, "xsetbv" },
	{ 0x400, "nested page fault" },
	{ 0x401, "avic incomplete ipi" },
	{ 0x402, "avic access" },
	{ 0x403, "vmgexit" },
};

static const struct exit_name vmx_exits[] = {
	{ 0, "exception" },	  { 1, "interrupt" },
	{ 2, "triple fault" },	  { 7, "interrupt window" },
	{ 8, "NMI window" },	  { 9, "task switch" },
	{ 10, "cpuid" },	  { 12, "halt" },
	{ 13, "invd" },		  { 14, "invlpg" },
	{ 15, "rdpmc" },	  { 16, "rdtsc" },
	{ 18, "hypercall" },	  { 28, "control register" },
	{ 29, "debug register" }, { 30, "port I/O" },
	{ 31, "msr read" },	  { 32, "msr write" },
	{ 36, "mwait" },	  { 39, "monitor" },
	{ 40, "pause" },	  { 43, "tpr below threshold" },
	{ 44, "apic access" },	  { 45, "eoi" },
	{ 48, "ept violation" },  { 49, "ept misconfiguration" },
	{ 51, "rdtscp" },	  { 52, "preemption timer" },
	{ 54, "wbinvd" },	  { 55, "xsetbv" },
	{ 56, "apic write" },	  { 62, "page log full" },
};

char *dtc_words_for_exit(uint8_t isa, uint16_t reason)
{
	const struct exit_name *names = isa == 1 ? vmx_exits : svm_exits;
	gsize count = isa == 1 ? G_N_ELEMENTS(vmx_exits) : isa == 2 ? G_N_ELEMENTS(svm_exits) : 0;
	for (gsize i = 0; i < count; i++)
		if (names[i].reason == reason)
			return g_strdup(names[i].name);
	if (reason == DTC_EXIT_UNKNOWN)
		return g_strdup("exit");
	return g_strdup_printf("exit %u", reason);
}

static char *explain_exit(const DtcHistory *h, const struct dtc_evidence *evidence, const char *host)
{
	const struct dtc_interval *interval = &evidence->interval;
	g_autofree char *why = dtc_words_for_exit(evidence->isa, evidence->exit_reason);
	g_autofree char *call = NULL;
	switch ((enum dtc_state)interval->state) {
	case DTC_STATE_IRQ:
	case DTC_STATE_SOFTIRQ:
		call = dtc_words_for_interval(h, interval);
		return g_strdup_printf("%s of %s", call, host);
	case DTC_STATE_USER:
		/* a trace without system calls does not tell user space from the kernel */
		if (dtc_history_get_thread(h, interval->thread)->call_count == 0)
			return g_strdup_printf("%s, handled by %s", why, host);
		return g_strdup_printf("%s, handled by %s on %s", why,
				       dtc_history_get_process(h, interval->thread, interval->end_ns), host);
	default:
		break;
	}
	if (interval->call == DTC_NONE || dtc_host_runs_guest(h, interval->call))
		return g_strdup_printf("%s, handled by the kernel of %s", why, host);
	call = dtc_words_for_call(h, interval->call);
	return g_strdup_printf("%s, handled by %s on %s: %s", why,
			       dtc_history_get_process(h, interval->thread, interval->end_ns), host, call);
}

char *dtc_words_for_host(const DtcHistory *h, const char *host, const struct dtc_evidence *evidence)
{
	g_autofree char *by = NULL;
	if (evidence->reason == DTC_REASON_HOST_EXIT)
		return explain_exit(h, evidence, host);
	by = dtc_words_for_interval(h, &evidence->interval);
	if (by)
		return g_strdup_printf("%s on %s", by, host);
	return evidence->reason == DTC_REASON_HOST_PREEMPTED ? g_strdup_printf("waits for a CPU of %s", host)
							     : g_strdup_printf("blocked on %s", host);
}
