/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recording a cluster without a kernel: which nodes there are and how they are reached, messages over a pipe, an agent
 * whose recorder is a script, and what is fetched from it.
 */
#include "collect/bundle/scratch.h"
#include "collect/record/cluster/agent.h"
#include "collect/record/cluster/boot.h"
#include "collect/record/cluster/channel.h"
#include "collect/record/cluster/fetch.h"
#include "collect/record/cluster/remains.h"
#include "collect/record/cluster/targets.h"
#include "collect/record/collect.h"
#include "collect/record/record_options.h"
#include "dtrace-chain/error.h"

#include <fcntl.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

/* ---- targets ---- */

static void assert_target(const GPtrArray *targets, guint index, const char *name, const char *host)
{
	const struct dtc_target *target = g_ptr_array_index(targets, index);

	g_assert_cmpstr(target->name, ==, name);
	g_assert_cmpstr(target->host, ==, host);
}

static void test_targets(void)
{
	static const char *const wrong[] = { "", ",", "a,a", "a=-oProxyCommand=x", "../a", "a b", "a=", "x@" };
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) targets = dtc_targets_parse("web, db=root@10.0.0.7,me@app", &error);

	g_assert_no_error(error);
	g_assert_cmpuint(targets->len, ==, 3);
	assert_target(targets, 0, "app", "me@app");
	assert_target(targets, 1, "db", "root@10.0.0.7");
	assert_target(targets, 2, "web", "web");
	for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) refused = NULL;
		g_assert_null(dtc_targets_parse(wrong[i], &refused));
		g_assert_error(refused, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
	}
}

static void test_files(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *lines = g_build_filename(dtc_scratch_get_path(scratch), "lines", NULL);
	g_autofree char *groups = g_build_filename(dtc_scratch_get_path(scratch), "groups", NULL);
	DtcCluster *cluster = NULL;

	g_assert_true(g_file_set_contents(lines, "# ours\nweb\n\ndb=10.0.0.7 # the large one\n", -1, NULL));
	g_autoptr(GPtrArray) first = dtc_targets_read(lines, &cluster, NULL);
	g_assert_null(cluster);
	assert_target(first, 0, "db", "10.0.0.7");
	assert_target(first, 1, "web", "web");
	g_assert_true(g_file_set_contents(groups, "[node web]\nrole=host\n[node db]\nconnect=me@db.local\n", -1, NULL));
	g_autoptr(GPtrArray) second = dtc_targets_read(groups, &cluster, NULL);
	assert_target(second, 0, "db", "me@db.local");
	assert_target(second, 1, "web", "web");
	g_assert_cmpstr(dtc_cluster_find_node(cluster, "web")->role, ==, "host");
	dtc_cluster_free(cluster);
}

static void assert_argv(const char *via, const char *expected)
{
	g_auto(GStrv) words = via ? dtc_via_parse(via, NULL) : NULL;
	g_auto(GStrv) argv = dtc_via_get_argv(words, "web", "id; x");
	g_autofree char *joined = g_strjoinv("|", argv);

	g_assert_cmpstr(joined, ==, expected);
}

static void test_via(void)
{
	g_autoptr(GError) error = NULL;

	assert_argv(NULL, "ssh|-T|-o|BatchMode=yes|--|web|sh -c 'id; x'");
	assert_argv("ssh -p 2222 root@{node}", "ssh|-p|2222|root@web|sh -c 'id; x'");
	assert_argv("kubectl exec -n 'a b' {node} --", "kubectl|exec|-i|-n|a b|web|--|sh|-c|id; x");
	assert_argv("kubectl exec -n s {node} -i --", "kubectl|exec|-n|s|web|-i|--|sh|-c|id; x");
	assert_argv("docker exec x-{node}-{node}", "docker|exec|-i|x-web-web|sh|-c|id; x");
	assert_argv("sudo docker exec {node}", "sudo|docker|exec|-i|web|sh|-c|id; x");
	assert_argv("sshpass -f f ssh {node}", "sshpass|-f|f|ssh|web|sh -c 'id; x'");
	assert_argv("timeout 9 /usr/bin/ssh {node}", "timeout|9|/usr/bin/ssh|web|sh -c 'id; x'");
	assert_argv("ssh -i key a docker exec {node}", "ssh|-i|key|a|docker|exec|-i|web|sh -c 'id; x'");
	assert_argv("kubectl exec a -- ssh {node}", "kubectl|exec|-i|a|--|ssh|web|sh -c 'id; x'");
	assert_argv("ssh a ssh {node}", "ssh|a|ssh|web|'sh -c '\\''id; x'\\'''");
	assert_argv("ip netns exec {node}", "ip|netns|exec|web|sh|-c|id; x");
	g_assert_null(dtc_via_parse("docker exec web", &error));
	g_assert_error(error, DTC_COLLECT_ERROR, DTC_ERROR_USAGE);
	g_assert_null(dtc_via_parse("docker 'exec {node}", NULL));
}

