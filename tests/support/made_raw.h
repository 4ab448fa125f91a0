/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes small raw recordings by hand, of two CPUs with one sub-buffer each, in the layout of 64-bit kernels: just
 * enough events of tracefs to tell a story.
 */
#pragma once

#include "collect/bundle/scratch.h"
#include "collect/seal/raw.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#define MADE_RAW_PAGE 4096
#define MADE_RAW_CPUS 2
#define MADE_RAW_BEGIN 1000000000 /* all times of a story are after it */

enum made_raw_type {
	MADE_SWITCH = 1,
	MADE_WAKING,
	MADE_NEW_TASK,
	MADE_FORK,
	MADE_OPEN,
	MADE_OPENED,
	MADE_CLOSE,
	MADE_BLOCK,
	MADE_RECEIVE
};

struct made_raw {
	DtcScratch *scratch;
	char *folder; /* of the node */
	GByteArray *pages[MADE_RAW_CPUS];
	guint64 last[MADE_RAW_CPUS]; /* time of the last event, counted from the page's */
	GString *begin;		     /* the walks */
	GString *end;
	GString *drops;
	const char *more; /* lines for the group [recording]; or NULL */
};

static const char made_raw_common[] = "format:\n"
				      "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
				      "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
				      "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
				      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

static const struct {
	const char *system;
	const char *name;
	const char *fields;
} made_raw_formats[] = {
	{ "sched", "sched_switch",
	  "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	  "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	  "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	  "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	  "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	  "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	  "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n" },
	{ "sched", "sched_waking",
	  "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	  "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n" },
	{ "task", "task_newtask",
	  "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
	  "\tfield:unsigned long clone_flags;\toffset:16;\tsize:8;\tsigned:0;\n" },
	{ "sched", "sched_process_fork",
	  "\tfield:char parent_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	  "\tfield:pid_t parent_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	  "\tfield:char child_comm[16];\toffset:28;\tsize:16;\tsigned:0;\n"
	  "\tfield:pid_t child_pid;\toffset:44;\tsize:4;\tsigned:1;\n" },
	{ "syscalls", "sys_enter_openat",
	  "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	  "\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
	  "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n" },
	{ "syscalls", "sys_exit_openat",
	  "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	  "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n" },
	{ "syscalls", "sys_enter_close",
	  "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
	  "\tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n" },
	{ "block", "block_rq_issue",
	  "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
	  "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
	  "\tfield:char rwbs[10];\toffset:24;\tsize:10;\tsigned:0;\n"
	  "\tfield:char comm[16];\toffset:34;\tsize:16;\tsigned:0;\n" },
	{ "net", "netif_receive_skb",
	  "\tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n"
	  "\tfield:unsigned int len;\toffset:16;\tsize:4;\tsigned:0;\n"
	  "\tfield:__data_loc char[] name;\toffset:20;\tsize:4;\tsigned:0;\n" },
};

static inline void made_raw_begin(struct made_raw *raw)
{
	*raw = (struct made_raw){ .scratch = dtc_scratch_new(NULL) };
	raw->folder = g_build_filename(dtc_scratch_get_path(raw->scratch), "node", NULL);
	raw->begin = g_string_new("T\t1000000000\t1000000010\n");
	raw->end = g_string_new("T\t2000000000\t2000000010\n");
	raw->drops = g_string_new(NULL);
	for (guint i = 0; i < MADE_RAW_CPUS; i++)
		raw->pages[i] = g_byte_array_new();
}

static inline void made_raw_word(struct made_raw *raw, guint cpu, guint32 word)
{
	g_byte_array_append(raw->pages[cpu], (const guint8 *)&word, sizeof word);
}

/* An event of so many bytes, a multiple of 4; the first two and the pid are filled in. */
static inline void made_raw_event(struct made_raw *raw, guint cpu, guint64 t, enum made_raw_type type, gint32 pid,
				  guint8 *data, guint bytes)
{
	guint16 number = (guint16)type;
	memcpy(data, &number, sizeof number);
	memcpy(data + 4, &pid, sizeof pid);
	made_raw_word(raw, cpu, bytes / 4 | (guint32)(t - raw->last[cpu]) << 5);
	g_byte_array_append(raw->pages[cpu], data, bytes);
	raw->last[cpu] = t;
}

static inline void made_raw_switch(struct made_raw *raw, guint cpu, guint64 t, gint32 prev, gint64 state, gint32 next)
{
	guint8 data[64] = { 0 };
	g_snprintf((char *)data + 8, 16, "t%d", prev);
	memcpy(data + 24, &prev, 4);
	memcpy(data + 32, &state, 8);
	g_snprintf((char *)data + 40, 16, "t%d", next);
	memcpy(data + 56, &next, 4);
	made_raw_event(raw, cpu, t, MADE_SWITCH, prev, data, sizeof data);
}

/* flags: common_flags */
static inline void made_raw_waking_in(struct made_raw *raw, guint cpu, guint64 t, guint8 flags, gint32 waker,
				      gint32 tid)
{
	guint8 data[28] = { 0, 0, flags };
	g_snprintf((char *)data + 8, 16, "t%d", tid);
	memcpy(data + 24, &tid, 4);
	made_raw_event(raw, cpu, t, MADE_WAKING, waker, data, sizeof data);
}

static inline void made_raw_waking(struct made_raw *raw, guint cpu, guint64 t, gint32 waker, gint32 tid)
{
	made_raw_waking_in(raw, cpu, t, 0, waker, tid);
}

/* On lo. */
static inline void made_raw_receive(struct made_raw *raw, guint cpu, guint64 t, guint8 flags, gint32 tid)
{
	guint8 data[28] = { 0, 0, flags };
	guint32 length = 52, place = 3u << 16 | 24;
	memcpy(data + 16, &length, 4);
	memcpy(data + 20, &place, 4);
	memcpy(data + 24, "lo", 3);
	made_raw_event(raw, cpu, t, MADE_RECEIVE, tid, data, sizeof data);
}

/* type: OPEN, OPENED, CLOSE. value: the descriptor of the latter two. */
static inline void made_raw_call(struct made_raw *raw, guint cpu, guint64 t, enum made_raw_type type, gint32 tid,
				 gint64 value)
{
	guint8 data[32] = { 0 };
	memcpy(data + 16, &value, 8);
	made_raw_event(raw, cpu, t, type, tid, data, type == MADE_OPEN ? 32 : 24);
}

static inline void made_raw_fork(struct made_raw *raw, guint cpu, guint64 t, gint32 parent, gint32 child, guint64 flags)
{
	guint8 task[24] = { 0 }, fork[48] = { 0 };
	memcpy(task + 8, &child, 4);
	memcpy(task + 16, &flags, 8);
	made_raw_event(raw, cpu, t, MADE_NEW_TASK, parent, task, sizeof task);
	memcpy(fork + 24, &parent, 4);
	memcpy(fork + 44, &child, 4);
	made_raw_event(raw, cpu, t + 1, MADE_FORK, parent, fork, sizeof fork);
}

static inline void made_raw_block(struct made_raw *raw, guint cpu, guint64 t, gint32 tid, const char *rwbs)
{
	guint8 data[52] = { 0 };
	g_strlcpy((char *)data + 24, rwbs, 10);
	made_raw_event(raw, cpu, t, MADE_BLOCK, tid, data, sizeof data);
}

static inline void made_raw_write(const struct made_raw *raw, const char *name, const void *bytes, gssize count)
{
	g_autofree char *path = g_build_filename(raw->folder, DTC_RAW_FOLDER, name, NULL);
	g_assert_true(g_file_set_contents(path, bytes, count, NULL));
}

/* flags: of the first page's commit word. */
static inline void made_raw_write_pages(const struct made_raw *raw, guint64 flags)
{
	for (guint i = 0; i < MADE_RAW_CPUS; i++) {
		g_autofree char *name = g_strdup_printf(DTC_RAW_CPU "%u", i);
		guint8 page[MADE_RAW_PAGE] = { 0 };
		guint64 time = MADE_RAW_BEGIN, commit = raw->pages[i]->len | flags, lost = 5;
		g_assert_cmpuint(raw->pages[i]->len, <=, MADE_RAW_PAGE - 24);
		memcpy(page, &time, 8);
		memcpy(page + 8, &commit, 8);
		if (raw->pages[i]->len)
			memcpy(page + 16, raw->pages[i]->data, raw->pages[i]->len);
		if (flags)
			memcpy(page + 16 + raw->pages[i]->len, &lost, 8);
		made_raw_write(raw, name, page, sizeof page);
	}
}

/* flags: 0, or those that say that events were lost before the first (5 of them). */
static inline void made_raw_end(struct made_raw *raw, guint64 flags)
{
	g_autofree char *path = g_build_filename(raw->folder, DTC_RAW_FOLDER, NULL);
	g_autoptr(GString) formats = g_string_new(NULL);

	g_assert_cmpint(g_mkdir_with_parents(path, 0700), ==, 0);
	for (guint i = 0; i < G_N_ELEMENTS(made_raw_formats); i++)
		g_string_append_printf(formats, "system %s\nname: %s\nID: %u\n%s%s\n", made_raw_formats[i].system,
				       made_raw_formats[i].name, i + 1, made_raw_common, made_raw_formats[i].fields);
	made_raw_write(raw, DTC_RAW_FORMATS, formats->str, (gssize)formats->len);
	made_raw_write(raw, DTC_RAW_HEADER_PAGE,
		       "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		       "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		       "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n",
		       -1);
	g_autofree char *recording = g_strconcat(
		"[recording]\nversion=1\ntracer=tracefs\nnode=node\ncpus=0;1;\npage-size=4096\nclock=mono\n"
		"boot-id=01234567-89ab-4cde-8f01-23456789abcd\nbegin-ns=1000000000\nend-ns=3000000000\nstate=stopped\n",
		raw->more, NULL);
	made_raw_write(raw, DTC_RAW_RECORDING, recording, -1);
	made_raw_write(raw, DTC_RAW_CLOCKS, "1000000000 1000000000 0 0 0 100\n", -1);
	made_raw_write(raw, DTC_RAW_DROPS, raw->drops->str, -1);
	made_raw_write(raw, DTC_RAW_PROC_BEGIN, raw->begin->str, -1);
	made_raw_write(raw, DTC_RAW_PROC_END, raw->end->str, -1);
	made_raw_write_pages(raw, flags);
}

static inline void made_raw_clear(struct made_raw *raw)
{
	for (guint i = 0; i < MADE_RAW_CPUS; i++)
		g_byte_array_unref(raw->pages[i]);
	g_string_free(raw->begin, TRUE);
	g_string_free(raw->end, TRUE);
	g_string_free(raw->drops, TRUE);
	g_free(raw->folder);
	dtc_scratch_free(raw->scratch);
}
