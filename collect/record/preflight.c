/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/record/preflight.h"

#include "collect/console/printable.h"
#include "collect/record/cpu_list.h"
#include "collect/record/netns.h"
#include "collect/record/place.h"
#include "collect/record/privileges.h"
#include "collect/record/vm_walk.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((guint64)1 << 20)
/* What a busy CPU wrote while four services were under load: 50 k events of 38 bytes a second. Packets come on top. */
#define BYTES_PER_CPU_SECOND (2 * MIB)
#define UNKNOWN_SECONDS 60
#define LEAST_FREE_BYTES (64 * MIB)
/* include/linux/proc_ns.h: the first PID namespace has a fixed inode. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

static void free_check(void *data)
{
	struct dtc_preflight_check *check = data;

	g_free(check->text);
	g_free(check->hint);
	g_free(check);
}

/* Takes both texts. */
static void add(GPtrArray *checks, enum dtc_verdict verdict, const char *subject, char *text, char *hint)
{
	struct dtc_preflight_check *check = g_new0(struct dtc_preflight_check, 1);

	*check = (struct dtc_preflight_check){ verdict, subject, text, hint };
	g_ptr_array_add(checks, check);
}

/* An error's first line, and the hint in its second. */
static void add_error(GPtrArray *checks, enum dtc_verdict verdict, const char *subject, const GError *error)
{
	g_auto(GStrv) parts = g_strsplit(error->message, "\n", 2);

	add(checks, verdict, subject, g_strdup(parts[0]), g_strdup(parts[1]));
}

bool dtc_preflight_is_locked_down(const char *text)
{
	return strstr(text, "[confidentiality]") != NULL;
}

guint64 dtc_preflight_get_available_memory(const char *meminfo)
{
	const char *line = strstr(meminfo, "MemAvailable:");

	return line ? g_ascii_strtoull(line + strlen("MemAvailable:"), NULL, 10) * 1024 : 0;
}

static char *read_file(const char *path)
{
	char *text = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return g_strdup("");
	return text;
}

static void check_tracer(GPtrArray *checks, const struct dtc_preflight_request *request)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *lockdown = read_file("/sys/kernel/security/lockdown");

	if (dtc_preflight_is_locked_down(lockdown))
		add(checks, DTC_VERDICT_BAD, "lockdown",
		    g_strdup("the kernel is locked down to confidentiality: nobody may trace it"),
		    g_strdup("it takes lockdown=integrity or none on the kernel's command line"));
	if (request->tracer->check(&error))
		add(checks, DTC_VERDICT_GOOD, request->tracer->name, g_strdup("can be used"), NULL);
	else
		add_error(checks, DTC_VERDICT_BAD, request->tracer->name, error);
}

static void check_events(GPtrArray *checks, const struct dtc_preflight_request *request)
{
	g_autoptr(GError) error = NULL;
	struct dtc_event_choice choice = { 0 };
	g_autofree char *available = request->tracer->list_events(&error);

	if (!available || !dtc_events_choose(available, request->set, request->event_list, &choice, &error)) {
		add_error(checks, DTC_VERDICT_BAD, "events", error);
		return;
	}
	if (choice.events->len == 0)
		add(checks, DTC_VERDICT_BAD, "events", g_strdup("there are none to record"), NULL);
	else
		add(checks, DTC_VERDICT_GOOD, "events",
		    request->event_list ? g_strdup_printf("%u, of a list", choice.events->len)
					: g_strdup_printf("%u of the set '%s'", choice.events->len,
							  dtc_event_set_to_string(request->set)),
		    NULL);
	for (guint i = 0; i < choice.lacks->len; i++) {
		const char *lack = g_ptr_array_index(choice.lacks, i);
		if (!request->tracer->has_otherwise || !request->tracer->has_otherwise(lack))
			add(checks, DTC_VERDICT_LACKING, "events", g_strdup(strchr(lack, '=') + 1), NULL);
	}
	dtc_event_choice_clear(&choice);
}