/* ---- options ---- */

/* All that was given, once, whatever its kind, but what is left out. */
static void test_options(void)
{
	static const char *const own[] = { "output", "quiet", NULL };
	g_autoptr(DtcCommandLine) line = dtc_command_line_new(&dtc_collect_program, "record");
	struct dtc_record_options options = { 0 };
	const char *words[] = {
		"record", "--filter",	     "tcp port 80", "--no-packets", "--snaplen=256", "--keep-header",
		"a",	  "--keep-header=b", NULL
	};
	char **argv = (char **)words;
	int argc = (int)G_N_ELEMENTS(words) - 1;
	g_autoptr(GError) error = NULL;

	dtc_command_line_leave_out(line, own);
	dtc_record_options_add(&options, line);
	g_assert_true(dtc_command_line_parse(line, &argc, &argv, &error));
	g_auto(GStrv) given = dtc_command_line_get_given(line, own);
	g_autofree char *joined = g_strjoinv("|", given);
	g_assert_cmpstr(joined, ==, "--no-packets|--keep-header=a|--keep-header=b|--filter=tcp port 80|--snaplen=256");
	g_autofree char *help = dtc_command_line_get_help(line, 80);
	g_assert_null(strstr(help, "--output"));
	dtc_command_line_clear_texts(line);
}

/* ---- the channel ---- */

struct two {
	DtcChannel *here, *there;
};

static struct two make_two(void)
{
	int to[2], from[2];

	g_assert_cmpint(pipe(to), ==, 0);
	g_assert_cmpint(pipe(from), ==, 0);
	return (struct two){ dtc_channel_new(from[0], to[1]), dtc_channel_new(to[0], from[1]) };
}

static void test_words(void)
{
	static const char strange[] = "a b\n%41\xff'\t";
	struct two two = make_two();
	gsize bytes;

	dtc_channel_send(two.here, "said", strange, "", "last", NULL);
	dtc_channel_send(two.here, "data", "3", NULL);
	dtc_channel_send_bytes(two.here, "\n\0x", 3);
	g_assert_true(dtc_channel_move(two.here));
	g_assert_cmpuint(dtc_channel_get_waiting(two.here), ==, 0);
	g_assert_true(dtc_channel_move(two.there));
	g_auto(GStrv) words = dtc_channel_next(two.there);
	g_assert_cmpuint(g_strv_length(words), ==, 4);
	g_assert_cmpstr(words[1], ==, strange);
	g_assert_cmpstr(words[2], ==, "");
	g_assert_cmpstr(words[3], ==, "last");
	g_auto(GStrv) data = dtc_channel_next(two.there);
	g_assert_cmpstr(data[0], ==, "data");
	g_assert_cmpmem(dtc_channel_peek(two.there, &bytes), 3, "\n\0x", 3);
	g_assert_cmpuint(bytes, ==, 3);
	dtc_channel_skip(two.there, bytes);
	g_assert_null(dtc_channel_next(two.there));
	dtc_channel_free(two.here);
	g_assert_false(dtc_channel_move(two.there));
	dtc_channel_free(two.there);
}

/* ---- an agent, and its recorder ---- */

/*
 * Records as much as a recorder shows of itself: raw/proc.begin when it begins, raw/proc.end when it ends, then it is
 * sealed. What it was told is in its file "options". "seal" seals what is left.
 */
