// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* gettid, strcasestr */
// An application server that makes each request slow in a way that is known, and says when and for how long.
// usage: netns-server ADDRESS POOL-PORT LOOP-PORT REDIS-ADDRESS DISK-FILE LOG
// GET .../KIND/AMOUNT with X-Request-Id. Four threads accept on POOL-PORT and work on one request each; on LOOP-PORT
// one thread with an event loop serves all. A thread holds a lock when asked to, a process burns CPU when asked to.
// LOG: a line of JSON per cause that was injected, in CLOCK_MONOTONIC; it is written after the answer.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WORKERS = 4,
	SPINNERS = 3,
	DISK_WRITE = 1 << 22,
	DISK_WRITES = 4,
	REQUEST_BYTES = 4096,
	MAX_PENDING = 64,
	LUA_TRIAL = 2000000
};

struct request {
	char id[64], kind[32];
	long amount; // microseconds; bytes for bulk
	bool is_kept;
};

// what was done to a request, and by which thread
struct injected {
	int tid;
	int64_t begin_ns, end_ns; // CLOCK_MONOTONIC
};

static int log_fd, disk_fd, hog_pipe;
static struct sockaddr_in redis_address = { .sin_family = AF_INET };
static double lua_per_us; // rounds of the script a microsecond

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void nap(long us)
{
	struct timespec span = { us / 1000000, us % 1000000 * 1000 };
	while (nanosleep(&span, &span) < 0 && errno == EINTR)
		;
}

// asking for the CPU time is a system call, so that it is not asked too often
static void burn_until(clockid_t clock, int64_t end_ns)
{
	volatile unsigned sum = 0;
	while (now_ns(clock) < end_ns)
		for (unsigned i = 0; i < 100000; i++)
			sum = sum + i;
}

static void burn(long us)
{
	burn_until(CLOCK_THREAD_CPUTIME_ID, now_ns(CLOCK_THREAD_CPUTIME_ID) + us * INT64_C(1000));
}

/* Where the server goes before the rest of the machine: who burns the CPU beside it must go before it, and who holds a
 * lock behind it, or nobody would come to wait for the lock. */
static void go_before_others(int by)
{
	struct sched_param own;
	if (sched_getparam(0, &own) == 0 && own.sched_priority > 0) {
		own.sched_priority += by;
		sched_setscheduler(0, SCHED_RR, &own);
	}
}

// The lock and who holds it: the holder takes it, says so, computes or sleeps, and gives it back.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, order = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const struct request *wanted;
static bool is_held;
static struct injected held;

static void *hold(void *unused)
{
	prctl(PR_SET_NAME, "app-holder");
	go_before_others(-1);
	for (;;) {
		pthread_mutex_lock(&order);
		while (!wanted)
			pthread_cond_wait(&changed, &order);
		const struct request *request = wanted;
		bool is_asleep = strcmp(request->kind, "locksleep") == 0;
		long us = request->amount;
		pthread_mutex_lock(&lock);
		wanted = NULL;
		is_held = true;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&order);
		held = (struct injected){ gettid(), now_ns(CLOCK_MONOTONIC), 0 };
		if (is_asleep)
			nap(us);
		else
			burn(us);
		held.end_ns = now_ns(CLOCK_MONOTONIC);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void wait_for_lock(const struct request *request, struct injected *ret)
{
	pthread_mutex_lock(&order);
	wanted = request;
	is_held = false;
	pthread_cond_broadcast(&changed);
	while (!is_held)
		pthread_cond_wait(&changed, &order);
	pthread_mutex_unlock(&order);
	pthread_mutex_lock(&lock);
	*ret = held;
	pthread_mutex_unlock(&lock);
}

static void *spin(void *argument)
{
	prctl(PR_SET_NAME, "app-hog");
	burn_until(CLOCK_MONOTONIC, now_ns(CLOCK_MONOTONIC) + *(const long *)argument * INT64_C(1000));
	return NULL;
}

static void run_hog(int orders)
{
	go_before_others(1);
	prctl(PR_SET_NAME, "app-hog");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	long us;
	while (read(orders, &us, sizeof us) == sizeof us) {
		pthread_t spinners[SPINNERS];
		for (unsigned i = 0; i < SPINNERS; i++)
			pthread_create(&spinners[i], NULL, spin, &us);
		for (unsigned i = 0; i < SPINNERS; i++)
			pthread_join(spinners[i], NULL);
	}
	_exit(0);
}

// computes beside threads that burn the CPU meanwhile
static void compute_in_a_crowd(long us)
{
	long crowd_us = us * 4;
	if (write(hog_pipe, &crowd_us, sizeof crowd_us) != sizeof crowd_us)
		return;
	burn(us);
}

static int connect_redis(void)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(fd, (struct sockaddr *)&redis_address, sizeof redis_address) < 0) {
		perror("netns-server: redis");
		exit(1);
	}
	return fd;
}

