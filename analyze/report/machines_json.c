/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/report/finding_list.h"
#include "analyze/report/machines_view.h"
#include "analyze/report/words.h"
#include "collect/console/json_object.h"

static void begin_element(GString *out, guint index)
{
	g_string_append(out, index ? ",\n    {" : "\n    {");
}

static void begin_list(GString *out, const char *key)
{
	dtc_json_append_key(out, key);
	g_string_append_c(out, '[');
}

static void add_thread(GString *out, const DtcHistory *history, uint32_t thread, int64_t at_ns)
{
	dtc_json_add_id(out, "tid", thread == DTC_NONE ? -1 : dtc_history_get_thread(history, thread)->tid);
	dtc_json_add_name(out, "comm", thread == DTC_NONE ? NULL : dtc_history_get_comm(history, thread, at_ns));
}

static void add_thieves(GString *out, const DtcHistory *history, const struct dtc_vm_cpu *cpu)
{
	begin_list(out, "stolen_by");
	for (guint i = 0; i < cpu->thieves->len; i++) {
		const struct dtc_vm_thief *thief = &g_array_index(cpu->thieves, struct dtc_vm_thief, i);
		bool is_idle = thief->thread == DTC_NONE && thief->state == DTC_STATE_IDLE;
		g_autofree char *interrupt = thief->thread == DTC_NONE && !is_idle
						     ? dtc_words_for_interrupt(history, thief->state, thief->ref)
						     : NULL;
		g_string_append(out, i ? ", {" : "{");
		add_thread(out, history, thief->thread, cpu->end_ns);
		dtc_json_add_text(out, "interrupt", interrupt);
		dtc_json_add_integer(out, "ns", thief->ns);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
}

static void add_exits(GString *out, const struct dtc_vm_cpu *cpu)
{
	static const char *const isas[] = { NULL, "vmx", "svm" };

	begin_list(out, "exits");
	for (guint i = 0; i < cpu->exits->len; i++) {
		const struct dtc_vm_exit *exit = &g_array_index(cpu->exits, struct dtc_vm_exit, i);
		g_autofree char *reason = dtc_words_for_exit(exit->isa, exit->reason);
		g_string_append(out, i ? ", {" : "{");
		dtc_json_add_text(out, "reason", reason);
		dtc_json_add_text(out, "isa", exit->isa < G_N_ELEMENTS(isas) ? isas[exit->isa] : NULL);
		dtc_json_add_id(out, "code", exit->reason == DTC_EXIT_UNKNOWN ? -1 : exit->reason);
		dtc_json_add_integer(out, "count", (int64_t)exit->count);
		dtc_json_add_integer(out, "ns", exit->ns);
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
}

static void add_cpu(GString *out, const struct dtc_vms_input *input, const struct dtc_vm_cpu *cpu)
{
	const DtcHistory *history = input->histories[cpu->host];
	const struct dtc_thread *thread = dtc_history_get_thread(history, cpu->thread);

	dtc_json_add_name(out, "host", input->node_names[cpu->host]);
	dtc_json_add_name(out, "guest", cpu->guest == G_MAXUINT ? NULL : input->node_names[cpu->guest]);
	dtc_json_add_id(out, "cpu", cpu->number);
	dtc_json_add_bool(out, "verified", cpu->is_verified);
	dtc_json_add_id(out, "pid", thread->pid);
	dtc_json_add_name(out, "process", dtc_history_get_process(history, cpu->thread, cpu->end_ns));
	add_thread(out, history, cpu->thread, cpu->end_ns);
	dtc_json_add_integer(out, "start_ns", dtc_clocks_to_cluster_ns(input->clocks, cpu->host, cpu->begin_ns));
	dtc_json_add_integer(out, "span_ns", cpu->end_ns - cpu->begin_ns);
	dtc_json_add_integer(out, "running_ns", cpu->running_ns);
	dtc_json_add_integer(out, "stolen_ns", cpu->stolen_ns);
	dtc_json_add_integer(out, "handled_ns", cpu->handled_ns);
	dtc_json_add_integer(out, "blocked_ns", cpu->blocked_ns);
	dtc_json_add_integer(out, "halted_ns", cpu->halted_ns);
	dtc_json_add_integer(out, "unknown_ns", cpu->unknown_ns);
	add_thieves(out, history, cpu);
	add_exits(out, cpu);
	dtc_json_add_integer(out, "wakeups", (int64_t)cpu->wakeups);
	dtc_json_add_integer(out, "woken_ns", cpu->woken_ns);
	dtc_json_add_integer(out, "woken_max_ns", cpu->woken_max_ns);
	dtc_json_add_integer(out, "interrupts", (int64_t)cpu->injections);
}

static void add_silences(GString *out, const struct dtc_vms_input *input, guint node,
			 const struct dtc_vm_silent_cpu *cpu)
{
	begin_list(out, "silences");
	for (guint i = 0; i < cpu->silences->len && (!input->limit || i < input->limit); i++) {
		const struct dtc_vm_silence *silence = &g_array_index(cpu->silences, struct dtc_vm_silence, i);
		g_string_append(out, i ? ", {" : "{");
		dtc_json_add_integer(out, "start_ns", dtc_clocks_to_cluster_ns(input->clocks, node, silence->begin_ns));
		dtc_json_add_integer(out, "due_ns", dtc_clocks_to_cluster_ns(input->clocks, node, silence->due_ns));
		dtc_json_add_integer(out, "end_ns", dtc_clocks_to_cluster_ns(input->clocks, node, silence->end_ns));
		add_thread(out, input->histories[node], silence->thread, silence->end_ns);
		dtc_json_add_text(out, "quality", silence->is_kernel ? "possible" : "likely");
		g_string_append_c(out, '}');
	}
	g_string_append_c(out, ']');
}

static void add_silent_cpu(GString *out, const struct dtc_vms_input *input, guint node,
			   const struct dtc_vm_silent_cpu *cpu)
{
	dtc_json_add_name(out, "node", input->node_names[node]);
	dtc_json_add_integer(out, "cpu", cpu->cpu);
	if (cpu->period_ns)
		dtc_json_add_integer(out, "timer_ns", cpu->period_ns);
	else
		dtc_json_add_null(out, "timer_ns");
	dtc_json_add_integer(out, "busy_ns", cpu->busy_ns);
	dtc_json_add_integer(out, "user_ns", cpu->user_ns);
	dtc_json_add_integer(out, "kernel_ns", cpu->kernel_ns);
	dtc_json_add_integer(out, "at_most_ns", cpu->at_most_ns);
	add_silences(out, input, node, cpu);
}

static void add_vcpus(GString *out, const struct dtc_vms_input *input)
{
	guint count = 0;

	begin_list(out, "vcpus");
	for (guint i = 0; i < input->nodes->len; i++) {
		const struct dtc_vms_node *node = &g_array_index(input->nodes, struct dtc_vms_node, i);
		for (guint k = 0; k < node->cpus->len; k++) {
			begin_element(out, count++);
			add_cpu(out, input, &g_array_index(node->cpus, struct dtc_vm_cpu, k));
			g_string_append_c(out, '}');
		}
	}
	g_string_append(out, count ? "\n  ]" : "]");
}

static void add_inferred(GString *out, const struct dtc_vms_input *input)
{
	guint count = 0;

	begin_list(out, "inferred");
	for (guint i = 0; i < input->nodes->len; i++) {
		const struct dtc_vms_node *node = &g_array_index(input->nodes, struct dtc_vms_node, i);
		for (guint k = 0; node->silent && k < node->silent->len; k++) {
			begin_element(out, count++);
			add_silent_cpu(out, input, node->node,
				       &g_array_index(node->silent, struct dtc_vm_silent_cpu, k));
			g_string_append_c(out, '}');
		}
	}
	g_string_append(out, count ? "\n  ]" : "]");
}

char *dtc_vms_to_json(const struct dtc_vms_input *input)
{
	GString *out = g_string_new("{\n  ");

	dtc_json_add_text(out, "schema", DTC_VMS_SCHEMA);
	dtc_json_add_name(out, "reference", input->reference);
	add_vcpus(out, input);
	add_inferred(out, input);
	dtc_finding_list_add_json(out, input->findings);
	g_string_append(out, "\n}\n");
	return g_string_free(out, FALSE);
}