static const char recorder[] = "#!/bin/sh\n"
			       "if [ $1 = seal ]; then rm -r $2/raw; echo here >$2/sealed; echo sealed; exit 0; fi\n"
			       "node=$4; shift 4\n"
			       "[ \"$1\" != --fails ] || { echo 'dtrace-collect: cannot' >&2; exit 1; }\n"
			       "mkdir -p $node/raw $node/kernel\n"
			       "echo \"$*\" >$node/options\n"
			       "head -c 3000000 /dev/zero >$node/kernel/0\n"
			       ": >$node/raw/recording\n"
			       "[ \"$1\" != --says-much ] || head -c 4096 /dev/zero | tr '\\0' '\\n'\n"
			       "over=; trap 'over=1' INT TERM\n"
			       ": >$node/raw/proc.begin\n"
			       "[ \"$1\" != --until-x ] || sleep 0.3\n"
			       "[ \"$1\" != --until-full ] || { sleep 0.3; over=1; }\n"
			       "[ \"$1\" != --until-x ] || printf '[recording]\\ntrigger=x\\n' >$node/raw/recording\n"
			       "[ \"$1\" = --until-x ] || while [ -z \"$over\" ]; do sleep 0.02; done\n"
			       "[ \"$1\" != --seals-long ] || sleep 2\n"
			       ": >$node/raw/proc.end.new\n"
			       "[ \"$1\" != --until-x ] || sleep 0.3\n"
			       "rm -r $node/raw\n"
			       "echo \"recorded '$node': all\"\n"
			       "exit 3\n";

struct lab {
	DtcScratch *scratch;
	char *folder;
	char *program;
	int64_t silence_ns;
	DtcChannel *channel;
	pid_t pid;
};

static void serve(const struct lab *lab, int in_fd, int out_fd, bool resumes)
{
	const struct dtc_agent_request request = {
		.folder = lab->folder,
		.program = lab->program,
		.in_fd = in_fd,
		.out_fd = out_fd,
		.resumes = resumes,
		.silence_ns = lab->silence_ns,
		.linger_ns = 3 * SECOND_NS,
	};

	_exit(dtc_agent_serve(&request, NULL) ? 0 : 1);
}

static void start_agent(struct lab *lab, bool resumes)
{
	int to[2], from[2];

	g_assert_true(g_unix_open_pipe(to, FD_CLOEXEC, NULL));
	g_assert_true(g_unix_open_pipe(from, FD_CLOEXEC, NULL));
	lab->pid = fork();
	if (lab->pid == 0) {
		close(to[1]);
		close(from[0]);
		serve(lab, to[0], from[1], resumes);
	}
	close(to[0]);
	close(from[1]);
	lab->channel = dtc_channel_new(from[0], to[1]);
}

static struct lab make_lab(void)
{
	struct lab lab = { .scratch = dtc_scratch_new(NULL), .silence_ns = 5 * SECOND_NS };
	const char *place = dtc_scratch_get_path(lab.scratch);

	lab.folder = g_build_filename(place, DTC_REMAINS_PREFIX "x", NULL);
	lab.program = g_build_filename(place, "recorder", NULL);
	g_assert_true(g_file_set_contents_full(lab.program, recorder, -1, G_FILE_SET_CONTENTS_NONE, 0700, NULL));
	g_mkdir(lab.folder, 0700);
	start_agent(&lab, false);
	return lab;
}

static void disconnect(struct lab *lab)
{
	g_clear_pointer(&lab->channel, dtc_channel_free);
}

/* Of whatever comes, the first message with that word. */
static char **await(const struct lab *lab, const char *word)
{
	for (;;) {
		struct pollfd fds[2];
		char **words = dtc_channel_next(lab->channel);
		if (words && g_strcmp0(words[0], word) == 0)
			return words;
		g_strfreev(words);
		if (words)
			continue;
		dtc_channel_fill_poll(lab->channel, fds);
		g_assert_cmpint(poll(fds, 2, 20000), >, 0);
		bool is_there = dtc_channel_move(lab->channel);
		gsize bytes;
		(void)dtc_channel_peek(lab->channel, &bytes);
		if (!is_there && bytes == 0)
			g_error("no '%s' came", word);
	}
}

