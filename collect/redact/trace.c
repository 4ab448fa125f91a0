/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All texts are names, but for those that applications wrote into the trace, which are payload. Of numbers only those
 * are addresses of machines whose field says so: most of what tracers call an address is one of memory. Bytes that are
 * neither are known for what they are, or zeroed.
 */
#include "collect/redact/trace.h"

#include "collect/read/rewrite.h"
#include "collect/redact/names.h"

#include <string.h>

enum action {
	ACTION_KEEP = DTC_REWRITE_KEEP,
	ACTION_NAME,
	ACTION_NAMED_ADDRESS, /* a text that may have one */
	ACTION_WORDS,	      /* of an application */
	ACTION_ADDRESS,
	ACTION_ZERO,
};

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

static guint choose_text(const struct dtc_redaction *redaction, const struct dtc_rewrite_field *field)
{
	static const char *const written[] = {
		"lttng_logger", "ftrace:print", "print", "ftrace:bprint", "bprint", NULL
	};
	if (is_one_of(field->event, written))
		return ACTION_WORDS;
	if (redaction->parts & DTC_REDACT_NAMES)
		return ACTION_NAME;
	return redaction->parts & DTC_REDACT_ADDRESSES ? ACTION_NAMED_ADDRESS : ACTION_KEEP;
}

static guint choose_bytes(const struct dtc_redaction *redaction, const struct dtc_rewrite_field *field)
{
	static const char *const addresses[] = { "saddr",  "daddr",   "saddr_v6", "daddr_v6", "v4addr",
						 "v6addr", "dest_ip", "local_ip", NULL };
	static const char *const numbers[] = { "uuid",	  "flow_lbl",	 "readfds", "writefds", "exceptfds",
					       "cpumask", "target_cpus", "vtids",   "overflow", NULL };
	if (is_one_of(field->name, addresses))
		return redaction->parts & DTC_REDACT_ADDRESSES ? ACTION_ADDRESS : ACTION_KEEP;
	return is_one_of(field->name, numbers) ? ACTION_KEEP : ACTION_ZERO;
}

static guint choose_number(const struct dtc_redaction *redaction, const struct dtc_rewrite_field *field)
{
	static const char *const addresses[] = { "address_ipv4", "saddr", "daddr", "s_addr", NULL };
	/* they would tell of addresses and payload */
	static const char *const sums[] = { "checksum", "check", "csum", NULL };
	static const char *const others[] = { "gateway", NULL };

	if (field->bits == 32 && is_one_of(field->name, addresses))
		return redaction->parts & DTC_REDACT_ADDRESSES ? ACTION_ADDRESS : ACTION_KEEP;
	if (field->bits == 16 && is_one_of(field->name, sums))
		return ACTION_ZERO;
	return field->bits == 32 && is_one_of(field->name, others) ? ACTION_ZERO : ACTION_KEEP;
}

static guint choose(const struct dtc_rewrite_field *field, void *data)
{
	const struct dtc_redaction *redaction = data;
	switch (field->shape) {
	case DTC_REWRITE_TEXT:
		return choose_text(redaction, field);
	case DTC_REWRITE_BYTES:
		return choose_bytes(redaction, field);
	case DTC_REWRITE_NUMBER:
		return choose_number(redaction, field);
	}
	return ACTION_ZERO;
}

/* What is no address by its length is none that is known. */
static void replace_address(struct dtc_redaction *redaction, uint8_t *bytes, gsize count)
{
	if (count == 4)
		dtc_addresses_replace_ipv4(redaction->addresses, bytes);
	else if (count == 16)
		dtc_addresses_replace_ipv6(redaction->addresses, bytes);
	else
		memset(bytes, 0, count);
}

static void apply(guint action, uint8_t *bytes, gsize count, void *data)
{
	struct dtc_redaction *redaction = data;
	switch ((enum action)action) {
	case ACTION_KEEP:
		return;
	case ACTION_NAME:
		dtc_names_replace(redaction->words, (char *)bytes, count);
		return;
	case ACTION_NAMED_ADDRESS:
		dtc_names_replace_addresses(redaction->words, (char *)bytes, count);
		return;
	case ACTION_WORDS:
		dtc_pseudonyms_replace_text(redaction->words, bytes, count, 0);
		return;
	case ACTION_ADDRESS:
		replace_address(redaction, bytes, count);
		return;
	case ACTION_ZERO:
		memset(bytes, 0, count);
		return;
	}
}

/* What tells of the tracer and the kernel stays. */
static char *describe(const char *name, const char *text, void *data)
{
	static const char *const kept[] = { "domain",
					    "sysname",
					    "kernel_release",
					    "kernel_version",
					    "tracer_name",
					    "tracer_version",
					    "trace_buffering_scheme",
					    "trace_creation_datetime",
					    "architecture",
					    "machine",
					    "release",
					    "version",
					    NULL };
	struct dtc_redaction *redaction = data;

	if (strcmp(name, "uuid") == 0)
		return dtc_redaction_uuid(redaction, text);
	bool is_kept = is_one_of(name, kept) || strcmp(text, "Monotonic Clock") == 0;
	return is_kept ? g_strdup(text) : dtc_redaction_text(redaction, text);
}

/* Channels are named by who records: figures tell them apart. */
static char *name_file(const char *name, void *data)
{
	static const char *const prefixes[] = { "cpu",	  "ch",	    "channel", "statedump", "perf_stream",
						"stream", "kernel", "chan",    NULL };
	struct dtc_redaction *redaction = data;
	gsize letters = strcspn(name, "0123456789_");

	if (!(redaction->parts & DTC_REDACT_NAMES))
		return dtc_redaction_text(redaction, name);
	g_autofree char *prefix = g_strndup(name, letters);
	bool has_figures_only = strspn(name + letters, "0123456789_") == strlen(name + letters);
	if (has_figures_only && is_one_of(prefix, prefixes))
		return g_strdup(name);
	gsize figures = strlen(name);
	while (figures > 0 && strchr("0123456789_", name[figures - 1]))
		figures--;
	g_autofree char *word = g_strndup(name, figures);
	dtc_names_replace(redaction->words, word, figures);
	return g_strconcat(word, name + figures, NULL);
}

bool dtc_trace_redact(struct dtc_redaction *redaction, const char *node, const char *path, const char *folder,
		      GError **error)
{
	const struct dtc_rewrite rewrite = { choose, apply, describe, name_file, redaction };
	return dtc_rewrite_trace(&rewrite, node, path, folder, error);
}
