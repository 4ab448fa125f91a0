// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* gettid, strcasestr */
// Asks for a list of pages and takes the time of each with a stopwatch of its own: from before it connects, or where it
// has a connection from before the first byte is given to the kernel, until the last byte of the answer is in its
// hands. usage: netns-client ADDRESS PORT LIST LOG LIST: a line is STREAM ID PATH close|keep; streams are threads and
// ask at once, each in the order of the list. An empty line waits until all before it is answered. LOG: a line of JSON
// per answer, in CLOCK_MONOTONIC.
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_STREAMS = 64, MAX_ASKED = 1 << 16, ANSWER_BYTES = 1 << 22 };

struct asked {
	unsigned stream, phase;
	char id[64], path[128];
	bool is_kept;
	int64_t begin_ns, end_ns; // CLOCK_MONOTONIC
	int status, tid;
};

struct stream {
	unsigned number, phase;
	int fd;	      // -1: no connection
	char *answer; // ANSWER_BYTES and a NUL
	pthread_t thread;
};

static struct asked *asked;
static unsigned asked_count;
static struct sockaddr_in server = { .sin_family = AF_INET };

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static unsigned read_list(const char *path)
{
	FILE *list = fopen(path, "r");
	if (!list) {
		fprintf(stderr, "netns-client: '%s': %s\n", path, strerror(errno));
		exit(1);
	}
	unsigned phase = 0;
	char line[512], kept[8];
	while (asked_count < MAX_ASKED && fgets(line, sizeof line, list)) {
		struct asked *one = &asked[asked_count];
		one->phase = phase;
		if (sscanf(line, "%u %63s %127s %7s", &one->stream, one->id, one->path, kept) != 4) {
			phase++;
			continue;
		}
		one->is_kept = strcmp(kept, "keep") == 0;
		asked_count++;
	}
	fclose(list);
	return phase + 1;
}

static bool connect_stream(struct stream *stream)
{
	int one = 1;
	stream->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(stream->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(stream->fd, (struct sockaddr *)&server, sizeof server) == 0)
		return true;
	close(stream->fd);
	stream->fd = -1;
	return false;
}

// is the answer whole: by its length, or by the last chunk
static bool is_whole(const char *answer, size_t bytes)
{
	const char *body = strstr(answer, "\r\n\r\n");
	if (!body)
		return false;
	body += 4;
	const char *length = strcasestr(answer, "\ncontent-length:");
	if (length && length < body)
		return bytes - (size_t)(body - answer) >= strtoul(length + 16, NULL, 10);
	return bytes >= 5 && memcmp(answer + bytes - 5, "0\r\n\r\n", 5) == 0;
}

static size_t receive_answer(struct stream *stream)
{
	size_t bytes = 0;
	while (bytes < ANSWER_BYTES) {
		ssize_t got = recv(stream->fd, stream->answer + bytes, ANSWER_BYTES - bytes, 0);
		if (got <= 0)
			return 0;
		bytes += (size_t)got;
		stream->answer[bytes] = 0;
		if (is_whole(stream->answer, bytes))
			return bytes;
	}
	return 0;
}

static void ask(struct stream *stream, struct asked *one)
{
	char request[512];
	int bytes = snprintf(
		request, sizeof request,
		"GET %s HTTP/1.1\r\nHost: netns\r\nX-Request-Id: %s\r\nAccept-Encoding: gzip\r\nConnection: %s\r\n\r\n",
		one->path, one->id, one->is_kept ? "keep-alive" : "close");
	one->begin_ns = now_ns();
	if (stream->fd < 0 && !connect_stream(stream))
		return;
	bool is_sent = send(stream->fd, request, (size_t)bytes, MSG_NOSIGNAL) == bytes;
	size_t got = is_sent ? receive_answer(stream) : 0;
	one->end_ns = now_ns();
	if (got > 0)
		sscanf(stream->answer, "HTTP/%*s %d", &one->status);
	if (!one->is_kept || got == 0) {
		close(stream->fd);
		stream->fd = -1;
	}
}

static void *run_stream(void *argument)
{
	struct stream *stream = argument;
	prctl(PR_SET_NAME, "client-stream");
	for (unsigned i = 0; i < asked_count; i++) {
		if (asked[i].phase != stream->phase || asked[i].stream != stream->number)
			continue;
		asked[i].tid = gettid();
		ask(stream, &asked[i]);
	}
	return NULL;
}

static void run_phase(struct stream *streams, unsigned phase)
{
	for (unsigned i = 0; i < MAX_STREAMS; i++) {
		streams[i].phase = phase;
		if (pthread_create(&streams[i].thread, NULL, run_stream, &streams[i]) != 0)
			exit(1);
	}
	for (unsigned i = 0; i < MAX_STREAMS; i++)
		pthread_join(streams[i].thread, NULL);
}

static bool write_log(const char *path)
{
	FILE *log = fopen(path, "w");
	if (!log)
		return false;
	for (unsigned i = 0; i < asked_count; i++) {
		const struct asked *one = &asked[i];
		fprintf(log,
			"{\"id\": \"%s\", \"path\": \"%s\", \"stream\": %u, \"pid\": %d, \"tid\": %d, \"status\": %d, "
			"\"begin_ns\": %" PRId64 ", \"end_ns\": %" PRId64 "}\n",
			one->id, one->path, one->stream, getpid(), one->tid, one->status, one->begin_ns, one->end_ns);
	}
	return fclose(log) == 0;
}

int main(int argc, char **argv)
{
	if (argc != 5 || inet_pton(AF_INET, argv[1], &server.sin_addr) != 1) {
		fprintf(stderr, "usage: netns-client ADDRESS PORT LIST LOG\n");
		return 2;
	}
	server.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
	asked = calloc(MAX_ASKED, sizeof *asked);
	struct stream *streams = calloc(MAX_STREAMS, sizeof *streams);
	if (!asked || !streams)
		return 1;
	for (unsigned i = 0; i < MAX_STREAMS; i++) {
		streams[i] = (struct stream){ .number = i, .fd = -1, .answer = malloc(ANSWER_BYTES + 1) };
		if (!streams[i].answer)
			return 1;
	}
	unsigned phases = read_list(argv[3]);
	for (unsigned phase = 0; phase < phases; phase++)
		run_phase(streams, phase);
	return write_log(argv[4]) ? 0 : 1;
}