static void expect(const struct lab *lab, const char *word, const char *second)
{
	g_auto(GStrv) words = await(lab, word);

	if (second)
		g_assert_cmpstr(words[1], ==, second);
}

static void tell(const struct lab *lab, const char *word)
{
	dtc_channel_send(lab->channel, word, NULL);
	g_assert_true(dtc_channel_move(lab->channel));
}

static void start_recording(const struct lab *lab, const char *option)
{
	dtc_channel_send(lab->channel, "start", "web", option, "a b", NULL);
	g_assert_true(dtc_channel_move(lab->channel));
}

static void finish_lab(struct lab *lab)
{
	int status;

	g_assert_cmpint(waitpid(lab->pid, &status, 0), ==, lab->pid);
	g_assert_false(g_file_test(lab->folder, G_FILE_TEST_EXISTS));
	disconnect(lab);
	g_free(lab->folder);
	g_free(lab->program);
	dtc_scratch_free(lab->scratch);
}

static void leave(struct lab *lab)
{
	dtc_channel_send(lab->channel, "bye", NULL);
	(void)dtc_channel_move(lab->channel); /* it may be gone before this looks for what it says */
	expect(lab, "gone", NULL);
	finish_lab(lab);
}

static void test_agent(void)
{
	struct lab lab = make_lab();

	expect(&lab, "hello", DTC_AGENT_PROTOCOL);
	start_recording(&lab, "--for-all");
	expect(&lab, "ready", NULL);
	tell(&lab, "stop");
	expect(&lab, "ended", "3");
	leave(&lab);
}

static void test_trigger(void)
{
	static const char *const ends[] = { "--until-x", "--until-full" };

	for (guint i = 0; i < G_N_ELEMENTS(ends); i++) {
		struct lab lab = make_lab();
		start_recording(&lab, ends[i]);
		expect(&lab, "ready", NULL);
		g_auto(GStrv) ending = await(&lab, "ending");
		g_assert_cmpstr(ending[1], ==, i == 0 ? "trigger" : NULL);
		expect(&lab, "ended", "3");
		leave(&lab);
	}
}

static void test_failure(void)
{
	struct lab lab = make_lab();

	start_recording(&lab, "--fails");
	expect(&lab, "said", "dtrace-collect: cannot");
	expect(&lab, "ended", "1");
	leave(&lab);
}

/* A portion of output that ends where its buffer does is no reason to wait for more of it. */
static void test_output(void)
{
	struct lab lab = make_lab();

	start_recording(&lab, "--says-much");
	expect(&lab, "ready", NULL);
	tell(&lab, "stop");
	expect(&lab, "ended", "3");
	leave(&lab);
}