static int make_redis_command(char *command, size_t size, const struct request *request)
{
	if (strcmp(request->kind, "redissleep") == 0)
		return snprintf(command, size, "DEBUG SLEEP %.6f\r\n", (double)request->amount / 1e6);
	if (strcmp(request->kind, "redisfast") == 0)
		return snprintf(command, size, "GET %s\r\n", request->id);
	return snprintf(command, size, "EVAL \"local x = 0 for i = 1, %ld do x = x + i end return x\" 0\r\n",
			(long)((double)request->amount * lua_per_us));
}

static void ask_redis(int fd, const struct request *request)
{
	char buffer[256];
	int bytes = make_redis_command(buffer, sizeof buffer, request);
	if (send(fd, buffer, (size_t)bytes, MSG_NOSIGNAL) != bytes || recv(fd, buffer, sizeof buffer, 0) <= 0)
		exit(1);
}

static void measure_lua(void)
{
	struct request trial = { .id = "-", .kind = "redislua", .amount = LUA_TRIAL };
	lua_per_us = 1;
	int fd = connect_redis();
	for (unsigned i = 0; i < 3; i++) {
		int64_t begin_ns = now_ns(CLOCK_MONOTONIC);
		ask_redis(fd, &trial);
		double us = (double)(now_ns(CLOCK_MONOTONIC) - begin_ns) / 1000;
		double per_us = LUA_TRIAL / us;
		trial.amount = LUA_TRIAL;
		if (i == 2)
			lua_per_us = per_us;
	}
	close(fd);
}

/* large writes: a wait that is over soon is mostly the wait for a CPU after it */
static void write_disk(long us)
{
	static _Alignas(4096) char block[DISK_WRITE];
	memset(block, 'x', sizeof block);
	int64_t end_ns = now_ns(CLOCK_MONOTONIC) + us * INT64_C(1000);
	for (unsigned i = 0; now_ns(CLOCK_MONOTONIC) < end_ns; i = (i + 1) % DISK_WRITES)
		if (pwrite(disk_fd, block, sizeof block, (off_t)i * DISK_WRITE) < 0)
			return;
}

// does what a request asks for
static void inject(const struct request *request, int redis_fd, struct injected *ret)
{
	*ret = (struct injected){ gettid(), now_ns(CLOCK_MONOTONIC), 0 };
	if (strcmp(request->kind, "cpu") == 0)
		burn(request->amount);
	else if (strcmp(request->kind, "sleep") == 0)
		nap(request->amount);
	else if (strcmp(request->kind, "disk") == 0)
		write_disk(request->amount);
	else if (strcmp(request->kind, "runqueue") == 0)
		compute_in_a_crowd(request->amount);
	else if (strncmp(request->kind, "lock", 4) == 0)
		wait_for_lock(request, ret);
	else if (strncmp(request->kind, "redis", 5) == 0)
		ask_redis(redis_fd, request);
	if (ret->end_ns == 0)
		ret->end_ns = now_ns(CLOCK_MONOTONIC);
}

