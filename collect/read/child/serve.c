/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The child's side. */
#include "collect/read/child/child.h"
#include "collect/read/child/wire.h"
#include "collect/read/ctf/ctf.h"
#include "collect/read/merge.h"

#include <signal.h>
#include <sys/resource.h>

/* What an ordinary trace takes is a tenth of both. */
#define MEMORY_BYTES ((rlim_t)2 << 30)
#define BASE_S 60
#define BYTES_PER_S 1000000

struct server {
	FILE *to;
	struct dtc_backend *backend;
	DtcNames *event_names, *call_names;
	guint event_name_count, call_name_count; /* that were sent */
};

static void put_kind(FILE *to, enum dtc_wire_record kind)
{
	putc((int)kind, to);
}

/* Names come before the first item that has them. */
static void send_names(struct server *server)
{
	while (server->event_name_count < dtc_names_get_count(server->event_names)) {
		put_kind(server->to, DTC_WIRE_EVENT_NAME);
		dtc_wire_put_text(server->to, dtc_names_get(server->event_names, server->event_name_count++));
	}
	while (server->call_name_count < dtc_names_get_count(server->call_names)) {
		put_kind(server->to, DTC_WIRE_CALL_NAME);
		dtc_wire_put_text(server->to, dtc_names_get(server->call_names, server->call_name_count++));
	}
}

static void send_item(struct server *server, guint index)
{
	const struct dtc_stream *stream = server->backend->streams[index];
	struct dtc_wire_item item = { index, server->backend->consumed_bytes, *stream };
	bool is_event = stream->has_item && !stream->is_gap;
	const struct dtc_event *event = is_event ? server->backend->kind->get_event(server->backend, index) : NULL;
	send_names(server);
	put_kind(server->to, DTC_WIRE_ITEM);
	fwrite(&item, sizeof(item), 1, server->to);
	dtc_wire_put_text(server->to, stream->name);
	dtc_wire_put_text(server->to, stream->error);
	if (event)
		dtc_wire_put_event(server->to, event);
}

static void send_findings(struct server *server)
{
	DtcFindings *findings = server->backend->findings;
	for (guint i = 0; findings && i < dtc_findings_get_count(findings); i++) {
		const struct dtc_finding *finding = dtc_findings_get(findings, i);
		struct dtc_wire_finding head = { (uint8_t)finding->severity, finding->incomplete };
		put_kind(server->to, DTC_WIRE_FINDING);
		fwrite(&head, sizeof(head), 1, server->to);
		dtc_wire_put_text(server->to, finding->code);
		dtc_wire_put_text(server->to, finding->node);
		dtc_wire_put_text(server->to, finding->text);
	}
}

static void send_opened(struct server *server)
{
	struct dtc_wire_opened opened = { .stream_count = server->backend->stream_count };
	memcpy(opened.declares, server->backend->declares, sizeof(opened.declares));
	put_kind(server->to, DTC_WIRE_OPENED);
	fwrite(&opened, sizeof(opened), 1, server->to);
	for (guint i = 0; dtc_wire_keys[i]; i++)
		dtc_wire_put_text(server->to,
				  server->backend->kind->get_environment(server->backend, dtc_wire_keys[i]));
}

/* In the order in which the reader at the other end asks: that of the merge, which it does again. */
static void send_all(struct server *server)
{
	struct dtc_backend *backend = server->backend;
	DtcMerge *merge = dtc_merge_new(backend->stream_count);
	guint top;
	for (guint i = 0; i < backend->stream_count; i++) {
		send_item(server, i);
		dtc_merge_set(merge, i, backend->streams[i]->last_ns, !backend->streams[i]->has_item);
	}
	dtc_merge_build(merge);
	while ((top = dtc_merge_get_top(merge)) != G_MAXUINT && !ferror(server->to)) {
		backend->kind->advance(backend, top);
		send_item(server, top);
		dtc_merge_replace_top(merge, backend->streams[top]->last_ns, !backend->streams[top]->has_item);
	}
	dtc_merge_free(merge);
}

static void limit(const char *path)
{
	guint64 bytes = dtc_ctf_backend.measure(path);
	struct rlimit memory = { MEMORY_BYTES + bytes, MEMORY_BYTES + bytes };
	struct rlimit time = { BASE_S + bytes / BYTES_PER_S, BASE_S + bytes / BYTES_PER_S };
	struct rlimit core = { 0, 0 };
	setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CPU, &time);
	setrlimit(RLIMIT_CORE, &core); /* its death is expected */
}

int dtc_child_serve(const char *node, const char *path)
{
	struct server server = { .to = fdopen(DTC_CHILD_FD, "wb") };
	g_autoptr(GError) error = NULL;
	if (!server.to)
		return 2;
	signal(SIGPIPE, SIG_DFL); /* a parent that wants no more has gone */
	limit(path);
	server.event_names = dtc_names_new();
	server.call_names = dtc_names_new();
	dtc_names_add(server.call_names, "unknown");
	server.call_name_count = 1;
	const struct dtc_backend_request request = {
		.node = node,
		.path = path,
		.event_names = server.event_names,
		.call_names = server.call_names,
	};
	server.backend = dtc_ctf_backend.open(&request, &error);
	if (server.backend) {
		send_opened(&server);
		send_all(&server);
		send_findings(&server);
		put_kind(server.to, DTC_WIRE_END);
	} else {
		put_kind(server.to, DTC_WIRE_FAILED);
		fwrite(&error->code, sizeof(error->code), 1, server.to);
		dtc_wire_put_text(server.to, error->message);
	}
	/* all is said; what is left goes with the process */
	return fclose(server.to) == 0 ? 0 : 1;
}