/* It tells where it can be reached, and its recorder what to let pass. */
static void test_probing(void)
{
	struct lab lab = make_lab();
	g_autofree char *options = g_build_filename(lab.folder, "web", "options", NULL);
	g_autofree char *text = NULL;

	dtc_channel_send(lab.channel, "probe", "00112233445566778899aabbccddeeff", "4", NULL);
	g_assert_true(dtc_channel_move(lab.channel));
	g_auto(GStrv) words = await(&lab, "probing");
	g_assert_cmpuint(g_strv_length(words), >=, 2);
	g_autofree char *expected = g_strconcat("--probe-port=", words[1], " --for-all a b\n", NULL);
	dtc_channel_send(lab.channel, "peer", "5", "9", "192.0.2.1", NULL);
	start_recording(&lab, "--for-all");
	expect(&lab, "ready", NULL);
	g_assert_true(g_file_get_contents(options, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, expected);
	tell(&lab, "stop");
	expect(&lab, "ended", "3");
	leave(&lab);
}

/* Nobody comes back: all of it is gone after a while. */
static void test_silence(void)
{
	struct lab lab = make_lab();

	start_recording(&lab, "--for-all");
	expect(&lab, "ready", NULL);
	disconnect(&lab);
	finish_lab(&lab);
}

/* A connection breaks, and what was recorded comes over another one; an agent that was killed has left it, too. */
static void test_resuming(void)
{
	for (guint is_killed = 0; is_killed < 2; is_killed++) {
		struct lab lab = make_lab();
		int status;
		start_recording(&lab, "--for-all");
		expect(&lab, "ready", NULL);
		pid_t first = lab.pid;
		if (is_killed)
			kill(first, SIGKILL);
		disconnect(&lab);
		start_agent(&lab, true);
		expect(&lab, "ended", "0");
		tell(&lab, "list");
		expect(&lab, "file", "3000000");
		leave(&lab);
		g_assert_cmpint(waitpid(first, &status, 0), ==, first);
	}
}

/* Its recorder goes on, and holds the folder; then another agent comes. */
static void kill_agent_that_seals(struct lab *lab)
{
	pid_t first = lab->pid;

	start_recording(lab, "--seals-long");
	expect(lab, "ready", NULL);
	kill(first, SIGKILL);
	g_assert_cmpint(waitpid(first, NULL, 0), ==, first);
	disconnect(lab);
	lab->silence_ns = SECOND_NS;
	start_agent(lab, true);
}

/* Sealing takes longer than silence may last: it is waited for, and who asked meanwhile is heard. */
static void test_waiting(void)
{
	struct lab lab = make_lab();

	kill_agent_that_seals(&lab);
	expect(&lab, "hello", NULL);
	expect(&lab, "ended", "0");
	g_usleep(G_TIME_SPAN_SECOND / 5); /* a network's way */
	tell(&lab, "list");
	expect(&lab, "file", "3000000");
	leave(&lab);
}

/* The same for an agent that has no input: the shell of the killed one started it, to remove all. */
static void test_nobody(void)
{
	struct lab lab = make_lab();

	kill_agent_that_seals(&lab);
	disconnect(&lab);
	finish_lab(&lab);
}

/* Fetched in two parts, over two connections, it is what it was. */
static void test_fetching(void)
{
	struct lab lab = make_lab();
	g_autofree char *folder = g_build_filename(dtc_scratch_get_path(lab.scratch), "here", NULL);
	g_autofree char *path = g_build_filename(folder, "kernel/0", NULL);
	g_autofree char *zeros = g_malloc0(3000000);
	g_autoptr(DtcFetch) fetch = dtc_fetch_new(folder);
	g_autofree char *got = NULL;
	gsize bytes, left = 0;

	g_mkdir_with_parents(folder, 0700);
	g_autofree char *kernel = g_path_get_dirname(path);
	g_mkdir(kernel, 0700);
	g_assert_true(g_file_set_contents(path, zeros, 2000000, NULL));
	start_recording(&lab, "--for-all");
	expect(&lab, "ready", NULL);
	tell(&lab, "stop");
	expect(&lab, "ended", NULL);
	g_assert_true(dtc_fetch_add(fetch, "kernel/0", 3000000, NULL));
	g_assert_false(dtc_fetch_add(fetch, "../outside", 1, NULL));
	g_assert_true(dtc_fetch_ask(fetch, lab.channel, NULL));
	g_assert_cmpuint(dtc_fetch_get_done_bytes(fetch), ==, 2000000);
	while (!dtc_fetch_is_whole(fetch)) {
		struct pollfd fds[2];
		const char *from = dtc_channel_peek(lab.channel, &bytes);
		gsize count = MIN(bytes, left);
		if (count > 0) {
			g_assert_true(dtc_fetch_write(fetch, from, count, NULL));
			dtc_channel_skip(lab.channel, count);
			left -= count;
			continue;
		}
		g_auto(GStrv) words = left == 0 ? dtc_channel_next(lab.channel) : NULL;
		if (words && strcmp(words[0], "data") == 0)
			left = (gsize)g_ascii_strtoull(words[1], NULL, 10);
		else if (words && strcmp(words[0], "whole") == 0)
			g_assert_true(dtc_fetch_end_file(fetch, NULL));
		if (words)
			continue;
		dtc_channel_fill_poll(lab.channel, fds);
		g_assert_cmpint(poll(fds, 2, 20000), >, 0);
		(void)dtc_channel_move(lab.channel);
	}
	g_assert_true(g_file_get_contents(path, &got, &bytes, NULL));
	g_assert_cmpmem(got, bytes, zeros, 3000000);
	g_assert_false(dtc_fetch_write(fetch, "x", 1, NULL)); /* nothing was asked for */
	leave(&lab);
}

/* ---- what is left ---- */

static char *make_left(const char *place, const char *name, uid_t user)
{
	char *folder = g_strconcat(place, "/" DTC_REMAINS_PREFIX, name, NULL);
	g_autofree char *inner = g_build_filename(folder, "web", "kernel", NULL);
	g_autofree char *file = g_build_filename(inner, "0", NULL);
	const struct timespec old[2] = { { time(NULL) - 100000, 0 }, { time(NULL) - 100000, 0 } };

	g_assert_cmpint(g_mkdir_with_parents(inner, 0700), ==, 0);
	g_assert_true(g_file_set_contents(file, "x", -1, NULL));
	g_assert_cmpint(chown(folder, user, (gid_t)-1), ==, 0);
	g_assert_cmpint(utimensat(AT_FDCWD, folder, old, 0), ==, 0);
	return folder;
}

/* A link in it leads to what is somebody else's. */
static void test_removing(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *kept = g_build_filename(dtc_scratch_get_path(scratch), "kept", NULL);
	g_autofree char *left = make_left(dtc_scratch_get_path(scratch), "a", geteuid());
	g_autofree char *own = make_left(dtc_scratch_get_path(scratch), "b", geteuid());
	g_autofree char *link = g_build_filename(left, "web", "link", NULL);
	g_autofree char *file = g_build_filename(kept, "file", NULL);

	g_assert_cmpint(g_mkdir(kept, 0700), ==, 0);
	g_assert_true(g_file_set_contents(file, "x", -1, NULL));
	g_assert_cmpint(symlink(kept, link), ==, 0);
	dtc_remains_remove(left);
	g_assert_false(g_file_test(left, G_FILE_TEST_EXISTS));
	g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
	dtc_remains_remove_old(left);
	g_assert_false(g_file_test(own, G_FILE_TEST_EXISTS));
}

/* Root removes its own, and those of who called sudo. */
static void test_others(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	const char *place = dtc_scratch_get_path(scratch);
	g_autofree char *run = g_strconcat(place, "/" DTC_REMAINS_PREFIX "run", NULL);

	if (geteuid() != 0) {
		g_test_skip("only root meets folders of others");
		return;
	}
	g_autofree char *caller = make_left(place, "caller", 1234);
	g_autofree char *stranger = make_left(place, "stranger", 1235);
	g_setenv("SUDO_UID", "1234", TRUE);
	dtc_remains_remove_old(run);
	g_unsetenv("SUDO_UID");
	g_assert_false(g_file_test(caller, G_FILE_TEST_EXISTS));
	g_assert_true(g_file_test(stranger, G_FILE_TEST_EXISTS));
}

/* ---- a shell on a node ---- */

static char *run_script(const struct dtc_boot *boot, int *ret_status)
{
	g_autofree char *script = dtc_boot_get_script(boot);
	char *argv[] = { (char *)"sh", (char *)"-c", script, NULL };
	char *out = NULL;

	g_assert_true(g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL, ret_status, NULL));
	return out;
}