static bool parse_request(const char *text, struct request *ret)
{
	char path[128];
	*ret = (struct request){ .id = "-" };
	if (sscanf(text, "GET %127s", path) != 1)
		return false;
	char *amount = strrchr(path, '/');
	*amount = 0;
	char *kind = strrchr(path, '/');
	if (!kind)
		return false;
	snprintf(ret->kind, sizeof ret->kind, "%.31s", kind + 1);
	ret->amount = strtol(amount + 1, NULL, 10);
	const char *id = strcasestr(text, "\nx-request-id:");
	if (id)
		sscanf(id + 14, " %63[^\r\n ]", ret->id);
	ret->is_kept = strstr(text, "HTTP/1.1") && !strcasestr(text, "connection: close");
	return true;
}

static bool answer(int fd, const struct request *request)
{
	size_t body = strcmp(request->kind, "bulk") == 0 ? (size_t)request->amount : 3;
	char *text = malloc(256 + body);
	if (!text)
		return false;
	int head = snprintf(text, 256,
			    "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nX-Request-Id: %s\r\nConnection: %s\r\n\r\n",
			    body, request->id, request->is_kept ? "keep-alive" : "close");
	memset(text + head, 'x', body);
	size_t bytes = (size_t)head + body, sent = 0;
	while (sent < bytes) {
		ssize_t now = send(fd, text + sent, bytes - sent, MSG_NOSIGNAL);
		if (now <= 0)
			break;
		sent += (size_t)now;
	}
	free(text);
	return sent == bytes;
}

static void log_injected(const struct request *request, int worker, const struct injected *injected)
{
	char line[512];
	int bytes = snprintf(line, sizeof line,
			     "{\"id\": \"%s\", \"kind\": \"%s\", \"amount\": %ld, \"worker\": %d, \"tid\": %d, "
			     "\"begin_ns\": %" PRId64 ", \"end_ns\": %" PRId64 "}\n",
			     request->id, request->kind, request->amount, worker, injected->tid, injected->begin_ns,
			     injected->end_ns);
	if (write(log_fd, line, (size_t)bytes) != bytes)
		perror("netns-server: log");
}

static bool receive_request(int fd, char *text)
{
	size_t bytes = 0;
	while (bytes < REQUEST_BYTES - 1) {
		ssize_t got = recv(fd, text + bytes, REQUEST_BYTES - 1 - bytes, 0);
		if (got <= 0)
			return false;
		bytes += (size_t)got;
		text[bytes] = 0;
		if (strstr(text, "\r\n\r\n"))
			return true;
	}
	return false;
}

static void serve_connection(int fd, int redis_fd)
{
	char text[REQUEST_BYTES];
	struct request request;
	struct injected injected;
	do {
		if (!receive_request(fd, text) || !parse_request(text, &request))
			break;
		inject(&request, redis_fd, &injected);
		if (!answer(fd, &request))
			break;
		log_injected(&request, gettid(), &injected);
	} while (request.is_kept);
	close(fd);
}

static void *run_worker(void *argument)
{
	int listener = (int)(intptr_t)argument, redis_fd = connect_redis(), one = 1;
	prctl(PR_SET_NAME, "app-worker");
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		serve_connection(fd, redis_fd);
	}
	return NULL;
}

// The event loop: what redis is asked comes back in order, and the loop serves others meanwhile.
struct pending {
	struct request request;
	int fd;
	int64_t begin_ns;
};

static struct pending pending[MAX_PENDING];
static unsigned pending_first, pending_count;

static void finish_pending(int redis_fd)
{
	char reply[1024];
	ssize_t got = recv(redis_fd, reply, sizeof reply, 0);
	for (ssize_t i = 0; i < got; i++) {
		if (reply[i] != '\n' || pending_count == 0)
			continue;
		struct pending *one = &pending[pending_first];
		struct injected injected = { gettid(), one->begin_ns, now_ns(CLOCK_MONOTONIC) };
		pending_first = (pending_first + 1) % MAX_PENDING;
		pending_count--;
		if (answer(one->fd, &one->request))
			log_injected(&one->request, gettid(), &injected);
	}
}