/* Which virtual machines run here, and whether it can be told when. */
static void check_guests(GPtrArray *checks, const struct dtc_preflight_request *request)
{
	g_autoptr(GPtrArray) guests = dtc_vm_walk("");
	g_autofree char *available = request->tracer->list_events(NULL);
	bool has_events = available && strstr(available, "kvm:kvm_entry");

	for (guint i = 0; i < guests->len; i++) {
		const struct dtc_environment_guest *guest = g_ptr_array_index(guests, i);
		g_autofree char *name = dtc_printable(guest->name, DTC_PRINTABLE_NAME_MAX);
		add(checks, has_events ? DTC_VERDICT_GOOD : DTC_VERDICT_LACKING, "guest",
		    g_strdup_printf("%s (process %u), %u virtual CPUs%s%s", name, guest->pid, guest->vcpu_count,
				    guest->vcpu_tids->len ? "" : ", whose threads are not known",
				    has_events ? "" : "; without kvm events it is not recorded when they run"),
		    NULL);
	}
	if (guests->len == 0)
		add(checks, DTC_VERDICT_GOOD, "guests", g_strdup("no virtual machine runs here"), NULL);
}

static void check_rights(GPtrArray *checks, bool has_packets)
{
	static const struct {
		int capability;
		bool is_for_packets;
		const char *name, *lost;
	} rights[] = {
		{ CAP_NET_RAW, true, "CAP_NET_RAW", "packets cannot be captured" },
		{ CAP_SYS_ADMIN, true, "CAP_SYS_ADMIN", "packets are captured in this network namespace only" },
		{ CAP_SYS_PTRACE, false, "CAP_SYS_PTRACE",
		  "programs and files of other users' processes have no names" },
		{ CAP_DAC_READ_SEARCH, false, "CAP_DAC_READ_SEARCH",
		  "files of other users' processes cannot be listed" },
	};
	bool is_whole = true;

	for (gsize i = 0; i < G_N_ELEMENTS(rights); i++) {
		if (dtc_privileges_has(rights[i].capability) || (rights[i].is_for_packets && !has_packets))
			continue;
		is_whole = false;
		add(checks, rights[i].capability == CAP_NET_RAW ? DTC_VERDICT_BAD : DTC_VERDICT_LACKING, "rights",
		    g_strdup_printf("without %s %s", rights[i].name, rights[i].lost),
		    rights[i].capability == CAP_NET_RAW
			    ? g_strdup("run it as root, give it the capability, or take --no-packets")
			    : g_strdup("run it as root, or give it the capability"));
	}
	if (is_whole)
		add(checks, DTC_VERDICT_GOOD, "rights", g_strdup("all that are needed"), NULL);
}

static void check_container(GPtrArray *checks)
{
	struct stat status;

	if (stat("/proc/self/ns/pid", &status) == 0 && status.st_ino != FIRST_PID_NAMESPACE)
		add(checks, DTC_VERDICT_LACKING, "container",
		    g_strdup("this is a PID namespace of its own: events are of the whole machine, names of files and "
			     "programs of this container only, and by other numbers"),
		    g_strdup("run it on the host, or in the host's namespaces (--pid=host --network=host)"));
}

static void check_memory(GPtrArray *checks, const struct dtc_preflight_request *request)
{
	g_autoptr(GArray) cpus = dtc_cpu_list_get_online();
	g_autoptr(GPtrArray) namespaces = dtc_netns_list("/proc");
	g_autofree char *meminfo = read_file("/proc/meminfo");
	guint64 available = dtc_preflight_get_available_memory(meminfo);
	guint64 needed = (guint64)request->buffer_bytes * cpus->len + request->capture_bytes +
			 request->capture_bytes / 8 * (namespaces->len > 0 ? namespaces->len - 1 : 0);

	if (available > 0 && needed > available / 2)
		add(checks, DTC_VERDICT_BAD, "memory",
		    g_strdup_printf("buffers of %" G_GUINT64_FORMAT " MiB are more than half of the %" G_GUINT64_FORMAT
				    " MiB that are free",
				    needed / MIB, available / MIB),
		    g_strdup("ask for less with --buffer or --capture-buffer"));
	else
		add(checks, DTC_VERDICT_GOOD, "memory",
		    g_strdup_printf("%" G_GUINT64_FORMAT " MiB of buffers, %" G_GUINT64_FORMAT " MiB free",
				    needed / MIB, available / MIB),
		    NULL);
}