/* A folder's name may hold what ends a word, both times that it is told. */
static void test_place(void)
{
	static const char program[] = "#!/bin/sh\n[ \"$2\" != version ] || echo '%s'\n";
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	g_autofree char *place = g_build_filename(dtc_scratch_get_path(scratch), "my place 50%", NULL);
	g_autofree char *folder = g_build_filename(place, DTC_REMAINS_PREFIX "x", NULL);
	g_autofree char *path = g_build_filename(folder, "dtrace-collect", NULL);
	g_autofree char *text = g_strdup_printf(program, dtc_boot_get_version());
	g_autofree char *search = g_strconcat(folder, ":", g_getenv("PATH"), NULL);
	struct dtc_boot boot = { .place = place };
	int status;

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_true(g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0700, NULL));
	g_setenv("PATH", search, TRUE);
	g_autofree char *served = run_script(&boot, &status);
	g_assert_nonnull(strstr(served, "/my%20place%2050%25/" DTC_REMAINS_PREFIX));
	g_assert_null(strstr(served, "my place"));
	boot.resumed = folder;
	g_autofree char *resumed = run_script(&boot, &status);
	g_assert_nonnull(strstr(resumed, "/my%20place%2050%25/" DTC_REMAINS_PREFIX "x "));
}

/* Its input ends before the program has come: it says so, and leaves nothing. */
static void test_boot(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	struct dtc_boot boot = { .place = dtc_scratch_get_path(scratch), .program_bytes = 100, .copies = true };
	g_autoptr(GDir) dir = NULL;
	int status;

	g_autofree char *cut = run_script(&boot, &status);
	g_assert_nonnull(strstr(cut, "\nboot need "));
	g_assert_nonnull(strstr(cut, "\nboot failed the%20program%20did%20not%20arrive"));
	g_assert_cmpint(status, !=, 0);
	dir = g_dir_open(boot.place, 0, NULL);
	g_assert_null(g_dir_read_name(dir));
	boot.place = "/nonexistent it is";
	g_autofree char *nowhere = run_script(&boot, &status);
	g_assert_nonnull(strstr(nowhere, "\nboot failed "));
	g_assert_null(strstr(nowhere, "need"));
	boot.resumed = "/nonexistent/" DTC_REMAINS_PREFIX "x";
	g_autofree char *gone = run_script(&boot, &status);
	g_assert_nonnull(strstr(gone, "\nboot failed nothing%20of%20it%20is%20left"));
}

