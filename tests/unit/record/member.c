/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A node of a cluster that is a script, and says what no agent would, or too much of it. */
#include "collect/record/cluster/member.h"
#include "collect/bundle/scratch.h"
#include "collect/record/cluster/agent.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>

#define PROGRAM_BYTES 5000

struct lab {
	DtcScratch *scratch;
	char *via[3];
	char *got; /* what the script writes of what it is told */
	GMappedFile *program;
	struct dtc_target target;
	struct dtc_member_settings settings;
	DtcMember *member;
};

/* Its words are those of a shell that was to run something there. */
static void start(struct lab *lab, const char *script)
{
	static char *const no_options[] = { NULL };
	static char name[] = "web", node[] = "{node}";
	g_autofree char *text = g_strconcat("#!/bin/sh\n", script, NULL);
	char bytes[PROGRAM_BYTES] = { 0 };

	*lab = (struct lab){ .scratch = dtc_scratch_new(NULL), .target = { .name = name, .host = name } };
	const char *place = dtc_scratch_get_path(lab->scratch);
	g_autofree char *program = g_build_filename(place, "program", NULL);
	g_assert_true(g_file_set_contents(program, bytes, sizeof(bytes), NULL));
	lab->program = g_mapped_file_new(program, FALSE, NULL);
	lab->via[0] = g_build_filename(place, "node", NULL);
	lab->via[1] = node;
	g_assert_true(g_file_set_contents_full(lab->via[0], text, -1, G_FILE_SET_CONTENTS_NONE, 0700, NULL));
	lab->got = g_strconcat(lab->via[0], ".got", NULL);
	lab->settings = (struct dtc_member_settings){
		.via = lab->via, .boot = { .place = place }, .program = lab->program, .options = no_options
	};
	g_autofree char *here = g_build_filename(place, "here", NULL);
	g_mkdir(here, 0700);
	lab->member = dtc_member_new(&lab->target, 0, here, &lab->settings);
}

static void go_on(struct lab *lab)
{
	struct pollfd fds[DTC_MEMBER_POLL_COUNT];

	dtc_member_fill_poll(lab->member, fds);
	(void)poll(fds, DTC_MEMBER_POLL_COUNT, 10);
	dtc_member_go_on(lab->member);
	if (dtc_member_get_phase(lab->member) == DTC_MEMBER_GREETED)
		dtc_member_start(lab->member);
}

static void reach(struct lab *lab, enum dtc_member_phase phase)
{
	for (guint i = 0; i < 2000 && dtc_member_get_phase(lab->member) != phase; i++)
		go_on(lab);
	g_assert_cmpint(dtc_member_get_phase(lab->member), ==, phase);
}

/* And a moment more, in which nothing else is to come. */
static char *await_got(struct lab *lab, gsize at_least)
{
	char *text = NULL;
	gsize bytes = 0;

	for (guint i = 0; i < 2000 && bytes < at_least; i++) {
		go_on(lab);
		g_clear_pointer(&text, g_free);
		(void)g_file_get_contents(lab->got, &text, &bytes, NULL);
	}
	g_free(text);
	for (guint i = 0; i < 20; i++)
		go_on(lab);
	g_assert_true(g_file_get_contents(lab->got, &text, &bytes, NULL));
	g_assert_cmpuint(bytes, ==, at_least);
	return text;
}

static void finish(struct lab *lab)
{
	dtc_member_free(lab->member);
	g_mapped_file_unref(lab->program);
	g_free(lab->via[0]);
	g_free(lab->got);
	dtc_scratch_free(lab->scratch);
}

/* Whoever asks for the program again and again gets it once. */
static void test_program(void)
{
	struct lab lab;

	start(&lab, "printf 'boot need x\\nboot need x\\nboot need x\\n'; cat >$0.got; exit 0\n");
	g_free(await_got(&lab, PROGRAM_BYTES));
	finish(&lab);
}

#define SERVE "echo hello " DTC_AGENT_PROTOCOL "\nwhile read line; do case $line in\n"

/* A list has one end, and no file is asked for twice. */
static void test_list(void)
{
	struct lab lab;

	start(&lab, SERVE "start*) printf 'ready\\nended 0\\n';;\n"
			  "list) printf 'file 9 a\\nlisted\\nfile 9 b\\nlisted\\nlisted\\n';;\n"
			  "get*) echo $line >>$0.got;;\n"
			  "esac; done\n");
	g_autofree char *got = await_got(&lab, strlen("get a 0\n"));
	g_assert_cmpstr(got, ==, "get a 0\n");
	finish(&lab);
}

/* A recorder that ends for another reason than a trigger ends nothing but itself. */
static void test_ending(void)
{
	static const char *const words[] = { "ending", "ending trigger", "said trigger:%%20x\\nended 0" };

	for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
		struct lab lab;
		g_autofree char *script =
			g_strdup_printf(SERVE "start*) printf 'ready\\n%s\\n';; esac; done\n", words[i]);
		start(&lab, script);
		reach(&lab, i == 2 ? DTC_MEMBER_FETCHING : DTC_MEMBER_ENDING);
		g_assert_cmpint(dtc_member_has_triggered(lab.member), ==, i > 0);
		finish(&lab);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	signal(SIGPIPE, SIG_IGN);
	g_test_add_func("/member/program", test_program);
	g_test_add_func("/member/list", test_list);
	g_test_add_func("/member/ending", test_ending);
	return g_test_run();
}
