/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which causes are added up for the head of a report: a wait for RCU is none for a disk. */
#include "dtrace-chain/report.h"

#include <glib.h>

static void test_families(void)
{
	static const struct {
		enum dtc_cause cause;
		const char *family;
	} of[] = {
		{ DTC_CAUSE_DISK, "disk" },
		{ DTC_CAUSE_PAGE_FAULT, "disk" },
		{ DTC_CAUSE_DEVICE, "device" },
		{ DTC_CAUSE_TIMER, "timer" },
		{ DTC_CAUSE_STOPPED, "stopped" },
		{ DTC_CAUSE_CPU_LIMIT, "cpu-wait" },
		{ DTC_CAUSE_SOFTIRQ, "cpu" },
		{ DTC_CAUSE_FORK_EXEC, "cpu" },
		{ DTC_CAUSE_CHILD, "ipc" },
		{ DTC_CAUSE_VM_EXIT, "vm" },
		{ DTC_CAUSE_NETWORK_WIRE, "network" },
		{ DTC_CAUSE_LOCK, "lock" },
		{ DTC_CAUSE_UNKNOWN, "unknown" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(of); i++)
		g_assert_cmpstr(dtc_family_to_string(dtc_family_of_cause(of[i].cause)), ==, of[i].family);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/families/of-causes", test_families);
	return g_test_run();
}