static void heed_pipes(gpointer data)
{
	(void)data;
	signal(SIGPIPE, SIG_DFL);
}

/* Whoever called it has gone before its first line, as at a Ctrl-C: nothing is left either. */
static void test_unheard(void)
{
	g_autoptr(DtcScratch) scratch = dtc_scratch_new(NULL);
	const struct dtc_boot boot = { .place = dtc_scratch_get_path(scratch), .program_bytes = 100, .copies = true };
	g_autofree char *script = dtc_boot_get_script(&boot);
	const char *const argv[] = { "sh", "-c", script, NULL };
	int fds[2], none = open("/dev/null", O_RDONLY | O_CLOEXEC), status;
	GPid pid;

	g_assert_true(g_unix_open_pipe(fds, FD_CLOEXEC, NULL));
	close(fds[0]);
	g_assert_true(g_spawn_async_with_fds(
		NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDERR_TO_DEV_NULL,
		heed_pipes, NULL, &pid, none, fds[1], -1, NULL));
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	close(none);
	close(fds[1]);
	g_assert_true(WIFEXITED(status));
	g_autoptr(GDir) dir = g_dir_open(boot.place, 0, NULL);
	g_assert_null(g_dir_read_name(dir));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	signal(SIGPIPE, SIG_IGN);
	g_test_add_func("/cluster/targets", test_targets);
	g_test_add_func("/cluster/files", test_files);
	g_test_add_func("/cluster/via", test_via);
	g_test_add_func("/cluster/options", test_options);
	g_test_add_func("/cluster/words", test_words);
	g_test_add_func("/cluster/agent", test_agent);
	g_test_add_func("/cluster/probing", test_probing);
	g_test_add_func("/cluster/trigger", test_trigger);
	g_test_add_func("/cluster/failure", test_failure);
	g_test_add_func("/cluster/output", test_output);
	g_test_add_func("/cluster/silence", test_silence);
	g_test_add_func("/cluster/resuming", test_resuming);
	g_test_add_func("/cluster/waiting", test_waiting);
	g_test_add_func("/cluster/nobody", test_nobody);
	g_test_add_func("/cluster/fetching", test_fetching);
	g_test_add_func("/cluster/removing", test_removing);
	g_test_add_func("/cluster/others", test_others);
	g_test_add_func("/cluster/place", test_place);
	g_test_add_func("/cluster/boot", test_boot);
	g_test_add_func("/cluster/unheard", test_unheard);
	return g_test_run();
}