static void start_in_loop(int fd, int redis_fd, const struct request *request)
{
	struct injected injected;
	if (strncmp(request->kind, "redis", 5) == 0 && pending_count < MAX_PENDING) {
		char command[256];
		int bytes = make_redis_command(command, sizeof command, request);
		pending[(pending_first + pending_count++) % MAX_PENDING] =
			(struct pending){ *request, fd, now_ns(CLOCK_MONOTONIC) };
		if (send(redis_fd, command, (size_t)bytes, MSG_NOSIGNAL) != bytes)
			exit(1);
		return;
	}
	inject(request, redis_fd, &injected);
	if (answer(fd, request))
		log_injected(request, gettid(), &injected);
}

static void accept_in_loop(int loop, int listener)
{
	int one = 1, fd = accept(listener, NULL, NULL);
	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
	epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event);
}

static void serve_in_loop(int fd, int redis_fd)
{
	char text[REQUEST_BYTES];
	struct request request;
	if (receive_request(fd, text) && parse_request(text, &request))
		start_in_loop(fd, redis_fd, &request);
	else
		close(fd);
}

static void *run_loop(void *argument)
{
	int listener = (int)(intptr_t)argument, redis_fd = connect_redis(), loop = epoll_create1(EPOLL_CLOEXEC);
	prctl(PR_SET_NAME, "app-loop");
	const int watched[] = { listener, redis_fd };
	for (unsigned i = 0; i < 2; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.fd = watched[i] };
		epoll_ctl(loop, EPOLL_CTL_ADD, watched[i], &event);
	}
	for (;;) {
		struct epoll_event events[16];
		int count = epoll_wait(loop, events, 16, -1);
		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == listener)
				accept_in_loop(loop, listener);
			else if (events[i].data.fd == redis_fd)
				finish_pending(redis_fd);
			else
				serve_in_loop(events[i].data.fd, redis_fd);
		}
	}
	return NULL;
}

static int listen_on(const char *address, const char *port)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (inet_pton(AF_INET, address, &here.sin_addr) != 1 || bind(fd, (struct sockaddr *)&here, sizeof here) < 0 ||
	    listen(fd, 64) < 0) {
		fprintf(stderr, "netns-server: %s:%s: %s\n", address, port, strerror(errno));
		exit(1);
	}
	return fd;
}

// every block of the file is written once, so that later writes wait for the device and for nothing else
static int open_disk(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR | O_DIRECT | O_DSYNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		fprintf(stderr, "netns-server: '%s' cannot be written past the page cache: %s\n", path,
			strerror(errno));
		return -1;
	}
	disk_fd = fd;
	for (unsigned i = 0; i < 4; i++)
		write_disk(10000);
	return fd;
}

static void start_thread(void *(*work)(void *), int listener)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, (void *)(intptr_t)listener) != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	int orders[2];
	if (argc != 7 || inet_pton(AF_INET, argv[4], &redis_address.sin_addr) != 1 || pipe(orders) < 0) {
		fprintf(stderr, "usage: netns-server ADDRESS POOL-PORT LOOP-PORT REDIS-ADDRESS DISK-FILE LOG\n");
		return 2;
	}
	redis_address.sin_port = htons(6379);
	if (fork() == 0) {
		close(orders[1]);
		run_hog(orders[0]);
	}
	hog_pipe = orders[1];
	log_fd = open(argv[6], O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	disk_fd = open_disk(argv[5]);
	measure_lua();
	int pool = listen_on(argv[1], argv[2]), loop = listen_on(argv[1], argv[3]);
	start_thread(hold, -1);
	start_thread(run_loop, loop);
	for (unsigned i = 0; i < WORKERS; i++)
		start_thread(run_worker, pool);
	pause();
	return 0;
}