static void check_disk(GPtrArray *checks, const struct dtc_preflight_request *request)
{
	g_autoptr(GArray) cpus = dtc_cpu_list_get_online();
	guint64 free_bytes = dtc_place_guess_free_bytes(request->node_folder);
	double seconds = request->seconds > 0 ? request->seconds : UNKNOWN_SECONDS;
	guint64 needed = (guint64)(seconds * (double)BYTES_PER_CPU_SECOND) * cpus->len * (request->seals ? 2 : 1);

	if (free_bytes == G_MAXUINT64)
		return; /* creating the folder tells */
	g_autofree char *text = g_strdup_printf(
		"%" G_GUINT64_FORMAT " MiB free; %.0f s of busy CPUs take some %" G_GUINT64_FORMAT " MiB%s",
		free_bytes / MIB, seconds, needed / MIB, request->seals ? ", half of it while sealing" : "");
	enum dtc_verdict verdict = free_bytes < LEAST_FREE_BYTES ? DTC_VERDICT_BAD
				   : free_bytes < needed	 ? DTC_VERDICT_LACKING
								 : DTC_VERDICT_GOOD;
	add(checks, verdict, "disk", g_steal_pointer(&text),
	    verdict == DTC_VERDICT_GOOD ? NULL
					: g_strdup("name another disk with -o (of a cluster's node: --place), record "
						   "for less, or take --events-set "
						   "minimal; it stops before the disk is full"));
}

/* A slow clock is read for every event. */
static void check_clock(GPtrArray *checks)
{
	static const char *const fast[] = { "tsc",	"kvm-clock", "arch_sys_counter",  "hyperv_clocksource_tsc_page",
					    "timebase", "tod",	     "riscv_clocksource", NULL };
	g_autofree char *name = read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource");

	if (*g_strstrip(name) && !g_strv_contains(fast, name))
		add(checks, DTC_VERDICT_LACKING, "clock",
		    g_strdup_printf("the clock '%s' is slow to read, and every event reads it", name), NULL);
}

static void check_extras(GPtrArray *checks, const struct dtc_preflight_request *request)
{
	if (request->tracer != &dtc_tracer_tracefs || request->tracer->check(NULL)) {
		if (dtc_tracefs_has_eprobes())
			add(checks, DTC_VERDICT_GOOD, "eprobes", g_strdup("this kernel has them"), NULL);
		else
			add(checks, DTC_VERDICT_GOOD, "eprobes",
			    g_strdup("this kernel has none: packet headers come from the captures alone"), NULL);
	}
	add(checks, DTC_VERDICT_GOOD, "LTTng",
	    g_file_test("/sys/module/lttng_tracer", G_FILE_TEST_IS_DIR)
		    ? g_strdup("its modules are loaded")
		    : g_strdup("its modules are not loaded; they are not needed"),
	    NULL);
}

GPtrArray *dtc_preflight(const struct dtc_preflight_request *request)
{
	GPtrArray *checks = g_ptr_array_new_with_free_func(free_check);

	check_tracer(checks, request);
	if (!dtc_preflight_find_bad(checks))
		check_events(checks, request);
	if (request->has_guests && !dtc_preflight_find_bad(checks))
		check_guests(checks, request);
	check_rights(checks, request->capture_bytes > 0);
	check_container(checks);
	check_memory(checks, request);
	check_disk(checks, request);
	check_clock(checks);
	check_extras(checks, request);
	return checks;
}

const struct dtc_preflight_check *dtc_preflight_find_bad(const GPtrArray *checks)
{
	for (guint i = 0; i < checks->len; i++) {
		const struct dtc_preflight_check *check = g_ptr_array_index(checks, i);
		if (check->verdict == DTC_VERDICT_BAD)
			return check;
	}
	return NULL;
}
